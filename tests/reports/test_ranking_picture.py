"""Pictures of a ranking: boxes by setting and the matrix of pairs."""

from pathlib import Path

import numpy as np
import pytest

from unknot.errors import UnknotError, UnknotWarning
from unknot.ranking.ranking import Ranking, rank
from unknot.reports import ranking_picture
from unknot.reports.ranking_picture import matrix_picture, settings_picture


@pytest.fixture
def ranking(golden) -> Ranking:
    arrays, _ = golden("udr")
    return rank(arrays["reps"], kl=arrays["kl"], groups=["beta 4"] * 4 + ["beta 1"] * 4)


def _words(path: Path) -> str:
    """The text of a picture whose letters were left as text."""
    return path.read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def _letters_stay_text(monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib

    monkeypatch.setitem(matplotlib.rcParams, "svg.fonttype", "none")


def test_boxes_are_drawn_best_setting_on_top(ranking: Ranking, tmp_path: Path) -> None:
    words = _words(settings_picture(ranking, tmp_path / "box.svg", title="a <sweep>"))
    assert "a &lt;sweep&gt;" in words
    assert "informative latents d" in words  # models differ in it, so dots are coloured
    low, high = (
        float(words.split(f">{name}</text>")[0].rsplit('y="', 1)[1].split('"')[0]) for name in ("beta 1", "beta 4")
    )
    assert high < low  # y grows downwards


def test_every_scored_model_is_a_dot(
    golden, ranking: Ranking, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[int] = []
    dots = ranking_picture._dots

    def count(figure, axes, ranking, kept) -> None:
        drawn.extend(map(len, kept))
        dots(figure, axes, ranking, kept)

    monkeypatch.setattr(ranking_picture, "_dots", count)
    settings_picture(ranking, tmp_path / "box.png")
    assert sum(drawn) == 8
    arrays, _ = golden("udr")
    kl = np.array(arrays["kl"])
    kl[5] = 0
    drawn.clear()
    with pytest.warns(UnknotWarning, match="no informative latent"):
        settings_picture(rank(arrays["reps"], kl=kl), tmp_path / "box.png")
    assert drawn == [7]


def test_the_matrix_names_few_models_and_settings_of_many(
    ranking: Ranking, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = _words(matrix_picture(ranking, tmp_path / "matrix.svg"))
    assert all(f">{name}</text>" in words for name in ranking.names)
    monkeypatch.setattr(ranking_picture, "NAMED", 4)
    words = _words(matrix_picture(ranking, tmp_path / "matrix.svg"))
    assert "beta 4" in words
    assert "model 0" not in words
    monkeypatch.setattr(ranking_picture, "MOST", 4)
    with pytest.raises(UnknotError, match="8 models are more than a matrix can show"):
        matrix_picture(ranking, tmp_path / "matrix.svg")


def test_pictures_are_the_same_each_time(ranking: Ranking, tmp_path: Path) -> None:
    for draw in (settings_picture, matrix_picture):
        first, second = (draw(ranking, tmp_path / f"{i}.png").read_bytes() for i in range(2))
        assert first == second


def test_nothing_to_draw_and_unknown_formats_are_refused(golden, ranking: Ranking, tmp_path: Path) -> None:
    arrays, _ = golden("udr")
    with pytest.warns(UnknotWarning):
        dead = rank(arrays["reps"], kl=np.zeros((8, 6)))
    with pytest.raises(UnknotError, match="no model has a score"):
        settings_picture(dead, tmp_path / "box.png")
    matrix_picture(dead, tmp_path / "matrix.png")
    for draw in (settings_picture, matrix_picture):
        with pytest.raises(UnknotError, match=r"cannot write 'box\.doc'"):
            draw(ranking, tmp_path / "box.doc")
    assert [path.name for path in tmp_path.iterdir()] == ["matrix.png"]
