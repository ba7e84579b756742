"""The runs of a study: every combination of its values, checked before anything is trained."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unknot.errors import UnknotError, UnknotWarning
from unknot.factors import FactorSpace
from unknot.metrics import METRICS, identity, parse_identity
from unknot.runs.labels import defaults, settings
from unknot.runs.spec import RunSpec
from unknot.studies._yaml import Where
from unknot.studies.spec import ALL, FIELDS, ModelEntry, StudySpec, Values, method_id
from unknot.worlds import WORLDS, open_world
from unknot.worlds.world import Images, World

MOST_RUNS = 100_000


@dataclass(frozen=True)
class PlannedRun:
    """One run of a study.

    Attributes:
        spec: with all options filled in, so that its id is that of the run's folder.
        setting: what sets it apart from the other runs of its model besides the seed, such as "beta 4".
        metrics: full names.
    """

    spec: RunSpec
    setting: str
    metrics: tuple[str, ...]

    @cached_property
    def id(self) -> str:
        """The name of the run's folder."""
        return self.spec.id


@dataclass(frozen=True)
class RankGroup:
    """Runs that are compared with each other: of one world, trained inside one split."""

    world: str
    split: str
    runs: tuple[PlannedRun, ...]


@dataclass(frozen=True)
class StudyPlan:
    """What a study consists of.

    Attributes:
        study: the file.
        runs: no two alike.
        missing: world -> why it cannot be opened here.
    """

    study: StudySpec
    runs: tuple[PlannedRun, ...]
    missing: Mapping[str, str] = field(default_factory=dict)

    @property
    def groups(self) -> list[RankGroup]:
        """The runs by world and split, ordered by id so that a ranking does not depend on the order of a file."""
        groups: dict[tuple[str, str], list[PlannedRun]] = {}
        for run in self.runs:
            groups.setdefault((run.spec.world, run.spec.split), []).append(run)
        return [RankGroup(*key, tuple(sorted(runs, key=lambda run: run.id))) for key, runs in groups.items()]

    @property
    def ranked_groups(self) -> list[RankGroup]:
        """The groups without models of slots, which come in any order: there are no latents to compare one by one."""
        from unknot.models import find

        groups = [
            replace(group, runs=tuple(run for run in group.runs if not find(run.spec.model).decodes_slots))
            for group in self.groups
        ]
        return [group for group in groups if group.runs]

    @property
    def rankings(self) -> list[tuple[str, str]]:
        """(method, scope) of every ranking, methods by their full names."""
        how = self.study.ranking
        return [(method_id(method), scope) for method in how.methods for scope in how.scopes]


def plan_study(study: StudySpec, *, data: Path | None = None, must_open: bool = True) -> StudyPlan:
    """All runs of a study, checked: models, options, worlds, splits, pairs, metrics and tasks.

    Args:
        study: the file.
        data: folder of data files.
        must_open: whether a world whose files are not here is an error; else it is listed in `missing`, and what can
            only be known from it is left unchecked.
    """
    worlds = _Worlds(study, data, must_open)
    specs: dict[str, tuple[RunSpec, tuple[str, ...]]] = {}
    known: dict[str, tuple[dict[str, Any], str]] = {}
    for entry in study.entries:
        metrics = _metrics(study, entry)
        for spec in _combinations(study, entry):
            setting = spec.replace(seed=0).id
            if setting not in known:
                known[setting] = _filled_in(study, entry, spec, worlds)
            options, pairs = known[setting]
            full = spec.replace(options=options, pairs=pairs)
            ids = _applicable(study, entry, metrics, worlds, full.world)
            before = specs.get(full.id, (full, ()))[1]  # another entry may give the same run other metrics
            specs[full.id] = full, tuple(dict.fromkeys((*before, *ids)))
    _check_tasks(study, [spec for spec, _ in specs.values()], worlds)
    named: dict[str, set[str]] = {}
    for entry in study.entries:
        named.setdefault(entry.model, set()).update(entry.values)
    labels = settings([spec for spec, _ in specs.values()], named)
    runs = (PlannedRun(spec, label, ids) for (spec, ids), label in zip(specs.values(), labels, strict=True))
    return StudyPlan(study, tuple(runs), worlds.missing)


class _Worlds:
    """Worlds, opened once."""

    def __init__(self, study: StudySpec, data: Path | None, must_open: bool) -> None:
        self.study, self.data, self.must_open = study, data, must_open
        self.missing: dict[str, str] = {}
        self._open: dict[str, World | None] = {}

    def get(self, name: str, values: Values) -> World | None:
        if name not in self._open:
            try:
                self._open[name] = open_world(name, data=self.data)
            except UnknotError as error:
                if self.must_open or error.field == ("world",):  # no file will make it one
                    raise self.study.source.fault(_item(values, name), error) from None
                self.missing[name], self._open[name] = str(error), None
        return self._open[name]

    def known(self, name: str, *where: str) -> World | None:
        """The world, what is known of it without its files, or None for somebody's own that is not here."""
        absent = _Absent(name, WORLDS[name].title, WORLDS[name].factors) if name in WORLDS else None
        return self.get(name, Values((name,), where)) or absent

    def labelled(self, name: str) -> bool:
        world = self._open.get(name)
        return world is None or world.factors.names != ("image",)


@dataclass(frozen=True)
class _Absent:
    """A world of the catalogue whose files are not here: its factors are known, its images are not."""

    key: str
    name: str
    factors: FactorSpace
    image_shape: tuple[int, int, int] = (0, 0, 0)
    rows: None = None
    stochastic: bool = False

    def images(self, classes: ArrayLike, *, rng: np.random.Generator | None = None) -> Images:
        """An error."""
        raise UnknotError(f"{self.name}: its files are not here.")


def _item(values: Values, value: Any) -> tuple[str | int, ...]:
    """Where one value of a list stands."""
    where = values.where
    return (*where, values.values.index(value)) if value in values.values else where


def _named_metrics(study: StudySpec, entry: ModelEntry) -> tuple[tuple[str, ...], Where]:
    """The metrics of a model, or of the study, and where they stand."""
    if entry.metrics is None:
        return study.metrics, ("metrics",)
    return entry.metrics, (*entry.where, "metrics")


def _metrics(study: StudySpec, entry: ModelEntry) -> dict[str, str]:
    """Full name -> short name of the metrics that were asked for; for `ALL`, of those that are not slow."""
    named, where = _named_metrics(study, entry)
    if named == ALL:
        return {identity(metric): name for name, metric in METRICS.items() if not metric.facts.asked}
    metrics = {}
    for i, text in enumerate(named):
        try:
            name, options = parse_identity(text, METRICS)
        except UnknotError as error:
            raise study.source.fault((*where, i), error) from None
        metrics[identity(METRICS[name], **options)] = name
    return metrics


def _applicable(
    study: StudySpec, entry: ModelEntry, metrics: Mapping[str, str], worlds: _Worlds, world: str
) -> tuple[str, ...]:
    if worlds.labelled(world):
        return tuple(metrics)
    needing = [id_ for id_, name in metrics.items() if METRICS[name].facts.labels]
    named, where = _named_metrics(study, entry)
    if needing and named != ALL:
        raise study.source.fault(where, f"{', '.join(needing)} needs factors, and {world} has none.")
    return tuple(id_ for id_ in metrics if id_ not in needing)


def _merged(study: StudySpec, entry: ModelEntry) -> dict[str, Values]:
    """The values of a model: its own, else those of the whole study, else those of its preset or recipe."""
    from unknot.models import find, find_preset, options_of
    from unknot.runs.recipes import recipe_values

    source = study.source
    try:
        kind = find(entry.model)
    except UnknotError as error:
        raise source.fault(entry.where, error) from None
    options = options_of(kind)
    for name, values in entry.values.items():
        if name not in FIELDS and name not in options:
            raise source.unknown(values.where, f"option of {entry.model}", name, (*options, *FIELDS))
    merged: dict[str, Values] = {}
    if entry.preset:
        where = (*entry.where, "preset")
        try:
            preset = find_preset(entry.model, entry.preset)
        except UnknotError as error:
            raise source.fault(where, error) from None
        merged |= {name: Values((value,), where) for name, value in preset.fixed.items()}
        merged |= {name: Values(tuple(swept), where) for name, swept in preset.sweep.items()}
    if recipe := entry.recipe or study.recipe:
        where = (*entry.where, "recipe") if entry.recipe else ("recipe",)
        try:
            fixed = recipe_values(recipe, entry.model, preset=entry.preset)
        except UnknotError as error:
            raise source.fault(where, error) from None
        merged |= {name: Values((value,), where) for name, value in fixed.items()}
    shared = dict(study.values)
    if kind.supervision != "pairs":
        shared.pop("pairs", None)  # is meant for the models that learn from them
    return merged | shared | dict(entry.values)


def _combinations(study: StudySpec, entry: ModelEntry) -> Iterator[RunSpec]:
    values = _merged(study, entry)
    if "world" not in values:
        raise study.source.fault(entry.where, f"{entry.model} has no world; add worlds at the top, or here.")
    inner = [name for name in values if name not in ("world", "split", "seed")]
    names = [name for name in ("world", "split", *inner, "seed") if name in values]
    n_runs = prod(len(values[name].values) for name in names)
    if n_runs > MOST_RUNS:
        raise study.source.fault(entry.where, f"{entry.model} makes {n_runs:,} runs; {MOST_RUNS:,} is the most.")
    for combination in product(*(values[name].values for name in names)):
        chosen = dict(zip(names, combination, strict=True))
        options = {name: chosen.pop(name) for name in inner if name not in FIELDS}
        try:
            yield RunSpec(model=entry.model, options=options, **chosen)
        except UnknotError as error:
            raise _at_fault(study, entry, values, error) from None


def _filled_in(study: StudySpec, entry: ModelEntry, spec: RunSpec, worlds: _Worlds) -> tuple[dict[str, Any], str]:
    """All options of a spec and its law of pairs, from the model itself wherever its world is here."""
    import warnings

    import torch

    from unknot.models import MODELS, find, options_of, recorded
    from unknot.runs.training import build_model, feed

    values = _merged(study, entry)
    world = worlds.get(spec.world, values["world"])
    try:
        if world is not None:
            with warnings.catch_warnings(action="ignore", category=UnknotWarning):
                # Without memory for weights: the largest model has 382 million. Anyone's own may need its numbers.
                with torch.device("meta" if spec.model in MODELS else "cpu"):
                    model, full = build_model(spec, world)
                feed(full, model, world)
            return full.options, full.pairs
    except UnknotError as error:
        raise _at_fault(study, entry, values, error) from None
    usual = defaults(spec.model)
    options = {name: usual[name] for name in options_of(find(spec.model))}
    for name, value in spec.options.items():
        try:
            options[name] = float(value) if isinstance(usual[name], float) else value
        except (ValueError, OverflowError):
            refused = UnknotError(who=spec.model, field=name, value=value, expected="a number")
            raise _at_fault(study, entry, values, refused) from None
    return recorded(find(spec.model), options), spec.pairs or usual["pairs"]


def _at_fault(
    study: StudySpec, entry: ModelEntry, values: Mapping[str, Values], error: UnknotError
) -> UnknotError:
    """The error with the line of the value that it is about, or of the model."""
    where = next((values[name].where for name in map(str, reversed(error.field)) if name in values), entry.where)
    return study.source.fault(where, str(error).removeprefix("run: "))


def _check_tasks(study: StudySpec, specs: Iterable[RunSpec], worlds: _Worlds) -> None:
    """Refuse values that a task would refuse, with their line: types, choices, names of factors, files."""
    from unknot.tasks import TASKS
    from unknot.tasks.options import Untrained

    alike = {(s.world, s.split, s.model, s.image_size): s for s in specs}  # all that tasks depend on
    for name, values in study.tasks.items():
        task = TASKS[name]
        try:
            options = task.options(**{option: value for option, value in values.items() if option != "world"})
            for spec in alike.values():
                key = values.get("world") or spec.world
                home, world = worlds.known(spec.world, "worlds"), worlds.known(key, "tasks", name, "world")
                if home is not None and world is not None:
                    run = Untrained(spec, home, world, key)
                    run.must_see(world.image_shape)
                    task.check(run, options)
        except UnknotError as error:
            named = [part for part in error.field[:1] if part in values]  # else it is about the task
            raise study.source.fault(("tasks", name, *named), error) from None
