"""What tasks found out about one run, on its page: a section for each task, with a part for each of several results."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

from unknot.reports.kit.page import Grid, Section
from unknot.reports.task_page import headline, task_section
from unknot.runs.labels import differing
from unknot.runs.run import Run
from unknot.tasks.kept_results import WHOSE, kept_results
from unknot.tasks.result import TaskResult

LONG = 40  # letters of a setting that is too long for a title
UNSAID = (*WHOSE, "world")  # settings that a title does not need


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
        yield Section("Tasks", [f"Put to no task yet; unknot task NAME {run.folder} does it."])


def _together(results: Sequence[TaskResult], sections: Sequence[Section]) -> Section:
    """Headline numbers side by side, and below each result in full."""
    labels = _labels(results)
    table = headline([replace(result, source=label) for result, label in zip(results, labels, strict=True)])
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
