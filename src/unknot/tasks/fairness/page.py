"""The fairness task on a page: which factor moves the predictions of which."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from unknot.reports.kit.matrix_chart import matrix_chart
from unknot.reports.kit.page import Content, Drawing, Grid, Section
from unknot.tasks.result import TaskResult

MOST = 12  # representations with a matrix of their own


def section(results: Sequence[TaskResult]) -> Section:
    """Words, a matrix for each representation, and how well each target is predicted."""
    texts = [
        "Classifiers predict each factor from the representation. Then one factor, the sensitive one, is set to each "
        "of its values in the same random images, and nothing else is changed. A prediction that ignores it stays as "
        "it was; unfairness is the total variation between the predictions at one value and at all values together, "
        "averaged over values: 0 is fair.",
        *(_in_words(result) for result in results[:MOST]),
    ]
    contents: list[Content] = []
    for result in results[:MOST]:
        contents += [_matrix(result), _targets(result)]
    return Section("Fairness", texts, contents)


def _in_words(result: TaskResult) -> str:
    def beyond(row: Mapping[str, Any]) -> float:
        return float(row["unfairness"]) - float(row["shuffled"] or 0)

    worst = max(result.tables["pairs"], key=beyond)
    if beyond(worst) <= 0:
        return f"{result.source}: no prediction moves more than predictions dealt out at random would."
    shuffled = worst["shuffled"]
    chance = "" if shuffled is None else f", where predictions dealt out at random have {shuffled:.2f}"
    return (
        f"{result.source}: predictions of {worst['target']} depend most on what they should not, {worst['sensitive']} "
        f"({worst['unfairness']:.2f}{chance})."
    )


def _matrix(result: TaskResult) -> Drawing:
    moved = {(row["target"], row["sensitive"]): float(row["unfairness"] or 0) for row in result.tables["pairs"]}
    targets = [name for name in result.settings["targets"] if any(name == target for target, _ in moved)]
    sensitive = [name for name in result.settings["sensitive"] if any(name == factor for _, factor in moved)]
    values = [[moved.get((target, factor), math.nan) for factor in sensitive] for target in targets]
    svg = matrix_chart(
        result.source, targets, sensitive, values, row_word="predicted", column_word="changed (sensitive)"
    )
    return Drawing(
        svg, "How much predictions of a factor (row) move when another (column) is set to each of its values."
    )


def _targets(result: TaskResult) -> Grid:
    rows = [
        [row["target"], row["unfairness"], row["shuffled"], row["accuracy"]] for row in result.tables["targets"]
    ]
    return Grid(
        ("target", "unfairness", "dealt at random", "accuracy of its classifier"),
        rows,
        f"{result.source}: mean over sensitive factors. A target that cannot be predicted is fair for a poor reason.",
        f"fairness of {result.source}",
    )
