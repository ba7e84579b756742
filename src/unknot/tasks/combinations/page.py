"""The novel-combinations task on a page: the paper's Table 3, and what became of each combination."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from unknot.reports.kit.charts import Dot, box_plot
from unknot.reports.kit.matrix_chart import matrix_chart
from unknot.reports.kit.page import Cell, Content, Drawing, Gallery, Grid, Section
from unknot.tasks.combinations.heads import BOTH
from unknot.tasks.result import TaskResult

WORDS = {"mlp": "net with one hidden layer", "linear": "linear head"}
TESTS = {"random": "random test set", "novel": "novel combination"}
MOST = 12  # representations with charts of their own


def section(results: Sequence[TaskResult]) -> Section:
    """Words, the table of means, charts of every combination, and where answers went wrong."""
    texts = [
        "All images with one combination of two factor values are set aside. Heads learn to read factors from the "
        "representation of all other images, which show each of the two values, but never together. They are tested on "
        "held-out images of the combinations they know (the random test set) and on the images set aside (the novel "
        "combination). Numbers are accuracies above chance: 0 is guessing, 1 is all right.",
        *(_in_words(result) for result in results[:MOST]),
    ]
    contents: list[Content] = [_means(results)]
    for result in results[:MOST]:
        contents += [Gallery(list(_charts(result))), *_grids(result), _mistakes(result)]
    return Section("Novel combinations", texts, contents)


def _in_words(result: TaskResult) -> str:
    values = result.values
    parts = [
        f"the {WORDS[heads]} reads both factors right at {values[f'{heads}_random_{BOTH}']:.2f} above chance on "
        f"combinations it knows, and at {values[f'{heads}_novel_{BOTH}']:.2f} on the novel one"
        for heads in WORDS
        if f"{heads}_novel_{BOTH}" in values
    ]
    return f"{result.source}: {'; '.join(parts)}."


def _means(results: Sequence[TaskResult]) -> Grid:
    """Rows: representation and heads. Columns: random test set and novel combination, by factor and for both."""
    factors = [
        name
        for name in dict.fromkeys(str(row["factor"]) for result in results for row in result.tables["summary"])
        if name != BOTH
    ]
    columns = [(test, factor) for test in TESTS for factor in (*factors, BOTH)]
    rows: list[list[Cell]] = []
    for result in results:
        for heads in WORDS:
            cells = {
                (row["test"], row["factor"]): row for row in result.tables["summary"] if row["heads"] == heads
            }
            rows.append([result.source, heads, *(_mean(cells.get(column)) for column in columns)])
    header = ("representation", "heads", *(f"{test}: {factor}" for test, factor in columns))
    several = any(row["sd_adjusted"] is not None for result in results for row in result.tables["summary"])
    text = "Accuracy above chance" + (", mean and (standard deviation) over combinations." if several else ".")
    return Grid(header, rows, text, "novel combinations")


def _mean(row: Mapping[str, Any] | None) -> Cell:
    if row is None:
        return None
    sd = row["sd_adjusted"]
    return float(row["adjusted"]) if sd is None else f"{row['adjusted']:.3f} ({sd:.3f})"


def _charts(result: TaskResult) -> Iterator[Drawing]:
    """A chart for each kind of head, a dot for each combination."""
    for heads, words in WORDS.items():
        rows = []
        for test, name in TESTS.items():
            dots = [
                Dot(float(row["adjusted"] or 0), str(row["combination"]))
                for row in result.tables["answers"]
                if (row["heads"], row["test"], row["factor"]) == (heads, test, BOTH)
            ]
            rows.append((name, dots))
        yield Drawing(box_plot(f"both right, {words}", rows), "A dot for each combination left out.")


def _grids(result: TaskResult) -> Iterator[Content]:
    """For each pair of factors, where on the grid of their classes the novel combination is read right."""
    by_pair: dict[tuple[str, str], dict[str, dict[tuple[Any, Any], float]]] = {}
    places = {row["combination"]: row for row in result.tables["mistakes"]}
    for row in result.tables["answers"]:
        if row["test"] == "novel" and row["factor"] == BOTH:
            place = places[row["combination"]]
            by_heads = by_pair.setdefault((str(place["first"]), str(place["second"])), {})
            cell = (place["first_class"], place["second_class"])
            by_heads.setdefault(str(row["heads"]), {})[cell] = float(row["adjusted"] or 0)
    for (first, second), by_heads in by_pair.items():
        words = f"Which combinations of {first} (row) and {second} (column) are read right."
        for i, (heads, cells) in enumerate(by_heads.items(), 1):
            rows, columns = (sorted({cell[axis] for cell in cells}) for axis in (0, 1))
            values = [[cells.get((a, b), math.nan) for b in columns] for a in rows]
            names, axes = ([*map(str, rows)], [*map(str, columns)]), {"row_word": first, "column_word": second}
            svg = matrix_chart(f"both right, {WORDS[heads]}", *names, values, **axes, colour="up")
            yield Drawing(svg, words if i == len(by_heads) else "")


def _mistakes(result: TaskResult) -> Grid:
    rows: list[list[Cell]] = []
    for row in result.tables["mistakes"]:
        shares = [row[name] for name in ("wrong", "first_only", "second_only", "both", "neighbour")]
        words = f"{row['first']}, {row['second']}"
        rows.append([row["combination"], row["heads"], words, *shares])
    header = ("combination", "heads", "factors", "wrong", "first wrong", "second wrong", "both wrong", "neighbour")
    text = (
        f"{result.source}: what heads say instead of the novel combination. Shares of the wrong answers: wrong in the "
        "first factor alone, in the second alone, in both; and those that name a neighbour, with one factor right and "
        "the other one class off (any class, if its classes have no order)."
    )
    return Grid(header, rows, text, f"mistakes of {result.source}")
