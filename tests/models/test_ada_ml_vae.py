import pytest
import torch

from unknot.errors import UnknotError
from unknot.models._shared_latents import (
    divergences,
    is_shared,
    mean_of_precisions,
    mean_of_variances,
    product_of_gaussians,
    share,
)
from unknot.models.ada_gvae import AdaGVAE
from unknot.models.ada_ml_vae import AdaMLVAE
from unknot.models.model import Batch, Posterior, Setting
from unknot.models.networks import initialise
from unknot.models.terms import kl

SMALL = Setting(pixels=32, latents=4)
LOOKS = torch.rand(2, 6, 1, 32, 32, generator=torch.Generator().manual_seed(0))
PAIRS = Batch(LOOKS[0], pair=LOOKS[1])
FIRST = Posterior(torch.tensor([[0.0, 0.0, 2.0]]), torch.zeros(1, 3))
SECOND = Posterior(torch.tensor([[0.1, 1.0, -2.0]]), torch.tensor([[1.0, 4.0, 1.0]]).log())


def fresh(model: torch.nn.Module) -> torch.nn.Module:
    initialise(model, "glorot", torch.Generator().manual_seed(0))
    return model


def losses(model: torch.nn.Module, batch: Batch = PAIRS) -> dict[str, float]:
    return {name: term.item() for name, term in model.loss(batch, 0, torch.Generator().manual_seed(1)).items()}


def test_shared_latents_average_precisions_and_weigh_means_by_them():
    q = mean_of_precisions(FIRST, SECOND)
    assert q.mean[0, :2].tolist() == pytest.approx([0.05, 0.2])
    assert q.logvar.exp()[0, :2].tolist() == pytest.approx([1.0, 1.6])


def test_the_product_has_half_the_variance():
    q = product_of_gaussians(FIRST, SECOND)
    assert q.mean[0, :2].tolist() == pytest.approx([0.05, 0.2])
    assert q.logvar.exp()[0, :2].tolist() == pytest.approx([0.5, 0.8])


def test_averages_hold_for_variances_far_apart():
    narrow, wide = (Posterior(torch.ones(1, 1) * m, torch.ones(1, 1) * v) for m, v in ((1.0, -60.0), (2.0, 60.0)))
    q = mean_of_precisions(narrow, wide)
    assert q.mean.item() == pytest.approx(1.0)
    assert q.logvar.item() == pytest.approx(-60 + torch.tensor(2.0).log().item())


def test_equal_variances_make_it_ada_gvae():
    first, second = Posterior(FIRST.mean, SECOND.logvar), SECOND
    one, two = mean_of_precisions(first, second), mean_of_variances(first, second)
    torch.testing.assert_close(one.mean, two.mean)
    torch.testing.assert_close(one.logvar, two.logvar)


def test_the_models_agree_when_encoder_variances_are_equal():
    models = [fresh(AdaGVAE(SMALL, beta=3.0)), fresh(AdaMLVAE(SMALL, beta=3.0))]
    for model in models:
        with torch.no_grad():
            model.encoder.head.weight[4:].zero_()
    gvae, ml_vae = map(losses, models)
    assert gvae == pytest.approx(ml_vae, rel=1e-5)
    narrower = fresh(AdaMLVAE(SMALL, beta=3.0, product=True))
    with torch.no_grad():
        narrower.encoder.head.weight[4:].zero_()
    assert losses(narrower)["kl"] > ml_vae["kl"] + 0.1  # variance 1/2 has a KL of its own


@pytest.mark.parametrize(("product", "average"), [(False, mean_of_precisions), (True, product_of_gaussians)])
def test_the_kl_is_that_of_the_shared_posteriors(product, average):
    model = fresh(AdaMLVAE(SMALL, beta=4.0, product=product))
    q = [model.represent(x) for x in LOOKS]
    one, two = share(*q, is_shared(divergences(*q, "kl")), average)
    assert losses(model)["kl"] == pytest.approx(2 * (kl(one) + kl(two)).item(), rel=1e-6)


def test_equal_images_leave_their_posteriors_alone_even_as_a_product():
    same = Batch(LOOKS[0], pair=LOOKS[0])
    model = fresh(AdaMLVAE(SMALL, product=True))
    assert losses(model, same)["kl"] == pytest.approx(kl(model.represent(LOOKS[0])).item(), rel=1e-6)


def test_mistakes_are_named():
    with pytest.raises(UnknotError, match="unknown divergence 'l2'"):
        AdaMLVAE(SMALL, divergence="l2")
    with pytest.raises(UnknotError, match="ada_ml_vae: the batch has no pairs"):
        losses(AdaMLVAE(SMALL), Batch(LOOKS[0]))
