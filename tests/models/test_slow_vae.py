import math

import numpy as np
import pytest
import torch

from unknot.errors import UnknotError
from unknot.models.beta_vae import BetaVAE
from unknot.models.model import Batch, Posterior, Setting
from unknot.models.networks import initialise
from unknot.models.slow_vae import SlowVAE, entropy, laplace_cross_entropy
from unknot.models.terms import kl

SMALL = Setting(pixels=32, latents=4)
LOOKS = torch.rand(2, 6, 1, 32, 32, generator=torch.Generator().manual_seed(0))
PAIRS = Batch(LOOKS[0], pair=LOOKS[1])


def fresh(model: torch.nn.Module) -> torch.nn.Module:
    initialise(model, "glorot", torch.Generator().manual_seed(0))
    return model


def losses(model: torch.nn.Module, batch: Batch = PAIRS) -> dict[str, torch.Tensor]:
    return dict(model.loss(batch, 0, torch.Generator().manual_seed(1)))


def crossed(d: float, s: float, rate: float) -> float:
    return laplace_cross_entropy(torch.tensor(d), torch.tensor(2 * math.log(s)), rate).item()


@pytest.mark.parametrize(
    ("d", "s", "rate", "cross_entropy", "divergence"),
    [(0.0, 1.0, 6.0, 3.68870, 2.26976), (1.0, 0.5, 6.0, 4.95233, 4.22654), (-0.7, 0.3, 1.0, 1.39514, 1.18017)],
)
def test_the_cross_entropy_with_a_laplace_law_has_its_closed_form(d, s, rate, cross_entropy, divergence):
    assert crossed(d, s, rate) == pytest.approx(cross_entropy, abs=2e-5)
    own = entropy(torch.tensor(2 * math.log(s))).item()
    assert crossed(d, s, rate) - own == pytest.approx(divergence, abs=2e-5)


def test_the_cross_entropy_is_the_integral_it_stands_for():
    d, s, rate = 0.4, 0.7, 3.0
    z = np.linspace(d - 10 * s, d + 10 * s, 400_001)
    density = np.exp(-0.5 * ((z - d) / s) ** 2) / (s * math.sqrt(2 * math.pi))
    integral = np.trapezoid(density * (rate * np.abs(z) - math.log(rate / 2)), z)
    assert crossed(d, s, rate) == pytest.approx(integral, rel=1e-5)


def test_the_cross_entropy_is_even_and_grows_with_distance():
    assert crossed(0.8, 0.5, 6.0) == pytest.approx(crossed(-0.8, 0.5, 6.0))
    d = torch.tensor([-2.0, -0.1, 0.0, 0.1, 2.0], requires_grad=True)
    (slope,) = torch.autograd.grad(laplace_cross_entropy(d, torch.zeros(5), 6.0).sum(), d)
    assert slope.sign().tolist() == [-1, -1, 0, 1, 1]


@pytest.mark.parametrize("log_variance", [-40.0, -100.0, -1000.0])
def test_a_point_has_the_laplace_density_and_finite_gradients(log_variance):
    d = torch.tensor([0.0, 1e-6, 0.5, -3.0, 1e4], requires_grad=True)
    logs = torch.full((5,), log_variance, requires_grad=True)
    value = laplace_cross_entropy(d, logs, 6.0)
    expected = 6 * d.detach().abs() - math.log(3)
    torch.testing.assert_close(value.detach(), expected, atol=1e-6, rtol=1e-6)
    for gradient in torch.autograd.grad(value.sum(), (d, logs)):
        assert gradient.isfinite().all()


def test_the_released_reduction_counts_the_cross_entropies_twice():
    q = (
        Posterior(torch.tensor([[0.0, 1.0]]), torch.tensor([[0.0, -1.0]])),
        Posterior(torch.tensor([[0.5, 1.0]]), torch.tensor([[0.3, -2.0]])),
    )
    there = [crossed(d, math.exp(v / 2), 6.0) for d, v in ((0.5, 0.3), (0.0, -2.0))]
    back = [crossed(d, math.exp(v / 2), 6.0) for d, v in ((-0.5, 0.0), (0.0, -1.0))]
    own = entropy(torch.tensor([0.0, -1.0, 0.3, -2.0])).sum().item() / 2
    released, consistent = (SlowVAE(SMALL, laplace_reduction=how) for how in ("released", "consistent"))
    both = sum(there) + sum(back)
    assert released.laplace_term(*q).item() == pytest.approx(both - own, rel=1e-6)
    assert consistent.laplace_term(*q).item() == pytest.approx(both / 2 - own, rel=1e-6)


def test_the_laplace_term_is_symmetric_in_time():
    model = fresh(SlowVAE(SMALL))
    q0, q1 = (model.represent(x) for x in LOOKS)
    assert model.laplace_term(q0, q1).item() == pytest.approx(model.laplace_term(q1, q0).item(), rel=1e-6)


def test_gamma_zero_is_twice_a_beta_vae_with_half_the_beta():
    slow = losses(fresh(SlowVAE(SMALL, beta=8.0, gamma=0.0)))
    model = fresh(BetaVAE(SMALL, beta=4.0))
    noise = torch.Generator().manual_seed(1)  # runs on from the first image to the second, as there
    plain = [model.loss(Batch(x), 0, noise) for x in LOOKS]
    assert slow["laplace"].item() == 0
    for term in ("reconstruction", "kl"):
        assert slow[term].item() == pytest.approx(sum(p[term].item() for p in plain), rel=1e-5), term


def test_terms_carry_their_weights():
    one, more = losses(fresh(SlowVAE(SMALL, gamma=1.0))), losses(fresh(SlowVAE(SMALL, beta=3.0, gamma=10.0)))
    assert more["kl"].item() == pytest.approx(3 * one["kl"].item(), rel=1e-6)
    assert more["laplace"].item() == pytest.approx(10 * one["laplace"].item(), rel=1e-6)
    assert more["reconstruction"].item() == one["reconstruction"].item()
    model = fresh(SlowVAE(SMALL))
    assert one["kl"].item() == pytest.approx(sum(kl(model.represent(x)).item() for x in LOOKS) / 2, rel=1e-6)


def test_mistakes_are_named():
    with pytest.raises(UnknotError, match="unknown laplace_reduction 'consistant'; did you mean 'consistent'"):
        SlowVAE(SMALL, laplace_reduction="consistant")
    with pytest.raises(UnknotError, match="rate is 0"):
        SlowVAE(SMALL, rate=0.0)
    with pytest.raises(UnknotError, match="slow_vae: the batch has no pairs"):
        losses(SlowVAE(SMALL), Batch(LOOKS[0]))


def test_s3_sweeps_gamma_and_its_batch_counts_pairs():
    assert SlowVAE.presets["schott2022"].sweep == {"gamma": (1, 5, 10, 15, 20, 25)}
    assert SlowVAE.presets["schott2022"].fixed["batch_size"] == 64
    assert SlowVAE.presets["klindt2021"].fixed["batch_size"] == 32
