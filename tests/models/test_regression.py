"""What networks trained on factors share: objective, scale of targets, options, presets."""

import pytest
import torch
from torch import nn

from unknot.errors import UnknotError
from unknot.factors import space
from unknot.models import MODELS, build
from unknot.models.model import Batch, Setting
from unknot.models.networks import initialise
from unknot.models.regression import FactorRegressor, _dropped
from unknot.runs.spec import RunSpec
from unknot.runs.training import build_model, feed, load_model, train
from unknot.worlds import open_world

REGRESSORS = [name for name, kind in MODELS.items() if issubclass(kind, FactorRegressor)]
LIGHT = {
    "rot_eq_big": {"width": 0.125},
    "bit_resnet50": {"width": 0.5},
    "bit_resnet101": {"width": 0.5},
    "densenet121": {"growth": 4},
}
FACTORS = space({"shape": 3, "colour": 1, "x": 32})
every_regressor = pytest.mark.parametrize("name", REGRESSORS)


def model_of(name: str, *, channels: int = 1, pixels: int = 32, **options) -> FactorRegressor:
    setting = Setting(channels=channels, pixels=pixels, factors=FACTORS)
    torch.manual_seed(0)
    model, _ = build(name, setting, {**LIGHT.get(name, {}), **options})
    initialise(model, "torch", torch.Generator().manual_seed(0))
    return model


def batch_of(n: int = 6, channels: int = 1, pixels: int = 32) -> Batch:
    generator = torch.Generator().manual_seed(1)
    labels = torch.stack([torch.randint(size, (n,), generator=generator) for size in FACTORS.shape], 1)
    return Batch(images=torch.rand(n, channels, pixels, pixels, generator=generator), labels=labels)


def loss_of(model: nn.Module, batch: Batch, seed: int = 0) -> dict[str, float]:
    return {name: term.item() for name, term in model.loss(batch, 0, torch.Generator().manual_seed(seed)).items()}


def test_all_ten_networks_of_the_benchmark_are_there():
    assert REGRESSORS == [
        "mlp",
        "cnn",
        "coord_conv",
        "set_encoder",
        "rot_eq",
        "rot_eq_big",
        "spatial_transformer",
        "bit_resnet50",
        "bit_resnet101",
        "densenet121",
    ]


def test_targets_are_classes_over_the_largest_class_and_constants_are_zero():
    targets = model_of("mlp").targets(torch.tensor([[0, 0, 31], [1, 0, 0], [2, 0, 8]]))
    assert targets.tolist() == [[0, 0, 1], [0.5, 0, 0], [1, 0, pytest.approx(8 / 31)]]


def test_the_loss_is_summed_over_factors_and_averaged_over_the_batch():
    model, batch = model_of("mlp"), batch_of()
    model.head.weight.data.zero_()
    model.head.bias.data = torch.tensor([0.5, 0.25, -1.0])
    expected = sum(
        (shape / 2 - 0.5) ** 2 + 0.25**2 + (x / 31 + 1) ** 2 for shape, _, x in batch.labels.tolist()
    ) / len(batch.images)
    assert loss_of(model, batch) == {"squared_error": pytest.approx(expected, rel=1e-5)}


@every_regressor
def test_predictions_have_one_column_for_each_factor_and_are_linear_in_the_representation(name):
    for channels in (1, 3):
        model, images = model_of(name, channels=channels).eval(), batch_of(3, channels).images
        with torch.no_grad():
            units, predicted = model.represent(images), model.predict(images)
        assert predicted.shape == (3, 3)
        torch.testing.assert_close(units @ model.head.weight.T + model.head.bias, predicted)


@every_regressor
def test_the_gradient_reaches_every_weight(name):
    model, batch = model_of(name), batch_of(8)
    if name == "spatial_transformer":
        model.body[0].weight.data.normal_()  # as it starts, the warp does not depend on its localiser
    sum(model.loss(batch, 0, torch.Generator().manual_seed(0)).values()).backward()
    assert [key for key, parameter in model.named_parameters() if parameter.grad is None] == []


@pytest.mark.parametrize("name", ["mlp", "cnn", "coord_conv", "set_encoder", "rot_eq", "spatial_transformer"])
def test_a_handful_of_images_is_learnt_by_heart(name):
    model, images = model_of(name), torch.zeros(4, 1, 32, 32)
    for image, at in zip(images, (2, 9, 16, 23), strict=True):
        image[:, at : at + 6, 8:14] = 1
    batch = Batch(images=images, labels=torch.tensor([[0, 0, 0], [1, 0, 10], [2, 0, 20], [1, 0, 31]]))
    start = loss_of(model, batch)["squared_error"]
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(600):
        optimiser.zero_grad()
        loss = sum(model.loss(batch, 0, torch.Generator()).values())
        if loss < 0.02 * start:
            break
        loss.backward()
        optimiser.step()
    assert loss < 0.02 * start


def test_dropout_is_drawn_by_the_generator_and_off_when_predicting():
    model, batch = model_of("cnn", dropout=0.5), batch_of()
    assert loss_of(model, batch, seed=1) == loss_of(model, batch, seed=1) != loss_of(model, batch, seed=2)
    torch.manual_seed(5)
    first = model.train().predict(batch.images)
    assert torch.equal(first, model.eval().predict(batch.images))


def test_dropout_keeps_the_mean():
    units = _dropped(torch.ones(400, 400), 0.25, torch.Generator().manual_seed(0))
    assert units.unique().tolist() == [0, pytest.approx(4 / 3)]
    assert units.mean().item() == pytest.approx(1, abs=0.01)


def test_l2_is_the_weighted_sum_of_squared_weights():
    model, batch = model_of("mlp", l2=0.1), batch_of()
    squares = sum(parameter.pow(2).sum().item() for parameter in model.parameters())
    assert loss_of(model, batch)["l2"] == pytest.approx(0.1 * squares, rel=1e-5)


def test_augmentation_changes_the_loss_but_not_the_predictions():
    plain, changed, batch = model_of("cnn"), model_of("cnn", augmentation="noise+shift"), batch_of()
    assert loss_of(plain, batch) != loss_of(changed, batch)
    assert torch.equal(plain.predict(batch.images), changed.predict(batch.images))


def test_a_batch_without_labels_and_a_world_without_factors_are_refused():
    with pytest.raises(UnknotError, match="cnn: the batch has no labels"):
        loss_of(model_of("cnn"), Batch(images=torch.rand(2, 1, 32, 32)))
    with pytest.raises(UnknotError, match="cnn: the world has no factors"):
        build("cnn", Setting(), {})


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("cnn", {"dropout": 1.0}, "dropout is 1.0"),
        ("cnn", {"width": 0.3}, "width is 0.3"),
        ("mlp", {"layers": 1}, "layers is 1"),
        ("mlp", {"augmentation": "noise+shfit"}, "did you mean 'shift'"),
        ("bit_resnet50", {"width": 0.25}, "width is 0.25"),
    ],
)
def test_options_out_of_range_are_named(name, options, told):
    with pytest.raises(UnknotError, match=told):
        build(name, Setting(pixels=32, factors=FACTORS), options)


@pytest.mark.parametrize("name", ["cnn", "rot_eq", "spatial_transformer"])
def test_sizes_that_do_not_halve_to_a_4x4_map_are_refused(name):
    with pytest.raises(UnknotError, match=f"{name}: images of 48 pixels"):
        build(name, Setting(pixels=48, factors=FACTORS), {})


@every_regressor
def test_the_preset_of_the_paper(name):
    preset = MODELS[name].presets["schott2022"]
    rate = 1e-4 if name == "densenet121" else 5e-4
    assert preset.fixed == {"lr": rate, "steps": 500_000, "batch_size": 64, "init": "torch"}
    transfer = MODELS[name].presets.get("schott2022_transfer")
    if name in ("bit_resnet50", "bit_resnet101", "densenet121"):
        assert transfer.fixed == {"weights": "timm", "lr": 1e-4, "steps": 50_000, "batch_size": 64}
    else:
        assert transfer is None


def test_training_stays_inside_the_split_and_learns_factors(tmp_path):
    spec = RunSpec(
        world="dsprites_rendered",
        model="mlp",
        options={"units": 32},
        split="extrapolation",
        steps=150,
        batch_size=32,
        lr=2e-3,
        init="torch",
        image_size=32,
    )
    run = train(spec, tmp_path)
    curve = run.curve()
    assert curve["squared_error"].iloc[-1] < 0.75 * curve["squared_error"].iloc[0]
    world = open_world(spec.world)
    model = load_model(run, world=world)
    labels = feed(run.spec, model, world).batch(0).labels
    assert labels[:, world.factors.names.index("scale")].max() <= 3  # 4 and 5 are for the test


def test_a_frozen_network_trains_its_last_layer_alone(tmp_path):
    spec = RunSpec(
        world="dsprites_rendered",
        model="densenet121",
        options={"growth": 4, "freeze": True},
        steps=3,
        image_size=32,
        batch_size=4,
        lr=1e-2,
    )
    run = train(spec, tmp_path)
    frozen, _ = build_model(run.spec, open_world("dsprites_rendered"))
    after, before = load_model(run).state_dict(), frozen.state_dict()
    assert {name for name in after if not torch.equal(after[name], before[name])} == {"head.weight", "head.bias"}
    assert run.spec.options["freeze"] is True


@every_regressor
def test_a_network_that_is_not_frozen_is_recorded_as_before_there_was_such_an_option(name):
    setting = Setting(channels=1, pixels=32, factors=FACTORS)
    for options in ({}, {"freeze": False}):
        assert "freeze" not in build(name, setting, {**LIGHT.get(name, {}), **options})[1]
    assert build(name, setting, {**LIGHT.get(name, {}), "freeze": True})[1]["freeze"] is True
