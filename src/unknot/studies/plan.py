"""The runs of a study: every combination of its values, checked before anything is trained."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from unknot.errors import UnknotError, UnknotWarning
from unknot.metrics import METRICS, identity, parse_identity
from unknot.runs.run import RunSpec
from unknot.studies._yaml import Where
from unknot.studies.spec import FIELDS, Entry, StudySpec, Values, method_id
from unknot.studies.task_options import check_tasks
from unknot.worlds import open_world
from unknot.worlds.world import World

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

    @property
    def id(self) -> str:
        """Of the run, which is the name of its folder."""
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
        found: dict[tuple[str, str], list[PlannedRun]] = {}
        for run in self.runs:
            found.setdefault((run.spec.world, run.spec.split), []).append(run)
        return [RankGroup(*key, tuple(sorted(runs, key=lambda run: run.id))) for key, runs in found.items()]

    @property
    def rankings(self) -> list[tuple[str, str]]:
        """(method, scope) of every ranking, methods by their full names."""
        how = self.study.ranking
        return [(method_id(method), scope) for method in how.methods for scope in how.scopes]


def plan(study: StudySpec, *, data: Path | None = None, must_open: bool = True) -> StudyPlan:
    """All runs of a study, checked: models, options, worlds, splits, pairs, metrics and tasks.

    Args:
        study: the file.
        data: folder of data files.
        must_open: whether a world whose files are not here is an error; else it is listed in `missing`, and what can
            only be known from it is left unchecked.
    """
    worlds = _Worlds(study, data, must_open)
    found: dict[str, tuple[RunSpec, tuple[str, ...]]] = {}
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
            before = found.get(full.id, (full, ()))[1]  # another entry may give the same run other metrics
            found[full.id] = full, tuple(dict.fromkeys((*before, *ids)))
    check_tasks(study, [spec for spec, _ in found.values()], worlds.get)
    named: dict[str, set[str]] = {}
    for entry in study.entries:
        named.setdefault(entry.model, set()).update(entry.values)
    labels = settings([spec for spec, _ in found.values()], named)
    runs = (PlannedRun(spec, label, ids) for (spec, ids), label in zip(found.values(), labels, strict=True))
    return StudyPlan(study, tuple(runs), worlds.missing)


def settings(specs: Sequence[RunSpec], named: Mapping[str, Collection[str]] | None = None) -> list[str]:
    """For each spec a label of the values in which the specs of its model differ, but for world, split and seed.

    Where none differs, the label holds the values `named` for the model (model -> names) that are not its defaults.

    >>> base = RunSpec(world="dsprites_rendered", steps=100)
    >>> settings([base.replace(options={"beta": beta, "anneal": 0}, seed=s) for beta in (1.0, 4.0) for s in (0, 1)])
    ['beta 1', 'beta 1', 'beta 4', 'beta 4']
    """
    flat = [
        {**spec.options, **spec.model_dump(exclude={"options", "seed", "world", "split", "model"})}
        for spec in specs
    ]
    telling: dict[str, list[str]] = {}
    for model in {spec.model for spec in specs}:
        of_model = [values for spec, values in zip(specs, flat, strict=True) if spec.model == model]
        keys = list(of_model[0])
        telling[model] = [key for key in keys if len({repr(values.get(key)) for values in of_model}) > 1]
        if not telling[model] and (own := (named or {}).get(model)):
            usual = _defaults(model)
            telling[model] = [key for key in keys if key in own and of_model[0][key] != usual.get(key)]
    return [
        ", ".join(f"{key} {_word(values[key])}" for key in telling[spec.model]) or "default"
        for spec, values in zip(specs, flat, strict=True)
    ]


def _defaults(model: str) -> dict[str, Any]:
    """The values of a run of a model for which nothing is given."""
    from unknot.models import find, options_of

    kind = find(model)
    fields = {name: field.default for name, field in RunSpec.model_fields.items()}
    options = {name: parameter.default for name, parameter in options_of(kind).items()}
    return {**fields, "pairs": kind.pairs, **options}


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        short = f"{value:g}"
        return short if float(short) == value else repr(value)
    return str(value) if value not in ("", None) else "none"


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
                if self.must_open or str(error).startswith("unknown world"):
                    raise self.study.source.fault(_item(values, name), error) from None
                self.missing[name], self._open[name] = str(error), None
        return self._open[name]

    def labelled(self, name: str) -> bool:
        world = self._open.get(name)
        return world is None or world.factors.names != ("image",)


def _item(values: Values, value: Any) -> tuple[str | int, ...]:
    """Where one value of a list stands."""
    where = values.where
    return (*where, values.values.index(value)) if value in values.values else where


def _asked(study: StudySpec, entry: Entry) -> tuple[tuple[str, ...], Where]:
    """The metrics of a model, or of the study, and where they stand."""
    if entry.metrics is None:
        return study.metrics, ("metrics",)
    return entry.metrics, (*entry.where, "metrics")


def _metrics(study: StudySpec, entry: Entry) -> dict[str, str]:
    """Full name -> short name of the metrics that were asked for; of all that are not slow if none was."""
    asked, where = _asked(study, entry)
    if not asked:
        return {identity(metric): name for name, metric in METRICS.items() if not metric.facts.asked}
    found = {}
    for i, text in enumerate(asked):
        try:
            name, options = parse_identity(text, METRICS)
        except UnknotError as error:
            raise study.source.fault((*where, i), error) from None
        found[identity(METRICS[name], **options)] = name
    return found


def _applicable(
    study: StudySpec, entry: Entry, metrics: Mapping[str, str], worlds: _Worlds, world: str
) -> tuple[str, ...]:
    if worlds.labelled(world):
        return tuple(metrics)
    needing = [id_ for id_, name in metrics.items() if METRICS[name].facts.labels]
    asked, where = _asked(study, entry)
    if needing and asked:
        raise study.source.fault(where, f"{', '.join(needing)} needs factors, and {world} has none.")
    return tuple(id_ for id_ in metrics if id_ not in needing)


def _merged(study: StudySpec, entry: Entry) -> dict[str, Values]:
    """The values of a model: its own, else those of the whole study, else those of its preset."""
    from unknot.models import find, find_preset, options_of

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
    shared = dict(study.values)
    if kind.supervision != "pairs":
        shared.pop("pairs", None)  # is meant for the models that learn from them
    return merged | shared | dict(entry.values)


def _combinations(study: StudySpec, entry: Entry) -> Iterator[RunSpec]:
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


def _filled_in(study: StudySpec, entry: Entry, spec: RunSpec, worlds: _Worlds) -> tuple[dict[str, Any], str]:
    """All options of a spec and its law of pairs, from the model itself wherever its world is here."""
    import warnings

    import torch

    from unknot.models import MODELS, find, options_of
    from unknot.runs.training import build_model, feed

    values = _merged(study, entry)
    world = worlds.get(spec.world, values["world"])
    try:
        if world is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnknotWarning)
                # Without memory for weights: the largest model has 382 million. Anyone's own may need its numbers.
                with torch.device("meta" if spec.model in MODELS else "cpu"):
                    model, full = build_model(spec, world)
                feed(full, model, world)
            return full.options, full.pairs
    except UnknotError as error:
        raise _at_fault(study, entry, values, error) from None
    kind = find(spec.model)
    defaults = {name: parameter.default for name, parameter in options_of(kind).items()}
    given = {n: float(v) if isinstance(defaults[n], float) else v for n, v in spec.options.items()}
    return {**defaults, **given}, spec.pairs or kind.pairs


def _at_fault(study: StudySpec, entry: Entry, values: Mapping[str, Values], error: UnknotError) -> UnknotError:
    """The error with the line of the value that it names, or of the model."""
    message = re.sub(r"^run: ", "", str(error))
    named = [v for name, v in values.items() if re.search(rf"(?<!\w){re.escape(name)}(?:\.\d+)? is ", message)]
    named += [v for v in values.values() for item in v.values if isinstance(item, str) and f"'{item}'" in message]
    return study.source.fault(named[0].where if named else entry.where, message)
