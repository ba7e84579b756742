"""A score looked at for some of the factors only."""

from collections.abc import Iterable

import numpy as np

from unknot.errors import UnknotError, check_known
from unknot.metrics.score import Score


def subset(score: Score, factors: Iterable[str | int], *, product: bool = False) -> Score:
    """The mean, or the product, of a score's per-factor values over some of its factors.

    Nothing is computed again: the metric saw all factors, so that an alignment, for example, is that of the whole
    code. For two factors these are the columns "2m" (mean) and "2p" (product) that Mahon et al. print for size
    and shape, the pair whose unseen combinations they ask for; the product bounds what is right about both at
    once if errors on the two are independent.

    Args:
        score: a score with `parts["per_factor"]`.
        factors: names, or columns, of factors.
        product: multiply instead of averaging.

    Returns:
        The mean or product; `parts` has both, as "mean" and "product".

    Edge cases: a factor without a value (constant, or without a latent) is left out, with a note; if none has
    one the value is NaN.

    Reference: Mahon et al. 2024, Correcting Flaws in Common Disentanglement Metrics, arXiv:2304.02335.

    >>> whole = Score(0.6, {"per_factor": np.array([0.9, 0.5, 0.4]), "factor_names": ["shape", "hue", "size"]})
    >>> subset(whole, ["shape", "size"]).value, subset(whole, ["shape", "size"], product=True).value
    (0.65, 0.36000000000000004)
    """
    if "per_factor" not in score.parts:
        known = ", ".join(sorted(score.parts)) or "nothing"
        raise UnknotError(f"subset: the score has no value per factor; its parts are {known}.")
    values = np.asarray(score.parts["per_factor"], dtype=np.float64)
    names = [str(name) for name in score.parts.get("factor_names", range(len(values)))]
    columns = [_column(factor, names) for factor in factors]
    if not columns:
        raise UnknotError("subset: no factor was named; give at least one.")
    if len(set(columns)) < len(columns):
        raise UnknotError(f"subset: {', '.join(names[c] for c in columns)} names a factor twice.")
    chosen = values[columns]
    there = np.isfinite(chosen)
    notes = [f"factor '{names[c]}' has no value and was left out." for c in np.array(columns)[~there]]
    mean = float(chosen[there].mean()) if there.any() else float("nan")
    times = float(chosen[there].prod()) if there.any() else float("nan")
    parts = {
        "factor_names": [names[c] for c in columns],
        "per_factor": chosen,
        "mean": mean,
        "product": times,
        "notes": notes,
    }
    return Score(times if product else mean, parts)


def _column(factor: str | int, names: list[str]) -> int:
    if isinstance(factor, str):
        check_known("factor", factor, names)
        return names.index(factor)
    if not 0 <= factor < len(names):
        raise UnknotError(f"subset: column {factor} does not exist; there are {len(names)} factors, from 0.")
    return int(factor)
