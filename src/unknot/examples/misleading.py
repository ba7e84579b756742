"""Codes that mislead metrics, one for each assumption that the adviser of a scorecard looks at."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError, check_known
from unknot.reading.arguments import checked

Table = tuple[NDArray[np.float64], NDArray[np.int64]]


@checked
def misleading(name: str, *, n: int = 2_000, seed: int = 0) -> Table:
    """Latents and factors of which an assumption does not hold, by its name on a card.

    The first six codes are perfect, a latent of its own for each factor, and some metric says otherwise.

    >>> import unknot
    >>> latents, factors = misleading("independent factors")
    >>> card = unknot.score(latents, factors, metrics=["mig_sup", "conditional_mig"])
    >>> [round(card[name].value, 1) for name in ("mig_sup", "conditional_mig")]
    [0.5, 1.0]
    >>> card.plan.advice[0].metrics
    ('mig_sup',)
    """
    check_known("example", name, MISLEADING)
    if n < 1:
        raise UnknotError(who="misleading", field="n", value=n, expected="1 or more rows")
    return MISLEADING[name](n, np.random.default_rng(seed))


def _factors(n: int, rng: np.random.Generator, sizes: tuple[int, ...] = (5, 6, 8)) -> NDArray[np.int64]:
    return rng.integers(0, sizes, size=(n, len(sizes)))


def _dependent(n: int, rng: np.random.Generator) -> Table:
    hidden = rng.integers(0, 6, size=(n, 1))
    factors = np.where(rng.random((n, 3)) < 0.85, hidden, _factors(n, rng, (6, 6, 6)))
    return _near(factors, rng), factors


def _near(factors: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
    return factors + 0.02 * rng.normal(size=factors.shape)


def _unordered(n: int, rng: np.random.Generator) -> Table:
    factors = _factors(n, rng)
    columns = [rng.permutation(size)[column] for column, size in zip(factors.T, (5, 6, 8), strict=True)]
    return _near(np.column_stack(columns), rng), factors


def _bent(n: int, rng: np.random.Generator) -> Table:
    factors = _factors(n, rng, (9, 9, 9))
    return np.exp(2 * _near(factors, rng)), factors


def _middle_classes(n: int, rng: np.random.Generator) -> Table:
    factors = _factors(n, rng, (12, 12, 12))
    return _near(factors, rng), factors


def _uneven(n: int, rng: np.random.Generator) -> Table:
    factors = _factors(n, rng, (8, 8, 8))
    return np.exp(1.2 * _near(factors, rng)), factors


def _idle(n: int, rng: np.random.Generator) -> Table:
    factors = _factors(n, rng)
    return np.hstack([_near(factors, rng), rng.normal(size=(n, 6))]), factors


def _few_rows(n: int, rng: np.random.Generator) -> Table:
    factors = rng.integers(0, 20, size=(min(n, 150), 2))
    return rng.normal(size=(len(factors), 4)), factors


def _mixed(n: int, rng: np.random.Generator) -> Table:
    factors = _factors(n, rng)
    return _near(factors, rng) / (5, 6, 8) @ np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.5], [0.5, 0.0, 1.0]]), factors


def _split(n: int, rng: np.random.Generator) -> Table:
    factors = _factors(n, rng, (4, 9, 9))
    digits = [np.stack(np.divmod(column, base), axis=1) for column, base in zip(factors.T, (2, 3, 3), strict=True)]
    return _near(np.hstack(digits), rng), factors


def _common(n: int, rng: np.random.Generator) -> Table:
    factors = (rng.random(size=(n, 2)) < 0.1).astype(np.int64)
    return rng.normal(size=(n, 3)), factors


def _few_latents(n: int, rng: np.random.Generator) -> Table:
    factors = _factors(n, rng)
    return _near(factors[:, :2], rng), factors


def _repeated(n: int, rng: np.random.Generator) -> Table:
    factors = _factors(n, rng)
    return np.hstack([_near(factors, rng), -_near(factors, rng)]), factors


MISLEADING: dict[str, Callable[[int, np.random.Generator], Table]] = {
    "independent factors": _dependent,
    "ordered classes": _unordered,
    "straight latents": _bent,
    "classes at the ends": _middle_classes,
    "evenly spread latents": _uneven,
    "informed latents": _idle,
    "unmixed latents": _mixed,
    "one latent for each factor": _split,
    "many rows": _few_rows,
    "balanced classes": _common,
    "as many latents as factors": _few_latents,
    "latents that differ": _repeated,
}
