import numpy as np
import pytest

from unknot.metrics.kernels.column_tables import cut
from unknot.metrics.kernels.columns import width_edges, width_steps
from unknot.metrics.kernels.information import table_information, width_contingency
from unknot.metrics.known_information import _blocked


@pytest.mark.parametrize("scale", [1.0, 1e-290, 1e140])
@pytest.mark.parametrize("shift", [0.0, 3.0, 1e15])
@pytest.mark.parametrize("bins", [1, 7, 20])
def test_bins_are_told_by_their_edges_at_any_scale(scale: float, shift: float, bins: int) -> None:
    rng = np.random.default_rng(0)
    column = (np.append(rng.normal(size=2_000), np.linspace(-1, 1, 21)) + shift) * scale
    low, high = column.min() / 2, column.max() / 2  # so that some lie outside
    low, high = (low, high) if shift == 0 else (column.min(), column.max())
    edges = width_edges(np.array([low]), np.array([high]), np.array([False]), bins)[0]
    column = np.concatenate([column, edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)])
    codes = np.empty(len(column), dtype=np.uint16)
    cut(column, edges, float(width_steps(np.array([low]), np.array([high]), bins)[0]), codes)
    np.testing.assert_array_equal(codes, np.searchsorted(edges[1:], column, side="right"))


def test_a_latent_without_variance_has_one_bin() -> None:
    codes = np.ones(3, dtype=np.uint16)
    cut(np.full(3, 2.0), np.array([2.0, np.inf, np.inf]), 0.0, codes)
    assert not codes.any()


@pytest.mark.parametrize("correct", [False, True])
def test_counts_of_factors_of_any_size_are_those_of_their_known_rows(correct: bool) -> None:
    rng, sizes = np.random.default_rng(0), np.array([3, 2, 300, 40, 25, 300, 6])
    latents = rng.normal(size=(4_000, 9)).astype(np.float32)
    latents[:, 3] = 1.5
    latents[:, 4] = np.round(latents[:, 4])
    factors = rng.integers(0, sizes, size=(len(latents), len(sizes)))
    factors[rng.random(factors.shape) < 0.3] = -1
    result = _blocked(latents, factors, sizes, 20, correct)
    for j, size in enumerate(sizes):
        known = factors[:, j] >= 0
        tables = width_contingency(latents[known].astype(float), factors[known, j, None], np.array([size]), 20)
        expected = table_information(tables, correct=correct)[:, 0]
        np.testing.assert_allclose(result.mutual[:, j], expected, rtol=1e-12, atol=1e-14)
