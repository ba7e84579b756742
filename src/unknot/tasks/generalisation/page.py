"""The task of systematic generalisation on a page: R² by split, by factor, and how alike models err."""

from collections.abc import Iterator, Sequence

from unknot.reports.kit.matrix_chart import matrix_chart
from unknot.reports.kit.page import Cell, Content, Drawing, Gallery, Grid, Section
from unknot.reports.kit.split_chart import Bar, histogram, r2_bars
from unknot.tasks.generalisation.error_similarity import KINDS_OF, Similarity, comparable, error_similarity
from unknot.tasks.generalisation.options import KINDS
from unknot.tasks.result import TaskResult, as_number

MOST = 12  # models with tables and charts of their own
SUMMARY = {
    "r2": "R²",
    "r2_clipped": "R², no factor below 0",
    "constant_full_mean": "constant: mean of everything",
    "constant_train_mean": "constant: training mean",
    "r2_id": "ID factors",
    "constant_id": "constant: ID",
    "r2_ood": "OOD factor",
    "constant_ood": "constant: OOD",
    "ratio": "ratio",
}
FACTORS = {**SUMMARY, "share_short": "share of ratios up to 1"}


def section(results: Sequence[TaskResult]) -> Section:
    """Words, bars by split, tables by split and factor, what one unseen factor does to the others, similarity."""
    oracles = [result for result in results if "oracle" in result.tables]
    tested = [result for result in results if "oracle" not in result.tables]
    texts: list[str] = []
    contents: list[Content] = []
    if tested:
        texts, contents = _texts(tested), list(_contents(tested))
    if oracles:
        texts.append("The readout was also given the true factors, or their negatives: what it can read at best.")
        contents += map(_oracle, oracles)
    return Section("Systematic generalisation", texts, contents)


def _texts(results: Sequence[TaskResult]) -> list[str]:
    return [
        "Factors are predicted on images unlike those of training: other combinations (composition), values in between "
        "(interpolation), values beyond (extrapolation). R² is 1 for perfect predictions and 0 for errors as large as "
        "the variance of the whole dataset; it has no lower end. Upright marks in the bars are what a constant scores: "
        "the mean of everything, and the mean of the training part.",
        "On images where exactly one factor has a value that training never had, R² of that factor (OOD) and of all "
        "others (ID) are told apart. The ratio says how far from the training mean predictions of unseen values go, "
        "relative to how far they should: 1 is right, 0 is the mean.",
        *(f"{i + 1} " * (len(results) > 1) + _in_words(result) for i, result in enumerate(results)),
    ]


def _contents(results: Sequence[TaskResult]) -> Iterator[Content]:
    labels = _labels(results)
    yield Gallery(list(_bars(results, labels)))
    yield _summary(results, labels)
    yield from _similarities(results)
    for result, label in list(zip(results, labels, strict=True))[:MOST]:
        yield _factors(result, label, len(results) > 1)
        drawings = [*_modularity(result, label), *_ratios(result, label)]
        if drawings:
            yield Gallery(drawings)


def _oracle(result: TaskResult) -> Grid:
    rows: list[list[Cell]] = [list(row.values()) for row in result.tables["oracle"]]
    header = tuple(name.replace("_", " ") for name in result.tables["oracle"][0])
    return Grid(header, rows, f"Readout of the true factors of {result.world}.", f"oracle-{result.world}")


def _labels(results: Sequence[TaskResult]) -> list[str]:
    """Short names: the first words of each, numbered where there are several."""
    words = [result.source.split(",")[0].split(" (")[0].split(":")[-1].split("/")[-1] for result in results]
    return words if len(results) == 1 else [f"{i + 1} {word}" for i, word in enumerate(words)]


def _in_words(result: TaskResult) -> str:
    parts = []
    for split in result.settings["splits"]:
        here = f"R² {_number(result, f'{split}_r2')} on {split} (a constant: {_number(result, f'{split}_r2_constant')})"
        if f"{split}_r2_ood" in result.values:
            here += (
                f"; with one unseen value, {_number(result, f'{split}_r2_ood')} for its factor and "
                f"{_number(result, f'{split}_r2_id')} for the others"
            )
        if f"{split}_ratio" in result.values:
            here += f"; predictions go {_number(result, f'{split}_ratio')} of the way from the mean"
        parts.append(here)
    return f"{result.source} on {result.world}: {'. '.join(parts)}."


def _number(result: TaskResult, name: str) -> str:
    value = result.values[name]
    return "unknown" if value != value else f"{value:.2f}"


def _bars(results: Sequence[TaskResult], labels: Sequence[str]) -> Iterator[Drawing]:
    """A chart for each world and split, a bar for each model."""
    for world in dict.fromkeys(result.world for result in results):
        rows: dict[str, list[Bar]] = {}
        for result, label in zip(results, labels, strict=True):
            for row in result.tables["splits"] if result.world == world else ():
                marks = {
                    "always the mean of everything": as_number(row["constant_full_mean"]),
                    "always the training mean": as_number(row["constant_train_mean"]),
                }
                rows.setdefault(str(row["split"]), []).append(
                    Bar(label, as_number(row["r2"]), marks, result.source)
                )
        for split in sorted(rows, key=lambda name: KINDS.index(name) if name in KINDS else len(KINDS)):
            yield Drawing(r2_bars(f"R², {split}", rows[split]), f"{world}.")


def _summary(results: Sequence[TaskResult], labels: Sequence[str]) -> Grid:
    rows: list[list[Cell]] = [
        [label, result.world, str(row["split"]), *(row[name] for name in SUMMARY), row["rows"], row["test_part"]]
        for result, label in zip(results, labels, strict=True)
        for row in result.tables["splits"]
    ]
    header = ("model", "world", "split", *SUMMARY.values(), "test images", "of")
    return Grid(
        header, rows, "Means over factors; each number beside that of a constant.", "generalisation by split"
    )


def _factors(result: TaskResult, label: str, several: bool) -> Grid:
    rows: list[list[Cell]] = [
        [
            str(row["split"]),
            str(row["factor"]),
            str(row["kind"]),
            row["held_out"],
            *(row[name] for name in FACTORS),
        ]
        for row in result.tables["factors"]
    ]
    header = ("split", "factor", "kind", "unseen values", *FACTORS.values())
    words = f"{label}, by factor. ID: where another factor is the unseen one. OOD: where this one is."
    return Grid(header, rows, words, f"factors{f'-{label}' if several else ''}")


def _modularity(result: TaskResult, label: str) -> Iterator[Drawing]:
    table = result.tables.get("modularity", [])
    for split in dict.fromkeys(str(row["split"]) for row in table):
        rows = [row for row in table if row["split"] == split]
        r2 = {(row["unseen"], row["factor"]): as_number(row["r2"]) for row in rows}
        unseen = list(dict.fromkeys(str(row["unseen"]) for row in rows))
        factors = list(dict.fromkeys(str(row["factor"]) for row in rows))
        values = [[r2[name, factor] for factor in factors] for name in unseen]
        title = f"{split}: R² where one factor is unseen"
        chart = matrix_chart(title, unseen, factors, values, row_word="unseen", colour="up")
        yield Drawing(chart, f"{label}. A modular model keeps all but the diagonal.")


def _ratios(result: TaskResult, label: str) -> Iterator[Drawing]:
    """All factors together; each alone is in the table."""
    table = result.tables.get("ratios", [])
    for split in dict.fromkeys(str(row["split"]) for row in table):
        counts: dict[float, int] = {}
        for row in table:
            if row["split"] == split:
                counts[as_number(row["ratio"])] = counts.get(as_number(row["ratio"]), 0) + int(row["rows"] or 0)
        starts = sorted(counts)
        chart = histogram(f"{split}: ratio", starts, [counts[start] for start in starts], 0.1, 1.0)
        yield Drawing(
            chart, f"{label}. How far from the training mean predictions go; left of the line, not far enough."
        )


def _similarities(results: Sequence[TaskResult]) -> Iterator[Content]:
    """Heat maps, world by world."""
    for world in dict.fromkeys(result.world for result in results):
        drawings = [
            similarity_chart(error_similarity(group, split, of=of))
            for split, group, kinds in comparable([result for result in results if result.world == world])
            for of in kinds
        ]
        if drawings:
            yield Gallery(drawings)


def similarity_chart(similarity: Similarity) -> Drawing:
    """How alike models are on one split, as a matrix."""
    numbers = [str(i + 1) for i in range(len(similarity.names))]
    rows = [f"{number} {name}" for number, name in zip(numbers, similarity.names, strict=True)]
    title = f"{similarity.split}: correlation of {similarity.of}"
    caption = f"Pearson correlation of {KINDS_OF[similarity.of]} over {similarity.rows} test images"
    caption += "; means over pairs of seeds." if similarity.of == "ood" else ", averaged over factors."
    return Drawing(matrix_chart(title, rows, numbers, similarity.matrix.tolist(), colour="up"), caption)
