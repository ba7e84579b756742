import os
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np
import pytest

from unknot.errors import UnknotError, UnknotWarning
from unknot.factors import Factor, FactorSpace
from unknot.worlds import World
from unknot.worlds.published import dsprites

SMALL = FactorSpace(
    (
        Factor("shape", 3, "categorical"),
        Factor("scale", 2),
        Factor("orientation", 11, "circular"),
        Factor("x", 2),
        Factor("y", 3),
    )
)


def contents(space: FactorSpace = SMALL) -> dict[str, np.ndarray]:
    """The arrays of the published file, for a smaller grid, the pickled metadata among them."""
    classes = np.insert(space.classes(np.arange(space.size)), 0, 0, axis=1)
    images = np.random.default_rng(0).integers(0, 2, (space.size, 64, 64), dtype=np.uint8)
    metadata = np.array({"author": "somebody"}, dtype=object)
    return {"imgs": images, "latents_values": classes * 0.5, "latents_classes": classes, "metadata": metadata}


def write(path: Path, arrays: dict[str, np.ndarray]) -> Path:
    if path.suffix == ".npz":
        np.savez_compressed(path, **arrays)
        return path
    with h5py.File(path, "w") as file:
        file.create_dataset("imgs", data=arrays["imgs"], compression="gzip", chunks=(50, 2, 4))
        file["latents/classes"] = arrays["latents_classes"]
        file["latents/values"] = arrays["latents_values"]
    return path


@pytest.mark.parametrize("suffix", [".npz", ".hdf5"])
def test_both_published_formats_give_the_images_in_black_and_white(tmp_path: Path, suffix: str) -> None:
    arrays = contents()
    world = dsprites.read(write(tmp_path / f"d{suffix}", arrays), space=SMALL)
    assert isinstance(world, World)
    assert world.name == "dSprites" and world.image_shape == (64, 64, 1) and world.rows is None
    rows = np.random.default_rng(1).integers(0, SMALL.size, 100)
    np.testing.assert_array_equal(world.images(SMALL.classes(rows))[..., 0], arrays["imgs"][rows] * 255)


def test_the_pixels_are_kept_in_bits_and_found_again(tmp_path: Path, monkeypatch) -> None:
    path = write(tmp_path / "d.npz", contents())
    first = dsprites.read(path, space=SMALL)
    assert np.load(tmp_path / "d.npz.packed.npy").shape == (SMALL.size, 512)
    monkeypatch.setattr(dsprites, "check_labels", lambda *_: pytest.fail("converted again"))
    again = dsprites.read(path, space=SMALL)
    np.testing.assert_array_equal(again.images([[2, 1, 10, 1, 2]]), first.images([[2, 1, 10, 1, 2]]))


def test_a_replaced_file_is_converted_again(tmp_path: Path) -> None:
    arrays = contents()
    path = write(tmp_path / "d.npz", arrays)
    dsprites.read(path, space=SMALL)
    write(path, arrays | {"imgs": 1 - arrays["imgs"]})
    os.utime(path, ns=(0, 0))  # even by an older one
    world = dsprites.read(path, space=SMALL)
    np.testing.assert_array_equal(world.images([[0] * 5])[0, ..., 0], (1 - arrays["imgs"][0]) * 255)


def test_in_a_folder_that_cannot_be_written_to_it_is_converted_in_memory(tmp_path: Path, monkeypatch) -> None:
    arrays = contents()
    path = write(tmp_path / "d.npz", arrays)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "touch", refuse)
    with pytest.warns(UnknotWarning, match="converted in memory"):
        world = dsprites.read(path, space=SMALL)
    np.testing.assert_array_equal(world.images([[0] * 5])[0, ..., 0], arrays["imgs"][0] * 255)
    assert [p.name for p in tmp_path.iterdir()] == ["d.npz"]


def test_a_full_disk_is_told_before_anything_is_written(tmp_path: Path, monkeypatch) -> None:
    path = write(tmp_path / "d.npz", contents())
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1000))
    with pytest.raises(UnknotError, match="needs 202,752 bytes, but only 1,000 are free; make room"):
        dsprites.read(path, space=SMALL)
    assert [p.name for p in tmp_path.iterdir()] == ["d.npz"]


def test_an_interrupted_conversion_leaves_nothing_behind(tmp_path: Path, monkeypatch) -> None:
    path = write(tmp_path / "d.npz", contents())

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(dsprites, "check_images", interrupt)
    with pytest.raises(KeyboardInterrupt):
        dsprites.read(path, space=SMALL)
    assert [p.name for p in tmp_path.iterdir()] == ["d.npz"]


def test_a_quarter_turn_keeps_the_images_of_the_first_ten_orientations(tmp_path: Path) -> None:
    kept = SMALL.first("orientation", 10)
    whole = dsprites.read(write(tmp_path / "d.npz", contents()), space=SMALL)
    part = dsprites.quarter(whole)
    classes = kept.classes(np.arange(kept.size))
    assert part.name == "dSprites [0,90)" and part.factors == kept and part.key == whole.key == ""
    np.testing.assert_array_equal(part.images(classes), whole.images(classes))


def _swapped(labels: np.ndarray) -> np.ndarray:
    return labels[:, [0, 2, 1, 3, 4, 5]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: {"latents_classes": _swapped(a["latents_classes"])}, "in the order of dSprites it would be"),
        (lambda a: {"latents_classes": a["latents_classes"][:, 1:]}, "the classes have shape"),
        (
            lambda a: {"latents_classes": a["latents_classes"] + [1, 0, 0, 0, 0, 0]},
            "This is not the published file",
        ),
        (lambda a: {"imgs": a["imgs"] * 255}, "has the value 255; pixels of dSprites are 0 or 1"),
        (lambda a: {"imgs": a["imgs"][:, :32]}, r"images of shape \(32, 64\)"),
        (lambda a: {"imgs": a["imgs"].astype(np.float32)}, "'imgs' is float32"),
        (lambda a: {"imgs": a["imgs"][:-1]}, "'imgs' has 395 images; dSprites has 396"),
        (lambda a: {"imgs": a["metadata"]}, "'imgs' is a pickled array"),
    ],
)
def test_wrong_contents_are_refused_and_leave_nothing_behind(tmp_path: Path, change, message: str) -> None:
    arrays = contents()
    path = write(tmp_path / "d.npz", arrays | change(arrays))
    with pytest.raises(UnknotError, match=message):
        dsprites.read(path, space=SMALL)
    assert [p.name for p in tmp_path.iterdir()] == ["d.npz"]


def test_more_images_than_the_grid_has_are_refused(tmp_path: Path) -> None:
    arrays = contents()
    arrays["imgs"] = np.concatenate([arrays["imgs"], arrays["imgs"][:1]])
    with pytest.raises(UnknotError, match="'imgs' has more images than 'classes' has rows"):
        dsprites.read(write(tmp_path / "d.npz", arrays), space=SMALL)


@pytest.mark.parametrize("suffix", [".npz", ".hdf5"])
def test_a_file_cut_short_is_refused_and_leaves_nothing_behind(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"d{suffix}", contents())
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(UnknotError, match="cut short or damaged"):
        dsprites.read(path, space=SMALL)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_the_published_grid_has_the_indices_of_its_readme() -> None:
    assert dsprites.SPACE.indices([[2, 5, 39, 31, 31], [0, 0, 0, 1, 0]]).tolist() == [737_279, 32]
