"""Novel combinations of familiar features: is a small square recognised by one who only saw other squares?"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from unknot import __version__
from unknot.encoders.encoding import ROWS
from unknot.encoders.source import Source
from unknot.errors import UnknotError
from unknot.factors import FactorSpace
from unknot.metrics.probes import LinearRecipe
from unknot.progress import Progress, named, within
from unknot.runs.spec import RunSpec
from unknot.runs.workspace import Workspace
from unknot.tasks.combinations.heads import BOTH, answer_table, chance_levels, head_answers, mistake_table
from unknot.tasks.combinations.page import section
from unknot.tasks.combinations.rows import (
    WHO,
    FileRows,
    LabelledRows,
    WorldRows,
    chosen_combinations,
    must_exist,
    seen_and_novel,
)
from unknot.tasks.options import Names, Options, Rows, Untrained, option
from unknot.tasks.result import Table, TaskResult, as_number
from unknot.tasks.task import SOURCES, Task
from unknot.worlds.catalogue import conventions
from unknot.worlds.splits.combinations import combination_name, parse_combination
from unknot.worlds.splits.named import COMBINATION

if TYPE_CHECKING:
    from rich.console import RenderableType

Combination = Mapping[str, int]


class CombinationsOptions(Options):
    """The options of the novel-combinations task."""

    task = WHO
    held_out: str | Combination | Sequence[str | Combination] = option(
        (), "A combination, such as scale=0,shape=0; may be repeated. Else the published."
    )
    pair: Names = option((), "Two factors, all combinations of which are tried: scale,shape.", flag="--pair,")
    limit: int | None = option(None, "At most so many combinations, drawn with the seed.", ge=1)
    rows: Rows = option(ROWS, "How many images are encoded, or all.")
    pair_only: bool = option(False, "Read the two factors only, not the others.")
    recipe: LinearRecipe = option(
        "converged",
        "How heads are trained: converged, paper or paper_text; penalised, for wide codes: as converged, but linear "
        "ones have a penalty.",
    )
    seed: int = option(0, "Decides rows, heads and, with --model, the runs.", ge=0)


def measure(source: Source, options: CombinationsOptions, workspace: Workspace, progress: Progress) -> TaskResult:
    """How well heads read a combination of two factor values when they only know each value from other company."""
    spec, split = source.spec, "" if source.run is None else source.run.spec.split
    if spec is not None and source.run is None:
        _must_be_whole(source, spec)
        space, rows_of = source.world.factors, _trained_rows(source, spec, options, workspace, progress)
        notes = [f"One {spec.model} was trained for each combination, on all images but those."]
        about: dict[str, Any] = {"spec": spec.model_dump()}
    else:
        rows = _rows(source, options, workspace)
        space, notes, about = rows.space, [_seen(split)], {"encoder": dict(source.record)}

        def rows_of(combination: Combination) -> LabelledRows:
            return rows  # the same for every combination

    chosen = _chosen(options, split, source.world_name, space, source.conventions.combinations)
    decided = {name: options.settings()[name] for name in ("rows", "recipe", "seed", "pair_only")}
    tables: dict[str, Table] = {"answers": [], "mistakes": []}
    for i, combination in enumerate(chosen):
        here = rows_of(combination)
        what = f"{combination_name(combination)} ({i + 1} of {len(chosen)})"
        for key, table in _answers(here, combination, options, workspace, within(progress, what)).items():
            tables[key] += table
        notes += [note for note in here.notes if note not in notes]
    tables = {"summary": summary(tables["answers"]), **tables}
    values = _values(tables["summary"])
    return TaskResult(
        task=WHO,
        source=source.label,
        world=source.world_name,
        values=values,
        tables=tables,
        settings={**decided, **about, "combinations": [combination_name(c) for c in chosen]},
        notes=[*notes, *_words(tables["answers"])],
        lower_is_better=[value for value in values if value.endswith("_drop")],
    )


def check(run: Untrained, options: CombinationsOptions) -> None:
    """Refuse options that no run can be put to the task with, before there is one."""
    space, published = run.world.factors, conventions(run.world.key).combinations
    for combination in _chosen(options, run.spec.split, run.key, space, published):
        must_exist(space, run.world.rows, combination)


def _chosen(
    options: CombinationsOptions, split: str, world: str, space: FactorSpace, published: Iterable[Combination]
) -> list[dict[str, int]]:
    """The combinations asked for; else those that a run trained inside a split has not seen, or the published ones."""
    held_out = options.held_out or ([] if options.pair else _left_out(split))
    return chosen_combinations(held_out, options.pair, world, space, published, options.limit, options.seed)


def _answers(
    rows: LabelledRows,
    combination: Combination,
    options: CombinationsOptions,
    workspace: Workspace,
    progress: Progress,
) -> dict[str, Table]:
    """What heads answer for one combination, now or in an earlier call."""

    def answers() -> dict[str, Table]:
        space, seed = rows.space, options.seed
        seen = seen_and_novel(rows, combination, seed, progress)
        names = [f.name for f in space if f.name in combination or not (options.pair_only or f.kind == "constant")]
        answers = head_answers(seen, space, names, options.recipe, [seed, *combination.values()], progress)
        levels = chance_levels(space, rows.points, combination)
        return {
            "answers": answer_table(seen, answers, space, levels, combination),
            "mistakes": mistake_table(answers, space, combination),
        }

    key = {**rows.identity, "recipe": options.recipe, "pair_only": options.pair_only, "by": __version__}
    name = combination_name(combination)
    return workspace.kept(name, [key, name], answers)


def summary(answers: Table) -> Table:
    """Mean and standard deviation over combinations, for factors in those that they are a part of, and for both."""
    groups: dict[tuple[Any, Any, Any], list[dict[str, Any]]] = {}
    for row in answers:
        if row["in_combination"]:
            groups.setdefault((row["heads"], row["test"], row["factor"]), []).append(row)
    return [
        {
            "heads": heads,
            "test": test,
            "factor": factor,
            "combinations": len(rows),
            **{key: float(np.mean([row[key] for row in rows])) for key in ("adjusted", "accuracy", "chance")},
            "sd_adjusted": _sd([row["adjusted"] for row in rows]),
            "sd_accuracy": _sd([row["accuracy"] for row in rows]),
        }
        for (heads, test, factor), rows in groups.items()
    ]


def _sd(values: Sequence[float]) -> float | None:
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def _values(table: Table) -> dict[str, float]:
    values = {f"{row['heads']}_{row['test']}_{row['factor']}": as_number(row["adjusted"]) for row in table}
    for heads in dict.fromkeys(str(row["heads"]) for row in table):
        values[f"{heads}_drop"] = values[f"{heads}_random_{BOTH}"] - values[f"{heads}_novel_{BOTH}"]
    return values


def _words(answers: Table) -> Iterator[str]:
    levels = {str(row["factor"]): as_number(row["chance"]) for row in answers if row["in_combination"]}
    text = ", ".join(f"{name} {level:.3f}" for name, level in levels.items())
    yield f"Accuracies are adjusted for chance: 0 is guessing, 1 is all right. Guessing gets {text}."


def _must_be_whole(source: Source, spec: RunSpec) -> None:
    """An error if a spec trains on another world, or on a part of it."""
    if source.world_name != spec.world:
        raise UnknotError(
            f"{WHO}: the spec trains on {spec.world}, and the world is {source.world_name}; leave out the world.",
            field="world",
        )
    if spec.split:
        raise UnknotError(
            f"{WHO}: the spec has a split ({spec.split}); leave it out, each combination is its own.",
            field="split",
        )


def _trained_rows(
    source: Source, spec: RunSpec, options: CombinationsOptions, workspace: Workspace, progress: Progress
) -> Callable[[Combination], LabelledRows]:
    """Rows by combination, through the run that was trained without it."""
    from unknot.runs.training import train

    if workspace.folder is None:
        raise UnknotError(f"{WHO}: training needs a folder, where runs are kept; pass folder='combinations'.")
    runs, opening = workspace.folder / "runs", source.opening

    def rows(combination: Combination) -> LabelledRows:
        name = combination_name(combination)
        run = train(
            spec.replace(split=COMBINATION + name),
            runs,
            wait=True,
            progress=named(progress, f"training without {name}"),
            device=opening.device,
            data=opening.data,
        )
        trained = Source.of(run, None, opening, who=WHO)
        return WorldRows(trained, options.rows, options.seed, Workspace())

    return rows


def _rows(source: Source, options: CombinationsOptions, workspace: Workspace) -> LabelledRows:
    """Rows of an encoder or a file."""
    representation = source.representation
    if representation is None:
        return WorldRows(source, options.rows, options.seed, workspace)
    space = source.known_factors
    if source.chosen_world is not None and space is not None and space.names != representation.factor_names:
        raise UnknotError(
            f"{WHO}: the latents have factors {', '.join(representation.factor_names)}, {source.world_name} has "
            f"{', '.join(space.names)}; leave out the world, or name the one they come from.",
            field="world",
        )
    return FileRows(representation, options.rows, options.seed, fingerprint=source.fingerprint, space=space)


def _seen(split: str) -> str:
    """What an encoder trained inside a split may have seen of the combinations."""
    if split.startswith(COMBINATION):
        return f"The run was trained inside the split {split}: it knows all other combinations."
    return (
        "The encoder was taken as it is and may have seen every combination; only the heads have not. Train one "
        "for each combination (--model) to leave it out altogether."
    )


def _left_out(split: str) -> list[dict[str, int]]:
    """The combinations that a run trained inside a split has not seen."""
    if not split.startswith(COMBINATION):
        return []
    left_out = parse_combination(split.removeprefix(COMBINATION))
    return [dict(zip(left_out, one, strict=True)) for one in product(*left_out.values())]


def table(result: TaskResult) -> "RenderableType":
    """The means as in the paper's Table 3: a row for each kind of head, columns for both test sets."""
    from rich.table import Table

    rows = result.tables["summary"]
    factors = list(dict.fromkeys(str(row["factor"]) for row in rows))
    tests = list(dict.fromkeys(str(row["test"]) for row in rows))
    n = max(int(row["combinations"] or 0) for row in rows)
    means = "mean (standard deviation) over" if n > 1 else "of"
    title = f"accuracy above chance, {means} {n} combination{'s' if n > 1 else ''}"
    grid = Table(title=title, title_justify="left")
    grid.add_column("heads")
    for test in tests:
        for factor in factors:
            grid.add_column(f"{test} {factor}", justify="right")
    for heads in dict.fromkeys(str(row["heads"]) for row in rows):
        cells = {(row["test"], row["factor"]): row for row in rows if row["heads"] == heads}
        grid.add_row(heads, *(_cell(cells.get((test, factor), {})) for test in tests for factor in factors))
    return grid


def _cell(row: Mapping[str, Any]) -> str:
    if not row:
        return "-"
    sd = row["sd_adjusted"]
    return f"{row['adjusted']:.3f}" + (f" ({sd:.3f})" if sd is not None else "")


COMBINATIONS = Task(
    name=WHO,
    version=1,
    question="Leave out one combination of two factor values; is it read right by heads that know each value?",
    about="""All images with one combination, such as the small squares, are set aside. A net with one hidden layer
and a linear head, one for each factor, learn to read factors from the latents of the others. They are tested on
held-out rows of those (the random test set) and on the images set aside (the novel combination).

Accuracies a are adjusted for chance,

    max(0, (a - r) / (1 - r)),    r = sum of squared class frequencies

for each factor, and for "both" factors of the combination right at once. r is that of the whole world: 1 / size on a
complete grid, 1 / (size * size) for both. 0 is guessing, 1 is best. Means and standard deviations are over
combinations.

Given a `RunSpec` (--model), one model is trained for each combination on all images but those, so that model and heads
alike have never seen it: the protocol of the paper. Given an encoder, only the heads have not. Of the images of a
combination a third as many as `rows` are encoded; of the others as many are held out as the combination has, at most a
third.

`values`: adjusted means by head, test set and factor, such as "mlp_novel_both"; `tables`: "summary" (means and standard
deviations), "answers" (every combination, head, test set and factor) and "mistakes" (what heads say instead of the
novel combination).

Departs from the paper: heads are trained to convergence by default and one net reads each factor. How large its random
test sets are the paper does not say.""",
    reference="Mahon et al. 2024, Correcting Flaws in Common Disentanglement Metrics, arXiv:2304.02335, section 5.2.",
    options=CombinationsOptions,
    check=check,
    measure=measure,
    table=table,
    page=section,
    sources=f"{SOURCES} With --model, options of the model instead, such as --beta 4.",
    trains=True,
)
combinations = COMBINATIONS.function
