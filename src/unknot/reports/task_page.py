"""Results of tasks as one page; each task draws its own section."""

from collections.abc import Sequence
from pathlib import Path

from unknot.errors import sentences
from unknot.reports.kit.page import Grid, Section, write_page
from unknot.tasks import find_task
from unknot.tasks.result import TaskResult

FEW = 4  # results that fit side by side


def task_section(results: Sequence[TaskResult]) -> Section:
    """The section of the results of one task, over several representations or one."""
    name = results[0].task
    with_rows = [result for result in results if any(result.tables.values())]
    drawn = find_task(name).page(with_rows) if with_rows else Section(name)
    texts, contents = [*drawn.paragraphs], [headline(results), *drawn.contents]
    notes = list(dict.fromkeys(text for result in results for text in sentences(result.notes)))
    parts = [Section("Left out or assumed", notes, name=f"notes-{name}")] if notes else []
    return Section(f"Task: {name}", texts, contents, parts)


def write_task_page(path: Path | str, results: Sequence[TaskResult]) -> Path:
    """Write one page with a section for each task."""
    names = dict.fromkeys(result.task for result in results)
    sections = [task_section([r for r in results if r.task == name]) for name in names]
    sources = ", ".join(dict.fromkeys(result.source for result in results))
    return write_page(path, "What it is good for", f"Downstream tasks of {sources}.", sections)


def headline(results: Sequence[TaskResult]) -> Grid:
    """The headline numbers: few results stand side by side, many below each other."""
    names = list(dict.fromkeys(name for result in results for name in result.values))
    about = f"task-{results[0].task}"
    if len(results) <= FEW:
        worlds = {result.world for result in results}
        heads = [r.source if len(worlds) == 1 else f"{r.source} on {r.world}" for r in results]
        rows = [[name, *(_shown(r.values.get(name)) for r in results)] for name in names]
        return Grid(("value", *heads), rows, ", ".join(sorted(worlds)) if len(worlds) == 1 else "", about)
    rows = [[r.source, r.world, *(_shown(r.values.get(name)) for name in names)] for r in results]
    return Grid(("representation", "world", *names), rows, name=about)


def _shown(value: float | None) -> float | str:
    return "-" if value is None or value != value else value
