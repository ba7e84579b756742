"""Reasoning: does a representation help to learn abstract visual puzzles from fewer examples?"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from unknot.encoders.source import Source
from unknot.errors import UnknotError, extras
from unknot.progress import Progress, silent
from unknot.runs.workspace import Workspace
from unknot.tasks.options import Untrained
from unknot.tasks.reasoning.options import CONTROLS, OTHER_ROWS, WHO, ReasoningOptions
from unknot.tasks.reasoning.page import section, study_sections
from unknot.tasks.reasoning.panels import grid_of, integer_table, panels_of
from unknot.tasks.result import RESULT, Cell, Table, TaskResult, rows_table
from unknot.tasks.task import SOURCES, Task
from unknot.worlds import open_world
from unknot.worlds.puzzles.picture import puzzle_picture
from unknot.worlds.puzzles.puzzles import CHANCE, check_puzzles
from unknot.worlds.puzzles.quantised import Quantised

if TYPE_CHECKING:
    from PIL.Image import Image
    from rich.console import RenderableType


TRIED = 10  # steps of each reasoner that are timed for an estimate
ALONE = {"onehot": "one-hot factors", "integer": "integer factors", "cnn": "CNN from scratch"}
Baselines = Mapping[str, Mapping[int, float]]  # solver -> number of fixed factors, 0 for all -> accuracy


def measure(source: Source, options: ReasoningOptions, workspace: Workspace, progress: Progress) -> TaskResult:
    """How the accuracy of reasoners grows with training on puzzles that they see through a representation."""
    grid = grid_of(source, options)
    check_puzzles(grid.factors, options.relations, options.alternatives)
    classes = dict(zip(grid.factors.names, grid.factors.shape, strict=True))
    taught = {**options.lesson(), "encoder": source.record, "world": source.world_name, "classes": classes}
    reasoners = [asdict(setting) for setting in options.reasoners()]
    settings = {**taught, "steps": options.steps, "reasoners": reasoners}
    label = source.label or ALONE[options.input]

    def result() -> TaskResult:
        with extras(WHO):
            from unknot.tasks.reasoning.reasoner import Lesson, teach
        lesson = Lesson(panels_of(source, grid, options, workspace, progress), options)
        baselines = options.baselines(grid.factors)
        identity = [taught, source.fingerprint]
        curve, diverged = teach(lesson, source.device, identity, workspace, progress)
        notes = [
            f"Reasoner {draw} diverged at step {step}; from there on it counts as chance."
            for draw, step in diverged.items()
        ]
        about = TaskResult(WHO, label, source.world_name, {}, settings=settings, notes=notes)
        return _with_numbers(about, curve, baselines)

    return workspace.kept(WHO, [settings, source.fingerprint, label], result, RESULT)


def check(run: Untrained, options: ReasoningOptions) -> None:
    """Refuse options that no run can be put to the task with, before there is one."""
    if options.input != "representation":
        raise UnknotError(who=WHO, field="input", value=options.input, expected="representation, which a run has")
    check_puzzles(Quantised(run.world, options.classes).factors, options.relations, options.alternatives)


def preview(source: Source, options: ReasoningOptions, progress: Progress) -> "Image":
    """A picture of the first puzzle."""
    grid = Quantised(source.world, options.classes)
    rng = np.random.default_rng(options.seed)
    return puzzle_picture(grid, options.puzzles(grid.factors, 1, rng), rng=rng, solved=options.solved)


def estimate(world: str, options: ReasoningOptions, data: Path | None) -> float:
    """Seconds to teach and examine the reasoners of one run, from a few steps on codes of integers."""
    import torch

    from unknot.tasks.reasoning.reasoner import Lesson, teach

    panels = integer_table(Quantised(open_world(world, data=data), options.classes).factors)

    def seconds(steps: int, batches: int) -> float:
        few = {"steps": steps, "evaluate_every": steps, "evaluation_batches": batches, "at": ()}
        lesson = Lesson(panels, options.model_copy(update=few))
        began = time.perf_counter()
        teach(lesson, torch.device("cpu"), None, Workspace(), silent)
        return time.perf_counter() - began

    seconds(1, 1)  # compiles
    least = seconds(1, 1)
    step = max(0.0, seconds(1 + TRIED, 1) - least) / TRIED
    examination = max(0.0, seconds(1, options.evaluation_batches) - least)
    return options.steps * step + ceil(options.steps / options.evaluate_every) * examination


def baselines_in_words(values: Mapping[str, float]) -> str:
    """What an accuracy has to be held against."""
    return (
        f"Chance is {CHANCE:.3f}. The best use of the answers alone gets {values['answers_only']:.3f}, of row three "
        f"and the answers {values['third_row']:.3f}: only an accuracy above the latter shows that rows one and two are "
        f"used. With those of another puzzle, accuracy is {values[OTHER_ROWS]:.3f} instead of "
        f"{values['accuracy']:.3f}; whoever looks at them falls."
    )


def _with_numbers(about: TaskResult, curve: Table, baselines: Baselines) -> TaskResult:
    """A result that says whose reasoners these are, with how they learnt."""
    counts = [k for k in baselines["rule"] if k > 0]
    curve = [_complete(row, [f"accuracy_k{k}" for k in counts]) for row in curve]
    means = _means(curve)
    last = means[-1]
    values = {
        "accuracy": last["accuracy"],
        OTHER_ROWS: last[OTHER_ROWS],
        **{f"accuracy_{row['step']}": row["accuracy"] for row in means if row["step"] in about.settings["at"]},
        **{name: by_count[0] for name, by_count in baselines.items()},
    }
    final = [float(row["accuracy"] or 0) for row in curve if row["step"] == last["step"]]
    if len(final) > 1:
        values |= {"accuracy_worst": min(final), "accuracy_best": max(final)}
    by_relations: Table = [
        {"relations": k, "accuracy": last[f"accuracy_k{k}"], **{name: of[k] for name, of in baselines.items()}}
        for k in counts
    ]
    tables: dict[str, Table] = {
        "accuracy over training": [{**row} for row in means],
        "by relations": by_relations,
        "curve": curve,
        "reasoners": [{"draw": i, **setting} for i, setting in enumerate(about.settings["reasoners"])],
    }
    return replace(about, values=values, tables=tables, notes=[baselines_in_words(values), *about.notes])


def _complete(row: Mapping[str, Cell], columns: list[str]) -> dict[str, Cell]:
    """A row with these columns last, empty where a small evaluation had no such puzzle."""
    return {name: cell for name, cell in row.items() if name not in columns} | {
        name: row.get(name) for name in columns
    }


def _means(curve: Table) -> list[dict[str, float]]:
    """The mean over reasoners at each step; NaN of what no evaluation had."""
    names = [name for name in curve[0] if name not in ("draw", "step")]
    means = []
    for step in sorted({int(row["step"] or 0) for row in curve}):
        rows = [row for row in curve if row["step"] == step]
        means.append({"step": step, **{name: _mean(row[name] for row in rows) for name in names}})
    return means


def _mean(cells: Iterable[Cell]) -> float:
    known = [float(cell) for cell in cells if cell is not None]
    return float(np.mean(known)) if known else float("nan")


def table(result: TaskResult) -> "RenderableType":
    """Accuracy over training, and by the number of fixed factors."""
    from rich.console import Group

    return Group(*(rows_table(name, result.tables[name]) for name in ("accuracy over training", "by relations")))


REASONING = Task(
    name=WHO,
    version=3,
    question="Train relation networks on puzzles seen through a representation: how does accuracy grow with training?",
    about="""A relation network (WReN) learns to solve Raven-like puzzles whose panels it sees through a frozen
representation; what counts is how well it does after how many steps. The literature's claim is that disentangled
representations need fewer.

Beside it stand three solvers that learn nothing: the rule itself (always right), the best use of row three and the
answers, and the best use of the answers alone, both by the likelihood of the puzzles. What is not above those two may
be a shortcut. Each examination is also held with rows one and two of another puzzle: whoever does not look at them does
as well.

`values`: "accuracy" after the last step, the mean over reasoners; "accuracy_other_rows", with rows one and two of
another puzzle; "accuracy_N" after N steps; the baselines "rule", "third_row" and "answers_only"; of several reasoners,
"accuracy_worst" and "accuracy_best". `tables`: "curve", a row for each reasoner and evaluation; "accuracy over
training"; "by relations"; "reasoners".

Edge cases: a file of latents must hold every combination that puzzles are made from. A reasoner whose loss is no longer
finite counts as chance from there on, and a note says so.
Departs from the paper: wrong answers never repeat and are really hard ones; dropout is the share that is dropped;
settings are drawn without replacement.""",
    reference="van Steenkiste et al. 2019, Are Disentangled Representations Helpful for Abstract Visual Reasoning?, "
    "arXiv:1905.12506.",
    options=ReasoningOptions,
    check=check,
    measure=measure,
    table=table,
    page=section,
    sources=f"{SOURCES} None with the input onehot, integer or cnn.",
    alone=lambda options: options.input != "representation",
    controls=CONTROLS,
    preview=preview,
    estimate=estimate,
    study_page=study_sections,
)
reasoning = REASONING.function
