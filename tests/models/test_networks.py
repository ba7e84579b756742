import pytest
import torch
from torch import nn

from unknot.errors import UnknotError
from unknot.models.model import Model, Setting
from unknot.models.networks import ARCHITECTURES, Decoder, Encoder, GaussianAutoencoder, initialise
from unknot.runs import meters, trainer
from unknot.runs.spec import RunSpec
from unknot.runs.training import build_model, feed, load_model, train
from unknot.worlds import open_world


def n_parameters(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize(
    ("architecture", "channels", "encoder", "decoder"),
    [
        ("conv64", 1, 382_932, 381_313),
        ("conv64", 3, 383_956, 382_339),
        ("conv64_k2", 1, 309_204, 381_313),
        ("conv64_k2", 3, 310_228, 382_339),
        ("burgess64", 1, 252_052, 249_953),
        ("burgess64", 3, 253_076, 250_979),
        ("fc1200", 1, 4096 * 1200 + 1200 + 1201 * 1200 + 1201 * 20, 11 * 1200 + 2 * 1201 * 1200 + 1201 * 4096),
        ("dense256", 1, 4097 * 256 + 257 * 256 + 257 * 20, 11 * 256 + 257 * 256 + 257 * 4096),
        ("centred", 1, 1028 * 256 + 257 * 256 + 260 * 20, 9 * 256 + 257 * 256 + 257 * 1025 + 7),
        ("separable", 3, 12_289 * 256 + 257 * 256 + 257 * 20, 2 * (11 * 128 + 129 * 128 + 129 * 1536) + 3),
    ],
)
def test_parameter_counts_are_the_published_ones(architecture, channels, encoder, decoder):
    setting = Setting(channels=channels, architecture=architecture)
    assert n_parameters(Encoder(setting)) == encoder
    assert n_parameters(Decoder(setting)) == decoder


SHAPES = [(name, pixels) for name in ARCHITECTURES for pixels in (32, 64, 128)]
SHAPES.remove(("fc1200", 128))  # 60 million weights that say nothing more than those of 64 pixels


@pytest.mark.parametrize(("architecture", "pixels"), SHAPES)
@pytest.mark.parametrize("channels", [1, 3])
def test_shapes_follow_the_setting_and_the_gradient_reaches_the_first_layer(architecture, pixels, channels):
    setting = Setting(channels=channels, pixels=pixels, latents=4, architecture=architecture)
    model = GaussianAutoencoder(setting)
    images = torch.rand(2, channels, pixels, pixels)
    q, z, fit = model.autoencode(images, torch.Generator().manual_seed(0))
    assert q.mean.shape == q.logvar.shape == z.shape == (2, 4)
    assert model.decoder(z).shape == model.decode(z).shape == images.shape
    first = next(model.encoder.parameters())
    (gradient,) = torch.autograd.grad(fit, first)
    assert gradient.abs().sum() > 0


def test_a_separable_picture_has_rank_eight_and_starts_dark():
    decoder = Decoder(Setting(architecture="separable", pixels=32))
    initialise(decoder, "glorot", torch.Generator().manual_seed(0))
    logits = decoder(torch.randn(1, 10))[0, 0].detach()
    assert int(torch.linalg.matrix_rank(logits + 2, rtol=1e-5)) == 8
    assert float(decoder(torch.zeros(1, 10)).detach().mean()) == -2


def test_a_deterministic_encoder_has_no_variance_head():
    encoder = Encoder(Setting(), deterministic=True)
    assert encoder(torch.rand(2, 1, 64, 64)).logvar is None
    assert n_parameters(encoder) == 382_932 - 257 * 10


def test_float32_and_float64_agree():
    model = GaussianAutoencoder(Setting())
    initialise(model, "glorot", torch.Generator().manual_seed(0))
    images = torch.rand(4, 1, 64, 64, generator=torch.Generator().manual_seed(0))
    single = model.encoder.head(model.encoder.body(images))
    model.double()
    double = model.encoder.head(model.encoder.body(images.double()))
    torch.testing.assert_close(single.double(), double, rtol=1e-5, atol=1e-6)


def test_glorot_is_uniform_within_its_bound_and_biases_are_zero():
    model = GaussianAutoencoder(Setting())
    initialise(model, "glorot", torch.Generator().manual_seed(0))
    for layer, fans in (
        (model.encoder.body[2], 32 * 16 + 32 * 16),
        (model.decoder.body[5], 64 * 16 + 64 * 16),  # a transposed convolution
        (model.decoder.body[2], 256 + 1024),
    ):
        bound = (6 / fans) ** 0.5
        assert 0.98 * bound < layer.weight.abs().max() <= bound
        assert layer.weight.std().item() == pytest.approx(bound / 3**0.5, rel=0.03)
        assert not layer.bias.any()


def test_torch_init_draws_what_torch_draws_for_fresh_layers_of_the_same_seed():
    torch.manual_seed(0)
    fresh = GaussianAutoencoder(Setting())
    drawn = GaussianAutoencoder(Setting())
    initialise(drawn, "torch", torch.Generator().manual_seed(0))
    for (name, one), other in zip(fresh.named_parameters(), drawn.parameters(), strict=True):
        assert torch.equal(one, other), name


def test_embeddings_are_drawn_standard_normal_under_both_laws():
    for law in ("glorot", "torch"):
        table = nn.Embedding(100, 50)
        initialise(table, law, torch.Generator().manual_seed(0))
        assert table.weight.std().item() == pytest.approx(1, rel=0.05)


def test_weights_depend_on_the_generator_alone():
    weights = []
    for seed in (0, 1):
        torch.manual_seed(seed)
        model = GaussianAutoencoder(Setting())
        initialise(model, "glorot", torch.Generator().manual_seed(7))
        weights.append(model.state_dict())
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        (Setting(architecture="conv46"), "did you mean 'conv64'"),
        (Setting(pixels=48), "expected one of 32, 64, 128"),
        (Setting(latents=0), "0 latents"),
    ],
)
def test_what_cannot_be_built_is_refused(setting, says):
    with pytest.raises(UnknotError, match=says):
        GaussianAutoencoder(setting)


def test_the_network_of_xie2022_has_its_layers_and_its_weights():
    setting = Setting(channels=3, pixels=128, latents=256, architecture="coat128")
    encoder, decoder = Encoder(setting), Decoder(setting)
    layer = 64 * 64 * 25 + 64
    assert n_parameters(encoder) == 3 * 64 * 25 + 64 + 3 * layer + 4097 * 256 + 257 * 512
    assert n_parameters(decoder) == 257 * 4096 + 5 * layer + 64 * 3 * 9 + 3
    assert encoder.body[:-2](torch.rand(1, 3, 128, 128)).shape == (1, 64, 8, 8)
    assert isinstance(encoder.body[-1], nn.Linear)  # no activation before the heads
    slopes = {layer.negative_slope for layer in encoder.modules() if isinstance(layer, nn.LeakyReLU)}
    assert slopes == {0.01}


def test_a_part_that_is_a_copy_of_another_is_told_when_weights_are_drawn():
    class Twins(Model):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(2, 2), nn.Linear(2, 2)

        def after_initialise(self):
            self.second.load_state_dict(self.first.state_dict())

    twins = Twins()
    initialise(nn.Sequential(twins), "glorot", torch.Generator().manual_seed(0))
    assert torch.equal(twins.first.weight, twins.second.weight)


def test_the_network_of_xie2022_trains_at_its_size(tmp_path, monkeypatch):
    """A few steps of the VAE of the COAT paper: 128 pixels, 256 latents, squared errors."""
    monkeypatch.setattr(meters, "KL_IMAGES", 4)
    monkeypatch.setattr(trainer.Trainer, "_draw", lambda *_, **__: None)
    of_xie2022 = {"architecture": "coat128", "decoder": "gaussian", "latents": 256, "image_size": 128, "lr": 2e-4}
    run = train(RunSpec(world="shapes3d_rendered", model="vae", batch_size=2, steps=8, **of_xie2022), tmp_path)
    before, _ = build_model(run.spec, open_world("shapes3d_rendered"))
    after = load_model(run)
    held_out = feed(run.spec, before, open_world("shapes3d_rendered")).batch(1000)
    with torch.no_grad():
        losses = [
            sum(model.loss(held_out, 8, torch.Generator().manual_seed(0)).values()) for model in (before, after)
        ]
        assert after.represent(held_out.images).mean.shape == (2, 256)
    assert losses[1] < losses[0]
