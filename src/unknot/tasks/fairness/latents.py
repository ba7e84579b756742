"""Where the latents of the fairness task come from, and which metric they allow."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unknot.encoders.encoding import opened_encoder
from unknot.errors import UnknotError
from unknot.metrics.inputs import as_array
from unknot.metrics.interventions import WorldSource
from unknot.metrics.score import Score
from unknot.metrics.unfairness import conditional_unfairness, unfairness
from unknot.processes.threads import threads_of_torch
from unknot.representation import Representation
from unknot.tasks.generalisation.coded_world import as_representation
from unknot.tasks.pool import SLOTS, Pool
from unknot.tasks.stages import Tell
from unknot.worlds.world import World

WHO = "fairness"


@dataclass(frozen=True)
class Given:
    """Latents, and how to get more with factors set at will."""

    source: str
    world: str
    names: tuple[str, ...]
    about: Mapping[str, Any]
    notes: list[str]
    score: Callable[[int, int, int, Tell], Score]


def given(
    encoder: Any,
    world: World | Path | str | None,
    rows: int | Literal["all"],
    seed: int,
    folder: Path | None,
    **how: Any,
) -> Given:
    """The latents of an encoder or of a file; `how` goes to `opened_encoder`."""
    path = Path(encoder) if isinstance(encoder, str | Path) else None
    made = as_representation(encoder)
    if made is not None:
        return _given_table(made, str(path or "latents"), rows, seed)
    found, opened, name = opened_encoder(encoder, world, **how)
    must_have_factors(opened, name)
    pool = Pool(WHO, found, opened, rows, seed, folder)
    about = {"encoder": dict(found.record), **pool.identity}
    notes = [*pool.notes]

    def score(points: int, rounds: int, seed: int, tell: Tell) -> Score:
        z, y = pool.latents(lambda done, total: tell("encoding", done, total)), pool.classes
        tell("training classifiers", 0, 1)
        if opened.rows is not None:
            notes.append(f"{name} lacks some combinations of its factors. {_CONDITIONAL}")
            return conditional_unfairness(z, y, rounds=rounds, rng=seed)
        done, total = 0, points * sum(f.size for f in opened.factors if f.size > 1)

        def encode(images: NDArray[np.uint8]) -> NDArray[Any]:
            nonlocal done
            said = found.encode(images)
            codes = as_array(said[0] if isinstance(said, tuple) else said)
            done += len(images)
            tell("interventions", done, total)
            return codes.reshape(len(codes), -1)

        with threads_of_torch(1):
            return unfairness(z, y, source=WorldSource(opened, encode), points=points, rounds=rounds, rng=seed)

    source = str(found.record.get("title", found.name))
    return Given(source, name, opened.factors.names, about, notes, score)


def must_have_factors(world: World, name: str) -> None:
    """An error if a world has no factors."""
    if world.factors.names == ("image",):
        raise UnknotError(
            f"{WHO}: {name} has no factors, so that none can be changed; choose a world with factors."
        )


_CONDITIONAL = (
    "No factor can be set at will, so predictions were compared between the rows that happen to have each value: "
    "where factors are correlated that is no intervention."
)


def _given_table(made: Representation, name: str, rows: int | Literal["all"], seed: int) -> Given:
    if made.factors is None:
        raise UnknotError(f"{WHO}: the representation has no factors to predict; give a file that has.")
    z, y = made.latents.reshape(len(made.latents), -1), made.factors
    held = (
        None if made.latents_test is None else made.latents_test.reshape(len(made.latents_test), -1),
        made.factors_test,
    )
    notes = [SLOTS] if made.latents.ndim == 3 else []
    if rows != "all" and rows < len(z):
        chosen = np.random.default_rng([seed, 2]).choice(len(z), size=rows, replace=False)
        z, y = z[chosen], y[chosen]
    text = hashlib.sha256(np.ascontiguousarray(z).tobytes() + np.ascontiguousarray(y).tobytes())

    def score(points: int, rounds: int, seed: int, tell: Tell) -> Score:
        tell("training classifiers", 0, 1)
        how: dict[str, Any] = {"latents_test": held[0], "factors_test": held[1], "rounds": rounds, "rng": seed}
        everyone = y if held[1] is None else np.concatenate([y, held[1]])
        if _complete(everyone):
            return unfairness(z, y, points=points, **how)
        notes.append(f"The rows do not show every combination of the factors. {_CONDITIONAL}")
        return conditional_unfairness(z, y, **how)

    about = {"encoder": dict(made.source.get("encoder", {})), "fingerprint": text.hexdigest()[:16]}
    return Given(name, str(made.source.get("world", "")), made.factor_names, about, notes, score)


def _complete(factors: NDArray[Any]) -> bool:
    cells = np.prod([float(len(np.unique(column))) for column in factors.T])
    return bool(cells <= len(factors) and len(np.unique(factors, axis=0)) == cells)
