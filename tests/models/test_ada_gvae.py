import math

import pytest
import torch

from unknot.errors import UnknotError
from unknot.models._shared_latents import divergences, is_shared, mean_of_variances, share
from unknot.models.ada_gvae import AdaGVAE
from unknot.models.beta_vae import BetaVAE
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


def losses(model: torch.nn.Module, batch: Batch = PAIRS) -> dict[str, torch.Tensor]:
    return dict(model.loss(batch, 0, torch.Generator().manual_seed(1)))


def test_the_divergence_is_the_kl_from_the_first_image_to_the_second():
    assert divergences(FIRST, SECOND, "kl")[0].tolist() == pytest.approx([0.005, 0.44315, 8.0], abs=1e-5)


def test_the_divergence_is_that_of_torch_distributions():
    normal = torch.distributions.Normal
    means, logs = torch.randn(2, 2, 5, 4, generator=torch.Generator().manual_seed(0))
    first, second = (Posterior(m, v) for m, v in zip(means, logs, strict=True))
    p, q = (normal(m, (v / 2).exp()) for m, v in zip(means, logs, strict=True))
    there, back = torch.distributions.kl_divergence(p, q), torch.distributions.kl_divergence(q, p)
    torch.testing.assert_close(divergences(first, second, "kl"), there)
    torch.testing.assert_close(divergences(first, second, "symmetric_kl"), (there + back) / 2)


def test_latents_below_the_middle_of_the_divergences_are_shared():
    delta = divergences(FIRST, SECOND, "kl")
    assert (delta.min() + delta.max()).item() / 2 == pytest.approx(4.0025)
    assert is_shared(delta).tolist() == [[True, True, False]]


def test_shared_latents_average_means_and_variances_not_deviations_or_logarithms():
    mask = torch.tensor([[True, True, False]])
    one, two = share(FIRST, SECOND, mask, mean_of_variances)
    assert one.mean[0].tolist() == pytest.approx([0.05, 0.5, 2.0])
    assert one.logvar.exp()[0].tolist() == pytest.approx([1.0, 2.5, 1.0])
    assert two.mean[0].tolist() == pytest.approx([0.05, 0.5, -2.0])
    assert torch.equal(one.mean[mask], two.mean[mask])
    assert torch.equal(one.logvar[mask], two.logvar[mask])


def test_the_farthest_latent_is_never_shared_and_the_nearest_always_is():
    delta = torch.rand(100, 5, generator=torch.Generator().manual_seed(0))
    shared, rows = is_shared(delta), torch.arange(100)
    assert not shared[rows, delta.argmax(1)].any()
    assert shared[rows, delta.argmin(1)].all()


@pytest.mark.parametrize("divergence", ["kl", "symmetric_kl"])
def test_equal_images_share_nothing_and_train_as_a_beta_vae(divergence):
    same = Batch(LOOKS[0], pair=LOOKS[0])
    q = fresh(AdaGVAE(SMALL)).represent(LOOKS[0])
    assert not is_shared(divergences(q, q, divergence)).any()
    ada = losses(fresh(AdaGVAE(SMALL, beta=4.0, divergence=divergence)), same)
    plain = fresh(BetaVAE(SMALL, beta=4.0)).loss(Batch(LOOKS[0]), 0, torch.Generator().manual_seed(2))
    assert ada["kl"].item() == pytest.approx(plain["kl"].item(), rel=1e-6)


def test_swapping_the_images_swaps_the_posteriors_under_the_symmetric_divergence():
    model = fresh(AdaGVAE(SMALL))
    q = [model.represent(x) for x in LOOKS]

    def shared(first, second):
        return share(first, second, is_shared(divergences(first, second, "symmetric_kl")), mean_of_variances)

    for one, other in zip(shared(q[0], q[1]), reversed(shared(q[1], q[0])), strict=True):
        assert torch.equal(one.mean, other.mean)
        assert torch.equal(one.logvar, other.logvar)


def test_the_terms_are_means_over_the_pair():
    model = fresh(AdaGVAE(SMALL, beta=2.0))
    with torch.no_grad():
        model.decoder.body[-1].weight.zero_()
    terms = losses(model)
    assert terms["reconstruction"].item() == pytest.approx(32 * 32 * math.log(2), rel=1e-6)
    q = [model.represent(x) for x in LOOKS]
    both = share(*q, is_shared(divergences(*q, "kl")), mean_of_variances)
    assert terms["kl"].item() == pytest.approx((kl(both[0]) + kl(both[1])).item(), rel=1e-6)  # 2.0 / 2


def test_a_shared_latent_gets_gradient_from_both_images():
    means = torch.tensor([[0.0, 3.0]], requires_grad=True), torch.tensor([[0.2, -3.0]], requires_grad=True)
    q = [Posterior(mean, torch.zeros(1, 2)) for mean in means]
    one, _ = share(*q, is_shared(divergences(*q, "kl")), mean_of_variances)
    first, second = torch.autograd.grad(one.mean.sum(), means)
    assert first.tolist() == [[0.5, 1.0]]
    assert second.tolist() == [[0.5, 0.0]]


def test_one_latent_is_never_shared():
    q = Posterior(torch.tensor([[1.0]]), torch.zeros(1, 1)), Posterior(torch.tensor([[2.0]]), torch.zeros(1, 1))
    assert not is_shared(divergences(*q, "kl")).any()


def test_beta_zero_leaves_the_reconstruction():
    assert losses(fresh(AdaGVAE(SMALL, beta=0.0)))["kl"].item() == 0


def test_mistakes_are_named():
    with pytest.raises(UnknotError, match="divergence 'symmetric'; did you mean 'symmetric_kl'"):
        AdaGVAE(SMALL, divergence="symmetric")
    with pytest.raises(UnknotError, match="beta is -1"):
        AdaGVAE(SMALL, beta=-1.0)
    with pytest.raises(UnknotError, match="ada_gvae: the batch has no pairs"):
        losses(AdaGVAE(SMALL), Batch(LOOKS[0]))


def test_s3_sweeps_beta_on_pairs_that_differ_in_one_factor():
    preset = AdaGVAE.presets["schott2022"]
    assert preset.sweep == {"beta": (1, 2, 4, 6, 8, 16)}
    assert preset.fixed == {"steps": 500_000, "batch_size": 64, "pairs": "one_factor"}
