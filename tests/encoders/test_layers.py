"""Layers and poolings: what an inner layer gives is what its weights say, and what a network lacks is named."""

import numpy as np
import pytest
import torch
from torch import nn

from unknot.encoders.encoder import Opening, find_encoder
from unknot.encoders.floors import untrained_twin
from unknot.encoders.source import Source
from unknot.errors import UnknotError

IMAGES = np.random.default_rng(0).integers(0, 256, (4, 8, 8, 3), dtype=np.uint8)


def network() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Conv2d(3, 5, 3), nn.ReLU(), nn.Flatten(), nn.Linear(180, 2))


def codes(module: nn.Module, **opening: str) -> np.ndarray:
    encoder = find_encoder(module, (8, 8, 3), Opening(**opening))
    assert encoder.record.get("layer", "") == opening.get("layer", "")
    return encoder.encode(IMAGES).numpy()


def test_the_code_is_that_of_the_layer_pooled_as_asked() -> None:
    module = network()
    pixels = torch.from_numpy(IMAGES).permute(0, 3, 1, 2) / 255
    maps = module[:2](pixels).detach().numpy()
    np.testing.assert_allclose(codes(module, layer="1"), maps.mean((2, 3)), atol=1e-6)
    slots = codes(module, layer="1", pool="slots")
    np.testing.assert_allclose(slots, maps.reshape(4, 5, 36).transpose(0, 2, 1), atol=1e-6)
    np.testing.assert_allclose(codes(module, layer="2"), maps.reshape(4, -1), atol=1e-6)
    assert codes(module).shape == (4, 2)


@pytest.mark.parametrize(
    ("opening", "words"),
    [
        ({"layer": "11"}, "Sequential: has no layer '11'; there are"),
        ({"layer": "1", "pool": "own"}, "pool 'own' is that of the last layer"),
        ({"layer": "1", "pool": "class"}, "has no class token"),
        ({"pool": "slots"}, "have no positions"),
        ({"pool": "max"}, "unknown pool 'max'"),
    ],
)
def test_what_a_network_lacks_is_named(opening: dict[str, str], words: str) -> None:
    with pytest.raises(UnknotError, match=words):
        codes(network(), **opening)


def test_a_function_has_no_layers() -> None:
    with pytest.raises(UnknotError, match="layer is for timm and hf networks and modules"):
        find_encoder(lambda images: images.mean((1, 2)), (8, 8, 3), Opening(layer="1"))


def test_the_untrained_twin_of_a_module_has_other_weights_of_the_same_law() -> None:
    trained = network()
    name, twin = untrained_twin(Source(trained, "shapes3d_rendered"))
    assert name == "Sequential, untrained" and not torch.equal(twin[0].weight, trained[0].weight)
    assert twin[0].weight.std().item() == pytest.approx(trained[0].weight.std().item(), rel=0.2)
    _, again = untrained_twin(Source(trained, "shapes3d_rendered"))
    assert torch.equal(twin[3].weight, again[3].weight)
    computed = torch.nn.Linear(2, 2)
    computed.kept = computed.weight * 2  # computed of others, which cannot be copied
    assert untrained_twin(Source(computed, "shapes3d_rendered")) is None
    trained.extra = nn.Module()
    trained.extra.weight = nn.Parameter(torch.ones(1))  # nobody knows how this one was drawn
    assert untrained_twin(Source(trained, "shapes3d_rendered")) is None
