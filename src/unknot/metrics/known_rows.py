"""Wide codes where labels are missing: the rows that each factor is fitted on and judged on, of those that have it."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from unknot.metrics.arrays import WIDE, Ints
from unknot.metrics.held_out import copies, repeated, third_of_rows
from unknot.metrics.inputs import MissingLabelsError, Rng, Rows, prepare
from unknot.reading.arrays import is_sparse


class KnownRows(NamedTuple):
    """Rows of one factor, by their place among all, in the order in which `prepare` would leave them."""

    train: Ints
    test: Ints


def known_rows(
    who: str,
    latents: Any,
    factors: Any,
    rng: Rng,
    continuous: Literal["bin", "keep"] = "bin",
    *,
    as_is: bool = False,
) -> tuple[Rows, list[KnownRows]]:
    """All rows, and for each factor the same third of those that have it as if there were no others.

    What only a look at these alone can tell is left to the caller by a MissingLabelsError: which rows are copies, what
    bins a measurement has, and a factor that too few rows show. So are narrow codes, whose rows are soon copied.
    """
    rows = prepare(who, latents, factors, continuous=continuous, as_is=as_is, gaps=True)
    numbers = rows.numbers[rows.factors >= 0]
    measured = rows.continuous.any() or np.any(numbers != np.round(numbers))
    narrow = rows.latents.shape[1] <= WIDE
    alone = MissingLabelsError(f"{who}: labels are missing; score each factor on the rows that have it.")
    if narrow or not isinstance(rng, int) or (continuous == "bin" and measured):
        raise alone
    if copies(rows.latents) is not None if is_sparse(rows.latents) else repeated(rows.latents):
        raise alone
    result = []
    for codes in rows.factors.T:
        there = np.flatnonzero(codes >= 0)
        test, train = third_of_rows(len(there), rng)
        if len(np.unique(codes[there[train]])) < 2:
            raise alone
        result.append(KnownRows(there[train], there[test]))
    return rows, result


def counts_of(rows: Rows, known: Sequence[KnownRows]) -> dict[str, Any]:
    """The entries of a score's `parts` that say how many rows each factor was fitted on and judged on."""
    names = [rows.names[j] for j in rows.kept]
    trained = {name: len(part.train) for name, part in zip(names, known, strict=True)}
    tested = {name: len(part.test) for name, part in zip(names, known, strict=True)}
    return {
        "n_rows": min(trained.values()),
        "n_rows_per_factor": trained,
        "n_test_rows": min(tested.values()),
        "n_test_rows_per_factor": tested,
    }
