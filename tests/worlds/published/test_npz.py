import zipfile
from pathlib import Path

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.worlds.published import npz


@pytest.fixture
def arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {"images": rng.integers(0, 256, (50, 4, 5), dtype=np.uint8), "labels": np.arange(100).reshape(50, 2)}


def test_stored_members_are_memory_mapped_with_the_right_bytes(tmp_path: Path, arrays) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    for key, array in arrays.items():
        read = npz.read(tmp_path / "a.npz", key)
        assert isinstance(read, np.memmap)
        np.testing.assert_array_equal(read, array)


def test_a_fortran_ordered_member_is_mapped_in_its_own_order(tmp_path: Path) -> None:
    array = np.asfortranarray(np.arange(24).reshape(2, 3, 4))
    np.savez(tmp_path / "a.npz", a=array)
    np.testing.assert_array_equal(npz.read(tmp_path / "a.npz", "a"), array)
    with pytest.raises(UnknotError, match="column by column"):
        list(npz.blocks(tmp_path / "a.npz", "a", 1))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_compressed_and_stored_members_stream_in_blocks(tmp_path: Path, arrays, save) -> None:
    save(tmp_path / "a.npz", **arrays)
    blocks = list(npz.blocks(tmp_path / "a.npz", "images", 16))
    assert [len(block) for block in blocks] == [16, 16, 16, 2]
    np.testing.assert_array_equal(np.concatenate(blocks), arrays["images"])


def test_compressed_members_are_loaded_and_have_no_offset(tmp_path: Path, arrays) -> None:
    np.savez_compressed(tmp_path / "a.npz", **arrays)
    assert npz.members(tmp_path / "a.npz")["images"].offset is None
    np.testing.assert_array_equal(npz.read(tmp_path / "a.npz", "images"), arrays["images"])


def test_scalars_and_empty_arrays_are_read_though_they_cannot_be_mapped(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", scalar=np.float64(3), empty=np.zeros((0, 3)))
    assert npz.read(tmp_path / "a.npz", "scalar") == 3
    assert npz.read(tmp_path / "a.npz", "empty").shape == (0, 3)


def test_pickled_members_are_refused_but_do_not_hide_their_neighbours(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", metadata=np.array({"a": 1}, dtype=object), plain=np.arange(3))
    assert npz.members(tmp_path / "a.npz")["metadata"].pickled
    np.testing.assert_array_equal(npz.read(tmp_path / "a.npz", "plain"), np.arange(3))
    with pytest.raises(UnknotError, match="'metadata' is a pickled array"):
        npz.read(tmp_path / "a.npz", "metadata")


def test_a_missing_key_names_those_there_are(tmp_path: Path, arrays) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(UnknotError, match="no array 'imgs'; it holds images, labels"):
        npz.read(tmp_path / "a.npz", "imgs")


@pytest.mark.parametrize("keep", [0, 10, 500, 1000])
def test_truncated_archives_are_refused(tmp_path: Path, arrays, keep: int) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    (tmp_path / "a.npz").write_bytes((tmp_path / "a.npz").read_bytes()[:keep])
    with pytest.raises(UnknotError, match="cut short or damaged"):
        npz.read(tmp_path / "a.npz", "images")


def test_damaged_compressed_bytes_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez_compressed(path, a=np.random.default_rng(0).integers(0, 255, 100_000, dtype=np.uint8))
    data = bytearray(path.read_bytes())
    data[50_000:50_100] = bytes(100)
    path.write_bytes(data)
    with pytest.raises(UnknotError, match="cut short or damaged"):
        list(npz.blocks(path, "a", 1000))


def test_a_zip_of_something_else_says_so(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("images.npy", b"not an array")
    with pytest.raises(UnknotError, match="'images' is not a numpy array"):
        npz.members(tmp_path / "a.npz")


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(UnknotError, match="no such file"):
        npz.members(tmp_path / "a.npz")
