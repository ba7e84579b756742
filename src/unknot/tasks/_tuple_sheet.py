"""Tuples as a picture: one row for each, one column for each image, with its name on top."""

import base64
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from unknot.worlds.preview import FAINT, FRAME, GAP, INK, MARGIN, PAPER, _font, _thumbnail, _wrapped, save_sheet
from unknot.worlds.scenes.corpus import Corpus
from unknot.worlds.world import Images

if TYPE_CHECKING:
    from PIL.Image import Image

CELL = 96  # pixels of a picture's side
HEAD = 44  # for names of columns, two or three lines


def tuple_sheet(columns: Mapping[str, Images], *, title: str = "", captions: Sequence[str] = ()) -> "Image":
    """A page of images.

    Args:
        columns: name -> (n, h, w, c) uint8; sizes may differ from column to column.
        title: on top.
        captions: (n,) below each row.
    """
    from PIL import Image, ImageDraw

    n = len(next(iter(columns.values())))
    below = 18 if captions else 0
    top = MARGIN + (30 if title else 0) + HEAD
    width = 2 * MARGIN + len(columns) * (CELL + GAP) - GAP
    page = Image.new("RGB", (width, top + n * (CELL + GAP + below) - GAP + MARGIN), PAPER)
    pen = ImageDraw.Draw(page)
    if title:
        pen.text((MARGIN, MARGIN - 6), title, fill=INK, font=_font(17, bold=True))
    small = _font(11)
    for j, (name, images) in enumerate(columns.items()):
        left = MARGIN + j * (CELL + GAP)
        lines = _wrapped(name, small, CELL + GAP, lines=3)
        for k, line in enumerate(lines):
            pen.text((left, top - 8 - 14 * (len(lines) - 1 - k)), line, fill=INK, font=small, anchor="ls")
        for i, image in enumerate(images):
            at = top + i * (CELL + GAP + below)
            page.paste(_thumbnail(image).resize((CELL, CELL), Image.Resampling.BOX), (left, at))
            pen.rectangle((left - 1, at - 1, left + CELL, at + CELL), outline=FRAME)
    for i, caption in enumerate(captions):
        at = top + i * (CELL + GAP + below) + CELL + 4
        pen.text((MARGIN, at), caption, fill=FAINT, font=small)
    return page


def preview_corpus(corpus: Corpus, path: Path | str, *, rows: int = 6) -> Path:
    """Write a contact sheet of a corpus: A, B, C, D and the wrong answers of its first tuples, and what was edited."""
    from unknot.worlds.scenes.corpus import ROLES

    n = min(rows, len(corpus))
    columns = {role: np.asarray(corpus.images[:n, i]) for i, role in enumerate(ROLES)}
    title = f"{corpus.info.get('variant', 'corpus')}, {len(corpus):,} tuples"
    return save_sheet(tuple_sheet(columns, title=title, captions=[_edits(one) for one in corpus.tuples[:n]]), path)


def as_text(picture: "Image") -> str:
    """A picture as the base64 of its PNG, for a table."""
    file = io.BytesIO()
    picture.save(file, format="PNG", optimize=True)
    return base64.b64encode(file.getvalue()).decode("ascii")


def _edits(one: Mapping[str, object]) -> str:
    edits = one.get("edits", {})
    words = []
    for name, change in edits.items() if isinstance(edits, dict) else ():
        if isinstance(change, dict) and "from" in change:
            words.append(f"{name}: {change['from']} becomes {change['to']}")
    return "; ".join(words)
