import math

import numpy as np
import pytest
import torch

from unknot.errors import UnknotError
from unknot.factors import space
from unknot.models._class_gaussians import ClassGaussians
from unknot.models.model import Batch, Setting
from unknot.models.networks import initialise
from unknot.models.weak_de import WeakDE, class_bins

GRID = space({"shape": 3, "x": 32, "y": 8}, categorical=["shape"])
SMALL = Setting(pixels=32, latents=4, steps=120, factors=GRID)  # warm-up 0..19, gathering 20..21
WARM, GATHER, MIXTURE = 5, 20, 50
NOISE = torch.Generator().manual_seed(0)
LABELS = torch.stack([torch.randint(0, size, (12,), generator=NOISE) for size in GRID.shape], 1)
BATCH = Batch(
    torch.rand(12, 1, 32, 32, generator=NOISE),
    labelled=torch.rand(12, 1, 32, 32, generator=NOISE),
    labelled_labels=LABELS,
)


def fresh(setting: Setting = SMALL, **options: object) -> WeakDE:
    model = WeakDE(setting, classes="shape,x:2", width=4, **options)
    initialise(model, "glorot", torch.Generator().manual_seed(0))
    return model


def fitted() -> WeakDE:
    model = fresh()
    for step in (20, 21):
        model.loss(BATCH, step, torch.Generator())
    return model


def play(model: WeakDE, name: str, step: int) -> dict[str, torch.Tensor] | None:
    (player,) = [p for p in model.players() if p.name == name]
    terms = player.loss(BATCH, step, torch.Generator().manual_seed(1))
    return None if terms is None else dict(terms)


def test_gaussians_have_the_mean_and_a_tenth_of_the_covariance_of_their_codes():
    rng = np.random.default_rng(0)
    codes = (rng.normal(size=(200, 3)) @ rng.normal(size=(3, 3)) + 1).astype(np.float32)
    classes = rng.integers(0, 4, size=200)
    gaussians = ClassGaussians(4, 3)
    for part in np.array_split(np.arange(200), 7):
        gaussians.gather(torch.from_numpy(codes[part]), torch.from_numpy(classes[part]))
    gaussians.fit()
    for k in range(4):
        own = codes[classes == k].astype(np.float64)
        np.testing.assert_allclose(gaussians.mean[k], own.mean(0), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(gaussians.covariance()[k], 0.1 * np.cov(own.T), rtol=1e-3, atol=1e-5)


def test_samples_follow_the_gaussian_of_their_class():
    gaussians = ClassGaussians(2, 2)
    codes = torch.randn(400, 2, generator=torch.Generator().manual_seed(0)) @ torch.tensor(
        [[2.0, 1.0], [0.0, 0.5]]
    )
    gaussians.gather(codes, torch.zeros(400, dtype=torch.long))
    gaussians.gather(codes + 7, torch.ones(400, dtype=torch.long))
    gaussians.fit()
    drawn = gaussians.sample(torch.ones(40_000, dtype=torch.long), torch.Generator().manual_seed(1))
    torch.testing.assert_close(drawn.mean(0), gaussians.mean[1], atol=0.02, rtol=0)
    torch.testing.assert_close(torch.cov(drawn.T), gaussians.covariance()[1], atol=0.02, rtol=0)


def test_classes_are_drawn_as_often_as_they_occurred_and_the_mixture_has_their_mean():
    gaussians = ClassGaussians(3, 1)
    gaussians.gather(torch.tensor([[0.0], [2.0], [4.0], [6.0]]), torch.tensor([0, 0, 2, 2]))
    gaussians.fit()
    drawn = gaussians.sample_classes(20_000, torch.Generator().manual_seed(0))
    assert (drawn.bincount(minlength=3) / 20_000).tolist() == pytest.approx([0.5, 0, 0.5], abs=0.02)
    values = gaussians.sample(drawn, torch.Generator().manual_seed(1))
    assert values.mean().item() == pytest.approx((1 + 5) / 2, abs=0.05)


def test_a_class_without_codes_takes_those_of_all():
    gaussians = ClassGaussians(3, 2)
    codes = torch.tensor([[0.0, 0.0], [2.0, 0.0], [5.0, 3.0]])
    gaussians.gather(codes, torch.tensor([0, 0, 1]))
    gaussians.fit()
    torch.testing.assert_close(gaussians.mean, torch.tensor([[1.0, 0.0], [5.0, 3.0], [7 / 3, 1.0]]))
    everything = 0.1 * torch.cov(codes.T)
    for k in (1, 2):
        torch.testing.assert_close(gaussians.covariance()[k], everything, atol=1e-6, rtol=1e-4)
    torch.testing.assert_close(gaussians.covariance()[0], torch.tensor([[0.2, 0.0], [0.0, 0.0]]))  # flat


def test_the_prior_is_fitted_to_what_the_encoder_says_of_labelled_images():
    model = fresh()
    model.loss(BATCH, 20, torch.Generator())
    assert not model.gaussians.root.any()
    model.loss(BATCH, 21, torch.Generator())
    codes, classes = model.represent(BATCH.labelled).detach(), model.classes_of(LABELS)
    for k in classes.unique():
        torch.testing.assert_close(model.gaussians.mean[k], codes[classes == k].mean(0), atol=1e-5, rtol=1e-4)
    assert model.gaussians.count.sum() == 24


def test_a_run_that_is_stopped_while_gathering_ends_with_the_same_prior():
    whole, stopped, resumed = fresh(), fresh(), fresh()
    stopped.loss(BATCH, 20, torch.Generator())
    resumed.load_state_dict(stopped.state_dict())
    resumed.loss(BATCH, 21, torch.Generator())
    for step in (20, 21):
        whole.loss(BATCH, step, torch.Generator())
    for name, tensor in whole.state_dict().items():
        assert torch.equal(tensor, resumed.state_dict()[name]), name


def test_classes_are_combinations_of_bins():
    model = fresh()
    assert model.n_classes == 6
    labels = torch.tensor([[0, 0, 7], [0, 15, 0], [0, 16, 3], [2, 31, 5], [1, 0, 0]])
    assert model.classes_of(labels).tolist() == [0, 0, 1, 5, 2]


def test_classes_may_be_left_to_the_world():
    assert class_bins("", GRID) == ((0, 3, 3), (1, 32, 3), (2, 8, 3))
    many = space({"floor": 10, "wall": 10, "shape": 12, "size": 2}, categorical=["shape"])
    assert class_bins("", many) == ((0, 10, 3), (1, 10, 3), (3, 2, 2))  # 9 x 12 would be too many
    with pytest.raises(UnknotError, match="name some with classes, as in 'person'"):
        class_bins("", space({"person": 1000}, categorical=["person"]))


@pytest.mark.parametrize("step", [WARM, MIXTURE])
def test_a_discriminator_that_knows_nothing_costs_a_fifth_of_ln_2(step):
    model = fitted()
    with torch.no_grad():
        model.discriminator[-1].weight.zero_()
    for name, term in (("generator", "fooling"), ("discriminator", "cross_entropy")):
        assert play(model, name, step)[term].item() == pytest.approx(0.2 * math.log(2), rel=1e-5)


def test_a_discriminator_that_is_sure_helps_itself_and_hurts_the_generator():
    model = fitted()
    with torch.no_grad():
        model.discriminator[-1].weight.zero_()
        model.discriminator[-1].bias.fill_(3.0)
    at_prior, at_codes = math.log1p(math.exp(-3)), math.log1p(math.exp(3))
    assert play(model, "generator", MIXTURE)["fooling"].item() == pytest.approx(0.2 * at_prior, rel=1e-5)
    both = play(model, "discriminator", MIXTURE)["cross_entropy"].item()
    assert both == pytest.approx(0.1 * (at_prior + at_codes), rel=1e-5)


def test_each_player_moves_its_own_networks():
    model = fitted()
    moved = {p.name: p.modules for p in model.players()}
    assert moved["autoencoder"] == (model.encoder, model.decoder)
    assert moved["generator"] == (model.encoder,)
    assert moved["discriminator"] == (model.discriminator,)
    loss = play(model, "discriminator", MIXTURE)["cross_entropy"]
    used = torch.autograd.grad(loss, [*model.encoder.parameters()], allow_unused=True, retain_graph=True)
    assert all(gradient is None for gradient in used)
    assert all(g.any() for g in torch.autograd.grad(loss, [model.discriminator[-1].weight]))
    fooling = play(model, "generator", MIXTURE)["fooling"]
    assert torch.autograd.grad(fooling, model.encoder[0].weight)[0].any()


def test_while_codes_are_gathered_the_encoder_rests():
    model = fresh()
    assert [step for step in range(30) if model.gathering(step)] == [20, 21]
    assert play(model, "generator", GATHER) is None
    assert play(model, "discriminator", GATHER) is None
    loss = play(model, "autoencoder", GATHER)["reconstruction"]
    assert not any(part.requires_grad for part in [model.gaussians.total, model.gaussians.mean])
    gradients = torch.autograd.grad(loss, list(model.encoder.parameters()), allow_unused=True, retain_graph=True)
    assert all(gradient is None for gradient in gradients)
    assert torch.autograd.grad(loss, model.decoder[0].weight)[0].any()


def test_labels_are_used_after_the_warm_up_only():
    model = fitted()
    unlabelled = Batch(BATCH.images)
    noise = torch.Generator().manual_seed(1)
    assert model.discriminator_loss(unlabelled, WARM, noise)["cross_entropy"].isfinite()
    with pytest.raises(UnknotError, match="weak_de: the batch has no labels"):
        model.discriminator_loss(unlabelled, MIXTURE, noise)


def test_the_discriminator_is_told_the_class_of_labelled_images_and_none_of_others():
    model = fitted()
    seen = []
    model.discriminator.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0][:, 4:].detach()))
    play(model, "discriminator", MIXTURE)
    for labels in seen:  # codes, then samples of the prior
        assert not labels[:12].any()
        assert torch.equal(labels[12:].argmax(1), model.classes_of(LABELS))
        assert torch.equal(labels[12:].sum(1), torch.ones(12))


def test_the_prior_is_uniform_at_first_and_then_of_the_class_asked_for():
    model = fitted()
    none = torch.full((5000,), -1)
    warm = model.prior(none, WARM, torch.Generator().manual_seed(0))
    assert warm.abs().max() <= 1
    assert warm.var(0).tolist() == pytest.approx([1 / 3] * 4, abs=0.02)
    k = int(model.classes_of(LABELS)[0])
    of_class = model.prior(torch.full((5000,), k), MIXTURE, torch.Generator().manual_seed(0))
    spread = model.gaussians.covariance()[k].diagonal().max().sqrt().item()
    torch.testing.assert_close(of_class.mean(0), model.gaussians.mean[k], atol=0.1 * spread + 1e-6, rtol=0)


def test_the_reconstruction_is_a_mean_over_pixels():
    model = fresh()
    with torch.no_grad():
        model.decoder[-1].weight.zero_()
    assert play(model, "autoencoder", WARM)["reconstruction"].item() == pytest.approx(math.log(2), rel=1e-6)


@pytest.mark.parametrize("size", [32, 64, 128])
@pytest.mark.parametrize("channels", [1, 3])
def test_networks_fit_the_images(size, channels):
    model = fresh(Setting(channels=channels, pixels=size, latents=4, factors=GRID))
    model.eval()
    code = model.represent(torch.rand(2, channels, size, size))
    assert code.shape == (2, 4)
    images = model.decode(code)
    assert images.shape == (2, channels, size, size)
    assert images.min() >= 0
    assert images.max() <= 1


def test_the_published_networks_have_their_sizes():
    model = WeakDE(Setting(latents=8, factors=GRID), classes="shape,x:3,y:3")
    assert model.n_classes == 27
    first = (8 + 27) * 1024 + 1024
    assert sum(p.numel() for p in model.discriminator.parameters()) == first + 3 * (1024 * 1024 + 1024) + 1025


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classes": "shap"}, "unknown factor 'shap'; did you mean 'shape'"),
        ({"classes": "shape:9"}, "expected 2 to 3 bins, as in shape:2"),
        ({"classes": "x:3,x:4"}, "names a factor twice"),
        ({"n_labelled": 1}, "n_labelled is 1"),
        ({"warm_up": 0.99}, "shares of the run"),
    ],
)
def test_mistakes_are_named(options, message):
    with pytest.raises(UnknotError, match=message):
        WeakDE(SMALL, **options)


def test_sizes_and_worlds_it_cannot_do_are_refused():
    with pytest.raises(UnknotError, match="images of 48 pixels"):
        WeakDE(Setting(pixels=48, factors=GRID))
    with pytest.raises(UnknotError, match="no factors"):
        WeakDE(Setting(pixels=32))
