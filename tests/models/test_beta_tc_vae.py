import math

import pytest
import torch

from unknot.errors import UnknotError
from unknot.models.beta_tc_vae import BetaTCVAE, kl_parts, log_weights
from unknot.models.beta_vae import VAE
from unknot.models.model import Batch, Posterior, Setting
from unknot.models.networks import initialise
from unknot.models.terms import sample

SMALL = Setting(pixels=32, latents=3)
BATCH = Batch(torch.rand(6, 1, 32, 32, generator=torch.Generator().manual_seed(0)))
N_DSPRITES = 737_280


def posterior(batch: int = 8, latents: int = 3, seed: int = 0) -> tuple[Posterior, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    mean, logvar = torch.randn(2, batch, latents, generator=generator)
    q = Posterior(mean.double(), logvar.double())
    return q, sample(q, generator)


def slow_total_correlation(z: torch.Tensor, q: Posterior, weights: torch.Tensor) -> float:
    """From the formula, one number at a time."""

    def density(b: int, i: int, j: int) -> float:
        variance = math.exp(q.logvar[i, j])
        return math.exp(-((z[b, j] - q.mean[i, j]) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)

    total = 0.0
    n, d = z.shape
    for b in range(n):
        w = [math.exp(weights[b, i]) for i in range(n)]
        joint = sum(w[i] * math.prod(density(b, i, j) for j in range(d)) for i in range(n))
        product = math.prod(sum(w[i] * density(b, i, j) for i in range(n)) for j in range(d))
        total += math.log(joint / product) / n
    return total


@pytest.mark.parametrize("estimator", ["mws", "mss"])
def test_total_correlation_is_the_formula_written_out(estimator):
    q, z = posterior(5)
    weights = log_weights(estimator, 5, 100).double()
    assert kl_parts(z, q, weights).total_correlation.item() == pytest.approx(slow_total_correlation(z, q, weights))


@pytest.mark.parametrize("estimator", ["mws", "mss"])
def test_parts_sum_to_the_sampled_kl_under_any_estimator(estimator):
    q, z = posterior()
    own = torch.distributions.Normal(q.mean, (0.5 * q.logvar).exp()).log_prob(z).sum(1)
    prior = torch.distributions.Normal(torch.zeros_like(z), torch.ones_like(z)).log_prob(z).sum(1)
    parts = kl_parts(z, q, log_weights(estimator, len(z), 1000).double())
    assert sum(parts).item() == pytest.approx((own - prior).mean().item(), abs=1e-9)


def test_mss_weights_are_on_the_diagonal_and_rows_sum_to_one():
    weights = log_weights("mss", 64, N_DSPRITES).double().exp()
    torch.testing.assert_close(weights.sum(1), torch.ones(64, dtype=torch.float64))
    torch.testing.assert_close(weights.diagonal(), torch.full((64,), 1 / N_DSPRITES, dtype=torch.float64))
    assert (weights > 1 / N_DSPRITES * 1.01).sum().item() == 64 * 63


@pytest.mark.parametrize("estimator", ["mws", "mss"])
def test_equal_posteriors_have_no_total_correlation(estimator):
    q = Posterior(torch.zeros(64, 10, dtype=torch.float64), torch.zeros(64, 10, dtype=torch.float64))
    z = sample(q, torch.Generator().manual_seed(0))
    parts = kl_parts(z, q, log_weights(estimator, 64, N_DSPRITES).double())
    assert parts.total_correlation.item() == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize(("estimator", "nats"), [("mws", math.log(64)), ("mss", 13.5107)])
def test_posteriors_far_apart_know_their_image(estimator, nats):
    means = 1000 * torch.arange(64, dtype=torch.float64)[:, None].expand(64, 3)
    q = Posterior(means, torch.zeros(64, 3, dtype=torch.float64))
    parts = kl_parts(means.clone(), q, log_weights(estimator, 64, N_DSPRITES).double())
    assert parts.mutual_information.item() == pytest.approx(nats, abs=1e-4)


def test_total_correlation_of_a_correlated_gaussian_tends_to_its_closed_form():
    # Narrow posteriors whose means are a correlated Gaussian, smoothed: q(z) has covariance R + s^2 I.
    rho, spread, n = 0.9, 0.3, 2000
    factor = torch.linalg.cholesky(torch.tensor([[1, rho], [rho, 1]], dtype=torch.float64))
    generator = torch.Generator().manual_seed(0)
    means = torch.randn(n, 2, generator=generator).double() @ factor.T
    q = Posterior(means, torch.full((n, 2), 2 * math.log(spread), dtype=torch.float64))
    z = sample(q, generator)
    correlation = rho / (1 + spread**2)
    tc = kl_parts(z, q, log_weights("mws", n, n).double()).total_correlation
    assert tc.item() == pytest.approx(-0.5 * math.log(1 - correlation**2), abs=0.06)


@pytest.mark.parametrize("estimator", ["mws", "mss"])
def test_beta_one_is_the_vae(estimator):
    totals = []
    for model in (VAE(SMALL), BetaTCVAE(SMALL, beta=1.0, estimator=estimator)):
        initialise(model, "glorot", torch.Generator().manual_seed(0))
        totals.append(sum(model.loss(BATCH, 0, torch.Generator().manual_seed(1)).values()).item())
    assert totals[0] == pytest.approx(totals[1], rel=1e-6)


def test_the_total_is_the_weighted_sum_of_the_parts_but_for_the_exact_kl():
    model = BetaTCVAE(SMALL, alpha=2.0, beta=5.0, gamma=0.5, estimator="mss")
    initialise(model, "glorot", torch.Generator().manual_seed(0))
    terms = model.loss(BATCH, 0, torch.Generator().manual_seed(1))
    q, z, _ = model.autoencode(BATCH.images, torch.Generator().manual_seed(1))
    mi, tc, dwkl = kl_parts(z, q, log_weights("mss", 6, SMALL.n_images))
    sampled_kl = mi + tc + dwkl
    expected = terms["reconstruction"] + 2 * mi + 5 * tc + 0.5 * dwkl + terms["kl"] - sampled_kl
    torch.testing.assert_close(sum(terms.values()), expected)


def test_annealing_ramps_the_dimension_wise_kl_alone():
    model = BetaTCVAE(SMALL, beta=5.0, anneal=100)
    runs = [model.loss(BATCH, t, torch.Generator().manual_seed(1)) for t in (0, 50, 100)]
    start, half, end = (terms["dimension_wise_kl"].item() for terms in runs)
    assert (half, end) == (pytest.approx(start / 2), 0)
    assert len({terms["total_correlation"].item() for terms in runs}) == 1


def test_the_gradient_of_mws_is_that_of_the_form_without_constants():
    q, _ = posterior()
    gradients = []
    for weights in (log_weights("mws", 8, 100).double(), torch.zeros(8, 8, dtype=torch.float64)):
        mean = q.mean.clone().requires_grad_()
        z = sample(Posterior(mean, q.logvar), torch.Generator().manual_seed(3))
        tc = kl_parts(z, Posterior(mean, q.logvar), weights).total_correlation
        gradients.append(torch.autograd.grad(tc, mean)[0])
    torch.testing.assert_close(*gradients)


def test_mss_with_more_images_in_a_batch_than_in_the_world_is_refused():
    with pytest.raises(UnknotError, match="batches of 10 out of 5 images"):
        log_weights("mss", 10, 5)
    with pytest.raises(UnknotError, match="did you mean 'mss'"):
        BetaTCVAE(SMALL, estimator="mmss")
