"""The compiled inside of `boosting`: residuals of the log loss, leaves, and predictions.

Compiled files do not call each other, as compiled code on disk only notices changes of its own file.
"""

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from unknot.metrics.arrays import Floats

Ints = NDArray[Any]
FLAT = 1e-150  # leaves whose mean curvature is below are worth 0, as in scikit-learn
BLOCK = 64  # rows at a time, so that they stay in a near cache


@njit(cache=True, error_model="numpy")
def _exp(x: Floats, out: Floats, bits: Ints, power: Floats) -> None:
    """exp(x) for x <= 0 to the last digit or two, in a form that compiles to vector instructions."""
    for i in range(len(x)):
        v = max(x[i], -708.0)
        k = math.floor(v * 1.4426950408889634 + 0.5)
        r = v - k * 0.693145751953125 - k * 1.4286068203094172e-6  # ln 2 in two parts
        bits[i] = (np.int64(k) + 1023) << 52  # 2^k, as `power` sees the same memory
        p = 1.6059043836821613e-10
        p = p * r + 2.08767569878681e-09
        p = p * r + 2.505210838544172e-08
        p = p * r + 2.755731922398589e-07
        p = p * r + 2.7557319223985893e-06
        p = p * r + 2.48015873015873e-05
        p = p * r + 0.0001984126984126984
        p = p * r + 0.001388888888888889
        p = p * r + 0.008333333333333333
        p = p * r + 0.041666666666666664
        p = p * r + 0.16666666666666666
        p = p * r + 0.5
        out[i] = p * r * r + r + 1.0
    for i in range(len(x)):
        out[i] *= power[i]


@njit(cache=True, error_model="numpy")
def _softmax_residuals(raw: Floats, y: Ints, start: int, stop: int, out: Floats) -> None:
    """1[y = k] - softmax(raw)_k of rows start..stop-1; arrays are (K, n)."""
    n_classes, m = len(raw), stop - start
    top, total, shifted = raw[0, start:stop].copy(), np.zeros(m), np.empty(m)
    bits = np.empty(m, dtype=np.int64)
    power = bits.view(np.float64)
    for k in range(1, n_classes):
        row = raw[k, start:stop]
        for i in range(m):
            top[i] = max(top[i], row[i])
    for k in range(n_classes):
        row, e = raw[k, start:stop], out[k, start:stop]
        for i in range(m):
            shifted[i] = row[i] - top[i]
        _exp(shifted, e, bits, power)
        for i in range(m):
            total[i] += e[i]
    for i in range(m):
        total[i] = -1.0 / total[i]
    for k in range(n_classes):
        e = out[k, start:stop]
        for i in range(m):
            e[i] *= total[i]
    for i in range(start, stop):
        out[y[i], i] += 1.0


@njit(cache=True, error_model="numpy", nogil=True)
def residuals(raw: Floats, y: Ints, by_class: Floats, by_row: Floats) -> None:
    """Negative gradient of the log loss, as (K, n) for single trees and as (n, K) for the roots of all."""
    n_trees, n = raw.shape
    if n_trees == 1:  # two classes
        for i in range(n):
            by_class[0, i] = by_row[i, 0] = y[i] - 1.0 / (1.0 + math.exp(-raw[0, i]))
        return
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        _softmax_residuals(raw, y, start, stop, by_class)
        for i in range(start, stop):
            row = by_row[i]
            for k in range(n_trees):
                row[k] = by_class[k, i]


@njit(cache=True, error_model="numpy", nogil=True)
def add_leaves(residuals: Floats, trees: Any, learning_rate: float, values: Floats, raw: Floats) -> None:
    """Fill in the values (K, leaves) of trees that are grown, and add them to the raw predictions (K, n).

    A leaf is one Newton step: the sum of residuals r by that of p (1 - p) = |r| (1 - |r|), shrunk for K > 1 classes.
    """
    features, _, all_rows, lows, highs, _, _, _ = trees
    n_trees, n_inner = features.shape
    shrink = (n_trees - 1.0) / n_trees if n_trees > 1 else 1.0
    for k in range(n_trees):
        r = residuals[k]
        for leaf in range(values.shape[1]):
            rows = all_rows[k, lows[k, n_inner + leaf] : highs[k, n_inner + leaf]]
            slope, curvature = 0.0, 0.0
            for i in rows:
                slope += r[i]
                curvature += abs(r[i]) * (1.0 - abs(r[i]))
            flat = len(rows) == 0 or curvature < FLAT * len(rows)
            values[k, leaf] = 0.0 if flat else shrink * slope / curvature
            step = learning_rate * values[k, leaf]
            for i in rows:
                raw[k, i] += step


@njit(cache=True, error_model="numpy", nogil=True)
def add_trees(
    raw: Floats, x: NDArray[np.float32], features: Ints, thresholds: Floats, values: Floats, learning_rate: float
) -> None:
    """Add the output of every tree to the raw predictions (K, n) of rows x (n, d)."""
    n_rounds, n_trees, n_inner = features.shape
    for start in range(0, len(x), BLOCK):
        rows = x[start : start + BLOCK]
        for t in range(n_rounds):
            for k in range(n_trees):
                feature, threshold, value, out = features[t, k], thresholds[t, k], values[t, k], raw[k, start:]
                for i in range(len(rows)):
                    node = 0
                    while node < n_inner:
                        node = 2 * node + 1 + (rows[i, feature[node]] > threshold[node])
                    out[i] += learning_rate * value[node - n_inner]
