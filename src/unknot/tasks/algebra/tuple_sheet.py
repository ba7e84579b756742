"""Tuples as a picture: one row for each, one column for each image, with its name on top."""

import base64
import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from unknot.metrics.slots import align, duplicates, nearest_cosine
from unknot.reports.kit.lettering import FRAME, INK, PAPER, font, thumbnail, wrapped
from unknot.reports.kit.slot_pictures import slot_sheet
from unknot.tasks.algebra.codes import EncoderCodes
from unknot.tasks.algebra.decoder import Decoder
from unknot.tasks.algebra.quadruples import Tuples, pixel_negative
from unknot.worlds.preview import GAP
from unknot.worlds.scenes.corpus import MASKED
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


def drawn_tuples(tuples: Tuples, n: int, encoder: EncoderCodes | None = None) -> str:
    """The first n tuples, and what an encoder that can decode makes of their sums, as the base64 of a PNG."""
    rows = np.arange(min(n, len(tuples)))
    columns = {role: tuples.images(rows, role) for role in MASKED}
    columns["B - A + C in pixels"] = pixel_negative(tuples, rows).clip(0, 255).astype(np.uint8)
    if encoder is not None and encoder.decoder is not None and encoder.decoder.model.decodes:
        for role in MASKED:
            columns[f"decoded z({role})"] = encoder.decoder.images(encoder.codes[role][rows])
        columns["decoded z(B) - z(A) + z(C)"] = encoder.decoder.images(_sums(encoder.codes, rows))
    return _base64(tuple_sheet(columns))


def drawn_slots(tuples: Tuples, row: int, encoder: EncoderCodes, threshold: float) -> str:
    """What the matched slots of one tuple draw, and those of B - A + C, as the base64 of a PNG.

    Slots that were matched stand below each other. Below each: the share of the image that its mask takes, and the
    largest cosine between it and another slot of the same image; and whether it is a duplicate, or owns no pixel.
    """
    decoder, rows = cast(Decoder, encoder.decoder), np.array([row])
    a, b, c, d = align(*(encoder.codes[role][rows] for role in MASKED))
    slots = np.concatenate([a, b, c, d, b - a + c])
    pictures, masks = decoder.slots(slots)
    wrong = pixel_negative(tuples, rows).clip(0, 255).astype(np.uint8)
    images = np.concatenate([*(tuples.images(rows, role) for role in MASKED), wrong])
    mass, cosine, marks = masks.mean(axis=(2, 3)), nearest_cosine(slots), slot_marks(slots, masks, threshold)
    words = [
        [f"{100 * m:.0f} %\ncos {s:.2f}\n{mark}" for m, s, mark in zip(*row_of, strict=True)]
        for row_of in zip(mass, cosine, marks, strict=True)
    ]
    return _base64(slot_sheet(images, pictures, masks, captions=words, labels=(*MASKED, "B - A + C")))


def slot_marks(slots: NDArray[Any], masks: NDArray[Any], threshold: float) -> NDArray[np.str_]:
    """(n, k) "duplicate", "owns nothing", or "", of slots (n, k, d) and their masks (n, k, h, w)."""
    owners = masks.argmax(axis=1).reshape(len(masks), 1, -1)
    idle = (owners != np.arange(slots.shape[1])[:, None]).all(axis=2)
    return np.where(duplicates(slots, threshold), "duplicate", np.where(idle, "owns nothing", ""))


def _base64(picture: "Image") -> str:
    file = io.BytesIO()
    picture.save(file, format="PNG", optimize=True)
    return base64.b64encode(file.getvalue()).decode("ascii")


def _sums(codes: Mapping[str, NDArray[Any]], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """z_B - z_A + z_C of some tuples, slots in matching order."""
    a, b, c, d = (np.asarray(codes[role][rows], dtype=np.float64) for role in MASKED)
    if a.ndim == 3:
        a, b, c, _ = align(a, b, c, d)
    return np.asarray(b - a + c)
