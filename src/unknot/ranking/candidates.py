"""The models of a ranking: what each is called, what it was trained with, and how to read its latents when needed."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from unknot.encoders.encoder import run_record
from unknot.encoders.encoding import representation_of
from unknot.encoders.source import Source
from unknot.errors import UnknotError
from unknot.examples import located
from unknot.metrics.arrays import Floats
from unknot.reading.arguments import must_be
from unknot.reading.arrays import as_array
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
        model: what was handed over, or a function that returns it.
        run: the run, if it is one.
        kl: (d,) of its latents, if that was handed over too.
    """

    name: str
    model: Any
    run: Run | None = None
    kl: Any = None

    @property
    def path(self) -> Path | None:
        """Its folder or file, as the caller named it."""
        if self.run is not None:
            return self.run.folder
        return Path(self.model) if isinstance(self.model, str | Path) else None

    def load(self) -> Representation:
        """Read its representation, or make it."""
        model = self.model() if callable(self.model) else self.model
        if callable(model):
            raise UnknotError(
                f"rank: the function of {self.name} returned a function; expected latents or a file."
            )
        representation = _read(model) if isinstance(model, Run | Representation | Path | str) else None
        with _naming(self.name):
            representation = representation or Representation(latents=as_array(model))
            return representation if self.kl is None else replace(representation, kl=as_array(self.kl))


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
    must_be("rank", "representations", models, Iterable[Any])
    every = [inner for model in models for inner in _inside(model)]
    if len(every) < 2:
        raise UnknotError(f"rank: {len(every)} model(s) given; ranking compares at least two, better six or more.")
    for what, values in (("names", names), ("kl", kl)):
        if values is not None and len(values) != len(every):
            raise UnknotError(f"rank: {len(values)} {what} for {len(every)} models; give one each.")
    listed = [
        Candidate(f"model {i}", model, _source(model).run if isinstance(model, str | Path | Run) else None, known)
        for i, (model, known) in enumerate(zip(every, [None] * len(every) if kl is None else kl, strict=True))
    ]
    _not_twice(listed)
    _one_world(listed)
    labels = list(map(str, names)) if names is not None else _short_names(listed)
    if len(set(labels)) < len(labels):
        again = next(label for label in labels if labels.count(label) > 1)
        raise UnknotError(f"rank: two models are called '{again}'; give each a name of its own.")
    return [replace(c, name=label) for c, label in zip(_with_own_latents(listed), labels, strict=True)]


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


def kl_of(representation: Representation) -> Floats | None:
    """KL of each latent to the prior: stored, or from stored log-variances."""
    if representation.kl is not None or representation.logvars is None:
        return representation.kl
    return mean_kl(as_array(representation.latents), as_array(representation.logvars))


def _with_own_latents(models: Sequence[Candidate]) -> list[Candidate]:
    """Runs with the latents in their folders, such as those of a study, if these are all of the same rows."""
    runs = [c.run for c in models if c.run is not None]
    finished = [run for run in runs if run.finished]
    sources = [run.latents_source() or {} for run in finished]
    samples = {repr([source.get(key) for key in SAMPLE]) for source in sources}
    theirs = all(s.get("encoder") == run_record(run) for s, run in zip(sources, finished, strict=True))
    if len(runs) < len(models) or len(samples) != 1 or not theirs:
        return list(models)
    return [c if c.run not in finished else replace(c, model=c.run.latents) for c in models]


def _inside(model: Any) -> list[Any]:
    """The runs, or else the files, in a folder that is no run itself, or in that of a study; else it is one model."""
    if not isinstance(model, str | Path) or not located(model).is_dir() or Run.at(model).begun:
        return [model]
    inside = Run.inside(model) or Run.inside(Path(model) / "runs") or sorted(Path(model).glob("*.npz"))
    if not inside:
        raise UnknotError(f"{model}: is not a run, and holds neither runs nor .npz files of latents.")
    return list(inside)


def _source(model: Run | Representation | Path | str) -> Source:
    return Source.of(Path(model) if isinstance(model, str) else model, who="rank")


def _read(model: Run | Representation | Path | str) -> Representation:
    source = _source(model)
    if source.run is not None:
        return read_representation(representation_of(source.run))
    return cast(Representation, source.representation)


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Say whose arrays are at fault."""
    try:
        yield
    except UnknotError as error:
        raise UnknotError(f"rank: {name}: {str(error).removeprefix('representation: ')}") from None


def _not_twice(models: Sequence[Candidate]) -> None:
    """A model given twice would find itself very similar."""
    seen: set[Path] = set()
    for path in (c.path for c in models if c.path is not None):
        if path.resolve() in seen:
            raise UnknotError(f"rank: {path} is given twice; a model must not be compared with itself.")
        seen.add(path.resolve())


def _one_world(models: Sequence[Candidate]) -> None:
    worlds = {c.run.spec.world: c.run.folder for c in models if c.run is not None and c.run.finished}
    if len(worlds) > 1:
        which = "; ".join(f"{path} on {world}" for world, path in worlds.items())
        raise UnknotError(
            f"rank: the runs were trained on different worlds ({which}); rank those of one world at a time."
        )


def _short_names(models: Sequence[Candidate]) -> list[str]:
    """The last part of each path, and as many parts before it as tell it from the others."""
    paths = [c.path or Path(c.name) for c in models]
    parts = [(path if c.run else path.with_suffix("")).parts for c, path in zip(models, paths, strict=True)]
    for length in range(1, max(map(len, parts)) + 1):
        names = ["/".join(p[-length:]) for p in parts]
        if len(set(names)) == len(names):
            return names
    return list(map(str, paths))


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
    text = c.run.spec.title if c.run is not None else str(c.path or c.name)
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
