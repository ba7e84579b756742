"""A file of latents in the explorer: what its latents know, the rows that are near, and their images."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.reports.explorer.test_server import _ask, _pixels, _served
from tests.reports.test_browser import NASTY, PROGRAM, Chromium

import unknot
from unknot.encoders.points import CHUNK, drawn_rows, encoded_images
from unknot.errors import UnknotError
from unknot.reports.explorer.latents import MOST, ExploredLatents, latents_place
from unknot.reports.explorer.server import Explorer
from unknot.representation import Representation
from unknot.worlds.catalogue import open_world

WORLD = "dsprites_rendered"


def _corner(images: np.ndarray) -> np.ndarray:
    """Where the sprite is, and how large."""
    light = images[..., 0] > 127
    down, across = (light.any(axis=axis).argmax(axis=1) for axis in (2, 1))
    return np.column_stack([down, across, light.sum(axis=(1, 2)) / 100]).astype(np.float32)


@pytest.fixture(scope="module")
def encoded() -> Representation:
    return unknot.encode(_corner, WORLD, rows=400)


@pytest.fixture(scope="module")
def server(encoded: Representation) -> Iterator[Explorer]:
    yield from _served(Explorer(latents_place(ExploredLatents(encoded), NASTY)))


def test_sliders_say_what_their_latents_know_the_most_telling_first(encoded: Representation) -> None:
    explored = ExploredLatents(encoded)
    carried = {slider.name: slider.carries.partition(" ")[0] for slider in explored.sliders}
    assert carried == {"z0": "y", "z1": "x", "z2": "scale"}
    shares = [float(re.search(r"(\d+)%", slider.carries).group(1)) for slider in explored.sliders]
    assert shares == sorted(shares, reverse=True)
    assert sum(explored.bars(0)) == 400
    assert explored.about.startswith("400 rows of 3 latents. A picture is the image of its row.")


def test_the_rows_near_a_code_come_with_their_images_and_factors(
    server: Explorer, encoded: Representation
) -> None:
    status, made = _ask(server, "/near", {"row": 7, "moved": {}})
    assert status == 200
    row = made["rows"][0]
    assert (row["number"], row["remark"]) == (7, "")
    world = open_world(WORLD)
    assert (_pixels(row["picture"]) == world.images(encoded.factors[7:8])[0, :, :, 0]).all()
    labels = [factor.label(int(c)) for factor, c in zip(world.factors, encoded.factors[7], strict=True)]
    assert [value for _, value in row["factors"]] == labels
    goal = {"0": 3.0, "1": 40.0}
    code = encoded.latents[7].astype(float)
    code[:2] = 3.0, 40.0
    expected = np.argsort(np.linalg.norm(encoded.latents - code, axis=1), kind="stable")[:9]
    assert [
        row["number"] for row in _ask(server, "/near", {"row": 7, "moved": goal})[1]["rows"]
    ] == expected.tolist()
    steps = [float(row["remark"]) for row in _ask(server, "/along", {"latent": 0})[1]["rows"]]
    assert len(steps) == 7 and steps == sorted(steps) and steps[0] == encoded.latents[:, 0].min()


@pytest.mark.parametrize(
    ("path", "question", "says"),
    [
        ("/near", {"row": 400, "moved": {}}, "Row 400 is not there; expected a number from 0 to 399"),
        ("/near", {"row": True, "moved": {}}, "is not there"),
        ("/near", {"row": 0}, "expected numbers by the index of a slider"),
        ("/near", {"row": 0, "moved": {"3": 1}}, "expected numbers by the index of a slider"),
        ("/near", {"row": 0, "moved": {"0": "1"}}, "expected numbers by the index of a slider"),
        ("/along", {"latent": 3}, "Latent 3 has no slider here"),
        ("/along", {"latent": "../.."}, "has no slider here"),
    ],
)
def test_wrong_questions_are_refused(server: Explorer, path: str, question: Any, says: str) -> None:
    status, answer = _ask(server, path, question)
    assert status == 400 and says in answer["error"]


def test_the_images_are_those_that_were_encoded_also_where_they_are_random() -> None:
    shown: list[np.ndarray] = []

    def remember(images: np.ndarray) -> np.ndarray:
        shown.append(images.copy())
        return _corner(images[..., :1])

    noisy = "dsprites_noisy_rendered"
    unknot.encode(remember, noisy, rows=CHUNK + 10, seed=3)
    world, points, _ = drawn_rows(open_world(noisy), None, "train", CHUNK + 10, 3)
    order = np.argsort(world.factors.indices(points), kind="stable")
    rows = np.array([order[5], order[CHUNK + 1]])
    assert (encoded_images(world, points, rows, [3, 0]) == np.concatenate(shown)[[5, CHUNK + 1]]).all()


def test_images_of_one_s_own_are_found_by_order_or_by_factors_or_not_at_all(
    encoded: Representation, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (30, 8, 8), dtype=np.uint8)
    np.savez(tmp_path / "pictures.npz", images=images)
    alone = ExploredLatents(Representation(rng.normal(size=(30, 2))), world=str(tmp_path / "pictures.npz"))
    assert (_pixels(alone.near(4, {})["rows"][0]["picture"]) == images[4]).all()
    by_factors = Representation(encoded.latents, encoded.factors, encoded.factor_names)
    assert ExploredLatents(by_factors).near(0, {})["rows"][0]["picture"] == "", "nobody knows the world"
    assert ExploredLatents(by_factors, world=WORLD).near(0, {})["rows"][0]["picture"]
    with pytest.raises(UnknotError, match="nothing says which images of pictures the 400 rows are"):
        ExploredLatents(by_factors, world=str(tmp_path / "pictures.npz"))
    gone = Representation(rng.normal(size=(30, 2)), source={"world": "gone/pictures.npz"})
    assert "Images are not shown: gone/pictures.npz: no such file" in ExploredLatents(gone).about


def test_words_gaps_slots_and_wide_codes_are_shown() -> None:
    rng = np.random.default_rng(0)
    table = {"kind": ["owl", "ant", None] * 20, "size": rng.normal(size=60)}
    explored = ExploredLatents(Representation(rng.normal(size=(60, 2, 80)), table))
    assert len(explored.sliders) == MOST
    assert "Of its 2 slots, the mean is shown. Sliders are of the 60 latents that know most" in explored.about
    assert [explored.near(i, {})["rows"][0]["factors"][0] for i in (0, 2)] == [
        ("kind", "owl"),
        ("kind", "unknown"),
    ]
    page = latents_place(explored, "wide").page.decode()
    assert len(json.loads(re.search(r'id="known">(.*?)</script>', page).group(1))["sliders"]) == MOST
    with pytest.raises(UnknotError, match="explore: latents has 1 NaN"):
        ExploredLatents(Representation(np.array([[0.0], [np.nan]])))


def test_of_many_rows_some_are_chosen_at_random_and_the_row_that_is_shown_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("unknot.reports.explorer.latents.LARGEST", 200)
    monkeypatch.setattr("unknot.reports.explorer.latents.SCORED", 200)
    last = np.arange(400) % 2
    explored = ExploredLatents(Representation((last + 0.01 * np.arange(400) / 400)[:, None], last[:, None]))
    assert explored.factors == ["factor_0"] and explored.sliders[0].carries == "factor_0 100%"
    assert "Of its rows, 200 are here, chosen at random." in explored.about
    for row in range(400):
        near = explored.near(row, {})
        shown = near["rows"][0]
        assert (near["row"], shown["remark"]) == (shown["number"], "")
        assert near["values"] == [last[near["row"]] + 0.01 * near["row"] / 400]


def test_files_with_little_in_them_are_shown_as_far_as_they_go() -> None:
    codes = np.random.default_rng(0).normal(size=(30, 2))
    for latents, factors in ((codes, np.zeros((30, 1), int)), (codes[:1], [[1]])):
        explored = ExploredLatents(Representation(latents, factors))
        assert explored.shares is None and "What latents know is not shown: " in explored.about
        assert "Who knows what" not in latents_place(explored, "few").page.decode()
    with pytest.raises(UnknotError, match="explore: 0 rows of 2 latents; expected at least one"):
        ExploredLatents(Representation(codes[:0]))
    wrong = {"world": WORLD, "rows": -5, "seed": 0, "split": ""}
    assert "Images are not shown: " in ExploredLatents(Representation(codes, source=wrong)).about


if PROGRAM is not None:
    from tests.reports.explorer.test_server import _complaints, _press, _until, browser

    __all__ = ["browser"]

    @pytest.mark.parametrize(("width", "dark"), [(390, True), (1200, False)])
    def test_the_page_in_a_browser(browser: Chromium, server: Explorer, width: int, dark: bool) -> None:
        browser.emulate(width=width, dark=dark)
        browser.call("Page.navigate", url="about:blank")
        browser.events.clear()
        browser.call("Page.navigate", url=server.address)
        cards = "[...document.querySelectorAll('#nearest .row')].map((row) => row.querySelector('b').textContent)"
        _until(browser, f"location.protocol === 'http:' && {cards}[0] === 'row 0'")
        assert browser.run("document.title") == NASTY
        before = browser.run(f"{cards}.join()")
        slider = "document.querySelector('#sliders input')"
        browser.run(f"{slider}.value = {slider}.max; {slider}.dispatchEvent(new Event('input'))")
        _until(browser, f"{cards}.join() !== {json.dumps(before)}")
        _press(browser, "#reset")
        _until(browser, f"{cards}.join() === {json.dumps(before)}")
        _press(browser, ".slider button")
        _until(browser, "document.querySelectorAll('#strip img').length === 7")
        assert browser.run("document.querySelectorAll('.slider .bars rect').length") == 3 * 32
        assert browser.run("document.documentElement.scrollWidth") == width
        assert _complaints(browser, server) == []
