import gzip
import hashlib
import struct
import sys
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.factors import space
from unknot.worlds import WORLDS
from unknot.worlds.entry import PublishedFile
from unknot.worlds.published.check import Checked, check
from unknot.worlds.published.forms import HDF5, NPZ, Form
from unknot.worlds.published.small_norb import FILES as NORB
from unknot.worlds.splits.split import split

GRID = space({"shape": 3, "x": 4}, categorical=["shape"])
LABELS = np.insert(GRID.classes(np.arange(12)), 0, 0, axis=1)
SPRITES = np.zeros((12, 64, 64), np.uint8)
SPRITES[:, :16] = 1  # a quarter is white


def sprites(path: Path) -> dict[str, list[PublishedFile]]:
    """dSprites of a smaller grid, with the checksum of the file as it is now."""
    container, labels = (NPZ, "latents_classes") if path.suffix == ".npz" else (HDF5, "latents/classes")
    arrays = {"imgs": ((12, 64, 64), "uint8"), labels: ((12, 3), "int")}
    form = Form(container, arrays, "imgs", (0.25,), 1, 1e-9, labels, GRID)
    md5 = hashlib.md5(path.read_bytes()).hexdigest()
    return {"dsprites": [PublishedFile(path.name, size=path.stat().st_size, md5=md5, form=form)]}


def write(path: Path, imgs: np.ndarray = SPRITES, labels: np.ndarray = LABELS) -> Path:
    if path.suffix == ".npz":
        np.savez_compressed(path, imgs=imgs, latents_classes=labels)
    else:
        with h5py.File(path, "w") as file:
            file["imgs"], file["latents/classes"] = imgs, labels
    return path


def failed(checked: Checked) -> list[str]:
    return [one.what for one in checked.checks if not one.passed]


@pytest.mark.parametrize("suffix", [".npz", ".hdf5"])
def test_the_published_file_passes_every_check(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"d{suffix}")
    seen: list[str] = []
    checked = check(path, files=sprites(path), progress=lambda stage, done, total: seen.append(stage))
    assert checked.passed and checked.verified and checked.world == "dsprites"
    assert [one.what for one in checked.checks][2:] == ["labels count the grid", "mean colour", "bytes", "md5"]
    assert {what.split()[0] for what in seen} == {"mean", "checksum"}


def test_quick_leaves_out_what_needs_every_byte(tmp_path: Path) -> None:
    path = write(tmp_path / "d.npz")
    checked = check(path, quick=True, files=sprites(path))
    assert [one.what for one in checked.checks][2:] == ["labels count the grid"]
    assert checked.passed and not checked.verified


def test_a_file_is_known_by_its_arrays_under_any_name(tmp_path: Path) -> None:
    path = write(tmp_path / "d.npz")
    files = sprites(path)
    assert check(path.rename(tmp_path / "renamed.npz"), files=files).passed


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"imgs": SPRITES[:11]}, ["array 'imgs'"]),
        ({"imgs": SPRITES.astype(np.int32)}, ["array 'imgs'"]),
        ({"imgs": 1 - SPRITES}, ["mean colour"]),
        ({"labels": LABELS[::-1]}, ["labels count the grid"]),
        ({"labels": LABELS * 1.0}, ["array 'latents_classes'"]),
    ],
)
def test_what_differs_fails_and_the_rest_passes(tmp_path: Path, change, expected: list[str]) -> None:
    path = write(tmp_path / "d.npz")
    files = sprites(path)
    write(path, **change)
    assert [what for what in failed(check(path, files=files)) if what not in ("bytes", "md5")] == expected
    assert "md5" in failed(check(path, files=files))


@pytest.mark.parametrize("suffix", [".npz", ".hdf5"])
def test_a_file_cut_short_fails_but_is_known_by_its_name(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"d{suffix}")
    files = sprites(path)
    path.write_bytes(path.read_bytes()[:300])
    assert failed(check(path, files=files)) == ["can be read", "bytes", "md5"]


def test_files_with_the_same_arrays_are_told_apart_by_their_mean(tmp_path: Path) -> None:
    np.savez(tmp_path / "renamed.npz", images=np.full((5, 64, 64, 3), 51, np.uint8))
    arrays = {"images": ((5, 64, 64, 3), "uint8")}
    family = {
        world: [PublishedFile(f"{world}.npz", form=Form(NPZ, arrays, "images", (mean,) * 3))]
        for world, mean in (("toy", 0.5), ("real", 0.2), ("realistic", 0.9))
    }
    assert check(tmp_path / "renamed.npz", files=family).world == "real"
    with pytest.raises(UnknotError, match="may be any of toy, real, realistic"):
        check(tmp_path / "renamed.npz", quick=True, files=family)


def test_a_missing_package_is_no_flaw_of_the_file(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "3dshapes.h5").touch()
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(UnknotError, match=r"needs h5py, which is not installed; .*unknot\[files\]"):
        check(tmp_path / "3dshapes.h5")


def test_norb_matrices_are_checked_after_shrinking(tmp_path: Path) -> None:
    path = tmp_path / "dat.mat.gz"
    pairs = np.stack([np.full((4, 96, 96), 102, np.uint8), np.zeros((4, 96, 96), np.uint8)], axis=1)
    path.write_bytes(gzip.compress(struct.pack("<6i", 0x1E3D4C55, 4, *pairs.shape) + pairs.tobytes()))
    arrays = {"matrix": ((4, 2, 96, 96), "uint8")}

    def norb(mean: float) -> dict[str, list[PublishedFile]]:
        form = replace(NORB[0].form, arrays=arrays, means=(mean,))
        return {"small_norb": [PublishedFile(path.name, form=form)]}

    assert check(path, files=norb(0.4)).passed
    assert failed(check(path, files=norb(0.39))) == ["mean colour"]


def test_unknown_and_missing_files_are_errors(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", images=np.zeros((3, 64, 64, 3), np.uint8))
    (tmp_path / "notes.txt").write_text("hello")
    for name in ("other.npz", "notes.txt"):
        with pytest.raises(UnknotError, match="is no published file that is known"):
            check(tmp_path / name)
    with pytest.raises(UnknotError, match="no such file"):
        check(tmp_path / "none")


@pytest.mark.parametrize(
    ("name", "array", "expected"),
    [
        ("celeb_glow_composition_train_labels.npz", np.zeros((91_000, 4), np.int64), []),
        ("celeb_glow_random_test_labels.npz", np.zeros((91_000, 4), np.int64), ["array 'arr_0'"]),
        ("dsprites_extrapolation_train_labels.npz", np.full((240_000, 5), 5), ["labels lie in the grid"]),
        ("mpi3d_interpolation_test_labels.npz", np.ones((725_760, 7), np.int8), []),
    ],
)
def test_split_files_are_checked_for_their_rows_and_classes(
    tmp_path: Path, name: str, array: np.ndarray, expected: list[str]
) -> None:
    np.savez_compressed(tmp_path / name, array)
    assert failed(check(tmp_path / name)) == expected


@pytest.mark.parametrize("world", ["dsprites", "shapes3d", "mpi3d_real", "celeb_glow"])
def test_rows_of_the_split_files_are_those_of_the_published_rule(world: str) -> None:
    entry = WORLDS[world]
    assert len(entry.split_files) == 16
    for kind in ("random", "composition", "interpolation", "extrapolation"):
        parts = split(entry.factors, kind, rule=entry.conventions.rule)
        for part, n in (("train", parts.n_train), ("test", parts.n_test)):
            files = [file for file in entry.split_files if f"_{kind}_{part}_" in file.name]
            assert [file.form.arrays["arr_0"][0][0] for file in files] == [n, n]
