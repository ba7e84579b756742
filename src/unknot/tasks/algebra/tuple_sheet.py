"""Tuples as a picture: one row for each, one column for each image, with its name on top."""

import base64
import io
from collections.abc import Mapping
from typing import TYPE_CHECKING

from unknot.reports.kit.lettering import FRAME, INK, PAPER, font, thumbnail, wrapped
from unknot.worlds.preview import GAP
from unknot.worlds.world import Images

if TYPE_CHECKING:
    from PIL.Image import Image

CELL = 96  # pixels of a picture's width
HEAD = 44  # for names of columns, two or three lines


def tuple_sheet(columns: Mapping[str, Images]) -> "Image":
    """A page of images, name -> (n, h, w, c) uint8; sizes may differ from column to column."""
    from PIL import Image, ImageDraw

    n, height, width, _ = next(iter(columns.values())).shape
    tall = max(1, round(CELL * height / width))
    top = GAP + HEAD
    page = Image.new("RGB", (len(columns) * (CELL + GAP) + GAP, top + n * (tall + GAP)), PAPER)
    pen = ImageDraw.Draw(page)
    small = font(11)
    for j, (name, images) in enumerate(columns.items()):
        left = GAP + j * (CELL + GAP)
        lines = wrapped(name, small, CELL + GAP, lines=3)
        for k, line in enumerate(lines):
            pen.text((left, top - 8 - 14 * (len(lines) - 1 - k)), line, fill=INK, font=small, anchor="ls")
        for i, image in enumerate(images):
            at = top + i * (tall + GAP)
            page.paste(thumbnail(image).resize((CELL, tall), Image.Resampling.BOX), (left, at))
            pen.rectangle((left - 1, at - 1, left + CELL, at + tall), outline=FRAME)
    return page


def as_text(picture: "Image") -> str:
    """A picture as the base64 of its PNG, for a table."""
    file = io.BytesIO()
    picture.save(file, format="PNG", optimize=True)
    return base64.b64encode(file.getvalue()).decode("ascii")
