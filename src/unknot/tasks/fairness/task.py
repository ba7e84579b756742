"""Fairness: do predictions of one factor change when another, which should not matter, is changed?"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from unknot.encoders.encoding import ROWS
from unknot.encoders.points import checked_codes
from unknot.encoders.source import Source
from unknot.errors import UnknotError, unknown
from unknot.metrics.interventions import WorldSource
from unknot.metrics.score import Score
from unknot.metrics.unfairness import conditional_unfairness, unfairness
from unknot.processes.threads import threads_of_torch
from unknot.progress import Progress
from unknot.representation import Representation
from unknot.runs.workspace import Workspace
from unknot.tasks.fairness.page import section
from unknot.tasks.options import Names, Options, Untrained, option
from unknot.tasks.pool import SLOTS, Pool
from unknot.tasks.result import RESULT, Table, TaskResult
from unknot.tasks.task import Task
from unknot.worlds.world import World

if TYPE_CHECKING:
    from rich.console import RenderableType

WHO = "fairness"
CLASSIFIERS = "training classifiers"  # a stage of progress
CONDITIONAL = (
    "No factor can be set at will, so predictions were compared between the rows that happen to have each value: "
    "where factors are correlated that is no intervention."
)


class FairnessOptions(Options):
    """The options of the fairness task."""

    task = WHO
    targets: Names = option(
        (), "A factor whose predictions are looked at; may be repeated. Else all.", flag="--target"
    )
    sensitive: Names = option((), "A factor that is changed; may be repeated. Else all.")
    rows: Annotated[int, Field(ge=10)] | Literal["all"] = option(
        ROWS, "How many images are encoded for the classifiers, or all."
    )
    points: int = option(100, "Random images that are changed.", ge=1)
    rounds: int = option(100, "Rounds of boosting.", ge=1)
    seed: int = option(0, "Decides rows and points.", ge=0)


def measure(source: Source, options: FairnessOptions, workspace: Workspace, progress: Progress) -> TaskResult:
    """How much the prediction of each target factor moves when each sensitive factor is set to all of its values."""
    rows = labelled_latents(source, options, workspace)
    targets, sensitive = _chosen(rows.names, options)
    chosen = {"targets": list(targets), "sensitive": list(sensitive)}
    settings = {"encoder": source.record, **rows.identity, **options.settings(), **chosen}

    def result() -> TaskResult:
        score = rows.score(progress)
        pairs, by_target = _tables(rows.names, score, targets, sensitive)
        values = _values(pairs, by_target, sensitive)
        return TaskResult(
            task=WHO,
            source=source.label,
            world=source.world_name,
            values=values,
            tables={"pairs": pairs, "targets": by_target},
            settings=settings,
            notes=[*rows.notes, *score.parts["notes"], *_words(score, values)],  # type: ignore[misc]
            lower_is_better=[name for name in values if name != "accuracy"],
        )

    return workspace.kept(WHO, [settings, source.label, source.world_name], result, RESULT)


def check(run: Untrained, options: FairnessOptions) -> None:
    """Refuse options that no run can be put to the task with, before there is one."""
    _must_have_factors(run.world, run.key)
    targets, sensitive = _chosen(run.world.factors.names, options)
    varying = {factor.name for factor in run.world.factors if factor.size > 1}
    if not any(a != b for a in varying & set(targets) for b in varying & set(sensitive)):
        raise _no_pairs(targets, sensitive)


def _must_have_factors(world: World, name: str) -> None:
    """An error if a world has no factors."""
    if world.factors.names == ("image",):
        raise UnknotError(
            f"{WHO}: {name} has no factors, so that none can be changed; choose a world with factors.",
            field="world",
        )


def _no_pairs(targets: Sequence[str], sensitive: Sequence[str]) -> UnknotError:
    return UnknotError(
        f"{WHO}: no target among {', '.join(targets)} has another factor among {', '.join(sensitive)} that varies; "
        "choose at least two factors.",
        field="targets",
    )


@dataclass(frozen=True)
class LabelledLatents:
    """Latents, and how to get more with factors set at will.

    Attributes:
        names: of the factors.
        identity: what tells these latents from others.
        notes: what a reader should know of them; complete once they are scored.
        score: called with progress, scores them.
    """

    names: tuple[str, ...]
    identity: Mapping[str, Any]
    notes: list[str]
    score: Callable[[Progress], Score]


def labelled_latents(source: Source, options: FairnessOptions, workspace: Workspace) -> LabelledLatents:
    """The latents of an encoder or of a file."""
    if source.representation is not None:
        return _of_representation(source.representation, source.fingerprint, options)
    world = source.world
    _must_have_factors(world, source.world_name)
    pool = Pool(WHO, source, options.rows, options.seed, workspace)
    how: dict[str, Any] = {"rounds": options.rounds, "rng": options.seed}

    def score(progress: Progress) -> Score:
        z, y = pool.latents(progress), pool.classes
        if world.rows is not None:
            pool.notes.append(f"{source.world_name} lacks some combinations of its factors. {CONDITIONAL}")
            return _trained(progress, lambda: conditional_unfairness(z, y, **how))
        done, total = 0, options.points * sum(f.size for f in world.factors if f.size > 1)

        def encode(images: NDArray[np.uint8]) -> NDArray[Any]:
            nonlocal done
            if not done:
                progress(CLASSIFIERS, 1, 1)
            codes = checked_codes(source.encoder, images)[0]
            done += len(images)
            progress("interventions", done, total)
            return codes.reshape(len(codes), -1)

        progress(CLASSIFIERS, 0, 1)
        with threads_of_torch():
            return unfairness(z, y, source=WorldSource(world, encode), points=options.points, **how)

    return LabelledLatents(world.factors.names, pool.identity, pool.notes, score)


def _trained(progress: Progress, score: Callable[[], Score]) -> Score:
    """A score that takes little more than the training of its classifiers."""
    progress(CLASSIFIERS, 0, 1)
    result = score()
    progress(CLASSIFIERS, 1, 1)
    return result


def _of_representation(
    representation: Representation, fingerprint: str, options: FairnessOptions
) -> LabelledLatents:
    if representation.factors is None:
        raise UnknotError(f"{WHO}: the representation has no factors to predict; give a file that has.")
    flat = representation.flattened()
    z, y, y_test = flat.latents, representation.factors, representation.factors_test
    notes = [SLOTS] if representation.latents.ndim == 3 else []
    if options.rows != "all" and options.rows < z.shape[0]:
        chosen = np.random.default_rng([options.seed, 2]).choice(z.shape[0], size=options.rows, replace=False)
        z, y = z[chosen], y[chosen]

    def score(progress: Progress) -> Score:
        how: dict[str, Any] = {"latents_test": flat.latents_test, "factors_test": y_test}
        how |= {"rounds": options.rounds, "rng": options.seed}
        if _complete(y if y_test is None else np.concatenate([y, y_test])):
            return _trained(progress, lambda: unfairness(z, y, points=options.points, **how))
        notes.append(f"The rows do not show every combination of the factors. {CONDITIONAL}")
        return _trained(progress, lambda: conditional_unfairness(z, y, **how))

    return LabelledLatents(representation.factor_names, {"fingerprint": fingerprint}, notes, score)


def _complete(factors: NDArray[Any]) -> bool:
    cells = np.prod([float(len(np.unique(column))) for column in factors.T])
    return bool(cells <= len(factors) and len(np.unique(factors, axis=0)) == cells)


def _chosen(names: tuple[str, ...], options: FairnessOptions) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Targets and sensitive factors: those asked for, else all."""
    for field, asked in (("targets", options.targets), ("sensitive", options.sensitive)):
        for name in asked:
            if name not in names:
                raise unknown("factor", name, names, field=field)
    return tuple(options.targets) or names, tuple(options.sensitive) or names


def _tables(
    names: tuple[str, ...], score: Score, targets: tuple[str, ...], sensitive: tuple[str, ...]
) -> tuple[Table, Table]:
    parts: Mapping[str, Any] = score.parts
    shuffled = parts.get("shuffled_tv")
    pairs: Table = []
    for target in targets:
        for factor in sensitive:
            at = names.index(target), names.index(factor)
            if np.isfinite(parts["mean_tv"][at]):
                pairs.append(
                    {
                        "target": target,
                        "sensitive": factor,
                        "unfairness": float(parts["mean_tv"][at]),
                        "worst_value": float(parts["max_tv"][at]),
                        "shuffled": None if shuffled is None else float(shuffled[at]),
                    }
                )
    if not pairs:
        raise _no_pairs(targets, sensitive)
    by_target: Table = []
    for target in dict.fromkeys(str(row["target"]) for row in pairs):
        own = [row for row in pairs if row["target"] == target]
        by_target.append(
            {
                "target": target,
                "unfairness": _mean(own, "unfairness"),
                "shuffled": None if shuffled is None else _mean(own, "shuffled"),
                "accuracy": float(parts["accuracy"][names.index(target)]),
            }
        )
    return pairs, by_target


def _values(pairs: Table, by_target: Table, sensitive: Sequence[str]) -> dict[str, float]:
    values = {
        "unfairness": _mean(by_target, "unfairness"),
        "worst_pair": max(_column(pairs, "unfairness")),
        "worst_value": max(_column(pairs, "worst_value")),
        "accuracy": _mean(by_target, "accuracy"),
    }
    if _column(by_target, "shuffled"):
        values["shuffled"] = _mean(by_target, "shuffled")
    for name in sensitive:
        own = [row for row in pairs if row["sensitive"] == name]
        if own:
            values[f"by_{name}"] = _mean(own, "unfairness")
    return values


def _column(table: Table, name: str) -> list[float]:
    return [float(cell) for cell in (row[name] for row in table) if isinstance(cell, int | float)]


def _mean(table: Table, name: str) -> float:
    return float(np.mean(_column(table, name)))


def _words(score: Score, values: Mapping[str, float]) -> Iterator[str]:
    if "shuffled" in values:
        yield (
            f"With {score.parts['points']} points, predictions that change at random from image to image, whatever the "
            f"sensitive factor, would get {values['shuffled']:.3f}."
        )
    yield "A target that the classifiers cannot predict is fair for a poor reason: look at their accuracy."


def table(result: TaskResult) -> "RenderableType":
    """Targets down, sensitive factors across, and the accuracy of each target's classifier."""
    from rich.table import Table

    rows = result.tables["pairs"]
    accuracy = {row["target"]: row["accuracy"] for row in result.tables["targets"]}
    present = {row["sensitive"] for row in rows}
    sensitive = [str(name) for name in result.settings["sensitive"] if name in present]
    grid = Table(title="unfairness of predictions (row) under changes of a factor (column)", title_justify="left")
    grid.add_column("target")
    for name in (*sensitive, "accuracy"):
        grid.add_column(name, justify="right")
    for target in dict.fromkeys(str(row["target"]) for row in rows):
        moved = {row["sensitive"]: row["unfairness"] for row in rows if row["target"] == target}
        cells = [f"{moved[name]:.3f}" if name in moved else "" for name in sensitive]
        grid.add_row(target, *cells, f"{accuracy[target]:.3f}")
    return grid


FAIRNESS = Task(
    name=WHO,
    version=2,
    question="Set each sensitive factor to all of its values: how much do predictions of the others move?",
    about="""Boosted trees learn to predict every factor from the latents. The same random images are then rendered with
a sensitive factor at each of its values, encoded, and classified; unfairness(target, sensitive) is the mean over
values of the total variation between the predictions at that value and at all of them together. See the metric
`unfairness`. In [0, 1), 0 is fair.

`values`: "unfairness", the mean over targets of the mean over sensitive factors; "worst_pair", the largest of the
matrix; "worst_value", the same for the value of the sensitive factor that moves predictions most; "shuffled", what
chance makes of so many points; "accuracy" of the classifiers; and "by_NAME", the mean over targets for each sensitive
factor. `tables`: "pairs", a row for each target and sensitive factor, and "targets".

Edge cases: a representation that holds every combination of its factors is looked up; one that does not, or a world
that lacks images, cannot be intervened on: then predictions are compared between rows that happen to have each value
(`conditional_unfairness`), and a note says so. Constant factors are left out.""",
    reference="Locatello et al. 2019, On the Fairness of Disentangled Representations, arXiv:1905.13662.",
    options=FairnessOptions,
    check=check,
    measure=measure,
    table=table,
    page=section,
    controls=("shuffled",),
)
fairness = FAIRNESS.function
