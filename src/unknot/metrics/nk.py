"""Neuron knock-out: what is lost about a factor when its latent is taken away."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from unknot.errors import UnknotError
from unknot.metrics.accuracy import adjusted, chance_levels
from unknot.metrics.alignment import (
    UNALIGNED,
    Alignment,
    align,
    alignment_information,
    alignment_notes,
    tie_breaker,
)
from unknot.metrics.arrays import Floats
from unknot.metrics.heads import HIDDEN, Recipe
from unknot.metrics.inputs import Rng, Rows, prepare
from unknot.metrics.probes import RecipeName, check_probe_options, head_accuracy, probe_seed
from unknot.metrics.score import Facts, Score


@Facts(
    title="Neuron knock-out (NK)",
    measures="compactness",
    bounds=(-1.0, 1.0),
    chance=0.0,
    reference="Mahon et al. 2024, Correcting Flaws in Common Disentanglement Metrics, arXiv:2304.02335",
    cost="seconds",
    version=2,
    also={"nk_adjusted": "compactness", "mlp": "explicitness", "linear": "explicitness"},
    identity=("recipe",),
    widest=500,
    invariances=frozenset(),
    units_if={"paper": True, "paper_text": True},
    assumes=("as many latents as factors", "latents that differ"),
)
def nk(
    latents: Any,
    factors: Any,
    *,
    latents_test: Any = None,
    factors_test: Any = None,
    rng: Rng = 0,
    recipe: RecipeName = "converged",
    restarts: int = 1,
    chance: Literal["proportional", "majority"] = "proportional",
    alignment: Sequence[int] | None = None,
    nk2: bool = False,
    cross: bool = False,
) -> Score:
    """How much accuracy on a factor is lost when the latent that stands for it is removed.

    NK = mean_j [ a_j(all latents) - a_j(all latents but f(j)) ]        in [-1, 1], higher is better

    a_j is the held-out accuracy of a net of one hidden layer (see `mlp_accuracy`) and f the alignment of `snc`.
    At most 1 - r_j per factor; small negative values are the noise of training.

    NK asks whether a latent can be spared, not whether it is alone in what it knows: a rotated code keeps a high
    NK, and so does `unknot.examples.entangled`, no latent of which says anything. Read it next to SNC. What can
    be spared depends on the probe: fewer coordinates still name every point of a rotated grid without noise, so
    that there NK is 0 with the converged recipe and high with the published one.

    Args:
        latents: (n, d) numbers to train on.
        factors: (n, k) whole numbers.
        latents_test: held-out rows; a third of the rows if left out.
        factors_test: their factors.
        rng: decides the split, the first weights and the batches.
        recipe: how nets are trained, see `mlp_accuracy`; NK changes with it.
        restarts: nets per factor, whose accuracies are averaged.
        chance: r_j of `parts["nk_adjusted"]`, the difference of the adjusted accuracies; see `snc`.
        alignment: the latent of each column of factors, -1 for none, instead of f.
        nk2: also remove two latents: f(j), and what the alignment gives factor j when f(j) is gone.
        cross: also the accuracy on every factor without the latent of every other: k (k - 1) more nets.

    Returns:
        NK; `parts` has the means "mlp", "linear", "knockout" and "nk_adjusted", "nk2" and "cross" (row: factor
        read, column: factor whose latent is gone) if asked for, and all per factor.

    Edge cases: constant factors are left out. A factor without a latent (more factors than latents) is NaN and
    not in the mean. Where no latent is left, the accuracy is that of the most common class. A test value that no
    training row has counts as an error.

    Departs from the paper by default: probes trained to convergence. Accuracies are raw, as the paper's tables
    print them, although a caption there says adjusted.

    Reference: Mahon et al. 2024, arXiv:2304.02335, section 4.3.

    >>> import numpy as np
    >>> y = np.random.default_rng(0).integers(0, 2, size=(300, 2))
    >>> score = nk(y - 0.5, y)
    >>> score.parts["mlp"], score.value > 0.35
    (1.0, True)
    """
    chosen = check_probe_options("nk", recipe, restarts, chance)
    rows = prepare("nk", latents, factors, latents_test, factors_test, rng=rng)
    seed = probe_seed(rng)
    information = alignment_information(rows)
    f = (
        align(information, ties=tie_breaker(rows, information))
        if alignment is None
        else _checked_alignment(rows, alignment)
    )
    aligned = f.latents != UNALIGNED
    mlp = head_accuracy(rows, HIDDEN, chosen, restarts, seed)
    linear = head_accuracy(rows, 0, chosen, restarts, seed)
    level = chance_levels(rows.held_out.factors, rows.factors, chance)

    def without(removed: list[list[int]]) -> Floats:
        accuracy = _without(rows, removed, mlp.test, chosen, restarts, seed)
        return np.where(aligned, accuracy, np.nan)

    knockout = without([[i] if i != UNALIGNED else [] for i in f.latents.tolist()])
    per_factor = mlp.test - knockout
    per_factor_adjusted = np.where(aligned, adjusted(mlp.test, level) - adjusted(knockout, level), np.nan)
    parts = {
        "per_factor": per_factor,
        "per_factor_adjusted": per_factor_adjusted,
        "mlp_per_factor": mlp.test,
        "linear_per_factor": linear.test,
        "knockout_per_factor": knockout,
        "sd_over_restarts": mlp.spread,
        "chance": level,
        "alignment": f.latents,
        "mutual_information": information,
    }
    means = {"nk_adjusted": per_factor_adjusted, "mlp": mlp.test, "linear": linear.test, "knockout": knockout}
    if nk2:
        means["nk2"] = parts["nk2_per_factor"] = mlp.test - without(_two_best(information, f))
    more: dict[str, Any] = {name: float(np.nanmean(values)) for name, values in means.items()}
    if cross:
        more["cross"] = _cross(rows, f, knockout, mlp.test, chosen, restarts, seed)
    rows.notes.extend(alignment_notes(rows, f))
    return rows.score(float(np.nanmean(per_factor)), parts, recipe=recipe, **more)


def _without(
    rows: Rows, removed: list[list[int]], full: Floats, recipe: Recipe, restarts: int, seed: int
) -> Floats:
    """Accuracy (k,) of nets that go without `removed[j]`; where nothing is removed, that of the full net."""
    knocked_out = [j for j, gone in enumerate(removed) if gone]
    result = full.copy()
    if knocked_out:
        accuracy = head_accuracy(rows, HIDDEN, recipe, restarts, seed, without=removed, only=knocked_out)
        result[knocked_out] = accuracy.test[knocked_out]
    return result


def _two_best(information: Floats, f: Alignment) -> list[list[int]]:
    """For each factor its latent and, with that one gone, the next it is aligned to, if any is left."""
    removed = []
    for j, first in enumerate(f.latents.tolist()):
        gone = [first] if first != UNALIGNED else []
        left = np.delete(np.arange(len(information)), gone)
        if gone and len(left):
            second = int(align(information[left]).latents[j])
            gone += [int(left[second])] if second != UNALIGNED else []
        removed.append(gone)
    return removed


def _cross(
    rows: Rows, f: Alignment, knockout: Floats, full: Floats, recipe: Recipe, restarts: int, seed: int
) -> Floats:
    k = rows.n_factors
    result = np.full((k, k), np.nan)
    for b, latent in enumerate(f.latents.tolist()):
        if latent != UNALIGNED:
            gone: list[list[int]] = [[latent] if a != b else [] for a in range(k)]
            result[:, b] = _without(rows, gone, full, recipe, restarts, seed)
            result[b, b] = knockout[b]
    return rows.spread(rows.spread(result).T).T


def _checked_alignment(rows: Rows, alignment: Sequence[int]) -> Alignment:
    latents = np.asarray(alignment, dtype=np.int64)
    d = rows.latents.shape[1]
    if latents.shape != (len(rows.names),) or latents.min() < UNALIGNED or latents.max() >= d:
        raise UnknotError(
            f"nk: alignment is {list(alignment)}; expected one latent, -1..{d - 1}, for each of the "
            f"{len(rows.names)} factors."
        )
    kept = latents[rows.kept]
    if (kept == UNALIGNED).all():
        raise UnknotError("nk: alignment gives no factor a latent; at least one is needed.")
    return Alignment(kept, np.zeros(len(kept), dtype=np.bool_))
