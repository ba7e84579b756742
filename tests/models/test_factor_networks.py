"""The small networks of the benchmark: `mlp`, `cnn`, `coord_conv`, `set_encoder`, `spatial_transformer`."""

import pytest
import torch

from unknot.factors import space
from unknot.models import build
from unknot.models.coord_conv import AddCoordinates
from unknot.models.model import Setting
from unknot.models.networks import initialise
from unknot.models.spatial_transformer import Warp, warped


def network(name, *, channels=1, pixels=64, n_factors=5, **options):
    setting = Setting(channels=channels, pixels=pixels, factors=space({f"f{i}": 3 for i in range(n_factors)}))
    torch.manual_seed(0)
    model, _ = build(name, setting, options)
    initialise(model, "torch", torch.Generator().manual_seed(0))
    return model


def images(n=3, channels=1, pixels=64):
    return torch.rand(n, channels, pixels, pixels, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize(
    ("name", "channels", "n_factors", "weights"),
    [
        ("mlp", 1, 5, 397_625),
        ("cnn", 1, 5, 379_077),
        ("cnn", 3, 6, 380_358),
        ("cnn", 3, 7, 380_615),
        ("set_encoder", 3, 6, 3_666),
        # 5 x 16 x 16 + 16, five of 16 x 16 x 16 + 16, 17 x 32, 33 x 6
        ("coord_conv", 3, 6, 1_296 + 5 * 4_112 + 544 + 198),
        # The CNN, then 8 (7x7), 10 (5x5), 10 (6x6), 90 to 32, 32 to 6
        ("spatial_transformer", 3, 6, 380_358 + 1_184 + 2_010 + 3_610 + 2_912 + 198),
    ],
)
def test_the_number_of_weights(name, channels, n_factors, weights):
    model = network(name, channels=channels, n_factors=n_factors)
    assert sum(parameter.numel() for parameter in model.parameters()) == weights
    assert model.predict(images(2, channels)).shape == (2, n_factors)


@pytest.mark.parametrize("name", ["mlp", "cnn", "coord_conv", "set_encoder", "spatial_transformer"])
@pytest.mark.parametrize("pixels", [32, 128])
def test_other_sizes_work(name, pixels):
    model = network(name, pixels=pixels)
    units = model.represent(images(2, pixels=pixels))
    assert units.shape == (2, model.head.in_features) and units.isfinite().all()


@torch.no_grad()
def test_the_mlp_sees_pixels_in_no_order():
    model, x, order = network("mlp"), images(), torch.randperm(64 * 64)
    before = model.predict(x)
    model.body[1].weight.copy_(model.body[1].weight[:, order])
    torch.testing.assert_close(model.predict(x.flatten(1)[:, order].view_as(x)), before)


def test_depth_and_width_of_the_mlp_and_the_cnn():
    widths = [
        layer.out_features for layer in network("mlp", layers=4, units=20).body if hasattr(layer, "out_features")
    ]
    assert widths == [20, 20, 10]
    kernels = [
        (layer.out_channels, layer.kernel_size[0])
        for layer in network("cnn", extra_layers=6, width=0.5).body
        if hasattr(layer, "kernel_size")
    ]
    plain = [(16, 4), (16, 3), (16, 3), (16, 4), (16, 3), (16, 3), (32, 4), (32, 3), (32, 4), (32, 3), (128, 4)]
    assert kernels == plain


def test_coordinates_are_minus_one_and_one_at_the_corners():
    out = AddCoordinates()(images(2, channels=3))
    assert out.shape == (2, 5, 64, 64)
    assert out[1, 3:, [0, 0, -1, -1], [0, -1, 0, -1]].T.tolist() == [[-1, -1], [-1, 1], [1, -1], [1, 1]]


@torch.no_grad()
def test_the_first_layer_of_coord_conv_answers_by_place_where_the_image_is_constant():
    first = network("coord_conv").body[:2]
    inside = first(torch.full((1, 1, 64, 64), 0.5))[..., 1:-1, 1:-1]
    assert (inside.std((2, 3)) > 0.01).all()
    first[1].weight[:, 1:] = 0  # blind to the coordinates
    inside = first(torch.full((1, 1, 64, 64), 0.5))[..., 1:-1, 1:-1]
    assert (inside.std((2, 3)) < 1e-6).all()


def test_coord_conv_has_no_weight_that_is_not_used():
    model = network("coord_conv")
    model.predict(images(8)).sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


@torch.no_grad()
def test_the_set_encoder_does_not_care_about_the_order_of_pixels():
    model = network("set_encoder", channels=3)
    members = model.body[0](images(2, channels=3))
    assert members.shape == (2, 64 * 64, 5)
    assert members[0, 64 + 1, :2].tolist() == pytest.approx([1 / 63, 1 / 63])
    assert members[0, -1].tolist() == pytest.approx([1, 1, *images(2, channels=3)[0, :, -1, -1].tolist()])
    shuffled = members[:, torch.randperm(members.shape[1])]
    torch.testing.assert_close(model.body[1:](shuffled), model.body[1:](members), rtol=0, atol=1e-6)


@torch.no_grad()
def test_the_set_encoder_sees_where_values_are():
    model, x = network("set_encoder"), images(1)
    assert (model.predict(x) - model.predict(x.flip(2))).abs().max() > 1e-6


@torch.no_grad()
def test_the_spatial_transformer_starts_as_the_cnn():
    model, x = network("spatial_transformer"), images()
    torch.testing.assert_close(model.body[0](x), x, rtol=0, atol=1e-5)
    torch.testing.assert_close(model.represent(x), model.body[1:](x), rtol=0, atol=1e-5)


@torch.no_grad()
def test_a_map_that_turns_by_90_degrees_turns_the_image():
    x = images(1, channels=3)
    turn = torch.tensor([[[0.0, -1.0, 0.0], [1.0, 0.0, 0.0]]])
    torch.testing.assert_close(warped(x, turn), x.rot90(1, (2, 3)), rtol=0, atol=1e-4)


def test_the_localiser_learns():
    warp = Warp(1, 64)
    x = images()
    (warp(x) * torch.linspace(0, 1, 64)).sum().backward()
    assert warp.weight.grad.abs().max() > 0 and warp.bias.grad.abs().max() > 0
    assert warp.localiser(x).shape == (3, 32)
    warp.weight.data.normal_()
    (warp(x) * torch.linspace(0, 1, 64)).sum().backward()
    assert warp.localiser[0].weight.grad.abs().max() > 0
