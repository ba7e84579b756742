"""What each latent alone says about each class: ROC areas and cuts, from one sort of each latent."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.metrics.arrays import Bools, Floats, Ints
from unknot.metrics.latents import dead, dead_latents
from unknot.processes.threads import one_thread
from unknot.reading.arrays import is_sparse

COPY = 0.95  # size of a correlation from which on a latent repeats another
BLOCK = 1024  # latents compared with all others at once


@dataclass(frozen=True)
class SingleLatents:
    """Of every latent (d) and class (C), against all other classes.

    Attributes:
        area: (d, C) ROC area; below a half where low values mean the class, NaN for a class of no row or of all.
        balanced_accuracy: (d, C) mean of the shares of the class and of the rest that the best cut gets right.
        cut: (d, C) where that is: rows >= cut are the class where `above`, rows < cut where not.
        above: (d, C) whether the class lies above its cut.
    """

    area: NDArray[np.float32]
    balanced_accuracy: NDArray[np.float32]
    cut: Floats
    above: Bools


def single_latents(latents: Any, factors: Ints, sizes: Ints) -> list[SingleLatents]:
    """Judge every latent of latents (n, d), dense or sparse, by each factor (n, k); rows of code -1 are left out.

    >>> result = single_latents(np.array([[0.0], [0.0], [3.0], [4.0]]), np.array([[0], [0], [1], [1]]), np.array([2]))
    >>> result[0].area.tolist(), result[0].cut[0, 1].item()
    ([[0.0, 1.0]], 3.0)
    """
    from scipy.sparse import issparse

    from unknot.metrics.kernels.thresholds import sweep

    sparse = issparse(latents)
    matrix = latents.tocsc() if sparse else latents
    columns = [np.ascontiguousarray(codes) for codes in factors.T]
    complete = [bool((codes >= 0).all()) for codes in columns]
    counts = [np.bincount(codes[codes >= 0], minlength=size) for codes, size in zip(columns, sizes, strict=True)]
    results = [_empty(matrix.shape[1], int(size)) for size in sizes]
    for i in range(matrix.shape[1]):
        if sparse:
            stored = slice(matrix.indptr[i], matrix.indptr[i + 1])
            values, rows = matrix.data[stored], matrix.indices[stored]
            order = np.argsort(values)
            rows = rows[order]
        else:
            values = np.ascontiguousarray(matrix[:, i])
            rows = order = np.argsort(values)
        rising = values[order]
        for j, result in enumerate(results):
            own = columns[j][rows]
            known = slice(None) if complete[j] else own >= 0
            area, gain, cut, down, top = (np.empty(len(counts[j])) for _ in range(5))
            sweep(rising[known], own[known], counts[j], area, gain, cut, down, top)
            result.area[i], result.above[i] = area, gain >= down
            result.cut[i], result.balanced_accuracy[i] = (
                np.where(gain >= down, cut, top),
                (1 + np.maximum(gain, down)) / 2,
            )
    return results


def held_out_areas(latents: Any, codes: Ints, chosen: Ints) -> Floats:
    """ROC area (C,) of each class by the latent chosen for it, on rows that had no part in the choice."""
    latents = latents.tocsc() if is_sparse(latents) else latents
    areas = np.full(len(chosen), np.nan)
    for latent in np.unique(chosen):
        mine = np.flatnonzero(chosen == latent)
        (result,) = single_latents(latents[:, [int(latent)]], codes[:, None], np.array([len(chosen)]))
        areas[mine] = result.area[0, mine]
    return areas


def copies(latents: Any) -> Bools:
    """Which latents (d,) repeat another, up to sign and scale: |correlation| of 0.95 and more."""
    if is_sparse(latents):
        return _sparse_copies(latents)
    z = latents - latents.mean(axis=0)
    scale = np.sqrt((z**2).sum(axis=0))
    gone = dead(latents)
    z[:, gone] = 0.0
    z = (z / np.where(gone, 1.0, scale)).astype(np.float32)
    repeats = np.zeros(z.shape[1], dtype=np.bool_)
    with one_thread():
        for first in range(0, z.shape[1], BLOCK):
            block = slice(first, first + BLOCK)
            similar = np.abs(z[:, block].T @ z) >= COPY
            similar[np.arange(len(similar)), first + np.arange(len(similar))] = False
            repeats[block] = similar.any(axis=1)
    return repeats


def _sparse_copies(latents: Any) -> Bools:
    """The same of a sparse matrix, from the products of latents that fire together.

    Two that never do have a correlation of -m m', with m the mean of each over its deviation; how many others are so
    large is counted, and how many of these fire beside it. Latents without a zero are centred first.
    """
    n, d = latents.shape
    scaled = latents.tocsc().astype(np.float64)
    scaled.sum_duplicates()
    counts, of_entry = np.diff(scaled.indptr), np.repeat(np.arange(d), np.diff(scaled.indptr))
    mean = np.bincount(of_entry, scaled.data, minlength=d) / n
    away = scaled.data - mean[of_entry]
    deviation = np.sqrt((np.bincount(of_entry, away**2, minlength=d) + (n - counts) * mean**2) / n)
    full = counts == n
    scaled.data = np.where(full[of_entry], away, scaled.data)
    gone = np.zeros(d, dtype=np.bool_)
    gone[dead_latents(latents)] = True
    scale = np.where(gone, np.inf, deviation)
    scaled.data /= scale[of_entry] * np.sqrt(n)
    m = np.where(full, 0.0, mean / scale)
    size, enough = np.abs(m), COPY / np.maximum(np.abs(m), 1e-300)
    n_others = d - np.searchsorted(np.sort(size), enough) - (size >= enough)
    by_rows, repeats = scaled.tocsr(), np.zeros(d, dtype=np.bool_)
    for first in range(0, d, BLOCK):
        own = np.arange(first, min(first + BLOCK, d))
        products = (scaled[:, own].T @ by_rows).tocoo()
        i, j = own[products.row], products.col
        i, j, product = (each[i != j] for each in (i, j, products.data))
        repeats[i[np.abs(product - m[i] * m[j]) >= COPY]] = True
        beside = np.bincount(i[size[j] >= enough[i]], minlength=d)
        repeats[own] |= beside[own] < n_others[own]
    return repeats


def _empty(d: int, size: int) -> SingleLatents:
    area, accuracy = (np.empty((d, size), dtype=np.float32) for _ in range(2))
    cut = np.empty((d, size))
    return SingleLatents(area, accuracy, cut, np.empty((d, size), dtype=np.bool_))
