"""What a model sees and what its latents do: reconstructions, and traversals as a picture and as a film.

Everything here is arrays in, picture out; `unknot.runs.pictures` asks a model for the arrays.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.files import written_whole
from unknot.reports.kit.lettering import FAINT, FRAME, INK, PAPER, font, shortened

if TYPE_CHECKING:
    from PIL.Image import Image

Images = NDArray[np.uint8]  # (n, h, w, c)
Latents = NDArray[np.floating[Any]]
Decode = Callable[[NDArray[np.float32]], NDArray[np.floating[Any]]]  # (n, d) latents to (n, h, w, c) in [0, 1]

SWITCHED_OFF = 0.01  # nats of KL below which a latent says nothing about the image; UDR's bound too
SPAN = 2.0  # standard deviations of the prior to either side
MARGIN, GAP, GUTTER = 20, 4, 104
ALIKE = 8  # of 255: pictures that differ by no more look the same


@dataclass(frozen=True)
class Traversal:
    """How far each latent is moved, and in which order latents are shown.

    Attributes:
        order: latents, the most informative first.
        low: (d,) where a latent starts.
        high: (d,) where it ends.
        off: (d,) which are switched off: they say nothing about the image.
        remarks: (d,) what is written beside each.
    """

    order: tuple[int, ...]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    off: NDArray[np.bool_]
    remarks: tuple[str, ...]


def plan_traversal(means: Latents, kl: Sequence[float] | NDArray[np.float64] | None = None) -> Traversal:
    """Order and range of a traversal.

    With a posterior, by KL, from -2 to 2 standard deviations of the prior; latents with a KL below 0.01 nats are
    switched off. Without one, by spread, between the 5 % and 95 % quantiles of the codes.

    Args:
        means: (n, d) codes of some images.
        kl: (d,) mean KL of each latent to its prior.

    >>> plan = plan_traversal(np.zeros((5, 3)), [0.002, 3.1, 0.7])
    >>> plan.order, plan.remarks[1], plan.off.tolist()
    ((1, 2, 0), 'KL 3.10', [True, False, False])
    """
    d = means.shape[1]
    if kl is not None:
        weight = np.asarray(kl, dtype=np.float64)
        if weight.shape != (d,):
            raise UnknotError(f"traversal: kl has shape {weight.shape} for {d} latents; expected one value each.")
        low, high, off = np.full(d, -SPAN), np.full(d, SPAN), weight < SWITCHED_OFF
        remarks = tuple(f"KL {value:.2f}" for value in weight)
    else:
        weight = means.std(axis=0).astype(np.float64)
        low, high = np.quantile(means.astype(np.float64), [0.05, 0.95], axis=0)
        off = weight <= 1e-6 * max(1.0, float(weight.max()))
        remarks = tuple(f"sd {value:.2g}" for value in weight)
    order = tuple(int(i) for i in np.argsort(-weight, kind="stable"))
    return Traversal(order, low, high, off, remarks)


def reconstructions(images: Images, decoded: NDArray[np.floating[Any]], *, columns: int = 12) -> "Image":
    """Images and, under each, what the model makes of it.

    Args:
        images: (n, h, w, c) uint8, as the model saw them.
        decoded: (n, h, w, c) in [0, 1].
        columns: pairs side by side.
    """
    from PIL import Image

    if len(images) != len(decoded) or not len(images):
        raise UnknotError(f"reconstructions: {len(images)} images and {len(decoded)} decoded ones; need one each.")
    cells, drawn = framed(images), framed(decoded)
    width, height = cells[0].size
    columns = min(columns, len(cells))
    bands = -(-len(cells) // columns)
    band = 2 * height + GAP + 3 * GAP
    page = Image.new(
        "RGB", (2 * MARGIN + columns * (width + GAP) - GAP, 2 * MARGIN + bands * band - 3 * GAP), PAPER
    )
    for i, (above, below) in enumerate(zip(cells, drawn, strict=True)):
        left, top = MARGIN + i % columns * (width + GAP), MARGIN + i // columns * band
        page.paste(above, (left, top))
        page.paste(below, (left, top + height + GAP))
    return page


def drawn_alike(sheet: "Image", *, columns: int = 12) -> bool:
    """Whether a sheet of `reconstructions` shows the same picture under every image of its first band."""
    side = (sheet.width - 2 * MARGIN + GAP) // columns - GAP
    top = MARGIN + side + GAP
    band = np.asarray(sheet.convert("RGB"))[top : top + side, MARGIN:].astype(np.int16)
    cells = np.stack([band[:, left : left + side] for left in range(0, columns * (side + GAP), side + GAP)])
    return bool(np.ptp(cells, axis=0).max() <= ALIKE)


def traversals(decode: Decode, code: Latents, plan: Traversal, *, columns: int = 11, title: str = "") -> "Image":
    """One row for each latent, moved alone from its low to its high end; switched-off latents are greyed.

    Args:
        decode: latents to images.
        code: (d,) the code of the image that is changed.
        plan: from `plan_traversal`.
        columns: values of each latent.
        title: written on top.
    """
    from PIL import Image, ImageDraw

    strips = [framed(decode(_moved(code, plan, i, np.linspace(0, 1, columns))), plan.off[i]) for i in plan.order]
    width, height = strips[0][0].size
    head = MARGIN + 26 if title else MARGIN
    size = (
        MARGIN + GUTTER + columns * (width + GAP) - GAP + MARGIN,
        head + len(strips) * (height + GAP) - GAP + 20 + MARGIN,
    )
    page = Image.new("RGB", size, PAPER)
    pen = ImageDraw.Draw(page)
    if title:
        pen.text((MARGIN, MARGIN - 6), shortened(title, font(14), size[0] - 2 * MARGIN), fill=INK, font=font(14))
    for row, (latent, cells) in enumerate(zip(plan.order, strips, strict=True)):
        top = head + row * (height + GAP)
        line, off = top + height // 2, bool(plan.off[latent])
        pen.text((MARGIN, line - 2), f"z{latent}", fill=FAINT if off else INK, font=font(14), anchor="ls")
        remark = plan.remarks[latent] + (", off" if off else "")
        pen.text((MARGIN, line + 14), remark, fill=FAINT, font=font(12), anchor="ls")
        for column, cell in enumerate(cells):
            page.paste(cell, (MARGIN + GUTTER + column * (width + GAP), top))
    if len(set(plan.low)) == 1 == len(set(plan.high)):  # one scale for all: the prior's
        under = head + len(strips) * (height + GAP)
        for column, value in enumerate(np.linspace(plan.low[0], plan.high[0], columns)):
            middle = MARGIN + GUTTER + column * (width + GAP) + width / 2
            pen.text((middle, under + 2), f"{value:.1f}", fill=FAINT, font=font(11), anchor="ma")
    return page


def film(decode: Decode, code: Latents, plan: Traversal, *, frames: int = 24) -> list["Image"]:
    """The same traversals as a film: a cell for each latent, all moving at once, there and back.

    Args:
        decode: latents to images.
        code: (d,) the code of the image that is changed.
        plan: from `plan_traversal`.
        frames: of one way there and back.
    """
    from PIL import Image, ImageDraw

    share = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(frames) / frames)  # slow at both ends, and closed
    strips = [framed(decode(_moved(code, plan, i, share)), plan.off[i], side=128) for i in plan.order]
    width, height = strips[0][0].size
    columns, under = min(5, len(strips)), 22
    size = (
        2 * MARGIN + columns * (width + 2 * GAP) - 2 * GAP,
        2 * MARGIN + -(-len(strips) // columns) * (height + under) - under + 14,
    )
    pages = []
    for frame in range(frames):
        page = Image.new("RGB", size, PAPER)
        pen = ImageDraw.Draw(page)
        for cell, (latent, strip) in enumerate(zip(plan.order, strips, strict=True)):
            left, top = MARGIN + cell % columns * (width + 2 * GAP), MARGIN + cell // columns * (height + under)
            page.paste(strip[frame], (left, top))
            words = shortened(f"z{latent}  {plan.remarks[latent]}", font(11), width)
            pen.text((left, top + height + 3), words, fill=FAINT if plan.off[latent] else INK, font=font(11))
        pages.append(page)
    return pages


def write_picture(picture: "Image", path: Path | str) -> Path:
    """Write a PNG, complete or not at all."""
    with written_whole(path) as beside:
        picture.save(beside, format="PNG")
    return Path(path)


def write_film(pages: Sequence["Image"], path: Path | str, *, milliseconds: int = 80) -> Path:
    """Write an endless GIF, complete or not at all."""
    from PIL import Image

    # One palette for all frames, so that still parts do not flicker, from some of them, so that no colour is missing.
    some = pages[:: max(1, len(pages) // 8)]
    montage = Image.new("RGB", (pages[0].width, pages[0].height * len(some)))
    for i, page in enumerate(some):
        montage.paste(page, (0, i * page.height))
    palette = montage.quantize(255)
    still = [page.quantize(palette=palette, dither=Image.Dither.NONE) for page in pages]
    with written_whole(path) as beside:
        still[0].save(
            beside, format="GIF", save_all=True, append_images=still[1:], duration=milliseconds, loop=0, disposal=1
        )
    return Path(path)


def _moved(code: Latents, plan: Traversal, latent: int, share: NDArray[np.float64]) -> NDArray[np.float32]:
    """(n, d) codes with one latent at these shares of its way."""
    codes = np.repeat(np.asarray(code, dtype=np.float32)[None], len(share), axis=0)
    codes[:, latent] = plan.low[latent] + share * (plan.high[latent] - plan.low[latent])
    return codes


def framed(images: NDArray[Any], grey: bool | np.bool_ = False, *, side: int = 72) -> list["Image"]:
    """Images for the page: small ones enlarged by whole numbers, framed; washed out if `grey`."""
    from PIL import Image, ImageDraw

    if images.dtype != np.uint8:
        images = (np.clip(np.nan_to_num(images), 0, 1) * 255).round().astype(np.uint8)
    if images.shape[3] not in (1, 3):
        raise UnknotError(f"pictures: images have {images.shape[3]} channels; only 1 and 3 can be shown.")
    if grey:
        images = (178 + images.mean(axis=3, keepdims=True) * 0.2).astype(np.uint8)
    if images.shape[3] == 1:
        images = images.repeat(3, axis=3)
    times = max(1, round(side / max(images.shape[1:3])))
    cells = []
    for image in images:
        cell = Image.fromarray(np.ascontiguousarray(image))
        cell = cell.resize((cell.width * times, cell.height * times), Image.Resampling.NEAREST)
        ImageDraw.Draw(cell).rectangle((0, 0, cell.width - 1, cell.height - 1), outline=FRAME)
        cells.append(cell)
    return cells
