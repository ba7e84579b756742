"""ROC area of the best latent of every value: what single latents say, held out from their choice."""

from typing import Any

import numpy as np

from unknot.errors import UnknotError
from unknot.metrics.arrays import Floats, Ints
from unknot.metrics.inputs import Rng, Rows, prepare
from unknot.metrics.kernels.columns import binned_information
from unknot.metrics.kernels.information import factor_entropy
from unknot.metrics.latents import came_sparse
from unknot.metrics.penalised_head import PenalisedHeads
from unknot.metrics.probes import probe_seed
from unknot.metrics.ridge import Gram
from unknot.metrics.score import Facts, Score
from unknot.metrics.single_latents import copies, held_out_areas, single_latents
from unknot.metrics.verdict import ALSO, least_shares
from unknot.reading.arrays import as_array

SIZES = (1, 2, 5, 20)  # of sets of latents that a factor is predicted from
SHOWN = 10  # factors, and latents, that notes name


@Facts(
    title="ROC area of the best latent of each value",
    measures="compactness",
    bounds=(0.0, 1.0),
    chance=0.5,
    reference="Gurnee et al. 2023, Finding Neurons in a Haystack: Case Studies with Sparse Probing, arXiv:2305.01610",
    cost="seconds",
    invariances=frozenset({"latents"}),
    asked=True,
    wide={},
    widest=4_200,
    power=2,
    by_entries=True,
    version=3,
)
def best_auroc(
    latents: Any,
    factors: Any,
    *,
    latents_test: Any = None,
    factors_test: Any = None,
    rng: Rng = 0,
) -> Score:
    """How well the best latent of each value of each factor ranks rows of that value above all others.

    A_jc = ROC area on held-out rows of the latent, and its direction, with the largest area on the training rows
    value = mean_j mean_c A_jc        in [0, 1], 1 is best, 0.5 is chance

    For codes of many latents. The best of many is chosen on other rows than it is measured on, so that noise of any
    width scores 0.5.

    Edge cases: constant factors are left out; so are values that training or held-out rows lack; a factor without any
    other is NaN, with a note; refused where all factors are.

    Args:
        latents: (n, d), the rows that latents are chosen on.
        factors: (n, k) classes.
        latents_test: held-out latents; a third of the rows is split off where they are missing.
        factors_test: held-out factors.
        rng: decides the split, and the folds of the probes below.

    Returns:
        Score with `parts["per_value"]` and `parts["best_latents"]`, areas and latents of each factor's values;
        `parts["accuracy_of_best"]` (sizes, factors), held-out accuracy of a linear probe on the 1, 2, 5 and 20 latents
        that know most about the factor, or all if there are fewer (`linear_accuracy[penalised]` is that of all), and
        `parts["sizes"]`; `parts["copies"]`, how many latents repeat another; `parts["shared_latents"]`, which ones
        know several factors.

    >>> factors = np.random.default_rng(0).integers(0, 3, size=(300, 2))
    >>> best_auroc(np.eye(3)[factors[:, 0]], factors[:, :1]).value
    1.0
    """
    rows = prepare("best_auroc", latents, factors, latents_test, factors_test, rng=rng, as_is=came_sparse(latents))
    z_test, y_test, _ = rows.held_out
    per_factor, areas, best = np.empty(rows.n_factors), {}, {}
    for j, result in enumerate(single_latents(rows.latents, rows.factors, rows.sizes)):
        distance = np.nan_to_num(np.abs(result.area - 0.5))
        chosen = distance.argmax(axis=0)
        held_out = held_out_areas(z_test, y_test[:, j], chosen)
        low = result.area[chosen, np.arange(len(chosen))] < 0.5
        name = rows.names[rows.kept[j]]
        areas[name], best[name] = np.where(low, 1 - held_out, held_out), chosen
        present = areas[name][np.isfinite(areas[name])]
        per_factor[j] = present.mean() if len(present) else np.nan
    lacking = [rows.names[j] for j, area in zip(rows.kept, per_factor, strict=True) if np.isnan(area)]
    if len(lacking) == rows.n_factors:
        raise UnknotError(
            "best_auroc: no value of any factor stands in training rows and beside others in held-out rows; give "
            "more rows, or leave the held-out ones to the split."
        )
    if lacking:
        rows.notes.append(f"factor(s) of one value in the held-out rows left out: {', '.join(lacking)}.")
    information = binned_information(rows.latents, rows.factors, rows.sizes, correct=True).mutual
    shares = information / factor_entropy(rows.factors, rows.sizes)
    sizes = tuple(sorted({min(size, len(shares)) for size in SIZES}))
    accuracy, repeated = _accuracy_of_best(rows, shares, sizes, rng), copies(rows.latents)
    several = _shared(shares, least_shares(rows, len(shares)))
    rows.notes.extend(_notes(rows, dict(zip(sizes, accuracy, strict=True)), int(repeated.sum()), several))
    return rows.score(
        float(np.nanmean(per_factor)),
        {"per_factor": per_factor, "accuracy_of_best": accuracy},
        per_value=areas,
        best_latents=best,
        sizes=sizes,
        copies=int(repeated.sum()),
        shared_latents=several,
    )


def _notes(rows: Rows, accuracy: dict[int, Floats], n_copies: int, several: Ints) -> list[str]:
    """How many latents factors need, how many repeat others, and which know several factors, as sentences."""
    needs = [
        f"{rows.names[j]} {', '.join(f'{share:.2f}' for share in column)}"
        for j, column in zip(rows.kept, zip(*accuracy.values(), strict=True), strict=True)
    ]
    *fewer, most = map(str, accuracy)
    which = f"{', '.join(fewer)} and {most} latents that know most" if fewer else "only latent"
    notes = [f"accuracy from the {which}: {_shown(needs, '; ')}."]
    if n_copies:
        notes.append(f"{n_copies} of {rows.latents.shape[1]} latents repeat another.")
    if len(several):
        notes.append(f"latents that know several factors: {_shown(list(map(str, several)), ', ')}.")
    return notes


def _shown(words: list[str], mark: str) -> str:
    """The first words, and how many more there are."""
    return mark.join(words[:SHOWN]) + f" and {len(words) - SHOWN} more" * (len(words) > SHOWN)


def _accuracy_of_best(rows: Rows, shares: Floats, sizes: tuple[int, ...], rng: Rng) -> Floats:
    """Held-out accuracy (sizes, k) of a linear probe on the latents that know most about each factor."""
    z_test, y_test, _ = rows.held_out
    result, seed = np.empty((len(sizes), rows.n_factors)), probe_seed(rng)
    for j, size in enumerate(map(int, rows.sizes)):
        order = np.argsort(-shares[:, j], kind="stable")
        for s, k in enumerate(sizes):
            used = order[:k]
            train, test = (as_array(z[:, used]).astype(np.float64) for z in (rows.latents, z_test))
            heads = PenalisedHeads(Gram.of(train, test))
            head = heads.fit(rows.factors[:, j], size, np.random.default_rng([seed, j]))
            result[s, j] = np.mean(head.test == y_test[:, j])
    return result


def _shared(shares: Floats, least: Floats) -> Ints:
    """Latents that know a factor, and another one at least a quarter as well; those that know most first.

    What they know of either is at least what tells it from noise, `least` (k,).
    """
    if shares.shape[1] == 1:
        return np.empty(0, dtype=np.int64)
    ranked = np.sort(np.where(shares >= least, shares, 0.0), axis=1)
    several = np.flatnonzero((ranked[:, -2] > 0) & (ranked[:, -2] >= ALSO * ranked[:, -1]))
    return several[np.argsort(-ranked[several, -1], kind="stable")]
