"""How much narrower intervals of differences are where both representations are of the same rows.

Two scores whose correlation over other rows is r have a difference that scatters sqrt(1 - r) times as much as where
rows are drawn apart. This is measured twice: by the intervals of `unknot compare`, of the same rows and with the rows
of one in another order, and by scores of both on rows drawn anew, of which nothing is estimated.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from reproduce import table

FIRST, SECOND = "zoo:beta_vae_dsprites", "zoo:beta_tc_vae_dsprites"
ROWS, DRAWN, TIMES, RESAMPLES = 16_000, 1_000, 200, 200
LEFT_OUT = ("factor_vae_score", "lidar")  # slow; and undefined, as no combination of factors is drawn twice


def pairs() -> tuple[NDArray[np.int64], NDArray[np.float64], dict[str, NDArray[np.float64]]]:
    """Factors and latents of a run, and those of what it is compared with."""
    import unknot

    runs = [unknot.encode(name, rows=ROWS) for name in (FIRST, SECOND)]
    latents = np.asarray(runs[0].latents, dtype=np.float64)
    noise = np.random.default_rng(0).normal(size=latents.shape) * latents.std(axis=0)
    informed = int(latents.std(axis=0).argmax())
    others = {
        "in half precision": latents.astype(np.float16).astype(np.float64),
        "with 5 % of noise": latents + 0.05 * noise,
        "with 30 % of noise": latents + 0.3 * noise,
        "without its widest latent": np.delete(latents, informed, axis=1),
        "another model": np.asarray(runs[1].latents, dtype=np.float64),
    }
    return np.asarray(runs[0].factors), latents, others


def report() -> str:
    """A row for each pair: medians over metrics, and how many have half the width or less."""
    import unknot
    from unknot.metrics import METRICS

    metrics = [
        name
        for name, metric in METRICS.items()
        if metric.facts.cost == "instant" and not metric.facts.asked and name not in LEFT_OUT
    ]
    factors, latents, others = pairs()
    rng = np.random.default_rng(0)
    some, order = np.arange(DRAWN), rng.permutation(DRAWN)
    drawn = [rng.choice(ROWS, DRAWN, replace=False) for _ in range(TIMES)]

    def values(of: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array([[METRICS[name](of[rows], factors[rows]).value for name in metrics] for rows in drawn])

    first, own = unknot.Representation(latents[some], factors[some]), values(latents)
    rows: list[dict[str, Any]] = []
    for name, other in others.items():
        widths = [
            np.array(
                [
                    each.high - each.low
                    for each in unknot.compare(pair, metrics=metrics, resamples=RESAMPLES).differences
                ]
            )
            for pair in (
                {"first": first, "second": unknot.Representation(other[at], factors[at])} for at in (some, order)
            )
        ]
        theirs = values(other)
        apart = own.var(axis=0) + theirs.var(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            ratios, possible = widths[0] / widths[1], np.sqrt((own - theirs).var(axis=0) / apart)
        known = np.isfinite(ratios) & np.isfinite(possible)
        rows.append(
            {
                "the run and": name,
                "width, of 1 apart": float(np.median(ratios[known])),
                "least and most": f"{ratios[known].min():.2f} to {ratios[known].max():.2f}",
                "half or less": f"{np.sum(ratios[known] <= 0.5)} of {known.sum()}",
                "by rows drawn anew": float(np.median(possible[known])),
                "half or less there": f"{np.sum(possible[known] <= 0.5)} of {known.sum()}",
            }
        )
    return (
        f"Width of intervals of the same rows, beside rows resampled apart ({FIRST}, {DRAWN:,} rows; the other model "
        f"is {SECOND}):\n\n{table(rows)}"
    )
