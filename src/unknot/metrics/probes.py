"""MLP and linear accuracy: what a classifier can read from all latents together."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from unknot.errors import UnknotError
from unknot.metrics.accuracy import adjusted, chance_levels, check_chance
from unknot.metrics.arrays import Floats, Ints
from unknot.metrics.heads import HIDDEN, Recipe, find_recipe, train_head
from unknot.metrics.inputs import UNSEEN, Rng, Rows, prepare
from unknot.metrics.latents import sparse_and_short
from unknot.metrics.linear_head import fit_linear
from unknot.metrics.penalised_head import PenalisedHeads
from unknot.metrics.score import Facts, Score
from unknot.metrics.units import rare
from unknot.processes.threads import one_thread, side_by_side
from unknot.reading.arrays import is_sparse

RecipeName = Literal["converged", "paper", "paper_text"]
LinearRecipe = Literal["converged", "penalised", "paper", "paper_text"]
LEAST_PENALTY = 1e-3  # of the converged linear head: keeps its weights finite where classes can be separated


@dataclass(frozen=True)
class Accuracy:
    """Accuracies of heads (k,), averaged over restarts."""

    test: Floats
    train: Floats
    spread: Floats  # standard deviation of `test` over restarts


_MLP_FACTS = Facts(
    title="MLP accuracy",
    measures="explicitness",
    bounds=(0.0, 1.0),
    chance="the frequency of the most common class, averaged over factors",
    chance_part="chance",
    assumes=("balanced classes",),
    reference="Mahon et al. 2024, Correcting Flaws in Common Disentanglement Metrics, arXiv:2304.02335",
    cost="seconds",
    version=2,
    asked=True,
    per_factor=True,
    also={"adjusted": "explicitness"},
    identity=("recipe",),
    invariances=frozenset(),  # to everything within the noise of training, to nothing exactly
    units_if={"paper": True, "paper_text": True},  # which take latents as they are
)


@_MLP_FACTS
def mlp_accuracy(
    latents: Any,
    factors: Any,
    *,
    latents_test: Any = None,
    factors_test: Any = None,
    rng: Rng = 0,
    recipe: RecipeName = "converged",
    restarts: int = 1,
    chance: Literal["proportional", "majority"] = "proportional",
) -> Score:
    """Held-out accuracy of a net with one hidden layer of 256 units, trained on all latents; mean over factors.

    An upper bound on what the code holds about each factor in any form: a rotated or entangled code loses
    nothing. In [0, 1], 1 is best; accuracies are raw, `parts["adjusted"]` has max(0, (a - r) / (1 - r)).

    Args:
        latents: (n, d) numbers to train on.
        factors: (n, k) whole numbers.
        latents_test: held-out rows; a third of the rows if left out.
        factors_test: their factors.
        rng: decides the split, the first weights and the batches.
        recipe: how the net is trained. "converged": standardised latents, Adam, batches of 128, a learning rate
            that falls from 0.02 to 0 along a cosine, 3,000 to 10,000 steps, the weights with the best accuracy on
            a tenth of the training rows. "paper": the published code's schedule (batches of 4,096, 75 epochs,
            learning rate 0.01 x 0.65 before epochs 1, 2, 4, 8, ...; latents as they are). "paper_text": the same
            at the constant 0.001 that the paper states.
        restarts: nets per factor, whose accuracies are averaged.
        chance: r_j, see `snc`.

    Edge cases: constant factors are left out. A test value that no training row has counts as an error.

    Departs from the paper by default: both published recipes stop far from convergence, the more so the fewer
    rows there are.

    Reference: Mahon et al. 2024, arXiv:2304.02335, section 5.

    >>> import numpy as np
    >>> y = np.random.default_rng(0).integers(0, 2, size=(300, 2))
    >>> mlp_accuracy(y - 0.5, y).value
    1.0
    """
    rows = prepare("mlp_accuracy", latents, factors, latents_test, factors_test, rng=rng)
    return _score(rows, HIDDEN, recipe, restarts, chance, rng)


@replace(
    _MLP_FACTS,
    title="Linear accuracy",
    widest=4_200,
    power=2,
    by_rows=True,
    wide={"recipe": "penalised"},
    version=4,
)
def linear_accuracy(
    latents: Any,
    factors: Any,
    *,
    latents_test: Any = None,
    factors_test: Any = None,
    rng: Rng = 0,
    recipe: LinearRecipe = "converged",
    restarts: int = 1,
    chance: Literal["proportional", "majority"] = "proportional",
) -> Score:
    """Held-out accuracy of a linear softmax head on all latents, averaged over factors.

    What can be read without any further computation. In [0, 1], 1 is best; accuracies are raw,
    `parts["adjusted"]` has max(0, (a - r) / (1 - r)).

    With recipe="converged" the head is a multinomial logistic regression, almost without a penalty (C = 1000), at
    its optimum; restarts do not matter. Where latents are many that fits noise: "penalised" chooses the penalty of
    each factor by cross-validation on the training rows (`parts["penalty"]`) and is right at any width; latents that
    are mostly 0 (exactly, and of more than 100) count in units of their firings (`unknot.metrics.units`), and sparse
    codes stay sparse. The other
    recipes train the head as they train the net of `mlp_accuracy`, whose arguments these are, and stop very far from
    the optimum.

    Reference: Mahon et al. 2024, arXiv:2304.02335, section 5.

    >>> import numpy as np
    >>> y = np.random.default_rng(0).integers(0, 2, size=(300, 2))
    >>> linear_accuracy(y - 0.5, y).value
    1.0
    """
    sparse = recipe == "penalised" and sparse_and_short(latents)
    rows = prepare("linear_accuracy", latents, factors, latents_test, factors_test, rng=rng, as_is=sparse)
    if recipe == "penalised":
        check_probe_options("linear_accuracy", "converged", restarts, chance)
        accuracy, penalties = _penalised_accuracy(rows, probe_seed(rng))
        return _accuracy_score(rows, accuracy, chance, recipe=recipe, penalty=rows.spread(penalties))
    return _score(rows, 0, recipe, restarts, chance, rng)


def check_probe_options(who: str, recipe: str, restarts: int, chance: str) -> Recipe:
    """The recipe, or an error about the first option that is wrong."""
    check_chance(chance)
    if restarts < 1:
        raise UnknotError(f"{who}: restarts is {restarts}; expected at least 1.")
    return find_recipe(recipe)


def head_accuracy(
    rows: Rows,
    hidden: int,
    recipe: Recipe,
    restarts: int,
    seed: int,
    *,
    without: Sequence[Sequence[int]] | None = None,
    only: Sequence[int] | None = None,
) -> Accuracy:
    """Accuracy of one head per factor (or those in `only`), each on all latents but those in `without[j]`.

    Every head has its own generator, made of `seed`, its kind, its factor and what it goes without, so that the
    same head gets the same accuracy whichever metric asks for it.
    """
    z_test, y_test, _ = rows.held_out
    table = np.zeros((rows.n_factors, restarts, 2))
    with one_thread():
        for j in range(rows.n_factors) if only is None else only:
            left = [i for i in range(rows.latents.shape[1]) if without is None or i not in without[j]]
            z, z_held, y, y_held = rows.latents[:, left], z_test[:, left], rows.factors[:, j], y_test[:, j]
            for restart in range(restarts):
                gone = [] if without is None else [i + 1 for i in without[j]]
                rng = np.random.default_rng([seed, hidden, j, restart, *gone])
                guess, guess_train = _guesses(z, z_held, y, int(rows.sizes[j]), hidden, recipe, rng, rows)
                table[j, restart] = np.mean((guess == y_held) & (y_held != UNSEEN)), np.mean(guess_train == y)
    test, train = table.mean(axis=1).T
    return Accuracy(test, train, table[:, :, 0].std(axis=1))


def _penalised_accuracy(rows: Rows, seed: int) -> tuple[Accuracy, Floats]:
    """Accuracy of one head per factor whose penalty is chosen by cross-validation, and the penalties (k,)."""
    y_test = rows.held_out.factors
    # Without rare latents both are the same, and other metrics ask for the second.
    in_units = is_sparse(rows.latents) or len(rare(rows.latents))
    heads = rows.once(PenalisedHeads.in_units if in_units else PenalisedHeads.of)
    fits = side_by_side(
        lambda j, size: heads.fit(rows.factors[:, j], int(size), np.random.default_rng([seed, j])),
        range(rows.n_factors),
        rows.sizes,
    )
    test = np.array([np.mean(fit.test == y) for fit, y in zip(fits, y_test.T, strict=True)])
    train = np.array([np.mean(fit.train == y) for fit, y in zip(fits, rows.factors.T, strict=True)])
    return Accuracy(test, train, np.zeros(len(fits))), np.array([fit.penalty for fit in fits])


def _guesses(
    z: Floats,
    z_held: Floats,
    y: Ints,
    n_classes: int,
    hidden: int,
    recipe: Recipe,
    rng: np.random.Generator,
    rows: Rows,
) -> tuple[Ints, Ints]:
    if z.shape[1] == 0:  # nothing to look at: the most common class
        most = np.bincount(y).argmax()
        return np.full(len(z_held), most), np.full(len(z), most)
    if hidden or not recipe.own:
        head = train_head(z, y, n_classes, recipe, rng, hidden=hidden)
        return head.predict(z_held), head.predict(z)
    linear, converged = fit_linear(z, y, n_classes, penalty=LEAST_PENALTY, whiten=True)
    if not converged:
        rows.notes.append("a linear head stopped before it converged, after 1,000 iterations.")
    return linear.predict(z_held), linear.predict(z)


def _score(rows: Rows, hidden: int, recipe: str, restarts: int, chance: str, rng: Rng) -> Score:
    chosen = check_probe_options("probe", recipe, restarts, chance)
    accuracy = head_accuracy(rows, hidden, chosen, restarts, probe_seed(rng))
    return _accuracy_score(rows, accuracy, chance, recipe=recipe)


def _accuracy_score(rows: Rows, accuracy: Accuracy, chance: str, **more: Any) -> Score:
    level = chance_levels(rows.held_out.factors, rows.factors, chance)
    per_factor_adjusted = adjusted(accuracy.test, level)
    parts = {
        "per_factor": accuracy.test,
        "per_factor_train": accuracy.train,
        "per_factor_adjusted": per_factor_adjusted,
        "sd_over_restarts": accuracy.spread,
        "chance": level,
    }
    means = {"adjusted": float(per_factor_adjusted.mean()), "train": float(accuracy.train.mean())}
    return rows.score(accuracy.test.mean(), parts, **means, **more)


def probe_seed(rng: Rng) -> int:
    """The number all heads of one call are seeded with."""
    return int(np.random.default_rng(rng).integers(2**32))
