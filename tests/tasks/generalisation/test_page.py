import re
from typing import Any

import numpy as np

from unknot.factors import space
from unknot.reports.kit.page import Gallery, Grid
from unknot.tasks.generalisation.page import section
from unknot.tasks.generalisation.task import generalisation
from unknot.tasks.result import TaskResult
from unknot.worlds.splits.split import Split

GRID = space({"shape": 2, "x": 6, "y": 6}, categorical=["shape"])


class Painted:
    name, image_shape, rows, stochastic, factors = "painted", (4, 4, 1), None, False, GRID

    def images(self, classes: Any, *, rng: Any = None) -> np.ndarray:
        made = np.zeros((len(classes), 4, 4, 1), dtype=np.uint8)
        made[:, 0, :3, 0] = classes
        return made


def _result(blur: float, name: str, world: Any = None, kind: str = "extrapolation") -> TaskResult:
    def predict(images: np.ndarray) -> np.ndarray:
        return (1 - blur) * images[:, 0, :3, 0] / (GRID.sizes - 1) + blur / 4

    made = Split("extrapolation", GRID, {"x": (5,), "y": (5,)}) if kind == "extrapolation" else kind
    return generalisation(predict, world or Painted(), made, rows="all", name=name)  # type: ignore[arg-type]


def test_a_section_has_bars_tables_modularity_ratios_and_similarity() -> None:
    made = section([_result(0.1, "good"), _result(0.9, "bad")])
    drawings = [d for c in made.contents if isinstance(c, Gallery) for d in c.drawings]
    titles = [re.search('aria-label="([^"]+)"', d.svg)[1] for d in drawings]  # type: ignore[index]
    assert titles == [
        "R², extrapolation",
        "extrapolation: correlation of ood",
        "extrapolation: correlation of predictions",
        "extrapolation: correlation of errors",
        *["extrapolation: R² where one factor is unseen", "extrapolation: ratio"] * 2,
    ]
    grids = [c for c in made.contents if isinstance(c, Grid)]
    assert [len(grid.rows) for grid in grids] == [2, 3, 3]
    assert any(text.startswith("2 bad on painted: R²") for text in made.paragraphs)


def test_the_marks_of_a_bar_are_the_constants_beside_it() -> None:
    made = section([_result(0.1, "good")])
    (bars,) = [c.drawings[0].svg for c in made.contents[:1] if isinstance(c, Gallery)]
    row = _result(0.1, "good").tables["splits"][0]
    assert f"always the training mean: {row['constant_train_mean']:.3f}" in bars
    assert f"good: {row['r2']:.3f}" in bars


def test_random_splits_have_no_chart_of_unseen_values_and_one_result_no_similarity() -> None:
    made = section([_result(0.1, "good", kind="random")])
    assert len([c for c in made.contents if isinstance(c, Gallery)]) == 1


def test_results_of_two_worlds_are_drawn_apart() -> None:
    class Other(Painted):
        name = "other"

    made = section([_result(0.1, "a"), _result(0.2, "b", Other())])
    first = made.contents[0]
    assert isinstance(first, Gallery) and [d.caption for d in first.drawings] == ["painted.", "other."]
    assert not [d for c in made.contents if isinstance(c, Gallery) for d in c.drawings if "correlation" in d.svg]


def test_results_on_different_splits_stand_on_one_page() -> None:
    results = [_result(0.1, "a"), _result(0.2, "b", kind="random"), _result(0.3, "c", kind="random")]
    drawings = [d for c in section(results).contents if isinstance(c, Gallery) for d in c.drawings]
    assert [d.svg.count("extrapolation: correlation") for d in drawings if "correlation of" in d.svg] == [0, 0]
    assert not [
        d for c in section(results[:2]).contents if isinstance(c, Gallery) for d in c.drawings if "corr" in d.svg
    ]


def test_captions_name_the_model() -> None:
    made = section([_result(0.1, "good"), _result(0.9, "bad")])
    captions = [d.caption for c in made.contents if isinstance(c, Gallery) for d in c.drawings]
    assert any(c.startswith("2 bad.") for c in captions)
