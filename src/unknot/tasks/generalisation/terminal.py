"""Results of the generalisation task in the terminal."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unknot.tasks.generalisation.error_similarity import Similarity, comparable, error_similarity
from unknot.tasks.result import Cell, Table, TaskResult

if TYPE_CHECKING:
    from rich.console import RenderableType

PLAIN: dict[str, Any] = {"title_justify": "left", "box": None, "pad_edge": False}
ALWAYS = {"r2": "R²", "constant_train_mean": "constant"}
UNSEEN = {"r2_id": "ID", "constant_id": "constant", "r2_ood": "OOD", "constant_ood": "constant", "ratio": "ratio"}


def table(result: TaskResult) -> "RenderableType":
    """R² of every factor, each number beside that of a constant, split by split; of an oracle, what is read."""
    from rich.console import Group

    if "oracle" in result.tables:
        return _oracle(result.tables["oracle"])
    return Group(*(part for mean in result.tables["splits"] for part in (_factors(result, mean), "")))


def _factors(result: TaskResult, mean: Mapping[str, Cell]) -> "RenderableType":
    """The factors of one split, and their mean."""
    from rich.table import Table
    from rich.text import Text

    columns = ALWAYS if mean["r2_ood"] is None else ALWAYS | UNSEEN
    grid = Table(title=Text(f"{mean['split']}: R² by factor"), **PLAIN)
    grid.add_column("factor")
    for head in columns.values():
        grid.add_column(head, justify="right", style="dim" if head == "constant" else "")
    for row in result.tables["factors"]:
        if row["split"] == mean["split"]:
            grid.add_row(Text(str(row["factor"])), *(_shown(row[name]) for name in columns))
    grid.add_row("mean", *(_shown(mean[name]) for name in columns), style="bold")
    return grid


def _oracle(rows: Table) -> "RenderableType":
    from rich.table import Table
    from rich.text import Text

    grid = Table(title="oracle", header_style="bold", **PLAIN)
    for name, cell in rows[0].items():
        grid.add_column(name, justify="right" if isinstance(cell, int | float) else "left", overflow="fold")
    for row in rows:
        grid.add_row(*(Text(_shown(cell)) for cell in row.values()))
    return grid


def compare(results: Sequence[TaskResult]) -> "RenderableType":
    """How alike models are on each split that two or more of them are on."""
    from rich.console import Group

    return Group(*(_similarity(error_similarity(group, split)) for split, group in comparable(results)))


def _similarity(similarity: Similarity) -> "RenderableType":
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    head = Text(f"{similarity.split}: correlation of predictions over {similarity.rows} images")
    grid = Table("")
    for i, _ in enumerate(similarity.names):
        grid.add_column(str(i + 1), justify="right")
    for i, (name, row) in enumerate(zip(similarity.names, similarity.matrix.tolist(), strict=True)):
        grid.add_row(Text(f"{i + 1} {name}"), *("-" if r != r else f"{r:.2f}" for r in row))
    return Group(head, grid)


def _shown(cell: Cell) -> str:
    if isinstance(cell, float):
        return "-" if cell != cell else f"{cell:.3f}"
    return "-" if cell is None else str(cell)
