"""A page of tuples: what a corpus looks like."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unknot.reports.kit.lettering import FAINT, FRAME, INK, PAPER, font
from unknot.worlds.preview import GAP, MARGIN
from unknot.worlds.scenes.corpus import ROLES, Corpus

if TYPE_CHECKING:
    from PIL.Image import Image

_SIDE = 96  # of a thumbnail
_HEADS = ("A", "B", "C", "D", "drop", "object", "color", "material", "shape", "size", "B - A + C")


def corpus_sheet(corpus: Corpus, *, rows: int = 8, seed: int = 0) -> "Image":
    """Some tuples below each other: A, B, C, D, the six wrong D and the pixel sum B - A + C, clipped to be shown.

    Args:
        corpus: any.
        rows: how many tuples.
        seed: decides which.
    """
    from PIL import Image, ImageDraw

    chosen = np.sort(np.random.default_rng([seed, 8]).permutation(len(corpus))[:rows])
    height, width = corpus.images.shape[2:4]
    scale = _SIDE / max(height, width)
    cell = (round(width * scale), round(height * scale))
    gutter, head = 92, MARGIN + 76
    page = Image.new(
        "RGB",
        (2 * MARGIN + gutter + len(_HEADS) * (cell[0] + GAP), head + len(chosen) * (cell[1] + GAP) + MARGIN),
        PAPER,
    )
    pen = ImageDraw.Draw(page)
    pen.text((MARGIN, MARGIN - 6), "Tuples of the corpus", fill=INK, font=font(24, bold=True))
    pen.text((MARGIN, MARGIN + 30), _about(corpus), fill=FAINT, font=font(14))
    for j, name in enumerate(_HEADS):
        left = MARGIN + gutter + j * (cell[0] + GAP)
        pen.text((left + cell[0] / 2, head - 6), name, fill=INK, font=font(13, bold=j < 4), anchor="ms")
    for i, row in enumerate(chosen):
        top = head + i * (cell[1] + GAP)
        pen.text((MARGIN, top + cell[1] / 2), f"tuple {row}", fill=INK, font=font(13, bold=True), anchor="ls")
        score = corpus.tuples[row].get("score")
        if score is not None:
            pen.text((MARGIN, top + cell[1] / 2 + 16), f"score {score}", fill=FAINT, font=font(12), anchor="ls")
        for j, image in enumerate([*corpus.images[row], _pixel_sum(corpus.images[row])]):
            left = MARGIN + gutter + j * (cell[0] + GAP)
            picture = Image.fromarray(np.ascontiguousarray(image))
            page.paste(picture.resize(cell, Image.Resampling.LANCZOS if scale < 1 else Image.Resampling.NEAREST),
                       (left, top))  # fmt: skip
            pen.rectangle((left - 1, top - 1, left + cell[0], top + cell[1]), outline=FRAME)
    return page


def _about(corpus: Corpus) -> str:
    height, width = corpus.images.shape[2:4]
    info = corpus.info
    parts = [f"{len(corpus):,} tuples", f"{height} × {width}", str(info.get("variant", ""))]
    if info.get("seed") is not None:
        parts.append(f"seed {info['seed']}")
    return "  ·  ".join(part for part in parts if part)


def _pixel_sum(images: NDArray[np.uint8]) -> NDArray[np.uint8]:
    a, b, c = (images[ROLES.index(role)].astype(np.int16) for role in "ABC")
    clipped: NDArray[np.uint8] = np.clip(b - a + c, 0, 255).astype(np.uint8)
    return clipped
