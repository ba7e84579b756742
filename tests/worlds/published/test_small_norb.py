import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from unknot.errors import UnknotError
from unknot.factors import space
from unknot.worlds import World
from unknot.worlds.published import _norb_matrix, small_norb

SMALL = space(
    {"category": 2, "instance": 4, "elevation": 2, "azimuth": 3, "lighting": 2},
    categorical=["category", "instance"],
)
MAGIC = {
    "uint8": 0x1E3D4C55,
    "int32": 0x1E3D4C54,
    "float32": 0x1E3D4C51,
    "float64": 0x1E3D4C53,
    "int16": 0x1E3D4C56,
}


def encode(matrix: np.ndarray) -> bytes:
    dims = list(matrix.shape) + [1] * (3 - matrix.ndim)
    return struct.pack(f"<ii{len(dims)}i", MAGIC[matrix.dtype.name], matrix.ndim, *dims) + matrix.tobytes()


def picture(index: int) -> np.ndarray:
    return np.random.default_rng(index).integers(0, 256, (96, 96), dtype=np.uint8)


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Training with instances 0 and 2, testing with 1 and 3, each shuffled, as dat, cat and info."""
    rng = np.random.default_rng(0)
    classes = SMALL.classes(np.arange(SMALL.size))
    paths = []
    for part, instances in (("training", (0, 2)), ("testing", (1, 3))):
        rows = rng.permutation(np.flatnonzero(np.isin(classes[:, 1], instances)))
        pairs = np.stack([np.stack([picture(i), np.zeros((96, 96), np.uint8)]) for i in rows])
        info = classes[rows, 1:] * [1, 1, 2, 1]
        matrices = (pairs, classes[rows, 0].astype(np.int32), info.astype(np.int32))
        for kind, matrix in zip(("dat", "cat", "info"), matrices, strict=True):
            paths.append(tmp_path / f"smallnorb-{part}-{kind}.mat.gz")
            paths[-1].write_bytes(gzip.compress(encode(matrix)))
    return paths


def shrunk(index: int) -> np.ndarray:
    return np.asarray(Image.fromarray(picture(index)).resize((64, 64), Image.Resampling.LANCZOS))


def test_shuffled_files_are_sorted_into_the_grid(files: list[Path]) -> None:
    world = small_norb.read(files, instance=True, space=SMALL)
    assert isinstance(world, World) and world.rows is None and not world.stochastic
    images = world.images(SMALL.classes(np.arange(SMALL.size)))
    assert images.shape == (96, 64, 64, 1)
    for index in range(SMALL.size):
        np.testing.assert_array_equal(images[index, ..., 0], shrunk(index))


def test_the_instance_is_drawn_uniformly(files: list[Path]) -> None:
    world = small_norb.read(files, space=SMALL)
    assert isinstance(world, World) and world.stochastic and world.name == "SmallNORB"
    assert world.factors.names == ("category", "elevation", "azimuth", "lighting")
    images = world.images([[1, 0, 2, 1]] * 2000, rng=np.random.default_rng(0))
    counts = [
        (images[..., 0] == shrunk(SMALL.indices([[1, instance, 0, 2, 1]])[0])).all(axis=(1, 2)).sum()
        for instance in range(4)
    ]
    assert sum(counts) == 2000 and min(counts) > 400


def test_without_a_generator_it_asks_for_one(files: list[Path]) -> None:
    with pytest.raises(UnknotError, match="pass rng="):
        small_norb.read(files, space=SMALL).images([[0, 0, 0, 0]])


def test_the_conversion_is_kept(files: list[Path], monkeypatch) -> None:
    small_norb.read(files, space=SMALL)
    monkeypatch.setattr(small_norb, "shrunk", lambda *_: pytest.fail("converted again"))
    small_norb.read(files, space=SMALL)


@pytest.mark.parametrize("dtype", list(MAGIC))
@pytest.mark.parametrize("shape", [(5,), (5, 4), (2, 3, 4), (2, 2, 3, 3)])
def test_matrices_of_every_type_and_rank_are_read(tmp_path: Path, dtype: str, shape: tuple[int, ...]) -> None:
    matrix = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    (tmp_path / "m.gz").write_bytes(gzip.compress(encode(matrix)))
    read = _norb_matrix.read(tmp_path / "m.gz")
    assert read.dtype == matrix.dtype
    np.testing.assert_array_equal(read, matrix)


def test_an_incomplete_grid_is_refused_and_leaves_nothing_behind(files: list[Path]) -> None:
    with pytest.raises(UnknotError, match="48 of the 96 combinations"):
        small_norb.read(files[:3], space=SMALL)
    assert len(list(files[0].parent.iterdir())) == 6


def test_files_that_do_not_belong_together_are_refused(files: list[Path]) -> None:
    with pytest.raises(UnknotError, match="one for each category"):
        files[0].write_bytes(gzip.compress(encode(np.zeros((3, 2, 96, 96), np.uint8))))
        small_norb.read(files, space=SMALL)
    with pytest.raises(UnknotError, match="5 files; expected dat, cat and info"):
        small_norb.read(files[:5], space=SMALL)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "does not begin as a NORB matrix"),
        (b"not gzip at all", "cut short or damaged"),
        (gzip.compress(b"12345678"), "does not begin as a NORB matrix"),
        (gzip.compress(encode(np.zeros((9, 4), np.int32))[:-1]), "the data end in row 0 of 9"),
        (gzip.compress(encode(np.zeros((9, 4), np.int32)))[:-1], "cut short or damaged"),
        (gzip.compress(encode(np.zeros((9, 4), np.int32)) + b"x"), "more data follow the 9 rows"),
        (gzip.compress(struct.pack("<5i", 0x1E3D4C54, 2, -1, 4, 1)), "numbers above 0"),
    ],
    ids=[
        "empty",
        "not gzip",
        "no header",
        "cut data",
        "cut gzip",
        "more data",
        "negative size",
    ],  # gzip holds the time
)
def test_broken_matrices_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "m.gz").write_bytes(content)
    with pytest.raises(UnknotError, match=message):
        _norb_matrix.read(tmp_path / "m.gz")


def test_the_published_names_and_grid() -> None:
    assert small_norb.FULL_SPACE.size == 48_600 and small_norb.SPACE.size == 4_860
    assert [file.name.rpartition("-")[2] for file in small_norb.FILES] == [
        "dat.mat.gz",
        "cat.mat.gz",
        "info.mat.gz",
    ] * 2


def test_a_matrix_that_claims_terabytes_is_refused_before_they_are_made(tmp_path: Path) -> None:
    path = tmp_path / "large.mat.gz"
    path.write_bytes(gzip.compress(struct.pack("<iiiii", MAGIC["uint8"], 3, 2**30, 2**30, 2**30)))
    with pytest.raises(UnknotError, match=r"large\.mat\.gz: would take .* TB of memory"):
        _norb_matrix.read(path)
    with pytest.raises(UnknotError, match=r"large\.mat\.gz: would take .* TB of memory"):
        next(_norb_matrix.blocks(path, 100))
