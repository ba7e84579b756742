"""What a spectrum tells of a representation: RankMe, effective rank, LiDAR, alpha-ReQ."""

from typing import Any

import numpy as np

from unknot.errors import UnknotError
from unknot.metrics.arrays import WIDE, Floats, Ints
from unknot.metrics.covariance import covariance
from unknot.metrics.inputs import Rows, prepare
from unknot.metrics.kernels.information import entropy
from unknot.metrics.latents import check_latents, dead, enough_rows
from unknot.metrics.score import Facts, Score
from unknot.processes.threads import one_thread
from unknot.reading.arrays import as_array

CHUNK = 16_384
MANY_DIRECTIONS, LAST_DIRECTION = 50, 100  # of the fit of alpha-ReQ
ALIKE = 1e-3  # of the largest singular value: if none is smaller, roots of eigenvalues are as good
MANY = 2_000  # directions for which a singular value decomposition takes more than half a minute


@Facts(
    title="RankMe",
    widest=6_000,
    power=3,
    measures="explicitness",
    bounds=(0.0, float("inf")),
    chance="no labels; isotropic noise has about d",
    reference="Garrido et al. 2023, RankMe: Assessing the Downstream Performance of Pretrained Self-Supervised "
    "Representations by Their Rank, arXiv:2210.02885",
    invariances=frozenset({"rows", "latents", "sign", "rotation"}),
    labels=False,
)
def rankme(latents: Any, factors: Any = None) -> Score:
    """Smooth rank of the latents as a matrix; a guide to linear-probe accuracy that needs no labels.

    RankMe = exp( - sum_i p_i log p_i ),    p_i = s_i / sum s, s the singular values of the latents (n, d)

    Between 1 and min(n, d); more is better among models of the same width. The matrix is not centred, as in the
    paper: a large common mean is one strong direction and lowers the score. `effective_rank` centres.

    Edge cases: latents that are all zero have rank 0.
    Departs from the paper: no 1e-7 is added to p_i; the logarithm of 0 never arises.

    Args:
        latents: (n, d).
        factors: not used.

    Returns:
        Score with `parts["spectrum"]`, the singular values, largest first.

    >>> round(rankme([[3, 0], [0, 3], [-3, 0], [0, -3]]).value, 6)
    2.0
    """
    z = enough_rows("rankme", check_latents("rankme", latents))
    values = _values(latents, z, centred=False)
    return Score(_smooth_rank(values), {"spectrum": values, "n_rows": len(z), "notes": []})


@Facts(
    title="Effective rank of the covariance",
    widest=6_000,
    power=3,
    measures="independence",
    bounds=(0.0, float("inf")),
    chance="no labels; isotropic noise has about d",
    reference="Roy and Vetterli 2007, The Effective Rank: A Measure of Effective Dimensionality, EUSIPCO",
    invariances=frozenset({"rows", "latents", "sign", "shift", "rotation"}),
    labels=False,
)
def effective_rank(latents: Any, factors: Any = None) -> Score:
    """How many principal directions share the variance of the latents.

    erank = exp( - sum_i p_i log p_i ),    p_i = the i-th principal component's share of the variance

    Between 1 and min(n - 1, d). Collapse shows as a value far below d.

    Edge cases: latents without variance add nothing; 0 if none varies.

    Args:
        latents: (n, d).
        factors: not used.

    Returns:
        Score with `parts["spectrum"]`, the variances along the principal directions, largest first.

    >>> round(effective_rank([[4, 1], [1, 4], [-2, 1], [1, -2]]).value, 6)
    2.0
    """
    z = enough_rows("effective_rank", check_latents("effective_rank", latents))
    gone = dead(z)
    notes = []
    if gone.any():
        notes.append(f"latent(s) without variance: {', '.join(map(str, np.flatnonzero(gone)))}.")
    alive = z[:, ~gone] if gone.any() else z
    values = _values(alive if gone.any() else latents, alive, centred=True) ** 2 / (len(z) - 1)
    return Score(_smooth_rank(values), {"spectrum": values, "n_rows": len(z), "notes": notes})


@Facts(
    title="alpha-ReQ: decay of the spectrum",
    measures="explicitness",
    bounds=(0.0, float("inf")),
    higher_is_better=False,
    chance="no labels; isotropic noise has about 0",
    reference="Agrawal et al. 2022, alpha-ReQ: Assessing Representation Quality in Self-Supervised Learning by "
    "Measuring Eigenspectrum Decay, NeurIPS",
    invariances=frozenset({"rows", "latents", "sign", "shift", "rotation"}),
    labels=False,
    asked=True,
)
def alpha_req(latents: Any, factors: Any = None, *, first: int | None = None, last: int | None = None) -> Score:
    """How fast the variances along principal directions fall: lambda_i ~ i^(-alpha).

    alpha = - slope of log lambda_i against log i, by least squares, i from `first` to `last`

    0 or more. About 1 goes with good linear probes; far above it few directions carry all (collapse), below it the
    spectrum is as flat as that of noise. So less is better only down to 1, among models of one width.

    Edge cases: directions without variance are left out; fewer than two that are left are an error.

    Args:
        latents: (n, d).
        factors: not used.
        first: smallest i of the fit; left out, 11 where there are 50 directions or more, as the public code, else 1.
        last: largest i; left out, 100 or as many as there are.

    Returns:
        Score with `parts["spectrum"]`, the variances, largest first, and `parts["fit"]`, how well the line fits (R^2).

    >>> z = [[1, 0, 0], [-1, 0, 0], [0, 0.5, 0], [0, -0.5, 0], [0, 0, 1 / 3], [0, 0, -1 / 3]]
    >>> round(alpha_req(z).value, 6)  # variances fall as 1, 1/4, 1/9
    2.0
    """
    z = enough_rows("alpha_req", check_latents("alpha_req", latents))
    values = _values(latents, z, centred=True) ** 2 / (len(z) - 1)
    alive = int((values > 1e-12 * values[0]).sum()) if len(values) and values[0] > 0 else 0
    low = first if first is not None else (11 if alive >= MANY_DIRECTIONS else 1)
    high = min(alive, LAST_DIRECTION if last is None else last)
    if low < 1 or high - low < 1:
        raise UnknotError(
            f"alpha_req: {alive} direction(s) vary, and the fit is from {low} to {high}; expected two or more."
        )
    ranks, logs = np.log(np.arange(low, high + 1)), np.log(values[low - 1 : high])
    slope, level = np.polyfit(ranks, logs, 1)
    spread = float(((logs - logs.mean()) ** 2).sum())
    fit = 1 - float(((logs - slope * ranks - level) ** 2).sum()) / spread if spread > 0 else 1.0
    parts = {"spectrum": values, "fit": fit, "first": low, "last": high, "n_rows": len(z), "notes": []}
    return Score(max(0.0, -float(slope)), parts)


@Facts(
    title="LiDAR",
    widest=6_000,
    power=3,
    measures="explicitness",
    bounds=(0.0, float("inf")),
    chance="noise has about min(d, classes - 1): directions are counted whether or not they separate well",
    reference="Thilak et al. 2023, LiDAR: Sensing Linear Probing Performance in Joint Embedding SSL "
    "Architectures, arXiv:2312.04000",
    invariances=frozenset({"rows", "latents", "sign", "shift", "rotation"}),
    units=True,
)
def lidar(latents: Any, factors: Any = None, *, groups: Any = None, delta: float = 1e-4) -> Score:
    """Smooth rank of what separates surrogate classes from one another.

    LiDAR = exp( - sum_i p_i log p_i ),    p = eigenvalues of W^(-1/2) B W^(-1/2), normalised

    B is the covariance of the class means, W the covariance within classes plus `delta` times the identity. Between
    1 and min(d, classes - 1). The authors' classes are images and their rows augmentations of them: pass those as
    `groups`. Without groups, rows with the same combination of factors form a class.

    Edge cases: classes of one row say nothing about W and are left out, with a note; fewer than two classes of two
    rows are an error; 0 if the class means coincide.
    Departs from the paper: no 1e-7 is added to p_i; classes may differ in size (B weighs classes alike, W rows).

    Args:
        latents: (n, d).
        factors: (n, k), needed unless groups are given.
        groups: (n,) whole numbers or strings naming the class of every row.
        delta: keeps W invertible; relative to the scale of the latents.

    Returns:
        Score with `parts["spectrum"]`, the eigenvalues, largest first, and `parts["n_classes"]`.

    >>> z = [[-2, -2], [-2, -2], [-2, 2], [-2, 2], [2, -2], [2, -2], [2, 2], [2, 2]]
    >>> round(lidar(z, groups=[0, 0, 1, 1, 2, 2, 3, 3]).value, 6)
    2.0
    """
    if not delta > 0:
        raise UnknotError(f"lidar: delta is {delta}; expected a positive number such as 1e-4.")
    if groups is None:
        rows = prepare("lidar", latents, factors)
        z, about, notes = rows.latents, rows.about(), list(rows.notes)
        classes = _combinations(rows)
    else:
        z, about, notes = check_latents("lidar", latents), {}, []
        labels = as_array(groups)
        if labels.shape != (len(z),):
            raise UnknotError(f"lidar: groups has shape {labels.shape}; expected ({len(z)},), one class a row.")
        _, classes = np.unique(labels, return_inverse=True)
    kept = np.bincount(classes)[classes] > 1
    if not kept.all():
        notes.append(f"left out {int((~kept).sum())} row(s) that are alone in their class.")
    _, classes = np.unique(classes[kept], return_inverse=True)
    n_classes = int(classes.max(initial=-1)) + 1
    if n_classes < 2:
        raise UnknotError(
            f"lidar: {n_classes} class(es) with at least two rows; two are needed. Pass groups= (for example the "
            "image each augmented row was made from), or factors whose combinations repeat."
        )
    values = _separation(z[kept], classes, n_classes, delta)
    parts = {"spectrum": values, "n_classes": n_classes, "n_rows": int(kept.sum()), "notes": notes}
    return Score(_smooth_rank(values), {**about, **parts})


def _combinations(rows: Rows) -> Ints:
    """A number for each row's combination of factor values, by way of one whole number for each where it fits."""
    if np.prod(rows.sizes.astype(np.float64)) < 2**62:
        return np.unique(np.ravel_multi_index(tuple(rows.factors.T), tuple(rows.sizes)), return_inverse=True)[1]
    return np.unique(rows.factors, axis=0, return_inverse=True)[1].reshape(-1)


def _separation(z: Floats, classes: Ints, n_classes: int, delta: float) -> Floats:
    """Eigenvalues of the whitened covariance of class means, largest first."""
    sums = np.stack([np.bincount(classes, weights=column, minlength=n_classes) for column in z.T], axis=1)
    means = sums / np.bincount(classes)[:, None]
    residual, centred = z - means[classes], means - means.mean(axis=0)
    variances, axes = np.linalg.eigh(residual.T @ residual / len(z))
    # B = centred' centred / classes, so W^(-1/2) B W^(-1/2) has the squared singular values of centred W^(-1/2).
    whitened = centred @ axes / np.sqrt(np.maximum(variances, 0.0) + delta)
    result: Floats = _singular(whitened) ** 2 / n_classes
    return result


def _values(latents: Any, z: Floats, *, centred: bool) -> Floats:
    """Singular values of the latents, largest first, or of what remains of them without their means.

    Of wide codes whose directions all vary alike, within a thousandfold, they are roots of the eigenvalues of the
    covariance, which other metrics need too, and right to ten digits; a decomposition takes ten times as long.
    """
    n, d = z.shape
    if WIDE < d <= min(n - 1, MANY):
        matrix, mean, gone = covariance(latents, z)
        if not gone.any():
            moments = (n - 1) * matrix if centred else (n - 1) * matrix + n * np.outer(mean, mean)
            with one_thread():
                values = np.linalg.eigvalsh(moments)[::-1]
            if values[-1] > ALIKE**2 * values[0]:
                return np.sqrt(values)
    return _singular(z, z.mean(axis=0) if centred else 0.0)


def _singular(matrix: Floats, mean: Floats | float = 0.0) -> Floats:
    """Singular values of a matrix less its mean, largest first."""
    if min(matrix.shape) == 0:
        return np.zeros(0)
    with one_thread():
        if min(matrix.shape) > MANY:
            return _from_gram(matrix, mean)
        if len(matrix) < matrix.shape[1]:
            return np.linalg.svd(np.linalg.qr((matrix - mean).T, mode="r"), compute_uv=False)
        # The triangle of a QR decomposition has the same singular values and is small; so has the triangle of those
        # of parts that the cache holds.
        triangles = [
            np.linalg.qr(matrix[start : start + CHUNK] - mean, mode="r") for start in range(0, len(matrix), CHUNK)
        ]
        return np.linalg.svd(np.concatenate(triangles), compute_uv=False)


def _from_gram(matrix: Floats, mean: Floats | float) -> Floats:
    """Singular values as roots of the eigenvalues of products: several times faster, and less exact for small ones.

    Values below a millionth of the largest are rounding, and 0.
    """
    short = matrix.T if len(matrix) < matrix.shape[1] else matrix
    gram = np.zeros((short.shape[1], short.shape[1]))
    for start in range(0, len(short), CHUNK):
        part = slice(start, start + CHUNK)
        centred = short[part] - (mean if short is matrix or np.ndim(mean) == 0 else np.asarray(mean)[part, None])
        gram += centred.T @ centred
    values = np.linalg.eigvalsh(gram)[::-1]
    return np.sqrt(np.where(values > 1e-12 * values[0], values, 0.0))


def _smooth_rank(values: Floats) -> float:
    return float(np.exp(entropy(values))) if values.sum() > 0 else 0.0
