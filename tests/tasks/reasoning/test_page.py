"""The reasoning task on a page."""

import numpy as np
import pandas as pd
import pytest

from unknot.reports.kit.page import Gallery, Grid
from unknot.tasks.reasoning.page import LEAST, section, study_section, study_sections
from unknot.tasks.result import TaskResult

STEPS = (1000, 2000, 5000)
NASTY = "<script>alert(1)</script>"


def _result(source: str = "a run", *, draws: int = 1) -> TaskResult:
    curve = [
        {"draw": d, "step": s, "accuracy": 0.3 + s / 20_000 + 0.1 * d, "loss": 1.0, "accuracy_other_rows": 0.35}
        | {f"accuracy_k{k}": 0.3 + 0.1 * k for k in (1, 2, 3)}
        for d in range(draws)
        for s in STEPS
    ]
    means = [
        {
            name: float(np.mean([row[name] for row in curve if row["step"] == s]))
            for name in curve[0]
            if name != "draw"
        }
        for s in STEPS
    ]
    by = [{"relations": k, "accuracy": 0.5, "rule": 1.0, "third_row": 0.7, "answers_only": 0.3} for k in (1, 2, 3)]
    values = {"accuracy": 0.55, "accuracy_other_rows": 0.35, "rule": 1.0, "third_row": 0.7, "answers_only": 0.3}
    tables = {
        "curve": curve,
        "accuracy over training": means,
        "by relations": by,
        "reasoners": [{"draw": d, "lr": 0.001} for d in range(draws)],
    }
    return TaskResult("reasoning", source, "world", values, tables)  # type: ignore[arg-type]


def test_one_result_has_curves_with_the_shortcuts_as_lines() -> None:
    (gallery,) = section([_result()]).contents
    assert isinstance(gallery, Gallery) and len(gallery.drawings) == 3
    learning = gallery.drawings[0].svg
    for name in ("third row: 0.700", "answers only: 0.300", "chance: 0.167"):
        assert f"<title>{name}</title>" in learning
    assert 'class="up"' not in learning  # no band around a single reasoner
    assert "other rows" in learning
    assert "1 fixed" in gallery.drawings[2].svg


def test_several_reasoners_have_a_band_and_a_table_of_settings() -> None:
    gallery, reasoners = section([_result(draws=3)]).contents
    assert isinstance(gallery, Gallery) and 'class="up"' in gallery.drawings[0].svg
    assert isinstance(reasoners, Grid) and [row[-1] for row in reasoners.rows] == pytest.approx([0.55, 0.65, 0.75])


def test_several_results_share_a_chart_and_a_table() -> None:
    gallery, table = section([_result("first"), _result("second")]).contents
    assert isinstance(gallery, Gallery) and len(gallery.drawings) == 1
    assert "first" in gallery.drawings[0].svg and "second" in gallery.drawings[0].svg
    assert isinstance(table, Grid) and [row[0] for row in table.rows][-1] == "answers only"
    assert table.header[-1] == "rows one and two of another puzzle" and table.rows[0][-2:] == [0.55, 0.35]


def test_a_study_has_the_four_figures_and_says_what_it_could_not_draw() -> None:
    rng = np.random.default_rng(0)
    quality = rng.random(12)
    accuracy = np.stack([quality, quality + rng.normal(size=12), rng.random(12)], axis=1)
    found = study_section({"mig": quality, "flat": np.ones(12)}, accuracy, STEPS, bootstraps=50)
    assert len(found.parts) == 4
    for part in found.parts:
        galleries = [content for content in part.contents if isinstance(content, Gallery)]
        assert [len(gallery.drawings) for gallery in galleries] == [1]
        assert any("flat (" in text for text in part.paragraphs)
    grid = found.parts[0].contents[0]
    assert isinstance(grid, Grid) and grid.rows[0][1] == pytest.approx(1.0) and grid.rows[1][1] is None


def test_a_study_of_few_runs_says_nothing_of_scores() -> None:
    scores, results = pd.DataFrame({"mig": np.arange(LEAST)}), [_result(str(i)) for i in range(LEAST)]
    assert [part.title for part in study_sections(scores, results)] == ["Abstract visual reasoning and scores"]
    assert not list(study_sections(scores[1:], results[1:]))
