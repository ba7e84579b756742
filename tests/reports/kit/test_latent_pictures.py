"""Reconstructions and traversals: what is where on the page."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from unknot.errors import UnknotError
from unknot.reports.kit.latent_pictures import (
    GAP,
    GUTTER,
    MARGIN,
    film,
    plan_traversal,
    reconstructions,
    traversals,
    write_film,
    write_picture,
)

SIDE = 72  # as large as cells are drawn, so that none is enlarged


def flat(latents: np.ndarray) -> np.ndarray:
    """A decoder whose images are as bright as (latent 0 + 2) / 4, whatever the other latents are."""
    return np.ones((len(latents), SIDE, SIDE, 1)) * ((latents[:, 0] + 2) / 4)[:, None, None, None]


def _inside(picture: Image.Image, left: int, top: int) -> np.ndarray:
    """The pixels of a cell less its frame."""
    return np.asarray(picture)[top + 1 : top + SIDE - 1, left + 1 : left + SIDE - 1]


def test_each_image_has_its_reconstruction_below_it() -> None:
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (5, SIDE, SIDE, 3), dtype=np.uint8)
    decoded = rng.uniform(size=(5, SIDE, SIDE, 3))
    page = reconstructions(images, decoded, columns=3)
    for i in range(5):
        left, top = MARGIN + i % 3 * (SIDE + GAP), MARGIN + i // 3 * (2 * SIDE + 4 * GAP)
        np.testing.assert_array_equal(_inside(page, left, top), images[i, 1:-1, 1:-1])
        below = _inside(page, left, top + SIDE + GAP).astype(float)
        np.testing.assert_allclose(below, decoded[i, 1:-1, 1:-1] * 255, atol=0.51)


def test_latents_are_ordered_by_kl_and_moved_two_deviations_of_the_prior() -> None:
    plan = plan_traversal(np.zeros((3, 4)), [0.5, 0.0099, 2.0, 0.01])
    assert plan.order == (2, 0, 3, 1)
    assert plan.off.tolist() == [False, True, False, False]
    assert set(plan.low) == {-2.0}
    assert set(plan.high) == {2.0}


def test_without_a_kl_latents_are_ordered_by_spread_and_stay_where_codes_are() -> None:
    means = np.stack([np.linspace(0, 1, 101), np.linspace(0, 10, 101), np.full(101, 3.0)], axis=1)
    plan = plan_traversal(means)
    assert plan.order == (1, 0, 2)
    np.testing.assert_allclose(plan.low, [0.05, 0.5, 3])
    np.testing.assert_allclose(plan.high, [0.95, 9.5, 3])
    assert plan.off.tolist() == [False, False, True]


def test_a_row_moves_its_latent_alone() -> None:
    asked: list[np.ndarray] = []

    def decode(latents: np.ndarray) -> np.ndarray:
        asked.append(latents)
        return flat(latents)

    code = np.array([0.5, -1.0, 0.25])
    traversals(decode, code, plan_traversal(np.zeros((2, 3)), [0.1, 3.0, 1.0]), columns=5)
    for latents, moved in zip(asked, (1, 2, 0), strict=True):
        others = [i for i in range(3) if i != moved]
        np.testing.assert_allclose(latents[:, moved], [-2, -1, 0, 1, 2])
        np.testing.assert_allclose(latents[:, others], np.tile(code[others], (5, 1)))


def test_a_switched_off_latent_is_greyed_and_the_others_are_not() -> None:
    page = traversals(flat, np.zeros(2), plan_traversal(np.zeros((2, 2)), [1.5, 0.001]), columns=5)
    cells = [
        [_inside(page, MARGIN + GUTTER + c * (SIDE + GAP), MARGIN + r * (SIDE + GAP)) for c in range(5)]
        for r in range(2)
    ]
    assert [int(cell[0, 0, 0]) for cell in cells[0]] == [0, 64, 128, 191, 255]
    assert all(178 <= cell.min() and cell.max() <= 229 for cell in cells[1])
    swapped = traversals(flat, np.zeros(2), plan_traversal(np.zeros((2, 2)), [0.001, 1.5]), columns=5)
    assert swapped.size == page.size
    assert (
        _inside(swapped, MARGIN + GUTTER, MARGIN).max() == 128
    )  # the other latent comes first, and changes nothing


def test_small_images_are_enlarged_by_whole_numbers() -> None:
    images = np.zeros((1, 24, 24, 1), dtype=np.uint8)
    assert reconstructions(images, images / 255).size == (2 * MARGIN + 72, 2 * MARGIN + 2 * 72 + GAP)


def test_a_film_goes_there_and_back_without_end(tmp_path: Path) -> None:
    pages = film(flat, np.zeros(2), plan_traversal(np.zeros((2, 2)), [1.0, 0.5]), frames=8)
    first = [int(np.asarray(page)[MARGIN + 20, MARGIN + 20, 0]) for page in pages]
    assert first[0] == 0
    assert first[4] == 255
    assert first[1:4] == first[:4:-1]
    with Image.open(write_film(pages, tmp_path / "new" / "film.gif")) as read:
        assert read.n_frames == 8
        assert read.info["loop"] == 0
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["film.gif"]


def test_a_film_keeps_colours_that_its_first_frame_lacks(tmp_path: Path) -> None:
    def hue(latents: np.ndarray) -> np.ndarray:
        share = (latents[:, 0] + 2) / 4
        colors = np.stack([1 - share, share, 0 * share], axis=1)
        return np.ones((len(latents), SIDE, SIDE, 3)) * colors[:, None, None, :]

    pages = film(hue, np.zeros(1), plan_traversal(np.zeros((2, 1)), [1.0]), frames=8)
    with Image.open(write_film(pages, tmp_path / "film.gif")) as read:
        for frame, page in enumerate(pages):
            read.seek(frame)
            seen, drawn = (
                np.asarray(p.convert("RGB"))[MARGIN + 20, MARGIN + 20].astype(int) for p in (read, page)
            )
            assert np.abs(seen - drawn).max() < 24


def test_pictures_are_written_whole_and_the_same_each_time(tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(0, 256, (4, 16, 16, 1), dtype=np.uint8)
    files = [write_picture(reconstructions(images, images / 255), tmp_path / f"{i}.png") for i in range(2)]
    assert files[0].read_bytes() == files[1].read_bytes()
    with Image.open(files[0]) as read:
        assert read.format == "PNG"


def test_what_does_not_fit_is_refused() -> None:
    images = np.zeros((2, 8, 8, 1), dtype=np.uint8)
    with pytest.raises(UnknotError, match="2 images and 1 decoded"):
        reconstructions(images, images[:1] / 255)
    with pytest.raises(UnknotError, match="images have 2 channels"):
        reconstructions(images.repeat(2, axis=3), images.repeat(2, axis=3) / 255)
    with pytest.raises(UnknotError, match=r"kl has shape \(3,\) for 2 latents"):
        plan_traversal(np.zeros((4, 2)), [1.0, 2.0, 3.0])
