"""Where the latents of the fairness task come from, and which metric they allow."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unknot.encoders.points import checked_codes
from unknot.encoders.source import Source
from unknot.errors import UnknotError
from unknot.metrics.interventions import WorldSource
from unknot.metrics.score import Score
from unknot.metrics.unfairness import conditional_unfairness, unfairness
from unknot.processes.threads import threads_of_torch
from unknot.progress import Progress
from unknot.representation import Representation
from unknot.runs.workspace import Workspace
from unknot.tasks.pool import SLOTS, Pool
from unknot.worlds.world import World

WHO = "fairness"
CLASSIFIERS = "training classifiers"  # a stage of progress


@dataclass(frozen=True)
class LabelledLatents:
    """Latents, and how to get more with factors set at will.

    Attributes:
        names: of the factors.
        identity: what tells these latents from others.
        notes: what a reader should know of them; complete once they are scored.
        score: called with points, rounds, seed and progress.
    """

    names: tuple[str, ...]
    identity: Mapping[str, Any]
    notes: list[str]
    score: Callable[[int, int, int, Progress], Score]


def labelled_latents(
    source: Source, rows: int | Literal["all"], seed: int, workspace: Workspace
) -> LabelledLatents:
    """The latents of an encoder or of a file."""
    if source.representation is not None:
        return _of_representation(source.representation, source.fingerprint, rows, seed)
    world = source.world
    must_have_factors(world, source.world_name)
    pool = Pool(WHO, source, rows, seed, workspace)
    notes = pool.notes

    def score(points: int, rounds: int, seed: int, progress: Progress) -> Score:
        z, y = pool.latents(progress), pool.classes
        if world.rows is not None:
            notes.append(f"{source.world_name} lacks some combinations of its factors. {_CONDITIONAL}")
            return _trained(progress, lambda: conditional_unfairness(z, y, rounds=rounds, rng=seed))
        done, total = 0, points * sum(f.size for f in world.factors if f.size > 1)

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
            return unfairness(z, y, source=WorldSource(world, encode), points=points, rounds=rounds, rng=seed)

    return LabelledLatents(world.factors.names, pool.identity, notes, score)


def _trained(progress: Progress, score: Callable[[], Score]) -> Score:
    """A score that takes little more than the training of its classifiers."""
    progress(CLASSIFIERS, 0, 1)
    result = score()
    progress(CLASSIFIERS, 1, 1)
    return result


def must_have_factors(world: World, name: str) -> None:
    """An error if a world has no factors."""
    if world.factors.names == ("image",):
        raise UnknotError(
            f"{WHO}: {name} has no factors, so that none can be changed; choose a world with factors.",
            field="world",
        )


_CONDITIONAL = (
    "No factor can be set at will, so predictions were compared between the rows that happen to have each value: "
    "where factors are correlated that is no intervention."
)


def _of_representation(
    representation: Representation, fingerprint: str, rows: int | Literal["all"], seed: int
) -> LabelledLatents:
    if representation.factors is None:
        raise UnknotError(f"{WHO}: the representation has no factors to predict; give a file that has.")
    z, y = representation.latents.reshape(len(representation.latents), -1), representation.factors
    z_test, y_test = representation.latents_test, representation.factors_test
    notes = [SLOTS] if representation.latents.ndim == 3 else []
    if rows != "all" and rows < len(z):
        chosen = np.random.default_rng([seed, 2]).choice(len(z), size=rows, replace=False)
        z, y = z[chosen], y[chosen]

    def score(points: int, rounds: int, seed: int, progress: Progress) -> Score:
        held = None if z_test is None else z_test.reshape(len(z_test), -1)
        how: dict[str, Any] = {"latents_test": held, "factors_test": y_test, "rounds": rounds, "rng": seed}
        if _complete(y if y_test is None else np.concatenate([y, y_test])):
            return _trained(progress, lambda: unfairness(z, y, points=points, **how))
        notes.append(f"The rows do not show every combination of the factors. {_CONDITIONAL}")
        return _trained(progress, lambda: conditional_unfairness(z, y, **how))

    return LabelledLatents(representation.factor_names, {"fingerprint": fingerprint}, notes, score)


def _complete(factors: NDArray[Any]) -> bool:
    cells = np.prod([float(len(np.unique(column))) for column in factors.T])
    return bool(cells <= len(factors) and len(np.unique(factors, axis=0)) == cells)
