"""The sheet of slots, pixel by pixel."""

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.reports.kit.latent_pictures import GAP, MARGIN
from unknot.reports.kit.slot_pictures import COLORS, GROUND, GUTTER, LINE, slot_sheet

SIDE = 72  # of a cell: 8 pixels, nine times


def parts(n: int = 2, k: int = 3):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (n, 8, 8, 3), dtype=np.uint8)
    pictures = rng.random((n, k, 8, 8, 3))
    masks = np.zeros((n, k, 8, 8))
    masks[:, 0, :, :4], masks[:, 1, :, 4:] = 1, 1
    return images, pictures, masks


def cell(sheet: np.ndarray, row: int, column: int) -> np.ndarray:
    """The middle of each enlarged pixel of a cell."""
    top, left = MARGIN + 18 + row * (SIDE + GAP), MARGIN + column * (SIDE + GAP)
    return sheet[top : top + SIDE, left : left + SIDE][4::9, 4::9]


def test_captions_and_labels_make_room_for_themselves():
    images, pictures, masks = parts()
    plain = slot_sheet(images, pictures, masks)
    words = [["12 %\ncos 0.98\nduplicate"] * 3] * 2
    told = slot_sheet(images, pictures, masks, captions=words, labels=("A", "B"))
    assert told.width - plain.width == GUTTER and told.height - plain.height == 6 * LINE
    page, under = np.asarray(told), MARGIN + 18 + SIDE
    first = slice(MARGIN + GUTTER + 3 * (SIDE + GAP), MARGIN + GUTTER + 3 * (SIDE + GAP) + SIDE)
    assert page[under : under + 2 * LINE, first].min() < 200 < page[under : under + 2 * LINE, :MARGIN].min()
    with pytest.raises(UnknotError, match="slot sheet"):
        slot_sheet(images, pictures, masks, captions=words[:1])


def test_a_row_shows_image_reconstruction_owners_and_slots():
    images, pictures, masks = parts()
    sheet = np.asarray(slot_sheet(images, pictures, masks))
    levels = (pictures * 255).round().astype(np.uint8)
    for row in range(2):
        assert np.array_equal(cell(sheet, row, 0), images[row])
        assert np.array_equal(cell(sheet, row, 1)[:, :4], levels[row, 0, :, :4])
        assert np.array_equal(cell(sheet, row, 1)[:, 4:], levels[row, 1, :, 4:])
        owners = cell(sheet, row, 2)
        assert (owners[:, :4] == COLORS[0]).all() and (owners[:, 4:] == COLORS[1]).all()
        assert np.array_equal(cell(sheet, row, 4)[:, 4:], levels[row, 1, :, 4:])
        assert (cell(sheet, row, 4)[:, :4] == round(GROUND * 255)).all()
        assert (cell(sheet, row, 5) == round(GROUND * 255)).all()  # a slot that draws nothing


def test_a_sheet_has_a_column_for_each_slot_and_a_title_makes_it_higher():
    images, pictures, masks = parts(k=4)
    plain, titled = slot_sheet(images, pictures, masks), slot_sheet(images, pictures, masks, title="step 10")
    assert plain.width == titled.width == 2 * MARGIN + 7 * (SIDE + GAP) - GAP
    assert titled.height > plain.height


def test_grey_images_can_be_shown_and_more_slots_than_colours():
    images, pictures, masks = parts(k=15)
    slot_sheet(images[..., :1], pictures[..., :1], masks)


def test_parts_that_do_not_fit_are_refused():
    images, pictures, masks = parts()
    for wrong in (
        (images[:1], pictures, masks),
        (images, pictures[:, :2], masks),
        (images[:0], pictures[:0], masks[:0]),
    ):
        with pytest.raises(UnknotError, match="one entry for each slot"):
            slot_sheet(*wrong)
