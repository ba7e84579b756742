"""Places of many in an order, as ranges: as far as resamples can tell them apart."""

import numpy as np

from unknot.metrics.arrays import Floats

SURE = 0.975  # share of the resamples in which one is ahead of another, from which it counts


def places(draws: Floats) -> list[tuple[int, int]]:
    """The best and the worst place that each may have; more is better.

    Args:
        draws: (m, times) the scores of all in each resample; NaN where there is none.

    >>> places(np.array([[5.0, 6.0, 7.0], [1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
    [(1, 1), (2, 3), (2, 3)]
    """
    times = max(1, draws.shape[1])
    ahead = np.array([(one > draws).sum(axis=1) / times >= SURE for one in draws]).reshape(len(draws), -1)
    return [(1 + int(ahead[:, i].sum()), len(draws) - int(ahead[i].sum())) for i in range(len(draws))]


def in_words(place: tuple[int, int]) -> str:
    """A range of places.

    >>> in_words((1, 3)), in_words((4, 4))
    ('1-3', '4')
    """
    best, worst = place
    return str(best) if best == worst else f"{best}-{worst}"
