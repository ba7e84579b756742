"""FactorVAE score: does the latent that varies least tell which factor was held fixed?"""

from typing import Any

import numpy as np

from unknot.errors import UnknotError
from unknot.metrics.arrays import Bools, Floats
from unknot.metrics.inputs import Rng
from unknot.metrics.interventions import InterventionSource, drawn, few_enough
from unknot.metrics.score import Facts, Score

NONE = -1  # what a latent predicts that never won a training vote


@Facts(
    title="FactorVAE score",
    measures="modularity",
    bounds=(0.0, 1.0),
    chance="1 / number of factors that vary",
    chance_part="chance",
    reference="Kim and Mnih 2018, Disentangling by Factorising, arXiv:1802.05983",
    invariances=frozenset({"latents", "sign", "shift"}),
    units=True,
    units_if={"relative": False},
    assumes=("unmixed latents",),
)
def factor_vae_score(
    latents: Any = None,
    factors: Any = None,
    *,
    source: InterventionSource | None = None,
    votes: int = 10_000,
    votes_test: int = 5_000,
    batch: int = 64,
    variance_rows: int = 10_000,
    threshold: float = 0.05,
    relative: bool = False,
    rng: Rng = 0,
) -> Score:
    """Accuracy of guessing the fixed factor from the latent that varies least.

    One vote: a factor j drawn at random, `batch` rows that share one value of it, the variance of each active latent
    among them divided by its variance over `variance_rows` random rows; the latent with the smallest ratio votes
    for j. Each latent predicts the factor it got most training votes for; the score is the accuracy on
    `votes_test` more votes. A latent is active if its *standard deviation* is at least `threshold`.

    In [0, 1], 1 / k by chance, 0 if no latent is active.

    Edge cases: ties go to the lowest latent (for votes) and the lowest factor (for predictions); a latent that never
    won in training predicts none, so its test votes are wrong; constant factors are never drawn; a value that one
    row alone has is never held fixed, and `parts["support"]` counts the rows of each value; fewer than two varying
    factors, or a factor whose every value has a single row, are an error.
    Departs from the public code, whose built-in threshold of 0 lets a dead latent win every vote by 0 / 0.

    Args:
        latents: (n, d); may be left out if there is a source.
        factors: (n, k) classes.
        source: where to draw instead of the rows, such as `WorldSource(world, encode)`.
        votes: training votes.
        votes_test: test votes.
        batch: rows per vote.
        variance_rows: rows for the global variance.
        threshold: smallest standard deviation of an active latent.
        relative: compare the standard deviation divided by the largest one, so that scale does not matter.
        rng: decides all draws.

    Returns:
        Score with `parts["votes"]` (d, k), `parts["active"]` (d,) and `parts["per_factor"]`.

    >>> factors = np.stack(np.meshgrid(range(4), range(5)), axis=-1).reshape(-1, 2)
    >>> factor_vae_score(factors * 1.0, factors, votes=200, votes_test=100).value
    1.0
    """
    from unknot.metrics.kernels.gathers import least, variances

    if min(votes, votes_test) < 1 or min(batch, variance_rows) < 2:
        raise UnknotError(
            f"factor_vae_score: votes={votes}, votes_test={votes_test} must be at least 1, batch={batch} and "
            f"variance_rows={variance_rows} at least 2 (a variance needs two rows)."
        )
    few_enough("factor_vae_score", votes + votes_test, batch)
    few_enough("factor_vae_score", variance_rows)
    generator = np.random.default_rng(rng)
    draw = drawn("factor_vae_score", latents, factors, source)
    k = len(draw.factors)
    variance = variances(np.ascontiguousarray(draw.source.latents(variance_rows, generator), dtype=np.float64))
    active = _active(np.sqrt(variance), threshold, relative)
    labels = generator.integers(0, k, size=votes + votes_test)
    counts, prediction = np.zeros((len(variance), k)), np.full(len(variance), NONE)
    right, notes = np.zeros(votes_test, dtype=np.bool_), list(draw.about["notes"])
    if active.any():
        local = draw.source.shared_variances(draw.factors[labels], batch, generator)
        winner = least(local, variance, active)
        cells = winner[:votes] * k + labels[:votes]
        counts = np.bincount(cells, minlength=counts.size).reshape(counts.shape).astype(np.float64)
        prediction = np.where(counts.sum(axis=1) > 0, counts.argmax(axis=1), NONE)
        right = prediction[winner[votes:]] == labels[votes:]
    else:
        notes.append(f"no latent has a standard deviation of {threshold} or more; the score is 0 by convention.")
    return Score(
        float(right.mean()),
        {
            **draw.about,
            "notes": notes,
            "per_factor": draw.accuracy(labels[votes:], right),
            "votes": draw.spread(counts),
            "prediction": [draw.about["factor_names"][draw.columns[j]] if j != NONE else None for j in prediction],
            "active": active,
            "chance": 1 / k,
            "n_votes": votes,
            "n_test_votes": votes_test,
        },
    )


def _active(std: Floats, threshold: float, relative: bool) -> Bools:
    """Which latents may vote; one without any variance never does."""
    if threshold < 0:
        raise UnknotError(f"factor_vae_score: threshold is {threshold}; a standard deviation is never negative.")
    scaled = std / max(float(std.max()), np.finfo(np.float64).tiny) if relative else std
    return (scaled >= threshold) & (std > 1e-12)
