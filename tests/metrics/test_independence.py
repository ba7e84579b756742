import math

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.metrics.independence import (
    gaussian_total_correlation,
    gaussian_wasserstein_correlation,
    gaussian_wasserstein_correlation_norm,
    mutual_info_score,
)

SCORES = {
    "gaussian_total_correlation": gaussian_total_correlation,
    "gaussian_wasserstein_correlation": gaussian_wasserstein_correlation,
    "gaussian_wasserstein_correlation_norm": gaussian_wasserstein_correlation_norm,
    "mutual_info_score": mutual_info_score,
}
GAUSSIAN = list(SCORES)[:3]


@pytest.mark.parametrize("case", ["sncnk", "perfect", "rotated", "noise", "m1", "m2", "theorem31_n4k3"])
@pytest.mark.parametrize("name", SCORES)
def test_stored_values_are_reproduced(golden, case, name):
    arrays, values = golden(case)
    assert SCORES[name](arrays["latents"]).value == pytest.approx(values[name], rel=1e-6, abs=1e-9)


def correlated(rho, variances=(1.0, 1.0), n=400):
    """Two latents with exactly this covariance."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(n, 2))
    z -= z.mean(axis=0)
    white = z @ np.linalg.inv(np.linalg.cholesky(z.T @ z / (n - 1))).T
    a, b = np.sqrt(variances)
    return white @ np.linalg.cholesky(np.array([[a * a, rho * a * b], [rho * a * b, b * b]])).T


def test_total_correlation_of_two_latents_by_hand():
    assert gaussian_total_correlation(correlated(0.6)).value == pytest.approx(-0.5 * math.log(1 - 0.36))
    assert gaussian_total_correlation(correlated(0.6, (4, 0.01))).value == pytest.approx(-0.5 * math.log(1 - 0.36))


def test_wasserstein_grows_with_the_variance_to_any_size():
    z = np.random.default_rng(0).normal(size=(60, 3)) @ [[1, 0.5, 0], [0, 1, 0.5], [0, 0, 1]]
    plain, huge = (gaussian_wasserstein_correlation(scale * z).value for scale in (1.0, 2.0**260))
    assert huge == plain * 2.0**520  # an eigenvalue is a variance squared, which has no float here


def test_wasserstein_of_two_unit_latents_by_hand():
    # S has eigenvalues 1.6 and 0.4 and D is the identity: W = 2 * 2 - 2 (sqrt 1.6 + sqrt 0.4).
    expected = 4 - 2 * (math.sqrt(1.6) + math.sqrt(0.4))
    assert gaussian_wasserstein_correlation(correlated(0.6)).value == pytest.approx(expected)
    assert gaussian_wasserstein_correlation_norm(correlated(0.6)).value == pytest.approx(expected / 2)


def test_gaussian_scores_agree_with_the_formulas_taken_literally():
    from scipy.linalg import sqrtm

    z = np.random.default_rng(1).normal(size=(300, 4)) @ np.random.default_rng(2).normal(size=(4, 4))
    s = np.cov(z, rowvar=False)
    d = np.diag(np.diag(s))
    tc = 0.5 * (np.log(np.diag(s)).sum() - np.linalg.slogdet(s)[1])
    w = 2 * np.trace(s) - 2 * np.trace(sqrtm(d @ s)).real
    assert gaussian_total_correlation(z).value == pytest.approx(tc)
    assert gaussian_wasserstein_correlation(z).value == pytest.approx(w)
    assert gaussian_wasserstein_correlation_norm(z).value == pytest.approx(w / np.trace(s))


def test_mutual_info_score_agrees_with_scikit_learn_over_more_latents_than_a_block():
    from sklearn.metrics import mutual_info_score as of_pair

    z = np.random.default_rng(3).normal(size=(100, 19)) @ np.random.default_rng(4).normal(size=(19, 19))
    codes = [np.digitize(c, np.histogram(c, 5)[1][:-1]) for c in z.T]
    expected = np.array([[of_pair(a, b) for b in codes] for a in codes])
    score = mutual_info_score(z, bins=5)
    assert score.parts["mutual_information"] == pytest.approx(expected, abs=1e-12)
    assert score.value == pytest.approx(expected[~np.eye(19, dtype=bool)].mean())


def test_bias_correction_takes_independent_latents_to_about_zero():
    z = np.random.default_rng(5).uniform(size=(1000, 5))
    assert mutual_info_score(z).value == pytest.approx(19 * 19 / 2000, rel=0.2)
    assert mutual_info_score(z, bias_correction=True).value < 0.02


def test_duplicated_latents_have_infinite_total_correlation(golden):
    arrays, _ = golden("perfect")
    twice = np.hstack([arrays["latents"], -arrays["latents"]])
    score = gaussian_total_correlation(twice)
    assert score.value == math.inf
    assert "singular" in score.parts["notes"][0]
    assert gaussian_wasserstein_correlation_norm(twice).value == pytest.approx(0.5859, abs=5e-5)
    assert mutual_info_score(twice).value == pytest.approx(0.2092, abs=5e-5)


@pytest.mark.parametrize("name", GAUSSIAN)
def test_dead_latents_are_left_out_and_named(name):
    z = correlated(0.5)
    score = SCORES[name](np.insert(z, 1, 3.0, axis=1))
    assert score.value == pytest.approx(SCORES[name](z).value)
    assert score.parts["notes"] == ["left out latent(s) without variance: 1."]


def test_a_dead_latent_shares_no_information_with_others():
    z = correlated(0.5)
    with_dead = mutual_info_score(np.insert(z, 1, 3.0, axis=1))
    assert with_dead.value == pytest.approx(mutual_info_score(z).value / 3)


@pytest.mark.parametrize("name", SCORES)
def test_one_latent_or_none_that_varies_gives_zero(name):
    assert SCORES[name](np.arange(5.0)[:, None]).value == 0
    assert SCORES[name](np.ones((5, 3))).value == 0


def test_fewer_rows_than_latents_are_mentioned():
    score = gaussian_total_correlation(np.random.default_rng(6).normal(size=(4, 6)))
    assert score.value == math.inf
    assert "4 rows for 6 latents" in score.parts["notes"][0]


@pytest.mark.parametrize("name", SCORES)
def test_one_row_is_refused(name):
    with pytest.raises(UnknotError, match=f"{name}: 1 row"):
        SCORES[name]([[1.0, 2.0]])
