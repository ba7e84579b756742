from pathlib import Path

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.factors import space
from unknot.worlds import World
from unknot.worlds.published import mpi3d

SMALL = space({"color": 3, "shape": 2, "horizontal": 4, "vertical": 4}, categorical=["color", "shape"])
SMALLER = space({"color": 2, "shape": 2, "horizontal": 4, "vertical": 4}, categorical=["color", "shape"])


def images(n: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (n, 64, 64, 3), dtype=np.uint8)


def header_only(path: Path, n: int) -> Path:
    """A stored npz whose header promises n images; a hole in the file stands for them, so it takes no disk space."""
    import zipfile

    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive, archive.open("images.npy", "w") as stream:
        form = {"descr": "|u1", "fortran_order": False, "shape": (n, 64, 64, 3)}
        np.lib.format.write_array_header_1_0(stream, form)
    return path


def test_the_file_is_mapped_in_place_and_read_by_position(tmp_path: Path) -> None:
    stack = images(96)
    np.savez(tmp_path / "m.npz", images=stack)
    world = mpi3d.read(tmp_path / "m.npz", "mpi3d_toy", spaces=(SMALL,))
    assert isinstance(world, World) and isinstance(world.pictures, np.memmap)
    assert world.name == "MPI3D toy" and world.image_shape == (64, 64, 3) and world.rows is None
    np.testing.assert_array_equal(world.images(SMALL.classes([95, 0, 17])), stack[[95, 0, 17]])
    assert [p.name for p in tmp_path.iterdir()] == ["m.npz"]


def test_a_compressed_file_is_inflated_beside_once(tmp_path: Path) -> None:
    stack = images(96)
    np.savez_compressed(tmp_path / "m.npz", images=stack)
    for _ in range(2):
        world = mpi3d.read(tmp_path / "m.npz", "mpi3d_toy", spaces=(SMALL,))
        assert isinstance(world.pictures, np.memmap)
        np.testing.assert_array_equal(world.images(SMALL.classes([5])), stack[[5]])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.npz", "m.npz.images.npy"]


def test_the_number_of_images_chooses_the_space(tmp_path: Path) -> None:
    np.savez(tmp_path / "m.npz", images=images(64))
    world = mpi3d.read(tmp_path / "m.npz", "mpi3d_toy", spaces=(SMALL, SMALLER))
    assert world.factors is SMALLER and world.key == ""


@pytest.mark.parametrize(
    ("n", "key", "message"),
    [
        (103_680, "mpi3d_toy", "has 103,680 images; MPI3D toy has 1,036,800 or 460,800"),
        (460_800, "mpi3d_real", "open it as 'mpi3d_real_complex'"),
        (1_036_800, "mpi3d_real_complex", "the toy, realistic or real file"),
        (1_036_800, "mpi3d", "unknown file of MPI3D 'mpi3d'"),
    ],
)
def test_other_numbers_of_images_are_refused(tmp_path: Path, n: int, key: str, message: str) -> None:
    with pytest.raises(UnknotError, match=message):
        mpi3d.read(header_only(tmp_path / "m.npz", n), key)


def test_a_file_shorter_than_its_header_promises_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknotError, match="cut short or damaged"):
        mpi3d.read(header_only(tmp_path / "m.npz", 1_036_800), "mpi3d_toy")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"imgs": images(2)}, "no array 'images'; it holds imgs"),
        ({"images": images(2)[:, :32]}, r"shape \(2, 32, 64, 3\)"),
        ({"images": images(2) / 255}, "'images' is float64"),
    ],
)
def test_wrong_contents_are_refused(tmp_path: Path, arrays, message: str) -> None:
    np.savez(tmp_path / "m.npz", **arrays)
    with pytest.raises(UnknotError, match=message):
        mpi3d.read(tmp_path / "m.npz", "mpi3d_toy")


def test_the_challenge_subset_says_so_and_names_no_classes() -> None:
    assert mpi3d.CHALLENGE_SPACE.size == mpi3d.COMPLEX_SPACE.size == 460_800
    assert mpi3d.CHALLENGE_SPACE["shape"].values == ()


def test_the_published_grid_moves_the_horizontal_axis_by_forty() -> None:
    np.testing.assert_array_equal(mpi3d.SPACE.classes([40]), [[0, 0, 0, 0, 0, 1, 0]])
