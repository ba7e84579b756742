from pathlib import Path

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.factors import space
from unknot.worlds import World
from unknot.worlds.published import celeb_glow

SMALL = space({"person": 4, "smile": 2, "blond": 3, "age": 2}, categorical=["person"])


@pytest.fixture(params=[np.savez, np.savez_compressed], ids=["stored", "compressed"])
def split(request, tmp_path: Path) -> tuple[Path, np.ndarray]:
    """The four files of the random split of a small grid, and its images in grid order, channels last."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (SMALL.size, 3, 64, 64), dtype=np.uint8)
    order = rng.permutation(SMALL.size)
    for part, rows in (("train", order[:15]), ("test", order[15:])):
        request.param(tmp_path / f"celeb_glow_random_{part}_images.npz", images[rows])
        request.param(tmp_path / f"celeb_glow_random_{part}_labels.npz", SMALL.classes(rows))
    return tmp_path, np.moveaxis(images, 1, -1)


def test_train_and_test_of_one_split_are_the_whole_grid(split) -> None:
    folder, images = split
    world = celeb_glow.read(celeb_glow.find(folder), space=SMALL)
    assert isinstance(world, World) and world.rows is None and not world.stochastic
    assert world.name == "CelebGlow" and world.image_shape == (64, 64, 3)
    np.testing.assert_array_equal(world.images(SMALL.classes(np.arange(SMALL.size))), images)
    assert isinstance(world.pictures.parts[0].pictures, np.memmap)


def test_one_part_alone_is_an_incomplete_world(split) -> None:
    folder, images = split
    (folder / "celeb_glow_random_test_images.npz").unlink()
    world = celeb_glow.read(celeb_glow.find(folder), space=SMALL)
    assert world.rows is not None and len(world.rows) == 15
    np.testing.assert_array_equal(world.images(world.rows), images[SMALL.indices(world.rows)])


def test_the_split_with_more_parts_is_preferred(split) -> None:
    folder, _ = split
    for kind in ("images", "labels"):
        (folder / f"celeb_glow_random_test_{kind}.npz").rename(folder / f"celeb_glow_composition_test_{kind}.npz")
    assert len(celeb_glow.find(folder)) == 1
    np.savez(folder / "celeb_glow_composition_train_images.npz", np.zeros((1, 3, 64, 64), np.uint8))
    np.savez(folder / "celeb_glow_composition_train_labels.npz", np.zeros((1, 4), np.int64))
    names = [path.name for path in celeb_glow.find(folder)]
    assert names == ["celeb_glow_composition_train_images.npz", "celeb_glow_composition_test_images.npz"]


def test_one_file_of_a_pair_finds_the_other(split) -> None:
    folder, _ = split
    paths = celeb_glow.find(folder / "celeb_glow_random_train_labels.npz")
    assert [path.name for path in paths] == ["celeb_glow_random_train_images.npz"]
    (folder / "celeb_glow_random_train_images.npz").unlink()
    with pytest.raises(UnknotError, match="both must lie in one folder"):
        celeb_glow.find(folder / "celeb_glow_random_train_labels.npz")


@pytest.mark.parametrize(
    ("kind", "array", "message"),
    [
        ("images", np.zeros((15, 64, 64, 3), np.uint8), r"CelebGlow is uint8 \(n, 3, 64, 64\)"),
        ("images", np.zeros((15, 3, 64, 64), np.float32), "'arr_0' is float32"),
        ("labels", np.zeros((14, 4), np.int64), "one row of person, smile, blond, age for each image"),
        ("labels", np.full((15, 4), 9), "class 9 for factor 'person'"),
    ],
)
def test_wrong_contents_are_refused(split, kind: str, array: np.ndarray, message: str) -> None:
    folder, _ = split
    np.savez(folder / f"celeb_glow_random_train_{kind}.npz", array)
    with pytest.raises(UnknotError, match=message):
        celeb_glow.read(celeb_glow.find(folder), space=SMALL)
