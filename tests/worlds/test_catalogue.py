import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.worlds import WORLDS, World, open_world, sample
from unknot.worlds.published import dsprites
from unknot.worlds.published.files import cache_folder, data_folders, find_files

RENDERED = [name for name, entry in WORLDS.items() if not entry.files]
FROM_FILES = [name for name, entry in WORLDS.items() if entry.files]


@pytest.fixture(autouse=True)
def no_data(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("UNKNOT_DATA", raising=False)


@pytest.mark.parametrize("name", RENDERED)
def test_rendered_worlds_open_without_files_and_keep_what_the_catalogue_says(name: str) -> None:
    world, entry = open_world(name), WORLDS[name]
    assert isinstance(world, World)
    assert world.name == entry.title and "rendered" in name and "(rendered)" in world.name
    assert world.factors == entry.factors
    rng = np.random.default_rng(0)
    images = world.images(sample(world, 3, rng), rng=rng)
    assert images.shape == (3, *world.image_shape) and images.dtype == np.uint8


@pytest.mark.parametrize("name", FROM_FILES)
def test_a_missing_file_says_where_it_was_looked_for_and_what_to_do(name: str, tmp_path: Path) -> None:
    with pytest.raises(UnknotError) as error:
        open_world(name, data=tmp_path)
    text = str(error.value)
    assert str(tmp_path) in text and str(tmp_path / "cache" / "unknot") in text
    assert f"`unknot data download {name}`" in text
    stand_in = WORLDS[name].stand_in
    assert (f"the rendered stand-in '{stand_in}'" in text) == bool(stand_in)


@pytest.mark.parametrize("name", FROM_FILES)
def test_stand_ins_have_the_same_factors(name: str) -> None:
    entry = WORLDS[name]
    assert "rendered" not in entry.title
    if entry.stand_in:
        assert WORLDS[entry.stand_in].factors == entry.factors and not WORLDS[entry.stand_in].files


def test_folders_are_searched_in_order(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("UNKNOT_DATA", str(tmp_path / "b"))
    assert data_folders(tmp_path / "a") == (tmp_path / "a", tmp_path / "b", tmp_path / "cache" / "unknot")
    assert data_folders() == (tmp_path / "b", tmp_path / "cache" / "unknot")
    for folder in (tmp_path / "cache" / "unknot", tmp_path / "b", tmp_path / "a"):
        folder.mkdir(parents=True)
        (folder / dsprites.NPZ.name).touch()
        assert find_files(WORLDS["dsprites"], tmp_path / "a") == (folder / dsprites.NPZ.name,)


@pytest.mark.parametrize(
    ("platform", "expected"),
    [("linux", ".cache/unknot"), ("darwin", "Library/Caches/unknot"), ("win32", "unknot")],
)
def test_the_cache_folder_follows_the_platform(platform: str, expected: str, monkeypatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    monkeypatch.setattr(sys, "platform", platform)
    assert cache_folder().as_posix().endswith(expected)


def test_either_file_of_dsprites_serves_but_the_painting_is_needed_with_both(tmp_path: Path) -> None:
    (tmp_path / dsprites.HDF5.name).touch()
    assert find_files(WORLDS["dsprites"], tmp_path) == (tmp_path / dsprites.HDF5.name,)
    assert find_files(WORLDS["dsprites_scream"], tmp_path) == ()
    (tmp_path / "The_Scream.jpg").touch()
    assert [path.name for path in find_files(WORLDS["dsprites_scream"], tmp_path)] == [
        dsprites.HDF5.name,
        "The_Scream.jpg",
    ]


def test_a_file_named_as_data_is_taken_whatever_its_name(tmp_path: Path) -> None:
    (tmp_path / "mine.npz").touch()
    assert find_files(WORLDS["mpi3d_toy"], tmp_path / "mine.npz") == (tmp_path / "mine.npz",)


def test_a_published_name_given_as_a_path_opens_its_own_reader(tmp_path: Path) -> None:
    np.savez(tmp_path / "mpi3d_toy.npz", images=np.zeros((3, 64, 64, 3), np.uint8))
    with pytest.raises(UnknotError, match="has 3 images; MPI3D toy has 1,036,800 or 460,800"):
        open_world(tmp_path / "mpi3d_toy.npz")


def test_ones_own_arrays_open_by_path(tmp_path: Path) -> None:
    images = np.full((2, 8, 8), 200, np.uint8)
    np.savez(tmp_path / "mine.npz", images=images, factors=[[0], [1]])
    np.save(tmp_path / "mine.npy", images)
    assert open_world(tmp_path / "mine.npz").factors.names == ("factor_0",)
    assert open_world(str(tmp_path / "mine.npy")).factors.names == ("image",)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("dsprits", "unknown world 'dsprits'; did you mean 'dsprites'"),
        ("runs/scenes", "runs/scenes: there is no such file or folder"),
        ("nowhere/mine.npz", r"nowhere/mine\.npz: no such file"),
        ("notes.txt", "is no world; expected an .npz or .npy of images"),
    ],
)
def test_what_cannot_be_opened_is_told(name: str, message: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(UnknotError, match=message):
        open_world(name)


def test_a_data_folder_that_does_not_exist_is_told(tmp_path: Path) -> None:
    with pytest.raises(UnknotError, match=r"the data folder .*none does not exist"):
        open_world("dsprites", data=tmp_path / "none")


def test_the_catalogue_imports_no_heavy_package() -> None:
    heavy = "{'scipy', 'PIL', 'numba', 'h5py', 'pandas', 'torch', 'rich', 'matplotlib', 'sklearn'}"
    code = f"import sys, unknot.worlds; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
