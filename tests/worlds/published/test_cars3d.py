import io
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.io import savemat

from unknot.errors import UnknotError
from unknot.factors import space
from unknot.worlds import World
from unknot.worlds.published import cars3d

SMALL = space({"elevation": 2, "azimuth": 3, "model": 3}, categorical=["model"], circular=["azimuth"])
NAMES = ["car_012_mesh", "car_003_mesh", "car_150_mesh"]  # in the order of the list, not of the alphabet


def renderings() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {name: rng.integers(0, 256, (128, 128, 3, 3, 2), dtype=np.uint8) for name in NAMES}


def mat(images: np.ndarray) -> bytes:
    stream = io.BytesIO()
    savemat(stream, {"im": images, "mask": images[:, :, 0]}, do_compression=True)
    return stream.getvalue()


def write(path: Path, members: dict[str, bytes | tarfile.TarInfo]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            if isinstance(content, tarfile.TarInfo):
                archive.addfile(content)
            else:
                info = tarfile.TarInfo(name)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return path


def published() -> dict[str, bytes | tarfile.TarInfo]:
    members: dict[str, bytes | tarfile.TarInfo] = {
        f"data/cars/{n}.mat": mat(i) for n, i in sorted(renderings().items())
    }
    return members | {"data/cars/list.txt": "\n".join(NAMES).encode(), "data/shapes48.mat": b"something else"}


def folder(name: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = tarfile.DIRTYPE
    return info


def link(name: str, target: str, kind: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def test_models_are_numbered_by_the_list_and_halved_with_lanczos(tmp_path: Path) -> None:
    world = cars3d.read(write(tmp_path / "cars.tar.gz", published()), space=SMALL)
    assert isinstance(world, World) and world.name == "Cars3D" and world.image_shape == (64, 64, 3)
    for elevation, azimuth, model in SMALL.classes(np.arange(SMALL.size)):
        original = renderings()[NAMES[model]][:, :, :, azimuth, elevation]
        expected = Image.fromarray(original).resize((64, 64), Image.Resampling.LANCZOS)
        np.testing.assert_array_equal(world.images([[elevation, azimuth, model]])[0], np.asarray(expected))


def test_folders_and_links_beside_the_cars_do_no_harm(tmp_path: Path) -> None:
    around = {".": folder("."), "data": folder("./data"), "l": link("data/latest", "/etc", tarfile.SYMTYPE)}
    assert cars3d.read(write(tmp_path / "cars.tar.gz", around | published()), space=SMALL).factors.size == 18


def test_the_conversion_is_kept(tmp_path: Path, monkeypatch) -> None:
    path = write(tmp_path / "cars.tar.gz", published())
    first = cars3d.read(path, space=SMALL).images([[1, 2, 0]])
    monkeypatch.setattr(cars3d, "read_models", lambda *_: pytest.fail("converted again"))
    np.testing.assert_array_equal(cars3d.read(path, space=SMALL).images([[1, 2, 0]]), first)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"../escape.mat": b"x"}, "a member '../escape.mat' outside its own folder; refused"),
        ({"data/../../escape": b"x"}, "outside its own folder"),
        ({"/etc/passwd": b"x"}, "outside its own folder"),
        ({"..\\escape": b"x"}, "outside its own folder"),
        ({"C:\\escape": b"x"}, "outside its own folder"),
        (
            {"l": link("data/cars/a.mat", "/etc/passwd", tarfile.SYMTYPE)},
            "a link 'data/cars/a.mat' to '/etc/passwd'",
        ),
        ({"l": link("data/cars/list.txt", "x", tarfile.LNKTYPE)}, "a link 'data/cars/list.txt'"),
        ({"data/cars/car_003_mesh.mat": b"rubbish" * 100}, "cannot be read as a .mat file"),
        (
            {"data/cars/car_003_mesh.mat": mat(np.zeros((8, 8, 3, 3, 2), np.uint8))},
            r"'im' is uint8 of shape \(8, 8",
        ),
        ({"data/cars/list.txt": b"car_003_mesh"}, "names 1 models, of which 0 are missing; Cars3D has 3"),
        ({"data/cars/list.txt": b"a\nb\ncar_003_mesh\n"}, r"of which 2 are missing \(first a\)"),
    ],
)
def test_unsafe_and_wrong_archives_are_refused_and_leave_nothing_behind(
    tmp_path: Path, members: dict[str, bytes | tarfile.TarInfo], message: str
) -> None:
    path = write(tmp_path / "cars.tar.gz", published() | members)
    with pytest.raises(UnknotError, match=message):
        cars3d.read(path, space=SMALL)
    assert [p.name for p in tmp_path.iterdir()] == ["cars.tar.gz"]


def test_an_archive_without_its_list_is_refused(tmp_path: Path) -> None:
    members = {name: content for name, content in published().items() if "list" not in name}
    with pytest.raises(UnknotError, match=r"no cars/list\.txt, which numbers the models"):
        cars3d.read(write(tmp_path / "cars.tar.gz", members), space=SMALL)


@pytest.mark.parametrize("keep", [0.0, 0.3, 0.99])
def test_an_archive_cut_short_is_refused_and_leaves_nothing_behind(tmp_path: Path, keep: float) -> None:
    path = write(tmp_path / "cars.tar.gz", published())
    path.write_bytes(path.read_bytes()[: int(keep * path.stat().st_size)])
    with pytest.raises(UnknotError, match="cut short or damaged"):
        cars3d.read(path, space=SMALL)
    assert [p.name for p in tmp_path.iterdir()] == ["cars.tar.gz"]


def test_a_missing_archive_says_so(tmp_path: Path) -> None:
    with pytest.raises(UnknotError, match="no such file"):
        cars3d.read(tmp_path / "cars.tar.gz")


def test_a_model_that_would_unfold_to_more_than_a_file_may_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "cars.tar.gz", {"cars/a.mat": mat(np.zeros((128, 128, 3, 3, 2), np.uint8))})
    monkeypatch.setenv("UNKNOT_MAX_BYTES", "1MB")
    with pytest.raises(UnknotError, match=r"cars/a\.mat: would take 2\.4 MB of memory"):
        cars3d.read_models(path, SMALL)
