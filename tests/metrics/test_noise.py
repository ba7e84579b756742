import numpy as np
import pytest
import scipy.sparse

from unknot.metrics import METRICS

OPTIONS = {
    "snc": {},
    "sap": {},
    "mig": {},
    "mig_sup": {},
    "dcimig": {},
    "med": {"informativeness": False},
    "r2": {"readout": "ridge"},
}


@pytest.fixture(scope="module")
def noise():
    rng = np.random.default_rng(0)
    return rng.normal(size=(2_000, 1_500)).astype(np.float32), rng.integers(0, (10, 8, 4), size=(2_000, 3))


@pytest.mark.parametrize("name", OPTIONS)
def test_the_best_of_many_latents_without_information_scores_chance(noise, name):
    score = METRICS[name](*noise, **OPTIONS[name])
    assert score.value < 0.01
    if name == "snc":
        assert score.parts["train"] > 0.02  # the rows that the latents were chosen on


@pytest.mark.parametrize("name", ["snc", "mig", "mig_sup", "jemmig", "dcimig", "modularity"])
def test_sparse_latents_too_many_for_an_array_are_scored_as_they_are(name, monkeypatch):
    rng = np.random.default_rng(0)
    y = rng.integers(0, (5, 4), size=(300, 2))
    z = rng.exponential(size=(300, 130)) * (rng.random((300, 130)) < 0.1)
    z[:, :2] = y
    expected = METRICS[name](z, y)
    monkeypatch.setattr("unknot.reading.arrays.DENSE_BYTES", 300 * 100 * 8)  # of a hundred latents
    assert METRICS[name](scipy.sparse.csr_matrix(z), y).value == pytest.approx(expected.value, abs=1e-12)
