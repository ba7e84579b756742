from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from unknot.errors import UnknotError
from unknot.worlds import World, image_folder, open_world


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four pictures, 12 wide and 20 high, named out of order, one in a subfolder; and things that are no pictures."""
    (tmp_path / "b").mkdir()
    (tmp_path / ".hidden").mkdir()
    for name, red in (("z.png", 40), ("a.PNG", 10), ("b/k.png", 20), ("c.png", 30), (".hidden/x.png", 99)):
        picture = np.zeros((20, 12, 3), np.uint8)
        picture[4:16] = (red, 0, 200)
        Image.fromarray(picture).save(tmp_path / name)
    (tmp_path / "notes.txt").write_text("not a picture")
    return tmp_path


def test_pictures_come_sorted_by_name_from_all_subfolders(folder: Path) -> None:
    world = image_folder.read(folder, size=8)
    assert isinstance(world, World) and world.name == folder.name
    assert world.factors.names == ("image",) and world.factors.shape == (4,) and world.image_shape == (8, 8, 3)
    np.testing.assert_array_equal(world.images([[0], [1], [2], [3]])[:, 4, 4, 0], [10, 20, 30, 40])


def test_the_central_square_is_taken_unless_stretching_is_asked_for(folder: Path) -> None:
    cropped = image_folder.read(folder, size=12).images([[0]])[0]
    assert (cropped[..., 2] == 200).all()
    stretched = image_folder.read(folder, size=12, fit="stretch").images([[0]])[0]
    assert stretched[0, 0, 2] < 10 and stretched[6, 6, 2] > 190


def test_grey_pictures_have_one_channel(folder: Path) -> None:
    assert image_folder.read(folder, channels=1).images([[0]]).shape == (1, 64, 64, 1)


def test_pictures_are_decoded_only_when_asked_for(folder: Path) -> None:
    (folder / "d.png").write_bytes(b"damaged")
    world = image_folder.read(folder)
    assert world.factors.size == 5
    with pytest.raises(UnknotError, match=r"d\.png: cannot be read as a picture"):
        world.images([[3]])


def test_a_picture_cut_short_is_named(folder: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    Image.fromarray(noise).save(folder / "d.png")
    (folder / "d.png").write_bytes((folder / "d.png").read_bytes()[:3000])
    with pytest.raises(UnknotError, match=r"d\.png: cannot be read as a picture"):
        image_folder.read(folder).images([[3]])


def test_a_folder_opens_by_its_path(folder: Path) -> None:
    assert open_world(folder).factors.size == open_world(str(folder)).factors.size == 4


def test_wrong_folders_and_options_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknotError, match="holds no pictures"):
        image_folder.read(tmp_path)
    with pytest.raises(UnknotError, match="is not a folder"):
        image_folder.read(tmp_path / "none")
    with pytest.raises(UnknotError, match="unknown fit 'squash'"):
        image_folder.read(tmp_path, fit="squash")  # type: ignore[arg-type]
    with pytest.raises(UnknotError, match="2 channels"):
        image_folder.read(tmp_path, channels=2)


@pytest.fixture
def sorted_photos(tmp_path: Path) -> Path:
    """Eight pictures in folders of two depths, below a folder that all share."""
    for kind in ("bag", "shoe"):
        for colour in ("blue", "red"):
            place = tmp_path / "photos" / "all" / kind / colour
            place.mkdir(parents=True)
            for number in range(2):
                Image.new("RGB", (8, 8), colour).save(place / f"{number}.png")
    return tmp_path / "photos"


def test_names_of_folders_are_factors_and_names_of_files_are_kept(sorted_photos: Path) -> None:
    world = open_world(sorted_photos)
    assert world.factors.names == ("folder_2", "folder_3")
    assert [factor.values for factor in world.factors] == [("bag", "shoe"), ("blue", "red")]
    assert (world.images([[0, 1]])[0, 4, 4] == [255, 0, 0]).all()
    assert world.file_names[:3] == ("all/bag/blue/0.png", "all/bag/blue/1.png", "all/bag/red/0.png")
    assert image_folder.read(sorted_photos, factors=["kind", "colour"]).factors.names == ("kind", "colour")


def test_folders_of_several_depths_are_no_factors(sorted_photos: Path) -> None:
    Image.new("RGB", (8, 8)).save(sorted_photos / "loose.png")
    assert open_world(sorted_photos).factors.names == ("image",)
    with pytest.raises(UnknotError, match="no factors to be called kind"):
        image_folder.read(sorted_photos, factors=["kind"])
    with pytest.raises(UnknotError, match="1 factor names for 2 factors"):
        (sorted_photos / "loose.png").unlink()
        image_folder.read(sorted_photos, factors=["kind"])


@pytest.mark.filterwarnings("error")
def test_a_library_warns_of_no_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large ones are read or refused by our own measure, and what else is odd in a file is not said twice."""
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    Image.new("RGB", (12, 12)).save(tmp_path / "large.png")
    odd = tmp_path / "odd.tif"
    Image.new("L", (8, 8)).save(odd)
    content = bytearray(odd.read_bytes())
    content[8:10] = b"\xff\x00"  # tags of which there are not so many
    odd.write_bytes(content)
    with pytest.warns(UserWarning, match="EXIF"):
        Image.open(odd).close()
    assert open_world(str(tmp_path)).images(np.array([[0], [1]])).shape == (2, 64, 64, 3)


def test_a_picture_larger_than_a_file_may_be_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Image.new("RGB", (12, 12)).save(tmp_path / "large.png")
    monkeypatch.setenv("UNKNOT_MAX_BYTES", "500")
    with pytest.raises(UnknotError, match=r"large\.png: would take 576 B of memory"):
        open_world(str(tmp_path)).images(np.array([[0]]))
