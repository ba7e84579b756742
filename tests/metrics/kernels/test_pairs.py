import numpy as np
import pytest
from sklearn.metrics import mutual_info_score as of_scikit_learn

from unknot.metrics import independence
from unknot.metrics.independence import mutual_info_score
from unknot.metrics.kernels.information import equal_width


@pytest.mark.parametrize("d", [1, 2, 5, 19, 34])
def test_all_pairs_have_the_information_that_scikit_learn_counts(monkeypatch, d):
    monkeypatch.setattr(independence, "WIDE", 0)
    rng = np.random.default_rng(0)
    latents = rng.normal(size=(500, d)) @ rng.normal(size=(d, d))
    latents[:, 0] = 2.0
    score = mutual_info_score(latents, bins=7)
    codes = equal_width(latents, 7)
    expected = np.array([[of_scikit_learn(a, b) for a in codes.T] for b in codes.T])
    np.testing.assert_allclose(score.parts["mutual_information"], expected, atol=1e-12)


def test_the_bias_is_taken_off_as_it_is_for_few_latents(monkeypatch):
    latents = np.random.default_rng(0).normal(size=(300, 9))
    few = mutual_info_score(latents, bias_correction=True)
    monkeypatch.setattr(independence, "WIDE", 0)
    many = mutual_info_score(latents, bias_correction=True)
    np.testing.assert_allclose(many.parts["mutual_information"], few.parts["mutual_information"], atol=1e-12)
