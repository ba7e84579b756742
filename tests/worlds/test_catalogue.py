import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from unknot.errors import UnknotError
from unknot.factors import space
from unknot.files import cache_folder
from unknot.worlds import WORLDS, ArrayWorld, open_world
from unknot.worlds.catalogue import conventions, recorded_name
from unknot.worlds.entry import Conventions
from unknot.worlds.published import dsprites
from unknot.worlds.published.data_folders import data_folders, find_files
from unknot.worlds.rendered.dsprites_rendered import DSpritesRendered
from unknot.worlds.rendered.dsprites_variants import color_dsprites
from unknot.worlds.scenes.multi_sprites import MultiSprites
from unknot.worlds.scenes.scenes_rendered import ScenesRendered

FROM_FILES = [name for name, entry in WORLDS.items() if entry.files]


@pytest.fixture(autouse=True)
def no_data(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("UNKNOT_DATA", raising=False)


@pytest.mark.parametrize("name", FROM_FILES)
def test_a_missing_file_says_where_it_was_looked_for_and_what_to_do(name: str, tmp_path: Path) -> None:
    with pytest.raises(UnknotError) as error:
        open_world(name, data=tmp_path)
    text = str(error.value)
    assert str(tmp_path) in text and str(tmp_path / "cache" / "unknot") in text
    assert f"`unknot data download {name}`" in text
    stand_in = WORLDS[name].stand_in
    assert (f"the rendered stand-in '{stand_in}'" in text) == bool(stand_in)


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


def written_dsprites(folder: Path) -> Path:
    """A file with the name of dSprites beside its packed copy, a hole that takes no disk space."""
    path = folder / dsprites.NPZ.name
    path.touch()
    copy = path.with_name(f"{path.name}.packed.npy")
    with copy.open("wb") as stream:
        header = {"descr": "|u1", "fortran_order": False, "shape": (dsprites.SPACE.size, 512)}
        np.lib.format.write_array_header_1_0(stream, header)
        stream.truncate(stream.tell() + dsprites.SPACE.size * 512)
    os.utime(copy, ns=(path.stat().st_mtime_ns,) * 2)
    return path


def test_a_published_file_elsewhere_is_the_world_of_the_catalogue(tmp_path: Path) -> None:
    world = open_world(written_dsprites(tmp_path))
    assert world.key == "dsprites" and world.factors == WORLDS["dsprites"].factors
    assert conventions(world.key).rule is WORLDS["dsprites_rendered"].conventions.rule


@pytest.mark.parametrize(
    "name", ["dsprites", "dsprites_quarter", "dsprites_color", "dsprites_noisy", "abstract_dsprites"]
)
def test_worlds_made_of_the_file_of_dsprites_know_their_keys(name: str, tmp_path: Path) -> None:
    written_dsprites(tmp_path)
    world, entry = open_world(name, data=tmp_path), WORLDS[name]
    assert (world.key, world.name, world.factors) == (name, entry.title, entry.factors)


def test_no_name_of_ones_own_passes_for_a_key(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez(
        "dsprites_mine.npz", images=np.full((2, 8, 8), 9, np.uint8), factors=[[0], [1]], factor_names=["shape"]
    )
    np.savez("dsprites.npz", images=np.full((2, 8, 8), 9, np.uint8))
    Path("dsprites").mkdir()
    Image.new("RGB", (8, 8)).save("dsprites/1.png")
    for path in ("dsprites_mine.npz", "dsprites.npz", "./dsprites", Path("dsprites")):
        world = open_world(path)
        assert world.key == "" and conventions(world.key) == Conventions()
        assert recorded_name(world) not in WORLDS and recorded_name(path) not in WORLDS
    assert recorded_name("./dsprites") == "./dsprites" == recorded_name(Path("dsprites"))


class Keyless:
    """What was a world before worlds had keys."""

    name, image_shape, rows, stochastic = "keyless", (2, 2, 1), None, False
    factors = space({"x": 3})

    def images(self, classes, *, rng=None):
        return np.full((len(classes), 2, 2, 1), 9, np.uint8)


def test_an_object_opens_as_it_is_and_one_without_a_key_gets_an_empty_one() -> None:
    own = ArrayWorld(np.full((2, 8, 8), 9, np.uint8))
    assert open_world(own) is own
    adopted = open_world(Keyless())
    assert (adopted.key, adopted.name, adopted.factors) == ("", "keyless", Keyless.factors)
    assert (adopted.image_shape, adopted.rows, adopted.stochastic) == ((2, 2, 1), None, False)
    assert adopted.images([[0]]).max() == 9
    with pytest.raises(UnknotError, match="world is 3; expected a path or a KeylessWorld"):
        open_world(3)


def test_the_same_pictures_with_other_settings_are_another_world() -> None:
    assert ScenesRendered().key == "scenes_rendered" and ScenesRendered("corr").key == "scenes_corr_rendered"
    assert ScenesRendered(n=2).key == ScenesRendered(seed=1).key == ScenesRendered("clevr").key == ""
    assert MultiSprites().key == "multi_sprites_rendered" and MultiSprites(seed=1).key == ""
    assert color_dsprites(DSpritesRendered(quarter=True)).key == ""


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


def test_only_cars3d_comes_by_http_and_nothing_without_a_checksum_does() -> None:
    choices = [choice for entry in WORLDS.values() for choice in (*entry.choices, entry.split_files)]
    files = {file.name: file for choice in choices for file in choice}
    insecure = [file for file in files.values() if not all(url.startswith("https://") for url in file.urls)]
    assert [file.name for file in insecure] == ["nips2015-analogy-data.tar.gz"]
    assert all(file.sha256 or file.md5 for file in insecure)
