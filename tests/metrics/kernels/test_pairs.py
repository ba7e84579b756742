import numpy as np
import pytest
from sklearn.metrics import mutual_info_score as of_scikit_learn

from unknot.errors import UnknotError
from unknot.metrics import independence
from unknot.metrics.independence import mutual_info_score
from unknot.metrics.kernels.information import equal_width


@pytest.mark.parametrize("d", [1, 2, 5, 19, 34])
@pytest.mark.parametrize("bins", [7, 12])  # of so many rows four latents are counted at once, or three
def test_all_pairs_have_the_information_that_scikit_learn_counts(monkeypatch, d, bins):
    monkeypatch.setattr(independence, "WIDE", 0)
    rng = np.random.default_rng(0)
    latents = rng.normal(size=(500, d)) @ rng.normal(size=(d, d))
    latents[:, 0] = 2.0
    score = mutual_info_score(latents, bins=bins)
    codes = equal_width(latents, bins)
    expected = np.array([[of_scikit_learn(a, b) for a in codes.T] for b in codes.T])
    np.testing.assert_allclose(score.parts["mutual_information"], expected, atol=1e-12)


def test_the_bias_is_taken_off_as_it_is_for_few_latents(monkeypatch):
    latents = np.random.default_rng(0).normal(size=(300, 9))
    few = mutual_info_score(latents, bias_correction=True)
    monkeypatch.setattr(independence, "WIDE", 0)
    many = mutual_info_score(latents, bias_correction=True)
    np.testing.assert_allclose(many.parts["mutual_information"], few.parts["mutual_information"], atol=1e-12)


def test_of_very_many_rows_counts_do_not_overflow(monkeypatch):
    latents = np.zeros((2**16, 4))
    latents[0] = 1.0
    few = mutual_info_score(latents, bins=2)
    monkeypatch.setattr(independence, "WIDE", 0)
    many = mutual_info_score(latents, bins=2)
    np.testing.assert_allclose(many.parts["mutual_information"], few.parts["mutual_information"], atol=1e-12)


@pytest.mark.parametrize("bins", [0, True, 2.5])
def test_what_is_no_number_of_bins_is_refused_of_many_latents_too(monkeypatch, bins):
    monkeypatch.setattr(independence, "WIDE", 0)
    with pytest.raises(UnknotError, match="expected a whole number"):
        mutual_info_score(np.eye(5), bins=bins)
