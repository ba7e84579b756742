import numpy as np
import pytest

from unknot.metrics import _neighbours
from unknot.metrics._neighbours import neighbour_information


@pytest.mark.parametrize("neighbours", [1, 3, 10])
@pytest.mark.parametrize("n", [30, 400])
def test_compiled_information_is_that_of_one_pair_at_a_time(monkeypatch, n, neighbours):
    rng = np.random.default_rng(n)
    sizes = np.array([2, 5, 60])  # classes of one row among them
    factors = rng.integers(0, sizes, size=(n, 3))
    latents = rng.normal(size=(n, 7))
    latents[:, 1] = np.round(latents[:, 1])
    latents[:, 2] = factors[:, 1]
    latents[:, 3] = 0.0
    latents[:, 4] = np.round(latents[:, 4], 1)
    latents[:, 5] *= rng.random(n) < 0.3
    latents[:, 6] = 1e9 + factors[:, 0] * 1e-6
    slow = neighbour_information(latents, factors, sizes, neighbours)
    monkeypatch.setattr(_neighbours, "WIDE", 0)
    fast = neighbour_information(latents, factors, sizes, neighbours)
    np.testing.assert_allclose(fast, slow, atol=1e-12)
    assert slow.max() > 0.5
