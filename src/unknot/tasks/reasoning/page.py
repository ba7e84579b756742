"""The reasoning task on a page: learning curves beside what a shortcut gets, and what scores have to do with them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unknot.reports.kit.page import Content, Drawing, Gallery, Grid, Section
from unknot.reports.kit.step_charts import Curve, dumbbells, step_curves
from unknot.statistics.quartiles import half_differences, quartile_curves
from unknot.tasks.reasoning.curves import accuracies_of, half_correlations, step_correlations
from unknot.tasks.reasoning.options import OTHER_ROWS
from unknot.tasks.result import Table, TaskResult, as_cell, as_number
from unknot.worlds.puzzles.puzzles import CHANCE

if TYPE_CHECKING:
    import pandas as pd

SHORTCUTS = {"third_row": "third row", "answers_only": "answers only"}
PAPER = "van Steenkiste et al. 2019"
LEAST = 8  # representations, for quarters and halves of them to mean anything


def section(results: Sequence[TaskResult]) -> Section:
    """Results of one or several representations."""
    texts = [
        "A relation network (WReN) learns to complete the third row of Raven-like puzzles whose panels it sees through "
        "the representation. What counts is how well it does after how many steps; every batch and evaluation has "
        "fresh puzzles.",
        "Three solvers that learn nothing stand beside it: the rule itself is always right; one makes the best use of "
        "the third row and the answers, one of the answers alone. Only an accuracy above the third-row line shows that "
        "rows one and two are used; so does one that falls when those rows are another puzzle's.",
    ]
    reasoners = results[0].tables.get("reasoners", [])
    several = f"Mean of {len(reasoners)} reasoners; the band is from the worst to the best."
    drawings = [Drawing(_learning(results), several if len(reasoners) > 1 else "")]
    if len(results) == 1:
        drawings += [
            Drawing(_by_relations_over_steps(results[0]), "The more factors are fixed, the more clues there are."),
            Drawing(_by_relations(results[0]), "After the last step, by the number of fixed factors."),
        ]
    contents: list[Content] = [Gallery(drawings)]
    if len(results) > 1:
        contents.append(_relations_table(results))
    if len(reasoners) > 1:
        contents.append(_reasoners(results[0], reasoners))
    return Section("Abstract visual reasoning", texts, contents)


def study_sections(scores: "pd.DataFrame", results: Sequence[TaskResult]) -> Iterator[Section]:
    """Which scores of representations foretell how fast reasoning is learnt from them, if these are enough to tell."""
    if len(results) >= LEAST:
        yield study_section(scores, *accuracies_of(results))


def study_section(
    table: "pd.DataFrame | Mapping[str, Any]", accuracies: Any, steps: Sequence[int], *, bootstraps: int = 1000
) -> Section:
    """What scores of a study's representations tell about how fast reasoning is learnt from them.

    The table has one row a representation and one column a score; for accuracies and steps see `accuracies_of`.
    """
    correlations = step_correlations(table, accuracies, steps, bootstraps=bootstraps)
    quartiles = quartile_curves(table, accuracies, steps, bootstraps=bootstraps)
    halves = half_differences(table, accuracies, steps, bootstraps=bootstraps)
    inside = half_correlations(table, accuracies, steps, bootstraps=0)
    n = int(correlations["n"].max())
    texts = [
        f"{n} representations; each one's accuracy is the mean over its reasoners. Bands hold 95 % of resamples of "
        f"representations. After {PAPER}, Fig. 3 to 6.",
        "Scores are correlated as they are: of an error, such as that of reconstruction, expect a correlation below "
        "zero.",
    ]
    parts = [
        Section(
            "Rank correlation of scores with accuracy, over training",
            _missing(correlations, "r"),
            [_correlation_grid(correlations), _each(correlations, "r", _correlation_curve)],
            name="reasoning-correlations",
            open=True,
        ),
        Section(
            "Accuracy of each quarter of representations by a score",
            ["The darkest line is the quarter with the highest score.", *_missing(quartiles, "mean")],
            [_each(quartiles, "mean", _quartile_curve)],
            name="reasoning-quartiles",
            open=True,
        ),
        Section(
            "Accuracy of the upper half by a score, minus that of the lower half",
            _missing(halves, "difference"),
            [_each(halves, "difference", _difference_curve)],
            name="reasoning-halves",
        ),
        Section(
            "Rank correlation within the best and within the worst half by final accuracy",
            [
                "Choosing representations by the accuracy that is then correlated makes these correlations smaller by "
                "construction.",
                *_missing(inside, "r"),
            ],
            [_each(inside, "r", _half_curves)],
            name="reasoning-best-and-worst",
        ),
    ]
    return Section("Abstract visual reasoning and scores", texts, parts=parts)


def _learning(results: Sequence[TaskResult]) -> str:
    curves = []
    for i, result in enumerate(results):
        rows = result.tables["accuracy over training"]
        steps = [float(row["step"] or 0) for row in rows]
        low, high = _range(result.tables["curve"], steps)
        several = len(result.tables.get("reasoners", [])) > 1
        mean = [float(row["accuracy"] or 0) for row in rows]
        curves.append(Curve(result.source, steps, mean, low if several else (), high if several else (), dashes=i))
    if len(results) == 1 and OTHER_ROWS in results[0].values:
        swapped = [as_number(row[OTHER_ROWS]) for row in results[0].tables["accuracy over training"]]
        curves.append(Curve("other rows", curves[0].steps, swapped, strength=0.5, dashes=1))
    values = results[0].values
    lines = {words: values[name] for name, words in SHORTCUTS.items() if name in values}
    return step_curves("Accuracy over training", curves, references=lines | {"chance": CHANCE}, bounds=(0.1, 1.0))


def _range(curve: Table, steps: Sequence[float]) -> tuple[list[float], list[float]]:
    at = [[float(row["accuracy"] or 0) for row in curve if row["step"] == step] for step in steps]
    return [min(values) for values in at], [max(values) for values in at]


def _by_relations_over_steps(result: TaskResult) -> str:
    rows = result.tables["accuracy over training"]
    steps = [float(row["step"] or 0) for row in rows]
    names = [name for name in rows[0] if name.startswith("accuracy_k")]
    curves = [
        Curve(f"{name[10:]} fixed", steps, [as_number(row[name]) for row in rows], dashes=i)
        for i, name in enumerate(names)
    ]
    return step_curves("By the number of fixed factors", curves, references={"chance": CHANCE}, bounds=(0.1, 1.0))


def _by_relations(result: TaskResult) -> str:
    rows = []
    for row in result.tables["by relations"]:
        others = {words: float(row[name] or 0) for name, words in SHORTCUTS.items()}
        rows.append((f"{row['relations']} fixed", as_number(row["accuracy"]), others))
    return dumbbells("Accuracy beside shortcuts", rows)


def _relations_table(results: Sequence[TaskResult]) -> Grid:
    counts = [row["relations"] for row in results[0].tables["by relations"]]
    header = ["representation", *(f"{k} fixed" for k in counts), "all", "rows one and two of another puzzle"]
    rows: list[list[Any]] = []
    for result in results:
        accuracy = {row["relations"]: row["accuracy"] for row in result.tables["by relations"]}
        swapped = result.values.get(OTHER_ROWS)
        rows.append([result.source, *(accuracy.get(k) for k in counts), result.values["accuracy"], swapped])
    for name, words in SHORTCUTS.items():
        shortcut = results[0].values.get(name)
        rows.append([words, *(row[name] for row in results[0].tables["by relations"]), shortcut, shortcut])
    return Grid(header, rows, "Accuracy after the last step, by the number of fixed factors.", name="by-relations")


def _reasoners(result: TaskResult, reasoners: Table) -> Grid:
    last = max(int(row["step"] or 0) for row in result.tables["curve"])
    reached = {row["draw"]: row["accuracy"] for row in result.tables["curve"] if row["step"] == last}
    header = [*(name for name in reasoners[0] if name != "draw"), "accuracy"]
    rows = [[*(row[name] for name in header[:-1]), reached[row["draw"]]] for row in reasoners]
    return Grid(header, rows, f"Settings of the reasoners of {result.source}.", name="reasoners")


def _correlation_grid(table: "pd.DataFrame") -> Grid:
    steps = list(dict.fromkeys(table["step"]))
    rows: list[list[Any]] = []
    for metric, part in table.groupby("metric", sort=False):
        correlation = dict(zip(part["step"], part["r"], strict=True))
        rows.append([str(metric), *(as_cell(correlation[step]) for step in steps)])
    return Grid(
        ["score", *(f"{step:,}" for step in steps)], rows, "Spearman's rho.", name="reasoning-correlations"
    )


def _each(table: "pd.DataFrame", value: str, draw: Callable[[str, "pd.DataFrame"], str]) -> Gallery:
    """One chart for each score that has values."""
    parts = ((str(m), part) for m, part in table.groupby("metric", sort=False) if part[value].notna().any())
    return Gallery([Drawing(draw(metric, part)) for metric, part in parts])


def _missing(table: "pd.DataFrame", value: str) -> list[str]:
    """Why some scores have no chart."""
    parts = [(str(m), part) for m, part in table.groupby("metric", sort=False) if part[value].isna().all()]
    return [f"Not drawn: {'; '.join(f'{name} ({part.note.iloc[0]})' for name, part in parts)}."] if parts else []


def _correlation_curve(metric: str, part: "pd.DataFrame") -> str:
    return step_curves(metric, [_with_band("rho", part, "r")], bounds=(-1.0, 1.0))


def _quartile_curve(metric: str, part: "pd.DataFrame") -> str:
    bins = sorted(set(part["bin"]))
    curves = []
    for k in bins:
        rows = part[part["bin"] == k]
        label = "highest" if k == bins[-1] else "lowest" if k == bins[0] else f"quarter {k}"
        strength = 0.25 + 0.75 * (k - 1) / max(1, len(bins) - 1)
        curves.append(Curve(label, rows["step"].tolist(), rows["mean"].tolist(), strength=strength))
    return step_curves(metric, curves)


def _difference_curve(metric: str, part: "pd.DataFrame") -> str:
    return step_curves(metric, [_with_band("difference", part, "difference")], references={"no difference": 0.0})


def _half_curves(metric: str, part: "pd.DataFrame") -> str:
    curves = []
    for i, half in enumerate(("best", "worst")):
        rows = part[part["half"] == half]
        curves.append(Curve(half, rows["step"].tolist(), rows["r"].tolist(), dashes=i))
    return step_curves(metric, curves, bounds=(-1.0, 1.0))


def _with_band(name: str, part: "pd.DataFrame", value: str) -> Curve:
    steps, values, low, high = (part[column].tolist() for column in ("step", value, "low", "high"))
    return Curve(name, steps, values, low, high)
