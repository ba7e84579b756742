import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.metrics.spectrum import alpha_req, effective_rank, lidar, rankme


def with_singular_values(values, n=50):
    rng = np.random.default_rng(0)
    left, _ = np.linalg.qr(rng.normal(size=(n, len(values))))
    right, _ = np.linalg.qr(rng.normal(size=(len(values), len(values))))
    return left * values @ right


def test_rankme_by_hand():
    # Shares 1/2, 1/4, 1/4 have an entropy of 1.5 bits.
    assert rankme(with_singular_values([4.0, 2.0, 2.0])).value == pytest.approx(2**1.5)
    assert rankme(with_singular_values([5.0, 5.0, 5.0, 0.0])).value == pytest.approx(3)


def test_rankme_agrees_with_the_published_formula_with_its_epsilon():
    z = np.random.default_rng(1).normal(size=(200, 8)) * np.arange(1, 9)
    s = np.linalg.svd(z, compute_uv=False)
    p = s / s.sum() + 1e-7
    assert rankme(z).value == pytest.approx(np.exp(-(p * np.log(p)).sum()), rel=1e-5)
    assert rankme(z.T).value == pytest.approx(rankme(z).value)


def test_a_common_mean_lowers_rankme_and_not_the_effective_rank():
    z = np.random.default_rng(2).normal(size=(500, 6))
    assert rankme(z + 20).value < rankme(z).value - 2
    assert effective_rank(z + 20).value == pytest.approx(effective_rank(z).value)


def test_effective_rank_is_that_of_the_covariance():
    z = np.random.default_rng(3).normal(size=(300, 5)) @ np.random.default_rng(4).normal(size=(5, 5))
    variances = np.linalg.eigvalsh(np.cov(z, rowvar=False))
    p = variances / variances.sum()
    score = effective_rank(z)
    assert score.value == pytest.approx(np.exp(-(p * np.log(p)).sum()))
    assert score.parts["spectrum"] == pytest.approx(variances[::-1])


def test_dead_latents_add_no_rank():
    z = np.random.default_rng(5).normal(size=(100, 3))
    score = effective_rank(np.insert(z, 0, 9.0, axis=1))
    assert score.value == pytest.approx(effective_rank(z).value)
    assert score.parts["notes"] == ["latent(s) without variance: 0."]
    assert effective_rank(np.ones((10, 2))).value == 0
    assert rankme(np.zeros((10, 2))).value == 0
    assert effective_rank(np.arange(5.0)[:, None]).value == pytest.approx(1)


def test_lidar_agrees_with_the_definition():
    from scipy.linalg import fractional_matrix_power

    rng = np.random.default_rng(6)
    groups = np.repeat(np.arange(30), 4)
    z = rng.normal(size=(30, 5))[groups] * [3, 2, 1, 1, 0.1] + 0.3 * rng.normal(size=(120, 5))
    means = np.stack([z[groups == c].mean(axis=0) for c in range(30)])
    between = np.cov(means, rowvar=False, ddof=0)
    within = sum(np.cov(z[groups == c], rowvar=False, ddof=0) for c in range(30)) / 30 + 1e-4 * np.eye(5)
    root = fractional_matrix_power(within, -0.5)
    values = np.linalg.eigvalsh(root @ between @ root)
    p = values / values.sum()
    score = lidar(z, groups=groups)
    assert score.value == pytest.approx(np.exp(-(p * np.log(p)).sum()))
    assert score.parts["spectrum"] == pytest.approx(values[::-1])


def test_lidar_takes_combinations_of_factors_as_classes():
    factors = np.tile(np.stack(np.meshgrid(range(4), range(3)), axis=-1).reshape(-1, 2), (5, 1))
    z = np.hstack([factors / factors.std(axis=0), np.random.default_rng(7).normal(size=(60, 1))])
    score = lidar(z, factors)
    assert score.parts["n_classes"] == 12
    assert score.value == pytest.approx(2, abs=0.01)  # the noise direction separates nothing


def test_rows_alone_in_their_class_are_left_out_and_counted():
    z = np.array([[0.0, 0], [0, 0], [1, 0], [1, 0], [0, 1]])
    score = lidar(z, groups=["a", "a", "b", "b", "c"])
    assert score.value == pytest.approx(1)
    assert score.parts["notes"] == ["left out 1 row(s) that are alone in their class."]


def test_lidar_without_repeated_classes_says_what_to_pass():
    with pytest.raises(UnknotError, match="Pass groups="):
        lidar(np.zeros((4, 2)), np.arange(4)[:, None])
    with pytest.raises(UnknotError, match="groups has shape"):
        lidar(np.zeros((4, 2)), groups=[0, 1])
    with pytest.raises(UnknotError, match="delta is 0"):
        lidar(np.zeros((4, 2)), groups=[0, 0, 1, 1], delta=0)
    assert lidar(np.zeros((4, 2)), groups=[0, 0, 1, 1]).value == 0


@pytest.mark.parametrize("metric", [rankme, effective_rank])
def test_one_row_is_refused(metric):
    with pytest.raises(UnknotError, match="1 row"):
        metric([[1.0, 2.0]])


@pytest.mark.parametrize("shape", [(300, 40), (40, 300)])
def test_ranks_of_many_directions_are_those_of_the_decomposition(monkeypatch, shape):
    from unknot.metrics import spectrum

    latents = np.random.default_rng(0).normal(size=shape) @ np.diag(np.geomspace(1, 1e-3, shape[1])) + 0.5
    latents[:, 3] = latents[:, 2]
    exact = [metric(latents).value for metric in (rankme, effective_rank)]
    monkeypatch.setattr(spectrum, "MANY", 5)
    np.testing.assert_allclose([metric(latents).value for metric in (rankme, effective_rank)], exact, rtol=1e-6)


def test_alpha_is_the_power_of_a_spectrum_and_what_scipy_fits():
    from scipy.stats import linregress

    z = with_singular_values(np.arange(1, 9) ** -0.75, n=400)
    z = z - z.mean(axis=0)
    variances = np.linalg.eigvalsh(np.cov(z, rowvar=False))[::-1]
    slope = linregress(np.log(np.arange(1, 9)), np.log(variances)).slope
    assert alpha_req(z).value == pytest.approx(-slope) == pytest.approx(1.5, abs=0.05)
    assert alpha_req(z, first=3, last=6).parts["last"] == 6
    wide = np.random.default_rng(0).normal(size=(500, 60)) * np.arange(1, 61) ** -1.0
    assert alpha_req(wide).parts["first"] == 11 and 1.5 < alpha_req(wide).value < 2.5


def test_alpha_of_too_few_directions_is_refused():
    with pytest.raises(UnknotError, match="two or more"):
        alpha_req(np.zeros((5, 3)))
    with pytest.raises(UnknotError, match="from 3 to 2"):
        alpha_req(np.random.default_rng(0).normal(size=(20, 2)), first=3)


@pytest.mark.parametrize("least", [0.5, 1e-9])
def test_ranks_of_a_wide_code_are_those_of_the_decomposition(least):
    rng = np.random.default_rng(0)
    latents = rng.normal(size=(400, 120)) @ np.diag(np.geomspace(1, least, 120)) + 0.3
    for metric, matrix, power in ((rankme, latents, 1), (effective_rank, latents - latents.mean(axis=0), 2)):
        shares = np.linalg.svd(matrix, compute_uv=False) ** power
        shares /= shares.sum()
        assert metric(latents).value == pytest.approx(np.exp(-(shares * np.log(shares)).sum()), rel=1e-10)


def test_one_covariance_serves_all_metrics_that_look_at_nothing_else(monkeypatch):
    from unknot.metrics import covariance
    from unknot.metrics.independence import gaussian_total_correlation
    from unknot.metrics.latents import Checked

    made, original = [], covariance._covariance

    def counted(z):
        made.append(z)
        return original(z)

    monkeypatch.setattr(covariance, "_covariance", counted)
    latents = Checked(np.random.default_rng(0).normal(size=(400, 120)))
    for metric in (rankme, effective_rank, gaussian_total_correlation):
        metric(latents)
    assert len(made) == 1
