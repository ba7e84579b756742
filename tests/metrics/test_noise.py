import numpy as np
import pytest

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
