"""Networks that turn with the image."""

import math

import pytest
import torch
from torch.nn import functional

from unknot.factors import space
from unknot.models import build
from unknot.models._c8 import C8Convolution, turned_harmonics
from unknot.models.model import Setting
from unknot.models.rot_eq import FieldMaximum


def setting(channels=3, pixels=64, n_factors=7):
    return Setting(channels=channels, pixels=pixels, factors=space({f"f{i}": 3 for i in range(n_factors)}))


def network(name="rot_eq", **options):
    torch.manual_seed(0)
    return build(name, setting(), options)[0].eval()


def images(n=3, channels=3, pixels=64):
    return torch.rand(n, channels, pixels, pixels, generator=torch.Generator().manual_seed(1))


def rolled(units, steps):
    return units.view(len(units), -1, 8).roll(steps, 2).flatten(1)


@pytest.mark.parametrize(("name", "weights", "units"), [("rot_eq", 14_836, 256), ("rot_eq_big", 943_008, 2048)])
def test_the_number_of_weights_is_that_of_the_paper_s_library(name, weights, units):
    model, _ = build(name, setting(), {})
    assert sum(parameter.numel() for parameter in model.body.parameters()) == weights
    assert model.head.weight.shape == (7, units)


def test_the_filters_written_out_are_as_many_as_those_of_the_cnn():
    layers = [part for part in network().body if isinstance(part, C8Convolution)]
    full = sum(layer.filters().numel() + 8 * layer.bias.numel() for layer in layers)
    cnn, _ = build("cnn", setting(), {})
    assert full == sum(parameter.numel() for parameter in cnn.body.parameters()) == 378_816


@pytest.mark.parametrize("turns", [1, 2, 3])
@torch.no_grad()
def test_turning_the_image_by_90_degrees_rolls_every_field_by_two(turns):
    model, x = network(), images()
    plain, turned = model.represent(x), model.represent(x.rot90(turns, (2, 3)))
    torch.testing.assert_close(turned, rolled(plain, 2 * turns), rtol=0, atol=1e-4)
    assert (plain - turned).abs().max() > 1e-2


@torch.no_grad()
def test_every_map_turns_with_the_image_and_rolls():
    model, x = network(), images(2)
    a, b = x, x.rot90(1, (2, 3))
    for part in list(model.body)[:-1]:
        a, b = part(a), part(b)
        expected = a.rot90(1, (2, 3)).unflatten(1, (-1, 8)).roll(2, 2).flatten(1, 2)
        torch.testing.assert_close(b, expected, rtol=0, atol=1e-4)


@torch.no_grad()
def test_the_maximum_of_fields_does_not_change_with_the_turn():
    model, x = network(pooled=True), images()
    torch.testing.assert_close(model.predict(x.rot90(1, (2, 3))), model.predict(x), rtol=0, atol=1e-4)
    assert model.represent(x).shape == (3, 32)
    fields = torch.arange(32.0).view(1, 16, 2, 1)
    assert FieldMaximum()(fields).flatten().tolist() == [14, 15, 30, 31]


@torch.no_grad()
def test_the_first_layer_s_answer_to_an_image_turned_by_45_degrees_is_rolled_by_one():
    torch.manual_seed(0)
    layer = C8Convolution(1, 6, lifting=True)
    at = torch.arange(4) - 1.5
    down, right = torch.meshgrid(at, at, indexing="ij")

    def edge(angle: float):  # grey values that rise in one direction and bend a little
        along, across = (
            right * math.cos(angle) - down * math.sin(angle),
            right * math.sin(angle) + down * math.cos(angle),
        )
        return (0.5 + 0.2 * along + 0.1 * along**2 - 0.05 * along * across).view(1, 1, 4, 4)

    plain, turned = (layer(edge(angle)).flatten(1) for angle in (0.3, 0.3 + math.pi / 4))
    rest = (turned - rolled(plain, 1)).norm()
    assert rest < 0.2 * (turned - plain).norm()
    assert rest < 0.2 * (turned - rolled(plain, -1)).norm()


def test_a_filter_turned_by_90_degrees_is_the_filter_with_its_pixels_turned():
    basis = turned_harmonics(4)
    for g in range(8):
        torch.testing.assert_close(basis[(g + 2) % 8], basis[g].rot90(1, (1, 2)), rtol=0, atol=1e-6)


@torch.no_grad()
def test_the_group_convolution_is_its_defining_sum():
    torch.manual_seed(0)
    layer = C8Convolution(2, 2, 4, stride=2, padding=1)
    layer.bias.normal_()
    x = torch.randn(2, 16, 8, 8)
    slow = torch.zeros(2, 16, 4, 4)
    for f in range(2):
        for g in range(8):
            for i in range(2):
                for k in range(8):
                    psi = (layer.weight[f, i, (k - g) % 8, :, None, None] * layer.basis[g]).sum(0)
                    slow[:, 8 * f + g] += functional.conv2d(
                        x[:, 8 * i + k, None], psi[None, None], stride=2, padding=1
                    )[:, 0]
            slow[:, 8 * f + g] += layer.bias[f]
    torch.testing.assert_close(layer(x), slow, rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_activations_keep_their_size_through_the_layers():
    model, x = network("rot_eq_big", width=0.5), images(4)
    first = None
    for part in model.body:
        x = part(x)
        if isinstance(part, torch.nn.ReLU):
            first = first or x.pow(2).mean()
    assert 0.1 < x.pow(2).mean() / first < 10


def test_rot_eq_big_of_an_eighth_of_the_width_is_rot_eq():
    small, narrow = network(), network("rot_eq_big", width=0.125)
    shapes = [{key: value.shape for key, value in model.state_dict().items()} for model in (small, narrow)]
    assert shapes[0] == shapes[1]
