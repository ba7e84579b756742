"""The readout MLP on frozen latents."""

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.metrics.r2 import full_variance, r2_per_factor
from unknot.tasks.generalisation import readout as module
from unknot.tasks.generalisation.readout import train_readout
from unknot.worlds.published.dsprites import SPACE
from unknot.worlds.splits.split import split


def data(n=300, d=4, f=2, seed=0):
    rng = np.random.default_rng(seed)
    latents = rng.normal(size=(n, d))
    return latents, np.tanh(latents @ rng.normal(size=(d, f)))


def test_the_network_has_the_layers_of_the_paper():
    latents, targets = data(d=10, f=7)
    layers = train_readout(latents, targets, steps=1).layers
    assert [weights.shape for weights, _ in layers] == [(10, 40), (40, 40), (40, 40), (40, 7)]
    assert sum(weights.size + biases.size for weights, biases in layers) == 4_007


@pytest.mark.parametrize(("recipe", "steps"), [("paper", 8 * 5), ("quick", 4_000)])
def test_the_recipes_take_eight_epochs_or_enough_steps(recipe, steps):
    latents, targets = data()  # 300 rows: five batches of 64
    assert train_readout(latents, targets, recipe=recipe).steps == steps


def test_the_gradient_is_that_of_torch():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    net = module._Net((4, 5, 6, 7, 3), rng, 16)
    x, y = (rng.normal(size=(11, k)).astype(np.float32) for k in (4, 3))
    net.backward(x, y)
    layers = [(torch.tensor(w, requires_grad=True), torch.tensor(b, requires_grad=True)) for w, b in net.layers()]
    h = torch.from_numpy(x)
    for i, (weights, biases) in enumerate(layers):
        h = (h.relu() if i else h) @ weights + biases
    (torch.from_numpy(y) - h).pow(2).sum(1).mean().backward()
    ours = net._views(net.grad)
    for (weights, biases), (slopes, bias_slopes) in zip(layers, ours, strict=True):
        np.testing.assert_allclose(slopes, weights.grad.numpy(), atol=1e-6)
        np.testing.assert_allclose(bias_slopes, biases.grad.numpy(), atol=1e-6)


def test_predictions_follow_the_layers_whatever_the_chunk(monkeypatch):
    latents, targets = data()
    trained = train_readout(latents, targets, recipe="quick", steps=20)
    h = latents / trained.scale
    for i, (weights, biases) in enumerate(trained.layers):
        h = (np.maximum(h, 0) if i else h) @ weights + biases
    monkeypatch.setattr(module, "CHUNK", 7)
    np.testing.assert_allclose(trained.predict(latents), h, atol=1e-5)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("kind", ["random", "composition", "interpolation", "extrapolation"])
def test_true_factors_and_their_negatives_are_read_on_every_split(kind, sign):
    parts, rng = split(SPACE, kind, rule="dsprites"), np.random.default_rng(0)
    regions = (parts.train_region, parts.test_region)
    train, test = (region.sample(20_000, rng) / (SPACE.sizes - 1) for region in regions)
    predicted = train_readout(sign * train, train, recipe="quick").predict(sign * test)
    assert r2_per_factor(predicted, test, full_variance(SPACE)).mean() > 0.99


def test_the_paper_recipe_fits_what_eight_epochs_suffice_for():
    latents, targets = data(n=20_000)
    trained = train_readout(latents[:19_000], targets[:19_000])
    assert trained.steps == 8 * -(-19_000 // 64)
    left = ((trained.predict(latents[19_000:]) - targets[19_000:]) ** 2).mean(0) / targets.var(0)
    assert (left < 0.01).all()


def test_the_scale_of_latents_does_not_matter_to_the_quick_recipe_and_dead_ones_do_no_harm():
    latents, targets = data()
    plain = train_readout(latents, targets, recipe="quick", steps=50).predict(latents)
    larger = 1e3 * latents
    again = train_readout(larger, targets, recipe="quick", steps=50).predict(larger)
    np.testing.assert_allclose(again, plain, atol=1e-3)
    nothing = np.zeros_like(latents)
    said = train_readout(nothing, targets, recipe="quick", steps=500).predict(nothing)
    np.testing.assert_allclose(said, np.tile(targets.mean(0), (len(said), 1)), atol=0.05)


def test_the_same_seed_gives_the_same_network_and_inputs_stay_untouched():
    latents, targets = data()
    before = latents.copy(), targets.copy()
    first, second, other = (
        train_readout(latents, targets, steps=30, rng=seed).predict(latents) for seed in (1, 1, 2)
    )
    assert (first == second).all() and not np.allclose(first, other)
    assert (latents == before[0]).all() and (targets == before[1]).all()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"recipe": "fast"}, "unknown recipe of the readout 'fast'"),
        ({"targets": np.zeros((299, 2))}, "300 rows of latents, 299 of targets"),
        ({"targets": np.zeros(300)}, r"targets have shape \(300,\)"),
        ({"latents": np.full((300, 4), np.nan)}, "latents hold 1200 NaN"),
        ({"latents": np.full((300, 4), 1e300)}, "single precision"),
        ({"steps": 0}, "0 steps"),
        ({"latents": np.full((300, 4), 1e30)}, "diverged"),
    ],
)
def test_bad_input_is_named(change, told):
    latents, targets = data()
    with np.errstate(all="ignore"), pytest.raises(UnknotError, match=told):
        train_readout(**{"latents": latents, "targets": targets, "steps": 5, **change})


def test_latents_of_another_width_are_refused():
    latents, targets = data()
    with pytest.raises(UnknotError, match="3 columns; it was trained on 4"):
        train_readout(latents, targets, steps=1).predict(latents[:, :3])
