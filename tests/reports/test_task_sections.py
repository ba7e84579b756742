"""The sections of the novel-combinations and fairness tasks."""

import re

import numpy as np
import pytest

from unknot.reports.kit.page import Drawing, Gallery, Grid
from unknot.representation import Representation
from unknot.tasks.combinations.page import section as combination_section
from unknot.tasks.combinations.task import combinations
from unknot.tasks.fairness.page import section as fairness_section
from unknot.tasks.fairness.task import fairness
from unknot.tasks.result import TaskResult

NASTY = "<script>alert(1)</script>"
NAN = float("nan")


@pytest.fixture(scope="module")
def grid() -> np.ndarray:
    return (
        np.stack(np.meshgrid(range(3), range(4), range(6), indexing="ij"), axis=-1)
        .reshape(-1, 3)
        .repeat(4, axis=0)
    )


@pytest.fixture(scope="module")
def novel(grid: np.ndarray) -> TaskResult:
    made = Representation(grid * 1.0, grid, ("shape", NASTY, "x"))
    return combinations(made, pair=("shape", NASTY), limit=3, pair_only=True, recipe="paper")


@pytest.fixture(scope="module")
def fair(grid: np.ndarray) -> TaskResult:
    return fairness(Representation(grid * 1.0, grid, ("shape", NASTY, "x")), rounds=3, points=10)


def test_the_table_of_means_has_a_row_for_each_head_and_both_test_sets(novel: TaskResult) -> None:
    made = combination_section([novel, novel])
    table = next(content for content in made.contents if isinstance(content, Grid))
    assert [row[1] for row in table.rows] == ["mlp", "linear"] * 2
    assert table.header[2:5] == ("random: shape", f"random: {NASTY}", "random: both")
    assert table.header[-1] == "novel: both"
    assert all(re.fullmatch(r"\d\.\d{3} \(\d\.\d{3}\)", str(cell)) for cell in table.rows[0][2:])


def test_every_combination_is_a_dot_and_a_cell(novel: TaskResult) -> None:
    contents = combination_section([novel]).contents
    (gallery,) = (content for content in contents if isinstance(content, Gallery))
    for drawing in gallery.drawings:
        assert drawing.svg.count("<circle") == 2 * 3
    grids = [content.svg for content in contents if isinstance(content, Drawing)]
    assert [svg.count('class="up"') for svg in grids] == [3, 3]


def test_the_heat_map_has_a_cell_for_each_pair_of_factors(fair: TaskResult) -> None:
    made = fairness_section([fair])
    (drawing,) = (content for content in made.contents if isinstance(content, Drawing))
    assert drawing.svg.count('class="down"') == 6
    assert any("dealt out at random" in text for text in made.paragraphs)
