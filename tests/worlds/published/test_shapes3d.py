import pickle
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from unknot.errors import UnknotError, UnknotWarning
from unknot.factors import FactorSpace, space
from unknot.worlds import World
from unknot.worlds.published import shapes3d

SMALL = space({"floor_hue": 2, "wall_hue": 2, "object_hue": 3, "size": 2, "shape": 2, "azimuth": 3})


def write(
    path: Path, *, order: np.ndarray | None = None, chunk: int = 1, grid: FactorSpace = SMALL, **change: np.ndarray
) -> np.ndarray:
    """A file in the published format: images, and labels as physical values."""
    order = np.arange(grid.size) if order is None else order
    values = grid.classes(order) * [0.1, 0.1, 0.1, 1 / 14, 1, 30] + [0, 0, 0, 0.75, 0, -30]
    images = np.random.default_rng(0).integers(0, 256, (grid.size, 64, 64, 3), dtype=np.uint8)
    arrays = {"images": images, "labels": values} | change
    with h5py.File(path, "w") as file:
        data = arrays["images"]
        file.create_dataset("images", data=data, compression="gzip", chunks=(chunk, *data.shape[1:]))
        file["labels"] = arrays["labels"]
    return images


def test_labels_become_classes_by_rank_and_images_come_in_any_order(tmp_path: Path) -> None:
    images = write(tmp_path / "3dshapes.h5")
    world = shapes3d.read(tmp_path / "3dshapes.h5", space=SMALL)
    assert isinstance(world, World) and world.name == "Shapes3D" and world.rows is None
    rows = np.array([100, 3, 3, 0, 143, 100])
    np.testing.assert_array_equal(world.images(SMALL.classes(rows)), images[rows])


def test_a_shuffled_file_is_looked_up_by_its_labels(tmp_path: Path) -> None:
    order = np.random.default_rng(1).permutation(SMALL.size)
    images = write(tmp_path / "3dshapes.h5", order=order)
    world = shapes3d.read(tmp_path / "3dshapes.h5", space=SMALL)
    np.testing.assert_array_equal(world.images(SMALL.classes(order)), images)


def test_an_unpacked_copy_gives_the_same_images_and_is_used_from_then_on(tmp_path: Path) -> None:
    images = write(tmp_path / "3dshapes.h5", chunk=100)
    with pytest.warns(UnknotWarning, match="100 images are compressed together"):
        shapes3d.read(tmp_path / "3dshapes.h5", space=SMALL)
    for unpack in (True, False):
        world = shapes3d.read(tmp_path / "3dshapes.h5", space=SMALL, unpack=unpack)
        assert isinstance(world.pictures, np.memmap)
        np.testing.assert_array_equal(world.images(SMALL.classes([7, 5])), images[[7, 5]])


def test_an_open_world_travels_to_another_process(tmp_path: Path) -> None:
    images = write(tmp_path / "3dshapes.h5")
    world = shapes3d.read(tmp_path / "3dshapes.h5", space=SMALL)
    world.images(SMALL.classes([0]))  # opens the file
    copy = pickle.loads(pickle.dumps(world))
    np.testing.assert_array_equal(copy.images(SMALL.classes([9])), images[[9]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"images": np.zeros((144, 32, 32, 3), np.uint8)}, r"shape \(144, 32, 32, 3\)"),
        ({"images": np.zeros((144, 64, 64, 3), np.float32)}, "'images' is float32"),
        ({"labels": np.zeros((144, 5))}, "'labels' has shape"),
        ({"labels": np.zeros((144, 6))}, r"\(1, 1, 1, 1, 1, 1\) distinct values"),
    ],
)
def test_wrong_contents_are_refused(tmp_path: Path, change, message: str) -> None:
    write(tmp_path / "3dshapes.h5", **change)
    with pytest.raises(UnknotError, match=message):
        shapes3d.read(tmp_path / "3dshapes.h5", space=SMALL)


def test_a_missing_array_names_those_there_are(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "3dshapes.h5", "w") as file:
        file["pictures"] = np.zeros(3)
    with pytest.raises(UnknotError, match="no array 'images'; it holds pictures"):
        shapes3d.read(tmp_path / "3dshapes.h5")


def test_a_file_cut_short_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "3dshapes.h5")
    data = (tmp_path / "3dshapes.h5").read_bytes()
    (tmp_path / "3dshapes.h5").write_bytes(data[:5000])
    with pytest.raises(UnknotError, match="cut short or damaged"):
        shapes3d.read(tmp_path / "3dshapes.h5")


def test_without_h5py_the_extra_is_named(tmp_path: Path, monkeypatch) -> None:
    write(tmp_path / "3dshapes.h5")
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(UnknotError, match=r"needs h5py, which is not installed; .*unknot\[files\]"):
        shapes3d.read(tmp_path / "3dshapes.h5", space=SMALL)


def test_the_published_grid_moves_the_shape_by_fifteen() -> None:
    np.testing.assert_array_equal(shapes3d.SPACE.classes([15]), [[0, 0, 0, 0, 1, 0]])
