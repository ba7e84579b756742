"""MONet: masks that share out the image, and its loss by hand."""

import math

import pytest
import torch
from torch import nn

from unknot.errors import UnknotError
from unknot.models._u_net import UNet
from unknot.models.model import Batch, Posterior, Setting
from unknot.models.monet import MONet, mask_kl


def small(**options) -> MONet:
    torch.manual_seed(0)
    return MONet(Setting(channels=3, pixels=32), **{"slots": 3, "slot_size": 4, "channels": 4, **options})


def images(n: int = 2) -> torch.Tensor:
    return torch.rand(n, 3, 32, 32, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("slots", [1, 2, 5])
def test_masks_sum_to_one_at_every_pixel(slots):
    masks = small(slots=slots).masks(images())
    assert masks.shape == (2, slots, 32, 32)
    torch.testing.assert_close(masks.sum(1), torch.ones(2, 32, 32))


def test_masks_are_cut_from_the_scope_that_earlier_slots_left():
    model = small()
    logits = [torch.tensor(0.0), torch.tensor(math.log(3))]  # alpha 1/2, then 3/4
    scopes = []

    class Attention(nn.Module):
        def forward(self, both):
            scopes.append(both[:, -1:])
            return logits[len(scopes) - 1].expand_as(both[:, -1:])

    model.attention = Attention()
    masks = model.masks(images())
    assert masks[0, :, 0, 0].tolist() == pytest.approx([1 / 2, 3 / 8, 1 / 8])
    assert [scope[0, 0, 0, 0].item() for scope in scopes] == pytest.approx([0, math.log(1 / 2)])


def test_the_likelihood_is_that_of_a_mixture_of_whole_pixels():
    model = small(sigma_first=0.2, sigma=0.5)
    seen, pictures = torch.rand(1, 3, 1, 1), torch.rand(1, 3, 3, 1, 1)
    masks = torch.tensor([0.5, 0.3, 0.2]).view(1, 3, 1, 1)
    total = 0.0
    for k, sigma in enumerate((0.2, 0.5, 0.5)):
        normal = torch.distributions.Normal(pictures[0, k, :, 0, 0], sigma)
        total += masks[0, k].item() * normal.log_prob(seen[0, :, 0, 0]).sum().exp().item()
    found = model.log_likelihood(seen, pictures, masks.log())
    assert found.item() == pytest.approx(math.log(total), rel=1e-5)


def test_the_kl_of_masks_is_categorical_and_clamped():
    q, p = torch.tensor([0.5, 0.5, 0.0]), torch.tensor([0.25, 0.5, 0.25])
    found = mask_kl(q.log().view(1, 3, 1, 1), p.log().view(1, 3, 1, 1))
    assert found.item() == pytest.approx(0.5 * math.log(2) + 1e-5 * math.log(1e-5 / 0.25), rel=1e-5)
    same = torch.full((2, 3, 4, 4), 1 / 3).log()
    assert mask_kl(same, same).item() == pytest.approx(0, abs=1e-6)
    # Summed over pixels, averaged over images.
    wide = mask_kl(q.log().view(1, 3, 1, 1).expand(5, 3, 4, 4), p.log().view(1, 3, 1, 1).expand(5, 3, 4, 4))
    assert wide.item() == pytest.approx(16 * found.item(), rel=1e-5)


def test_the_loss_is_the_sum_of_its_three_terms_with_their_weights():
    model, batch = small(beta=0.25, gamma=2.0), Batch(images())
    terms = model.loss(batch, 0, torch.Generator().manual_seed(0))
    log_masks = model.log_masks(batch.images)
    parts = model.parts(batch.images, log_masks, torch.Generator().manual_seed(0))
    q: Posterior = parts.q
    assert q.mean.shape == (6, 4)
    kls = 0.5 * (q.mean**2 + q.logvar.exp() - q.logvar - 1).view(2, 3 * 4).sum(1).mean()
    assert terms["kl"].item() == pytest.approx(0.25 * kls.item(), rel=1e-4)
    kl_of_masks = mask_kl(log_masks, parts.logits.log_softmax(1))
    assert terms["mask_kl"].item() == pytest.approx(2 * kl_of_masks.item(), rel=1e-4)
    likelihood = model.log_likelihood(batch.images, parts.pictures, log_masks).mean()
    assert terms["reconstruction"].item() == pytest.approx(-likelihood.item(), rel=1e-5)


def test_gradients_reach_attention_and_both_halves_of_the_vae():
    model = small()
    loss = sum(model.loss(Batch(images()), 0, torch.Generator().manual_seed(0)).values())
    for weight in (model.attention.down[0][0].weight, model.encoder[0].weight, model.decoder.body[0].weight):
        assert torch.autograd.grad(loss, weight, retain_graph=True)[0].abs().sum() > 0


@pytest.mark.parametrize(("pixels", "widths"), [(32, 4), (64, 5), (128, 6)])
def test_the_u_net_narrows_to_four_pixels_whatever_the_image(pixels, widths):
    net = UNet("monet", 4, pixels, 2)
    assert len(net.down) == len(net.up) == widths
    assert net(torch.rand(1, 4, pixels, pixels)).shape == (1, 1, pixels, pixels)
    sizes = [block[0].out_channels for block in UNet("monet", 4, 64, 32).down]
    assert sizes == [32, 32, 64, 64, 64]


def test_other_sizes_are_refused():
    with pytest.raises(UnknotError, match="images of 48 pixels"):
        MONet(Setting(pixels=48))


def test_it_is_trained_by_rmsprop():
    (player,) = small().players()
    assert player.optimiser == "rmsprop"
