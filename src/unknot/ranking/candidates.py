"""The models of a ranking: what each is called, what it was trained with, and how to read its latents when needed."""

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.metrics.inputs import as_array
from unknot.representation import Representation, mean_kl, read_representation
from unknot.runs.labels import differing
from unknot.runs.run import Run
from unknot.runs.spec import RunSpec

SAMPLE = ("world", "rows", "split", "seed")  # what `Representation.source` says of its rows


@dataclass(frozen=True)
class Candidate:
    """One model, read only when it is its turn.

    Attributes:
        name: what reports call it.
        load: reads or makes its representation.
        path: the file or run folder as the caller gave it; the name where there is none.
        run: the run, if it is one.
    """

    name: str
    load: Callable[[], Representation]
    path: str
    run: Run | None = None


def candidates(
    models: Any, names: Sequence[str] | None = None, kl: Sequence[Any] | None = None
) -> list[Candidate]:
    """Everything that can be ranked, in one form; nothing but the specs of runs is read yet.

    Args:
        models: representations, arrays (n, d), files, runs or their folders, folders of runs or files, or functions
            without arguments that return a model; in a list, or by name in a mapping.
        names: of the models, for a list.
        kl: (d,) for each model, where its own representation has none.
    """
    if isinstance(models, Mapping):
        names, models = [str(name) for name in models], list(models.values())
    if isinstance(models, str | Path):
        models = [models]
    if isinstance(models, Representation | Run):
        raise UnknotError("rank: one model was given; ranking compares several. Give a list of them.")
    every = [inner for model in models for inner in _inside(model)]
    listed = [_candidate(model, i) for i, model in enumerate(every)]
    if len(listed) < 2:
        raise UnknotError(
            f"rank: {len(listed)} model(s) given; ranking compares at least two, better six or more."
        )
    for what, values in (("names", names), ("kl", kl)):
        if values is not None and len(values) != len(listed):
            raise UnknotError(f"rank: {len(values)} {what} for {len(listed)} models; give one each.")
    _not_twice(listed)
    _one_world(listed)
    labels = list(map(str, names)) if names is not None else _short_names(listed)
    if len(set(labels)) < len(labels):
        again = next(label for label in labels if labels.count(label) > 1)
        raise UnknotError(f"rank: two models are called '{again}'; give each a name of its own.")
    listed = [replace(c, name=label) for c, label in zip(listed, labels, strict=True)]
    if kl is not None:
        listed = [replace(c, load=partial(_with_kl, c.load, k, c.name)) for c, k in zip(listed, kl, strict=True)]
    return listed


def trained(models: Sequence[Candidate]) -> list[int]:
    """Positions of the models that can be ranked: all but runs that are not trained to their end."""
    kept = [i for i, c in enumerate(models) if c.run is None or c.run.finished]
    if len(kept) < 2:
        others = ", ".join(c.name for i, c in enumerate(models) if i not in kept)
        raise UnknotError(
            f"rank: {len(kept)} of {len(models)} models can be compared, and at least two are needed; not trained "
            f"to the end (stopped, diverged or still training): {others}."
        )
    return kept


def settings_of(models: Sequence[Candidate], groups: Sequence[Any] | str | None) -> tuple[str, ...]:
    """The setting of each model: given, found in its name by a pattern, or all of a run's spec but the seed.

    Args:
        models: from `candidates`.
        groups: a label for each model; or a regular expression, whose groups (or whole match) in the path of a
            file, the title of a run, or a name are the label. If left out, runs are grouped by their spec, and
            anything else is one group.
    """
    if groups is None:
        specs = [c.run.spec for c in models if c.run is not None]
        return tuple(_spec_labels(specs)) if len(specs) == len(models) else ("",) * len(models)
    if isinstance(groups, str):
        return tuple(_matched(groups, c) for c in models)
    if len(groups) != len(models):
        raise UnknotError(
            f"rank: {len(groups)} groups for {len(models)} models; give each model's, in their order."
        )
    return tuple(map(str, groups))


@dataclass
class SameRows:
    """Whether the latents of all models are of the same inputs in the same order, as far as they let on."""

    first: str = ""
    n: int = 0
    sample: dict[str, Any] = field(default_factory=dict)
    factors: dict[str, str] = field(default_factory=dict)
    unsure: set[str] = field(default_factory=set)

    def check(self, name: str, representation: Representation) -> None:
        """Compare with the first model that was checked; an error says how the two differ."""
        n, sample, factors = len(representation.latents), _sample(representation), _digests(representation)
        if not self.first:
            self.first, self.n, self.sample, self.factors = name, n, sample, factors
            return
        how = "all models need latents of the same inputs in the same order. Encode them anew with one seed."
        if n != self.n:
            raise UnknotError(f"rank: {self.first} has {self.n} rows, {name} has {n}; {how}")
        for key in self.sample.keys() & sample.keys():
            if self.sample[key] != sample[key]:
                raise UnknotError(
                    f"rank: {self.first} was encoded with {key} {self.sample[key]!r}, {name} with {sample[key]!r}; "
                    + how
                )
        shared = self.factors.keys() & factors.keys()
        for factor in shared:
            if self.factors[factor] != factors[factor]:
                raise UnknotError(f"rank: the rows of {self.first} and {name} differ in factor '{factor}'; {how}")
        if not shared and not (self.sample and sample):
            self.unsure.add(name)


def kl_of(representation: Representation) -> NDArray[np.float64] | None:
    """KL of each latent to the prior: stored, or from stored log-variances."""
    if representation.kl is not None or representation.logvars is None:
        return representation.kl
    return mean_kl(as_array(representation.latents), as_array(representation.logvars))


def _inside(model: Any) -> list[Any]:
    """The runs, or else the files, in a folder that is no run itself; anything else is one model."""
    if not isinstance(model, str | Path) or not Path(model).is_dir() or Run.at(model).begun:
        return [model]
    inside = Run.inside(model) or sorted(Path(model).glob("*.npz"))
    if not inside:
        raise UnknotError(f"{model}: is not a run, and holds neither runs nor .npz files of latents.")
    return list(inside)


def _candidate(model: Any, i: int) -> Candidate:
    name = f"model {i}"
    if isinstance(model, str | Path):
        path = Path(model)
        if path.is_dir():
            return _run_candidate(Run(path))
        if not path.is_file():
            raise UnknotError(f"{path}: no such file or run.")
        return Candidate(name, partial(read_representation, path), str(path))
    if isinstance(model, Run):
        return _run_candidate(model)
    if callable(model):
        return Candidate(name, partial(_called, model, name), name)
    return Candidate(name, partial(_as_representation, model, name), name)


def _run_candidate(run: Run) -> Candidate:
    def load() -> Representation:
        from unknot.encoders.encoding import representation_of

        if not run.finished:
            raise UnknotError(
                f"{run.folder}: is not trained to its end; it was stopped, diverged or is at it still."
            )
        return read_representation(representation_of(run))

    return Candidate("", load, str(run.folder), run)


def _called(make: Callable[[], Any], name: str) -> Representation:
    model = make()
    if callable(model):
        raise UnknotError(f"rank: the function of {name} returned a function; expected latents or a file.")
    return _candidate(model, 0).load()


def _as_representation(model: Any, name: str) -> Representation:
    if isinstance(model, Representation):
        return model
    with _naming(name):
        return Representation(latents=as_array(model))


def _with_kl(load: Callable[[], Representation], kl: Any, name: str) -> Representation:
    representation = load()
    with _naming(name):
        return replace(representation, kl=None if kl is None else as_array(kl))


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Say whose arrays are at fault."""
    try:
        yield
    except UnknotError as error:
        raise UnknotError(f"rank: {name}: {str(error).removeprefix('representation: ')}") from None


def _not_twice(models: Sequence[Candidate]) -> None:
    """A model given twice would find itself very similar."""
    seen: dict[Path, str] = {}
    for c in models:
        if Path(c.path).exists():
            real = Path(c.path).resolve()
            if real in seen:
                raise UnknotError(f"rank: {c.path} is given twice; a model must not be compared with itself.")
            seen[real] = c.path


def _one_world(models: Sequence[Candidate]) -> None:
    worlds = {c.run.spec.world: c.path for c in models if c.run is not None and c.run.finished}
    if len(worlds) > 1:
        which = "; ".join(f"{path} on {world}" for world, path in worlds.items())
        raise UnknotError(
            f"rank: the runs were trained on different worlds ({which}); rank those of one world at a time."
        )


def _short_names(models: Sequence[Candidate]) -> list[str]:
    """The last part of each path, and as many parts before it as tell it from the others."""
    parts = [Path(c.path).with_suffix("").parts if c.run is None else Path(c.path).parts for c in models]
    for length in range(1, max(map(len, parts)) + 1):
        names = ["/".join(p[-length:]) for p in parts]
        if len(set(names)) == len(names):
            return names
    return [os.fspath(c.path) for c in models]


def _spec_labels(specs: Sequence[RunSpec]) -> list[str]:
    """What sets the specs apart besides the seed, such as `beta 4`; the model's name if nothing does."""
    flat = []
    for spec in specs:
        fields = spec.model_dump(exclude={"seed", "options"})
        flat.append({"model": fields.pop("model"), **spec.options, **fields})
    telling = differing(flat)
    labels = []
    for fields in flat:
        words = [str(fields["model"])] if "model" in telling else []
        words += [f"{key} {fields[key]}" for key in telling if key in fields and key != "model"]
        labels.append(", ".join(words) or str(fields["model"]))
    return labels


def _matched(pattern: str, c: Candidate) -> str:
    text = c.run.spec.title if c.run is not None else c.path if Path(c.path).exists() else c.name
    try:
        match = re.search(pattern, text)
    except re.error as error:
        raise UnknotError(f"rank: the pattern '{pattern}' is not a regular expression ({error}).") from None
    if match is None:
        raise UnknotError(f"rank: the pattern '{pattern}' finds no group in '{text}'.")
    return ", ".join(part or "" for part in match.groups()) if match.groups() else match.group()


def _sample(representation: Representation) -> dict[str, Any]:
    return {key: representation.source[key] for key in SAMPLE if key in representation.source}


def _digests(representation: Representation) -> dict[str, str]:
    """Factor name -> a hash of its column, so that no model's factors need be kept."""
    if representation.factors is None:
        return {}
    columns = np.ascontiguousarray(as_array(representation.factors).T, dtype=np.float64)
    hashes = [hashlib.blake2b(column.tobytes(), digest_size=16).hexdigest() for column in columns]
    return dict(zip(representation.factor_names, hashes, strict=True))
