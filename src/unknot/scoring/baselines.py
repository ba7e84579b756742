"""Scores that are kept in a file, with those of parts of their rows, to compare later representations with."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unknot.errors import UnknotError
from unknot.files import array_hash, plain, write_json
from unknot.metrics import METRICS, parse_identity
from unknot.metrics.arrays import Floats, Ints
from unknot.metrics.held_out import copies
from unknot.reading.guard import load_json, parsing
from unknot.representation import Representation
from unknot.scoring.redrawn import Drawn, holds_out, redrawn
from unknot.scoring.scorecard import Scorecard

KIND = "baseline of scores on parts of the rows"
RESAMPLES = 200
LARGEST = 1e70  # no score is larger; fourth powers, of which degrees of freedom are made, have to be finite


@dataclass(frozen=True)
class KeptScore:
    """One metric of a baseline: its value and version, and values on parts of the rows and units, as in `scatter`."""

    value: float
    version: int
    draws: Floats
    units: int


@dataclass(frozen=True)
class Baseline:
    """Scores of a representation that is not here any more.

    Attributes:
        rows: a hash of labels, groups and copies, by which the same rows in the same order are known.
        factor_names: of the representation.
        seed: of the parts and of whatever a metric draws.
        resamples: how many parts.
        scores: full name of each metric -> what was kept.
    """

    rows: str
    factor_names: tuple[str, ...]
    seed: int
    resamples: int
    scores: Mapping[str, KeptScore]


def baseline(card: Scorecard, resamples: int = RESAMPLES) -> Baseline:
    """The scores of a card that train nothing, with those of parts of its rows."""
    todo = card.plan
    if todo.limit is not None:
        raise UnknotError(
            f"baseline: the scores are of at most {todo.limit} rows, and others are compared on all of theirs; score "
            "without a limit, or keep fewer rows in the file."
        )
    scored = {
        id_: (record.score, Drawn(record.name, record.options, holds_out(record.score)))
        for id_, record in card.records.items()
        if record.score is not None
        and METRICS[record.name].facts.cost_of(record.options) == "instant"
        and np.isfinite(record.score.value)
    }
    if not scored:
        raise UnknotError(
            "baseline: no score that trains nothing is on the card; take --metrics quick, for example."
        )
    draws, units = redrawn(todo, [metric for _, metric in scored.values()], resamples, [todo.seed, resamples, 0])
    kept = {
        id_: KeptScore(score.value, METRICS[metric.name].facts.version, own, int(parted))
        for (id_, (score, metric)), own, parted in zip(scored.items(), draws, units, strict=True)
    }
    names = todo.representation.factor_names
    return Baseline(rows_hash(todo.representation), names, todo.seed, resamples, kept)


def rows_hash(representation: Representation) -> str:
    """Labels, groups and copies of rows, which are held out together, in their order, as a hash."""
    parts = [representation.factors, representation.factors_test, representation.groups]
    copied = copies_held_out(representation)
    parts += [] if copied is None else [copied]
    return array_hash(*(np.zeros(0) if part is None else np.asarray(part, dtype=np.float64) for part in parts))


def copies_held_out(representation: Representation) -> Ints | None:
    """Which rows are one row copied, as codes (n,) that decide which are held out; None where nothing hangs on it."""
    decided = representation.groups is not None or representation.latents_test is not None
    return None if decided else copies(representation.latents)


def write_baseline(kept: Baseline, path: Path | str) -> Path:
    """Write a baseline as JSON."""
    scores = {id_: {**vars(score), "draws": score.draws} for id_, score in kept.scores.items()}
    return write_json(path, plain({"kind": KIND, **vars(kept), "scores": scores}))


def read_baseline(path: Path | str) -> Baseline:
    """Read a baseline; one whose metrics are of another version than ours is refused."""
    again = "Make it again: unknot score FILE --save-baseline."
    with parsing(path, f"a {KIND}", again):
        record = load_json(path, f"a {KIND}", hint=again)
        if record["kind"] != KIND:
            raise TypeError(f"its kind is {record['kind']!r}")
        scores = {str(id_): _score(score) for id_, score in record["scores"].items()}
        lengths = {len(score.draws) for score in scores.values()}
        if lengths != {int(record["resamples"])}:
            raise TypeError(f"it has {record['resamples']} resamples, and scores of {sorted(lengths)}")
        names = tuple(map(str, record["factor_names"]))
        kept = Baseline(str(record["rows"]), names, int(record["seed"]), int(record["resamples"]), scores)
    for id_, score in kept.scores.items():
        try:
            version = METRICS[parse_identity(id_, METRICS)[0]].facts.version
        except UnknotError as error:
            raise UnknotError(f"{path}: {error}") from None
        if score.version != version:
            raise UnknotError(
                f"{path}: {id_} was scored by version {score.version} of the metric, and here is version {version}: "
                f"the numbers cannot be compared. {again}"
            )
    return kept


def _score(record: Mapping[str, Any]) -> KeptScore:
    draws = [np.nan if draw is None else float(draw) for draw in record["draws"]]
    if strange := [number for number in (float(record["value"]), *draws) if abs(number) > LARGEST]:
        raise ValueError(f"{strange[0]} is no score")
    return KeptScore(float(record["value"]), int(record["version"]), np.array(draws), int(record["units"]))
