"""Contact sheets: what a world looks like, on one page."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError, unknown
from unknot.factors import Classes, Factor
from unknot.files import written_whole
from unknot.reports.kit.lettering import FAINT, FRAME, INK, PAPER, font, shortened, thumbnail, wrapped
from unknot.worlds.array_world import ArrayWorld
from unknot.worlds.world import Images, World

if TYPE_CHECKING:
    from PIL.Image import Image

SheetKind = Literal["samples", "factors"]

MARGIN = 28
GAP = 8


def sheet(
    world: World, *, kind: SheetKind = "samples", rng: np.random.Generator, columns: int = 10, rows: int = 6
) -> "Image":
    """A picture of a world: different images at random, or one row per factor with that factor changing alone.

    Small images are enlarged by whole numbers, so that pixels stay pixels. In a row of "factors" the other
    factors keep a typical class (in a world that lacks some combinations: those that show most classes of the
    factor), and the random parts of a stochastic world keep still.

    Args:
        world: any world, complete or not, with or without real factors.
        kind: "samples" or "factors".
        rng: decides which samples are shown, and the random parts of stochastic worlds.
        columns: images side by side; of a factor with more classes, evenly chosen ones are shown.
        rows: rows of samples.
    """
    sheet_kind(kind)
    if columns < 1 or rows < 1:
        raise UnknotError(f"preview: {columns} columns and {rows} rows; expected at least one of each.")
    if kind == "samples":
        images = _samples(world, columns * rows, rng)
        return _page(world, [Strip(images[i : i + columns]) for i in range(0, len(images), columns)])
    seed = int(rng.integers(2**63))
    return _page(world, [_factor_strip(world, i, columns, seed) for i in range(len(world.factors))])


def save_sheet(picture: "Image", path: str | Path) -> Path:
    """Write a sheet as PNG, JPEG or whatever the file's ending says; it appears complete or not at all."""
    from PIL import Image

    target = check_picture_name(path)
    with written_whole(target) as beside:
        picture.save(beside, format=Image.registered_extensions()[target.suffix.lower()])
    return target


def sheet_kind(name: str) -> SheetKind:
    """A kind of sheet by its name, or the error that lists them."""
    if name not in get_args(SheetKind):
        raise unknown("kind of sheet", name, get_args(SheetKind))
    return cast(SheetKind, name)


def check_picture_name(path: str | Path) -> Path:
    """The path, if its ending is one that pictures are written with."""
    from PIL import Image

    target = Path(path)
    if Image.registered_extensions().get(target.suffix.lower()) not in Image.SAVE:
        raise UnknotError(f"preview: '{target}' does not end like a picture; use .png, .jpg or .webp.")
    return target


@dataclass(frozen=True)
class Strip:
    """One row of a sheet: images, and what is written under each and before them."""

    images: Images
    captions: Sequence[str] = ()
    label: str = ""
    remark: str = ""


def _factor_strip(world: World, column: int, n: int, seed: int) -> Strip:
    factor = world.factors.factors[column]
    line = factor_line(world, column, n)
    images = np.concatenate([world.images(row[None], rng=np.random.default_rng(seed)) for row in line])
    captions = [_caption(factor, int(class_)) for class_ in line[:, column]]
    return Strip(images, captions, factor.name, f"{factor.size:,} class{'es' if factor.size > 1 else ''}")


def _caption(factor: Factor, class_: int) -> str:
    value = factor.values[class_] if factor.values else class_
    return value if isinstance(value, str) else f"{value:.3g}" if isinstance(value, float) else f"{value:,}"


def factor_line(world: World, column: int, n: int) -> Classes:
    """Up to n points that differ in one factor only, its classes evenly chosen."""
    space = world.factors
    if world.rows is None:
        line = np.repeat(_middle(world)[None], space.shape[column], axis=0)
        line[:, column] = np.arange(space.shape[column])
    else:
        # Points that agree on all other factors have the same index once this factor's class is set to 0.
        points = np.unique(world.rows @ space.strides)
        class_ = points // space.strides[column] % space.sizes[column]
        others, counts = np.unique(points - class_ * space.strides[column], return_counts=True)
        richest = others[counts == counts.max()]
        chosen = richest[len(richest) // 2]
        line = space.classes(points[points - class_ * space.strides[column] == chosen])
    kept = np.unique(np.linspace(0, len(line) - 1, min(n, len(line))).round().astype(np.int64))
    return line[kept]


def _samples(world: World, n: int, rng: np.random.Generator) -> Images:
    """Images of a world, none of them twice; all of them if it has fewer than n."""
    if isinstance(world, ArrayWorld):
        world = world.one_by_one()  # since several may have the same classes
    there = world.factors.size if world.rows is None else len(world.rows)
    rows = rng.choice(there, size=min(n, there), replace=False)
    classes = world.factors.classes(rows) if world.rows is None else world.rows[rows]
    return world.images(classes, rng=rng)


def _middle(world: World) -> NDArray[np.int64]:
    """A typical point of a grid: middle classes, and circular factors spread out so that hues differ."""
    middle = world.factors.sizes // 2
    circular = [i for i, factor in enumerate(world.factors) if factor.kind == "circular"]
    for k, i in enumerate(circular):
        middle[i] = k * world.factors.shape[i] // len(circular)
    return middle


def _page(world: World, strips: Sequence[Strip]) -> "Image":
    """Title, what the world holds, then the strips below each other."""
    from PIL import Image, ImageDraw

    title, body, small = font(24, bold=True), font(14), font(12)
    name_font = font(15, bold=True)
    thumbnails = [[thumbnail(image) for image in strip.images] for strip in strips]
    cell_w, cell_h = thumbnails[0][0].size
    labelled = any(strip.label for strip in strips)
    gutter = 0
    if labelled:
        gutter = int(max(name_font.getlength(shortened(strip.label, name_font, 220)) for strip in strips))
        gutter = max(gutter, 80) + 2 * GAP
    under = 22 if labelled else 0
    columns = max(len(strip.images) for strip in strips)
    width = max(2 * MARGIN + gutter + columns * (cell_w + GAP) - GAP, 480)
    about = wrapped(_about(world), body, width - 2 * MARGIN, lines=3)
    head = MARGIN + 36 + 20 * len(about) + 14
    height = head + len(strips) * (cell_h + under + GAP) - GAP + MARGIN

    page = Image.new("RGB", (width, height), PAPER)
    pen = ImageDraw.Draw(page)
    pen.text((MARGIN, MARGIN - 6), shortened(world.name, title, width - 2 * MARGIN), fill=INK, font=title)
    for i, line in enumerate(about):
        pen.text((MARGIN, MARGIN + 32 + 20 * i), line, fill=FAINT, font=body)
    for i, (strip, cells) in enumerate(zip(strips, thumbnails, strict=True)):
        top = head + i * (cell_h + under + GAP)
        middle = top + cell_h // 2
        if strip.label:
            label = shortened(strip.label, name_font, 220)
            pen.text((MARGIN, middle - 2), label, fill=INK, font=name_font, anchor="ls")
            pen.text((MARGIN, middle + 16), strip.remark, fill=FAINT, font=small, anchor="ls")
        for j, cell in enumerate(cells):
            left = MARGIN + gutter + j * (cell_w + GAP)
            page.paste(cell, (left, top))
            pen.rectangle((left - 1, top - 1, left + cell_w, top + cell_h), outline=FRAME)
            if strip.captions:
                caption = shortened(strip.captions[j], small, cell_w)
                pen.text((left + cell_w / 2, top + cell_h + 4), caption, fill=FAINT, font=small, anchor="ma")
    return page


def _about(world: World) -> str:
    """How many images, how large, which factors."""
    height, width, channels = world.image_shape
    many = f"{world.factors.size if world.rows is None else len(world.rows):,}"
    if world.stochastic:
        many += " points, random parts in every image"
    else:
        many += " images" if world.rows is None else f" images of a grid of {world.factors.size:,}"
    color = {1: "grey", 3: "colour"}.get(channels, f"{channels} channels")
    sizes = ", ".join(f"{f.name} {f.size:,}" for f in world.factors)
    return f"{many}  ·  {height} × {width}, {color}  ·  {sizes}"
