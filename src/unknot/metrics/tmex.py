"""T-MEX: how many conditional independences of latents and factors differ from those of a latent for each factor."""

from typing import Any

import numpy as np

from unknot.errors import UnknotError
from unknot.metrics.arrays import Bools, Floats
from unknot.metrics.inputs import Rows, prepare
from unknot.metrics.latents import dead
from unknot.metrics.score import Facts, Score

EXACT = 1e-10  # share of a variance that is rounding
MOST_CLASSES = 2_000  # of all factors together: a table of products of that many fits into memory


@Facts(
    title="Test-based measurement exclusivity (T-MEX)",
    measures="holistic",
    bounds=(0.0, float("inf")),
    higher_is_better=False,
    chance="about the number of factors: no latent of noise is found to depend on any, but for a share `level` of all",
    reference="Yao et al. 2025, The Third Pillar of Causal Analysis? A Measurement Perspective on Causal "
    "Representations, arXiv:2505.17708",
    identity=("level",),
    invariances=frozenset({"rows", "latents", "sign", "scale", "shift"}),
    assumes=("as many latents as factors",),
    asked=True,
    version=2,
)
def tmex(latents: Any, factors: Any, *, level: float = 0.05) -> Score:
    """How many conditional independences differ from those of a code with a latent of its own for each factor.

    D_ij = 1 if a test rejects that z_i and y_j are independent given all other factors, else 0
    T-MEX = sum_ij | D_ij - W_ij |        0 is best; W_ij = 1 where latent i is the one of factor j

    The test is the generalised covariance measure (Shah and Peters 2020): what the other factors leave of z_i and of
    the classes of y_j, by additive models, must not be correlated; robust to errors of unequal size. Hotelling's T²
    counts the degrees of freedom that the other factors leave. W is the matching of latents to factors that agrees
    best; latents left over are to depend on nothing. A count, not a share: it grows with the number of latents and
    factors, and with many rows a faint mixture counts as much as a strong one.

    Edge cases: constant factors are left out and listed in `parts["skipped"]`; a latent without variance depends on
    nothing; a factor that the others determine, or of more classes than the others leave rows, cannot be tested, and
    its latent counts as missing; with fewer latents than factors the factors left over count as missing.
    Departs from the authors' code: there latents come in the order of the factors, and all are real numbers; here
    factors are classes, each class but one a variable, tested together (the authors' code tests the largest
    of several).

    Args:
        latents: (n, d).
        factors: (n, k) classes; real numbers are cut into bins.
        level: of the tests, in (0, 1).

    Returns:
        Score with `parts["per_factor"]` (k,) how many of its tests are not as they should be, `parts["p"]` (d, k) of
        the tests, and `parts["matched_latent"]` (k,), NaN where there is none.

    >>> rng = np.random.default_rng(0)
    >>> colour = rng.integers(0, 4, 500)
    >>> shape = np.where(rng.random(500) < 0.9, colour, rng.integers(0, 4, 500))  # depends on the colour
    >>> factors = np.column_stack([colour, shape])
    >>> tmex(factors * 1.0, factors).value, tmex(factors @ [[1, 1], [1, -1]], factors).value
    (0.0, 2.0)
    """
    from scipy.optimize import linear_sum_assignment

    if not 0 < level < 1:
        raise UnknotError(f"tmex: level is {level}; expected a number between 0 and 1, such as 0.05.")
    rows = prepare("tmex", latents, factors)
    if rows.sizes.sum() > MOST_CLASSES:
        raise UnknotError(
            f"tmex: the factors have {rows.sizes.sum()} classes together; expected at most {MOST_CLASSES:,}."
        )
    p = _p_values(rows)
    depends: Bools = p < level
    latent, factor = linear_sum_assignment(depends.astype(np.float64), maximize=True)
    agreed = np.zeros_like(depends)
    agreed[latent, factor] = True
    missing = rows.n_factors - len(factor)
    wrong = (depends != agreed).sum(axis=0) + np.isin(np.arange(rows.n_factors), factor, invert=True)
    matched = np.full(rows.n_factors, np.nan)
    hits = depends[latent, factor]
    matched[factor[hits]] = latent[hits]
    if missing:
        rows.notes.append(f"{len(p)} latent(s) for {rows.n_factors} factors: {missing} have none of their own.")
    return rows.score(wrong.sum(), {"per_factor": wrong, "p": p, "matched_latent": matched}, level=level)


def _p_values(rows: Rows) -> Floats:
    """Those of the tests (d, k); 1 where there is nothing to test."""
    from scipy.stats import f

    n, gone = len(rows.latents), dead(rows.latents)
    z = rows.latents - rows.latents.mean(axis=0)
    z /= np.where(gone, 1.0, np.sqrt((z**2).mean(axis=0)))
    classes = [np.eye(size)[rows.factors[:, j]][:, 1:] for j, size in enumerate(rows.sizes)]
    p = np.ones((z.shape[1], rows.n_factors))
    for j, own in enumerate(classes):
        others = np.hstack([np.ones((n, 1)), *classes[:j], *classes[j + 1 :]])
        left, rest = _left(np.hstack([z, own]), others)
        of_latents, of_classes = left[:, : z.shape[1]], left[:, z.shape[1] :]
        for i in np.flatnonzero((of_latents**2).mean(axis=0) > EXACT):
            products = of_latents[:, [i]] * of_classes
            mean = products.mean(axis=0)
            values, axes = np.linalg.eigh((products - mean).T @ (products - mean) / n)
            kept = values > EXACT * max(values[-1], 1e-300)
            q = int(kept.sum())
            if values[-1] > EXACT**2 and rest > q:  # Hotelling's T² of what is left
                squared = rest * ((mean @ axes[:, kept]) ** 2 / values[kept]).sum()
                p[i, j] = f.sf(squared * (rest - q) / (q * (rest - 1)), q, rest - q)
    p[gone] = 1.0
    return p


def _left(columns: Floats, others: Floats) -> tuple[Floats, int]:
    """What an additive model of other factors leaves of columns (n, c), and with how many degrees of freedom."""
    values, axes = np.linalg.eigh(others.T @ others)
    kept = values > 1e-10 * values[-1]
    basis = others @ (axes[:, kept] / np.sqrt(values[kept]))
    left: Floats = columns - basis @ (basis.T @ columns)
    return left, len(columns) - basis.shape[1]
