"""Contact sheets: that the right images are in the right places, for every kind of world."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from unknot.cli.data import app
from unknot.errors import UnknotError
from unknot.factors import Factor, FactorSpace, space
from unknot.worlds.array_world import ArrayWorld
from unknot.worlds.preview import GAP, MARGIN, factor_line, save_sheet, sheet
from unknot.worlds.rendered.abstract_dsprites import AbstractDSprites
from unknot.worlds.rendered.dsprites_rendered import DSpritesRendered
from unknot.worlds.rendered.dsprites_variants import noisy_dsprites


class Flat:
    """A world whose images are one flat grey: 10 times the first class plus the second, plus 100."""

    name = "Flat"
    stochastic = False

    def __init__(self, factors=None, rows=None, image_shape=(48, 32, 3)):
        self.factors = factors or space({"tens": 8, "ones": 10})
        self.rows = rows
        self.image_shape = image_shape

    def images(self, classes, *, rng=None):
        grey = 100 + classes @ np.array([10, 1][: classes.shape[1]])
        return np.broadcast_to(grey[:, None, None, None], (len(classes), *self.image_shape)).astype(np.uint8)


def pixels(picture):
    return np.asarray(picture.convert("L")).astype(int)


def cells(picture, width, height, step_y, n):
    """The grey at the centre of each cell, found from the right and bottom margins of the page."""
    page = pixels(picture)
    bottom, right = page.shape[0] - MARGIN, page.shape[1] - MARGIN
    ys = [bottom - step_y * i for i in reversed(range(n[0]))]
    xs = [right - (width + GAP) * j for j in reversed(range(n[1]))]
    return np.array([[page[y - step_y + GAP + height // 2, x - width // 2] for x in xs] for y in ys])


def test_a_sheet_of_samples_shows_no_image_twice():
    picture = sheet(Flat(), rng=np.random.default_rng(3), columns=10, rows=8)
    # 48 x 32 doubles to 96 x 64; nothing is written below samples.
    shown = cells(picture, 64, 96, 96 + GAP, (8, 10))
    assert sorted(shown.ravel().tolist()) == list(range(100, 180)), "all of the 80 there are"
    assert shown.ravel().tolist() != sorted(shown.ravel().tolist())
    rows = np.repeat(np.arange(7), 2).reshape(7, 2)
    few = sheet(Flat(rows=rows), rng=np.random.default_rng(3), columns=7, rows=2)
    assert set(cells(few, 64, 96, 96 + GAP, (1, 7)).ravel().tolist()) == {100, 111, 122, 133, 144, 155, 166}


def test_images_with_the_same_classes_are_shown_once_each():
    images = np.repeat(np.arange(100, 114, dtype=np.uint8), 48 * 32 * 3).reshape(14, 48, 32, 3)
    world = ArrayWorld(images, np.arange(14)[:, None] % 2)
    shown = cells(sheet(world, rng=np.random.default_rng(0), columns=7, rows=2), 64, 96, 96 + GAP, (2, 7))
    assert sorted(shown.ravel().tolist()) == list(range(100, 114))


def test_a_sheet_of_factors_varies_one_factor_in_each_row_from_its_first_class_to_its_last():
    picture = sheet(Flat(), kind="factors", rng=np.random.default_rng(0), columns=5)
    page = pixels(picture)
    below = 22  # captions
    rows = [
        page.shape[0] - MARGIN - (96 + below + GAP) * (1 - i) - below - 48 for i in range(2)
    ]  # centres of both rows
    right = page.shape[1] - MARGIN
    shown = [[int(page[y, right - 32 - (64 + GAP) * (4 - j)]) for j in range(5)] for y in rows]
    assert shown[0] == [100 + 10 * t + 5 for t in (0, 2, 4, 5, 7)]
    assert shown[1] == [100 + 40 + o for o in (0, 2, 4, 7, 9)]


def test_lines_on_a_grid_change_one_factor_and_hold_the_others():
    world = DSpritesRendered()
    line = factor_line(world, 1, 10)
    assert line[:, 1].tolist() == [0, 1, 2, 3, 4, 5]
    assert (np.delete(line, 1, axis=1) == [1, 0, 16, 16]).all()
    assert factor_line(world, 3, 10)[:, 3].tolist() == [0, 3, 7, 10, 14, 17, 21, 24, 28, 31]


def test_hues_differ_in_the_point_that_lines_go_through():
    world = Flat(space({"floor": 10, "wall": 10, "object": 10, "size": 8}, circular=["floor", "wall", "object"]))
    assert factor_line(world, 3, 10)[0, :3].tolist() == [0, 3, 6]


def test_lines_in_an_incomplete_world_use_only_images_that_exist_and_show_most_classes():
    rows = np.array([[0, 0], [1, 0], [5, 0], [3, 2], [3, 9], [7, 4], [5, 0]])
    world = Flat(rows=rows)
    assert factor_line(world, 0, 10).tolist() == [[0, 0], [1, 0], [5, 0]]
    assert factor_line(world, 1, 10).tolist() == [[3, 2], [3, 9]]


@pytest.mark.parametrize("kind", ["samples", "factors"])
def test_an_incomplete_world_is_never_asked_for_what_it_lacks(kind):
    rows = np.array([[0, 0], [1, 0], [5, 0], [3, 2], [3, 9], [7, 4]])
    known = {tuple(row) for row in rows.tolist()}

    class Strict(Flat):
        def images(self, classes, *, rng=None):
            assert {tuple(row) for row in np.asarray(classes).tolist()} <= known
            return super().images(classes)

    sheet(Strict(rows=rows), kind=kind, rng=np.random.default_rng(0))


@pytest.mark.parametrize("kind", ["samples", "factors"])
def test_pictures_without_real_factors_can_be_shown(kind):
    names = tuple(f"a/very/long/name/of/a/file/{i}.jpeg" for i in range(30))
    world = Flat(FactorSpace((Factor("image", 30, "categorical", names),)), image_shape=(300, 400, 1))
    picture = sheet(world, kind=kind, rng=np.random.default_rng(0))
    assert picture.width < 1600  # large images are shrunk


def test_a_world_of_one_image_can_be_shown():
    world = Flat(FactorSpace((Factor("image", 1, "constant"),)), rows=np.array([[0]]), image_shape=(8, 8, 1))
    assert sheet(world, kind="factors", rng=np.random.default_rng(0)).width >= 480


def test_random_parts_keep_still_along_a_row_of_factors():
    seen = []

    class Watched(type(noisy_dsprites(DSpritesRendered()))):
        def images(self, classes, *, rng=None):
            images = super().images(classes, rng=rng)
            seen.append(images)
            return images

    noisy = noisy_dsprites(DSpritesRendered())
    sheet(Watched(noisy.world, noisy.name, noisy.paint), kind="factors", rng=np.random.default_rng(0))
    corners = np.concatenate(seen)[:, 0, 0]  # no sprite ever reaches the corner
    assert len(np.unique(corners, axis=0)) == 1


@pytest.mark.parametrize("kind", ["samples", "factors"])
def test_the_same_seed_gives_the_same_sheet(kind):
    world = AbstractDSprites()
    first, again, other = (sheet(world, kind=kind, rng=np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert first.tobytes() == again.tobytes() != other.tobytes()


def test_a_sheet_has_the_name_of_its_world_on_it():
    plain, renamed = Flat(), Flat()
    renamed.name = "Flat, but renamed to something that is much longer than the page is wide" * 3
    a, b = (pixels(sheet(w, rng=np.random.default_rng(0), columns=3)) for w in (plain, renamed))
    assert a.shape == b.shape
    assert (a[:60] != b[:60]).any() and (a[150:] == b[150:]).all()
    assert (b[:, -MARGIN + 1 :] == 255).all()  # a long name is cut, not written over the edge


def test_mistakes_are_named(tmp_path):
    rng = np.random.default_rng(0)
    with pytest.raises(UnknotError, match="unknown kind of sheet 'sample'; did you mean 'samples'"):
        sheet(Flat(), kind="sample", rng=rng)
    with pytest.raises(UnknotError, match="0 columns"):
        sheet(Flat(), columns=0, rng=rng)
    with pytest.raises(UnknotError, match="4 channels"):
        sheet(Flat(image_shape=(8, 8, 4)), rng=rng)
    with pytest.raises(UnknotError, match=r"'.*sheet\.txt' does not end like a picture"):
        save_sheet(Image.new("RGB", (4, 4)), tmp_path / "sheet.txt")


@pytest.mark.parametrize("ending", ["png", "jpg", "webp"])
def test_a_saved_sheet_can_be_read_back_and_leaves_nothing_beside_it(tmp_path, ending):
    picture = sheet(Flat(), rng=np.random.default_rng(0), columns=2, rows=1)
    path = save_sheet(picture, tmp_path / f"sheet.{ending}")
    with Image.open(path) as back:
        assert back.size == picture.size
    assert [p.name for p in tmp_path.iterdir()] == [f"sheet.{ending}"]


def test_a_failed_write_leaves_the_old_sheet_as_it_was(tmp_path, monkeypatch):
    path = save_sheet(Image.new("RGB", (4, 4)), tmp_path / "sheet.png")
    before = path.read_bytes()

    def fail(self, file, **options):
        Path(file).write_bytes(b"half")
        raise OSError("No space left on device")

    monkeypatch.setattr(Image.Image, "save", fail)
    with pytest.raises(UnknotError, match="No space left"):
        save_sheet(Image.new("RGB", (9, 9)), path)
    assert path.read_bytes() == before and len(list(tmp_path.iterdir())) == 1


def test_the_command_writes_a_sheet(tmp_path):
    target = tmp_path / "sheet.png"
    result = CliRunner().invoke(
        app, ["preview", "dsprites_rendered", "-o", str(target), "--kind", "factors", "--seed", "4"]
    )
    assert result.exit_code == 0, result.output
    expected = sheet(DSpritesRendered(), kind="factors", rng=np.random.default_rng(4))
    with Image.open(target) as written:
        assert written.tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dsprites_renderd", "-o", "a.png"], "did you mean 'dsprites_rendered'"),
        (["dsprites_rendered", "-o", "a.doc"], "does not end like a picture"),
        (["dsprites_rendered", "-o", "a.png", "--kind", "all"], "unknown kind of sheet 'all'"),
    ],
)
def test_the_command_names_mistakes_before_it_draws(tmp_path, arguments, message, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["preview", *arguments])
    assert isinstance(result.exception, UnknotError) and message in str(result.exception)
    assert not list(tmp_path.iterdir())
