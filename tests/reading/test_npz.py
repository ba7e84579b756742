import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.reading import npz
from unknot.reading.guard import allowing


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
    with pytest.raises(UnknotError, match="cannot be read as the array 'images'"):
        npz.members(tmp_path / "a.npz")


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(UnknotError, match="no such file"):
        npz.members(tmp_path / "a.npz")


def lying(path: Path, shape: tuple[int, ...], *, compressed: bool) -> Path:
    """An archive whose array is said to be larger than it is."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": shape})
    kind = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with zipfile.ZipFile(path, "w", kind) as archive:
        archive.writestr("latents.npy", head.getvalue() + bytes(80))
    return path


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("shape", [(10**12, 3), (-1, 3), (11, 1)])
def test_a_header_that_lies_about_its_size_is_not_believed(
    tmp_path: Path, shape: tuple[int, ...], compressed: bool
) -> None:
    path = lying(tmp_path / "a.npz", shape, compressed=compressed)
    for read in (lambda: npz.read(path, "latents"), lambda: npz.load(path, ["latents"])):
        with pytest.raises(UnknotError, match=r"a\.npz: 'latents' is said to have shape .* only 80 bytes"):
            read()


def test_an_archive_that_unfolds_beyond_the_limit_is_refused_before_it_does(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", latents=np.zeros((1000, 10)))
    with allowing("10 KB"), pytest.raises(UnknotError, match=r"a\.npz: would take 80\.0 KB of memory"):
        npz.load(tmp_path / "a.npz", ["latents"])
    with allowing("10 KB"), pytest.raises(UnknotError, match=r"a\.npz: would take 80\.0 KB of memory"):
        npz.read(tmp_path / "a.npz", "latents")
    assert npz.load(tmp_path / "a.npz", ["latents"])["latents"].shape == (1000, 10)


@pytest.mark.parametrize("at", [(8, 1), (10, 99)])
def test_encrypted_members_and_unknown_compressions_are_said_of_the_file(
    tmp_path: Path, at: tuple[int, int]
) -> None:
    np.savez(tmp_path / "a.npz", latents=np.zeros((10, 2)))
    content = bytearray((tmp_path / "a.npz").read_bytes())
    content[content.index(b"PK\x01\x02") + at[0]] = at[1]
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(UnknotError, match=r"a\.npz: cannot be read as an \.npz archive"):
        npz.load(tmp_path / "a.npz", ["latents"])


@pytest.mark.parametrize(
    "head", ["(" * 3000, "{", "{'descr': '<f8'}", "{'descr': 5, 'shape': (), 'fortran_order': 1}"]
)
def test_a_damaged_head_of_an_array_is_said_of_the_file(tmp_path: Path, head: str) -> None:
    text = (head + "\n").encode()
    (tmp_path / "a.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(80))
    with pytest.raises(UnknotError, match=r"a\.npy: cannot be read as the array 'a'"):
        npz.read_npy(tmp_path / "a.npy")


def test_an_npy_larger_than_the_limit_is_mapped_but_not_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((1000, 10)))
    with allowing("10 KB"):
        assert npz.read_npy(tmp_path / "a.npy", mapped=True).shape == (1000, 10)
        with pytest.raises(UnknotError, match=r"would take 80\.0 KB"):
            npz.read_npy(tmp_path / "a.npy")
