"""Results of tasks as one page, or on the page of their run; each task draws its own section."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

from unknot.errors import sentences
from unknot.reports.kit.page import Grid, Section, write_page
from unknot.runs.labels import differing
from unknot.runs.run import Run
from unknot.tasks import find_task
from unknot.tasks.kept_results import WHOSE, kept_results
from unknot.tasks.result import TaskResult

FEW = 4  # results that fit side by side
LONG = 40  # letters of a setting that is too long for a title
UNSAID = (*WHOSE, "world")  # settings that a title does not need


def task_section(results: Sequence[TaskResult]) -> Section:
    """The section of the results of one task, over several representations or one."""
    name = results[0].task
    with_rows = [result for result in results if any(result.tables.values())]
    drawn = find_task(name).page(with_rows) if with_rows else Section(name)
    texts, contents = [*drawn.paragraphs], [_headline(results), *drawn.contents]
    notes = list(dict.fromkeys(text for result in results for text in sentences(result.notes)))
    parts = [Section("Left out or assumed", notes, name=f"notes-{name}")] if notes else []
    return Section(f"Task: {name}", texts, contents, parts)


def write_task_page(path: Path | str, results: Sequence[TaskResult]) -> Path:
    """Write one page with a section for each task."""
    names = dict.fromkeys(result.task for result in results)
    sections = [task_section([r for r in results if r.task == name]) for name in names]
    sources = ", ".join(dict.fromkeys(result.source for result in results))
    return write_page(path, "What it is good for", f"Downstream tasks of {sources}.", sections)


def _headline(results: Sequence[TaskResult]) -> Grid:
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


def run_tasks(run: Run) -> Iterator[Section]:
    """A section for each task that the run's folder has results of; then what could not be shown, and why."""
    results, faults = kept_results(run)
    weights = run.weights_hash if run.finished else None
    drawn: list[tuple[TaskResult, Section]] = []
    for path, result in results.items():
        if weights is not None and _weights(result) not in (None, weights):
            faults.append(f"{path}: is of weights that the run no longer has. {_again(run, path, result)}")
            continue
        try:
            drawn.append((result, task_section([result])))
        except Exception as error:  # a damaged table fails in many ways
            faults.append(
                f"{path}: cannot be drawn ({type(error).__name__}: {error}). {_again(run, path, result)}"
            )
    for _, pairs in groupby(drawn, key=lambda pair: pair[0].task):
        of_task, sections = zip(*pairs, strict=True)
        yield sections[0] if len(sections) == 1 else _together(of_task, sections)
    if faults:
        yield Section("Results that are not shown", faults)
    elif not drawn:
        yield Section("Tasks", [f"None has been run yet: `unknot task NAME {run.folder}` does it."])


def _together(results: Sequence[TaskResult], sections: Sequence[Section]) -> Section:
    """Headline numbers side by side, and below each result in full."""
    labels = _labels(results)
    table = _headline([replace(result, source=label) for result, label in zip(results, labels, strict=True)])
    worlds = {result.world for result in results}
    parts: list[Section] = []
    for result, section, label in zip(results, sections, labels, strict=True):
        title = label if len(worlds) == 1 else f"{label} on {result.world}"
        parts.append(_part(section, title, f"{section.anchor}-{len(parts) + 1}"))
    words = f"{len(results)} results with different settings, the oldest first."
    return Section(sections[0].title, [words], [table], parts)


def _part(section: Section, title: str, name: str) -> Section:
    """A section as a part, names of tables and of its own parts made unlike those of the other settings."""
    contents = [
        replace(one, name=f"{one.name} ({title})") if isinstance(one, Grid) else one for one in section.contents
    ]
    parts = [replace(part, name=f"{name}-{part.anchor}") for part in section.parts]
    return replace(section, title=title, contents=contents, parts=parts, name=name)


def _labels(results: Sequence[TaskResult]) -> list[str]:
    """A number for each, and the settings in which they differ."""
    names = dict.fromkeys(name for result in results for name in result.settings if name not in UNSAID)
    records = [{name: _words(result.settings.get(name)) for name in names} for result in results]
    telling = differing(records)
    labels = []
    for i, record in enumerate(records, start=1):
        settings = [f"{name} {record[name]}" for name in telling if 0 < len(record[name]) <= LONG]
        labels.append(": ".join(filter(None, [str(i), ", ".join(settings)])))
    return labels


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={_words(one)}" for key, one in value.items())
    if isinstance(value, list):
        return " ".join(map(_words, value))
    return "" if value is None else str(value)


def _weights(result: TaskResult) -> str | None:
    """The weights of the run that a result is of, as far as it says."""
    records = [result.settings.get(name) for name in WHOSE]
    return next((record.get("weights") for record in records if isinstance(record, Mapping)), None)


def _again(run: Run, path: Path, result: TaskResult) -> str:
    if path in run.results():
        return "Move it away, and the study makes it anew."
    return f"unknot task {result.task} {run.folder} with the same options makes it anew."
