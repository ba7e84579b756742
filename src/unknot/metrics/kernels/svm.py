"""Linear support vector machines on a single feature, solved exactly.

    min over (w, b)   (w^2 + b^2) / 2 + sum_r C_r max(0, 1 - t_r (w x_r + b))^2,      t_r = +1 or -1

With one feature the rows inside the margin form an interval of the sorted feature, so that the gradient and the
Hessian come from prefix sums of (1, x, x^2) by binary search, and Newton's method costs O(log n) per step.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from unknot.metrics.arrays import Floats, Ints

MAX_NEWTON = 100
TOLERANCE = 1e-12  # of the gradient, relative to the one at zero


class Sorted(NamedTuple):
    """Rising values of the feature."""

    values: Floats
    sums: Floats  # (n + 1, 3) of 1, x and x^2 over the first rows


class Problem(NamedTuple):
    """A class that is to be parted from the rest."""

    everyone: Sorted
    own: Sorted  # the rows of the class
    centre: float  # that was taken from the feature
    c_pos: float  # penalty of a row of the class
    c_neg: float  # of one of the rest


@njit(cache=True, nogil=True)
def _count(values: Floats, edge: float, equal: bool) -> int:
    """How many of the sorted values lie below the edge, or at it if `equal` (np.searchsorted compiles slowly)."""
    low, high = 0, len(values)
    while low < high:
        middle = (low + high) // 2
        if values[middle] < edge or (equal and values[middle] == edge):
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _summed(values: Floats) -> Sorted:
    sums = np.zeros((len(values) + 1, 3))
    for r in range(len(values)):
        sums[r + 1, 0] = sums[r, 0] + 1.0
        sums[r + 1, 1] = sums[r, 1] + values[r]
        sums[r + 1, 2] = sums[r, 2] + values[r] * values[r]
    return Sorted(values, sums)


@njit(cache=True, nogil=True)
def _with_more(rows: Sorted, more: int, value: float) -> Sorted:
    """The same with one more value, which so many other rows have."""
    if more == 0:
        return rows
    n, at = len(rows.values), _count(rows.values, value, False)
    values, sums = np.empty(n + 1), np.empty((n + 2, 3))
    values[:at], values[at], values[at + 1 :] = rows.values[:at], value, rows.values[at:]
    sums[: at + 1], sums[at + 1 :] = rows.sums[: at + 1], rows.sums[at:]
    for r in range(at + 1, n + 2):
        sums[r, 0] += more
        sums[r, 1] += more * value
        sums[r, 2] += more * value * value
    return Sorted(values, sums)


@njit(cache=True, nogil=True)
def _inside(rows: Sorted, w: float, b: float, side: float) -> tuple[float, float, float]:
    """Sums over the values with side * (w x + b) < 1: what a class on that side has inside its margin."""
    values, sums = rows
    slope = side * w
    low, high = 0, len(values)  # the places inside
    if slope > 0.0:
        high = _count(values, (1.0 - side * b) / slope, False)
    elif slope < 0.0:
        low = _count(values, (1.0 - side * b) / slope, True)
    elif side * b >= 1.0:
        high = 0
    return sums[high, 0] - sums[low, 0], sums[high, 1] - sums[low, 1], sums[high, 2] - sums[low, 2]


@njit(cache=True, nogil=True)
def _state(problem: Problem, w: float, b: float, out: Floats) -> None:
    """Objective, gradient (2) and Hessian (3) at (w, b), where b is the intercept of the centred feature."""
    everyone, own, centre, c_pos, c_neg = problem
    p0, p1, p2 = _inside(own, w, b, 1.0)
    a0, a1, a2 = _inside(everyone, w, b, -1.0)
    o0, o1, o2 = _inside(own, w, b, -1.0)
    n0, n1, n2 = a0 - o0, a1 - o1, a2 - o2
    s0, s1, s2 = c_pos * p0 + c_neg * n0, c_pos * p1 + c_neg * n1, c_pos * p2 + c_neg * n2
    t0, t1 = c_pos * p0 - c_neg * n0, c_pos * p1 - c_neg * n1
    intercept = b - w * centre  # liblinear shrinks the intercept of the feature as it is
    quadratic = w * w * s2 + 2.0 * w * b * s1 + b * b * s0
    out[0] = 0.5 * (w * w + intercept * intercept) + s0 - 2.0 * (w * t1 + b * t0) + quadratic
    out[1] = w - centre * intercept + 2.0 * (w * s2 + b * s1 - t1)
    out[2] = intercept + 2.0 * (w * s1 + b * s0 - t0)
    out[3] = 1.0 + centre * centre + 2.0 * s2
    out[4] = -centre + 2.0 * s1
    out[5] = 1.0 + 2.0 * s0


@njit(cache=True, nogil=True)
def _solve(problem: Problem) -> tuple[float, float]:
    """Slope and (centred) intercept that part a class from the rest."""
    w, b = 0.0, 0.0
    now, then = np.empty(6), np.empty(6)
    _state(problem, w, b, now)
    enough = TOLERANCE * (abs(now[1]) + abs(now[2]))
    for _ in range(MAX_NEWTON):
        if abs(now[1]) + abs(now[2]) <= enough:
            break
        determinant = now[3] * now[5] - now[4] * now[4]
        step_w = (now[4] * now[2] - now[5] * now[1]) / determinant
        step_b = (now[4] * now[1] - now[3] * now[2]) / determinant
        descent = now[1] * step_w + now[2] * step_b
        size = 1.0
        while True:  # the objective is convex and piecewise quadratic: nearly always the full step
            _state(problem, w + size * step_w, b + size * step_b, then)
            if then[0] <= now[0] + 1e-4 * size * descent or size < 1e-10:
                break
            size *= 0.5
        if size < 1e-10:  # rounding: no better point in this direction
            break
        w, b = w + size * step_w, b + size * step_b
        now, then = then, now
    return w, b


@njit(cache=True, nogil=True)
def fit(x: Floats, labels: Ints, counts: Ints, cost: float) -> Floats:
    """Slope and intercept (lines, 2) of each class against the rest; one line if there are two classes.

    Args:
        x: (m,) the feature, sorted; of rows that are not among them it is 0.
        labels: (m,) classes 0..K-1 in the same order.
        counts: (K,) rows of each class.
        cost: the penalty C of a row inside the margin.
    """
    n, k = counts.sum(), len(counts)
    centre = x.sum() / n
    listed = counts
    if len(x) < n:
        listed = np.zeros(k, dtype=np.int64)
        for c in labels:
            listed[c] += 1
    away = x - centre
    everyone = _with_more(_summed(away), n - len(x), -centre)
    starts = np.zeros(k + 1, dtype=np.int64)
    for c in range(k):
        starts[c + 1] = starts[c] + listed[c]
    by_class = np.empty(len(x))
    cursor = starts[:k].copy()
    for r in range(len(x)):
        by_class[cursor[labels[r]]] = away[r]
        cursor[labels[r]] += 1
    lines = np.empty((1 if k == 2 else k, 2))
    for c in range(len(lines)):
        positive = 1 if k == 2 else c
        weight = n / (k * counts[positive])
        # With more than two classes liblinear gives only the positive one its balanced weight.
        rest = n / (k * counts[0]) if k == 2 else 1.0
        own = _summed(by_class[starts[positive] : starts[positive + 1]])
        own = _with_more(own, counts[positive] - listed[positive], -centre)
        w, b = _solve(Problem(everyone, own, centre, cost * weight, cost * rest))
        lines[c, 0], lines[c, 1] = w, b - w * centre
    return lines


@njit(cache=True, nogil=True)
def _highest(lines: Floats, low: float, high: float) -> Ints:
    """The lines that are the highest, or nearly, somewhere between two places; the others need not be looked at."""
    kept = np.empty(len(lines), dtype=np.int64)
    n_kept = 0
    for c in range(len(lines)):
        first, last = low, high
        for other in range(len(lines)):
            slope, ahead = lines[c, 0] - lines[other, 0], lines[c, 1] - lines[other, 1]
            size = abs(lines[c, 1]) + abs(lines[other, 1])
            ahead += 1e-9 * (size + (abs(lines[c, 0]) + abs(lines[other, 0])) * max(abs(low), abs(high)))
            if slope > 0.0:
                first = max(first, -ahead / slope)
            elif slope < 0.0:
                last = min(last, -ahead / slope)
            elif ahead < 0.0:
                last = -np.inf
        if first <= last:
            kept[n_kept] = c
            n_kept += 1
    return kept[:n_kept]


@njit(cache=True, nogil=True)
def winners(x: Floats, lines: Floats) -> Ints:
    """The class (n,) that has the highest line at each place (lowest class on ties)."""
    n = len(x)
    best, winner = np.full(n, -np.inf), np.zeros(n, dtype=np.int64)
    if len(lines) == 1:
        for r in range(n):
            winner[r] = 1 if lines[0, 0] * x[r] + lines[0, 1] > 0.0 else 0
    else:
        low, high = np.inf, -np.inf
        for r in range(n):
            low, high = min(low, x[r]), max(high, x[r])
        for c in _highest(lines, low, high):
            w, b = lines[c, 0], lines[c, 1]
            for r in range(n):
                value = w * x[r] + b
                better = value > best[r]
                best[r] = value if better else best[r]
                winner[r] = c if better else winner[r]
    return winner


@njit(cache=True, nogil=True)
def accuracy(x: Floats, labels: Ints, lines: Floats) -> float:
    """Share of rows whose class has the highest line; unseen classes are always wrong."""
    right, winner = 0, winners(x, lines)
    for r in range(len(x)):
        right += winner[r] == labels[r]
    return right / len(x)


@njit(cache=True, nogil=True)
def accuracies(
    latents: Floats, order: Ints, factors: Ints, sizes: Ints, latents_test: Floats, factors_test: Ints, cost: float
) -> Floats:
    """Test accuracy (d, k) of each factor from each latent alone.

    Args:
        latents: (d, n) one row per latent.
        order: (d, n) what sorts it.
        factors: (k, n) codes.
        sizes: (k,) number of codes.
        latents_test: (d, m).
        factors_test: (k, m).
        cost: the penalty C.
    """
    d, k = len(latents), len(factors)
    result = np.empty((d, k))
    for i in range(d):
        x = latents[i][order[i]]
        for j in range(k):
            lines = fit(x, factors[j][order[i]], np.bincount(factors[j], minlength=sizes[j]), cost)
            result[i, j] = accuracy(latents_test[i], factors_test[j], lines)
    return result


class Part(NamedTuple):
    """The rows of one factor that lines are fitted on, those of a class side by side, and those they are judged on."""

    rows: Ints
    starts: Ints  # (K + 1,) where in `rows` each class starts
    rows_test: Ints
    codes_test: Ints


@njit(cache=True, nogil=True)
def _least_squares(sums: Floats, ends: Floats, centre: float, cost: float, lines: Floats) -> bool:
    """The lines of all classes if no row leaves its margin, which makes them least squares; else False.

    Args:
        sums: (K, 3) of 1, x and x^2 of each class, centred.
        ends: (K, 2) smallest and largest x of each class, centred.
        centre: that was taken from x.
        cost: the penalty C.
        lines: (K, 2) slope and intercept, filled in; (1, 2) if there are two classes.
    """
    k = len(sums)
    total = sums.sum(axis=0)
    for c in range(len(lines)):
        positive = 1 if k == 2 else c
        c_pos = cost * total[0] / (k * sums[positive, 0])
        c_neg = cost * total[0] / (k * sums[0, 0]) if k == 2 else cost
        own, rest = c_pos * sums[positive], c_neg * (total - sums[positive])
        s, t = own + rest, own - rest
        ww, wb, bb = 1.0 + centre * centre + 2.0 * s[2], -centre + 2.0 * s[1], 1.0 + 2.0 * s[0]
        w, b = 0.0, 0.0
        for _ in range(3):  # the first step is the solution, the others mend its rounding
            of_w, of_b = 2.0 * t[1] - ww * w - wb * b, 2.0 * t[0] - wb * w - bb * b
            w += (bb * of_w - wb * of_b) / (ww * bb - wb * wb)
            b += (ww * of_b - wb * of_w) / (ww * bb - wb * wb)
        for other in range(k):
            side = 1.0 if other == positive else -1.0
            if side * (w * ends[other, 0] + b) >= 1.0 or side * (w * ends[other, 1] + b) >= 1.0:
                return False
        lines[c, 0], lines[c, 1] = w, b - w * centre
    return True


@njit(cache=True, nogil=True)
def _right(column: Floats, rows: Ints, codes: Ints, lines: Floats) -> float:
    """As `accuracy`, of some rows of a column."""
    return float(accuracy(column[rows], codes, lines))


@njit(cache=True, nogil=True)
def accuracies_within(
    columns_test: Floats, part: Part, centres: Floats, sums: Floats, cost: float, result: Floats
) -> None:
    """Test accuracy (d,) of one factor from each latent alone, NaN where rows leave their margin.

    Args:
        columns_test: (d, m) one row per latent.
        part: rows of the factor.
        centres: (d,) means of the training rows.
        sums: (K, 4, d) of each class, see `class_sums`.
        cost: the penalty C.
        result: filled in.
    """
    starts = part.starts
    k = len(starts) - 1
    moments, ends, lines = np.empty((k, 3)), np.empty((k, 2)), np.empty((1 if k == 2 else k, 2))
    for i in range(len(columns_test)):
        for c in range(k):
            moments[c, 0], moments[c, 1], moments[c, 2] = starts[c + 1] - starts[c], sums[c, 0, i], sums[c, 1, i]
            ends[c, 0], ends[c, 1] = sums[c, 2, i], sums[c, 3, i]
        result[i] = np.nan
        if _least_squares(moments, ends, centres[i], cost, lines):
            result[i] = _right(columns_test[i], part.rows_test, part.codes_test, lines)


@njit(cache=True, nogil=True)
def accuracy_beyond(column: Floats, order: Ints, column_test: Floats, part: Part, cost: float) -> float:
    """Test accuracy of one factor from one latent alone, whose rows may leave their margin; `order` sorts it."""
    rows, starts, rows_test, codes_test = part
    codes = np.full(len(column), -1, dtype=np.int64)
    for c in range(len(starts) - 1):
        codes[rows[starts[c] : starts[c + 1]]] = c
    x, labels = np.empty(len(rows) + 1), np.empty(len(rows) + 1, dtype=np.int64)
    n = 0
    for r in order:
        x[n], labels[n] = column[r], codes[r]
        n += codes[r] >= 0
    return float(_right(column_test, rows_test, codes_test, fit(x[:n], labels[:n], np.diff(starts), cost)))
