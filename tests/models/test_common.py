"""What must hold for every model in MODELS; a new entry inherits it all."""

import inspect
from functools import cache
from typing import Any

import pytest
import torch

from unknot.errors import UnknotError
from unknot.models import MODELS, build, options_of
from unknot.models.codes import represent
from unknot.models.model import Batch, Model, Posterior, Setting
from unknot.runs import ahead, meters, trainer
from unknot.runs.optimisers import optimiser_of
from unknot.runs.spec import RunSpec
from unknot.runs.training import build_model, feed, load_model, train
from unknot.worlds import open_world
from unknot.worlds.world import World

GREY, COLOUR = "dsprites_rendered", "shapes3d_rendered"
SMALLER: dict[str, dict[str, Any]] = {  # options that save time here
    "factor_vae": {"discriminator_layers": 2},
    "weak_de": {"n_labelled": 64, "width": 16},
    "rot_eq_big": {"width": 0.125},
    "bit_resnet50": {"width": 0.5},
    "bit_resnet101": {"width": 0.5},
    "densenet121": {"growth": 4},
    "slot_attention": {"slots": 3, "slot_size": 8, "channels": 8, "stride": 2, "full_layers": 0, "warm_up": 0},
    "iodine": {"slots": 2, "slot_size": 4, "refinements": 2, "channels": 8, "hidden": 16},
    "monet": {"slots": 3, "slot_size": 4, "channels": 4},
    "moco_v2": {"queue": 64},
}
LENGTHS: dict[str, dict[str, Any]] = {  # where a step takes longer, or a small batch says little
    **{name: {"steps": 24, "batch_size": 8} for name in ("densenet121", "iodine", "monet")},
    **{name: {"steps": 8, "batch_size": 8} for name in ("bit_resnet50", "bit_resnet101")},
    "pcl": {"batch_size": 16},
}
LARGE = ("bit_resnet50", "bit_resnet101", "densenet121", "weak_de")
OTHER_COLUMNS = ("step", "loss", trainer.GRADIENT)
every_model = pytest.mark.parametrize("name", MODELS)
world_of = cache(open_world)


@pytest.fixture(autouse=True)
def _few_images_for_the_kl(monkeypatch):
    monkeypatch.setattr(meters, "KL_IMAGES", 16)


def spec_of(name: str, world: str = GREY, **fields: Any) -> RunSpec:
    base = {"world": world, "model": name, "options": SMALLER.get(name, {}), "latents": 6, "image_size": 32}
    return RunSpec(**{**base, "steps": 24, "batch_size": 8, "lr": 1e-3, **fields})


def built(spec: RunSpec) -> tuple[Model, Batch]:
    world: World = world_of(spec.world)
    model, spec = build_model(spec, world)
    return model, feed(spec, model, world).batch(0)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def total(model: Model, batch: Batch, step: int) -> float:
    with torch.no_grad():
        return float(sum(model.loss(batch, step, seeded()).values()))


@every_model
def test_a_model_is_few_classes_away_from_the_base_and_overrides_no_objective(name):
    kind = MODELS[name]
    assert issubclass(kind, Model)
    below, after = kind.mro()[: kind.mro().index(Model)], kind.mro()[kind.mro().index(Model) + 1]
    assert len(below) <= 3  # itself, what the models of one paper share, what a family of networks shares
    assert sum("loss" in vars(part) for part in below) == 1
    assert after is torch.nn.Module


@every_model
def test_what_a_class_says_of_itself_is_what_its_models_can_do(name):
    model, batch = built(spec_of(name, COLOUR, batch_size=2))
    kind, images = MODELS[name], batch.images
    with torch.no_grad():
        code = represent(model.eval(), images).mean
        abilities = (
            (kind.decodes, lambda: model.decode(code), images.shape),
            (kind.predicts, lambda: model.predict(images), (2, len(world_of(COLOUR).factors))),
            (kind.masks_objects, lambda: model.masks(images), (*code.shape[:2], *images.shape[2:])),
            (kind.decodes_slots, lambda: model.slots_decoded(code).combined(), images.shape),
        )
        for can, result, shape in abilities:
            if can:
                assert result().shape == shape
            else:
                with pytest.raises(UnknotError, match=f"{kind.__name__}: has no"):
                    result()


@every_model
def test_terms_are_finite_scalars_and_sum_to_what_the_trainer_minimises(name, tmp_path):
    spec = spec_of(name, steps=1, batch_size=8)
    said = train(spec, tmp_path).curve().iloc[0].to_dict()
    model, batch = built(spec)
    first, *_ = model.train().players()
    terms = first.loss(batch, 0, seeded(trainer.seed_of(spec.seed, 0, 1)))
    assert all(term.shape == () and term.isfinite() for term in terms.values())
    main = first.loss == model.loss
    for term, value in terms.items():
        assert said[term if main else f"{first.name}.{term}"] == pytest.approx(value.item(), rel=1e-4, abs=1e-5)
    of_the_loss = [value for term, value in said.items() if term not in OTHER_COLUMNS and "." not in term]
    assert said["loss"] == pytest.approx(sum(of_the_loss), rel=1e-6)


@every_model
def test_weights_and_losses_depend_on_seeds_alone(name):
    found = []
    for seed in (0, 1):
        torch.manual_seed(seed)  # must not matter
        model, batch = built(spec_of(name, batch_size=4))
        losses = [player.loss(batch, 3, seeded(5)) for player in model.train().players()]
        found.append([{term: value.item() for term, value in (terms or {}).items()} for terms in losses])
    assert found[0] == found[1]


@every_model
def test_the_representation_is_finite_deterministic_and_does_not_depend_on_the_company(name):
    model, batch = built(spec_of(name, batch_size=8))
    model.eval()
    with torch.no_grad():
        code, again, few = (model.represent(images) for images in (batch.images, batch.images, batch.images[:3]))
    means = [each.mean if isinstance(each, Posterior) else each for each in (code, again, few)]
    assert means[0].shape[0] == 8 and means[0].isfinite().all()
    assert torch.equal(means[0], means[1])
    torch.testing.assert_close(means[0][:3], means[2], rtol=1e-4, atol=1e-5)


# The loss of moco_v2 is against a queue that training itself fills with harder and harder keys: see its own tests.
@pytest.mark.parametrize(
    ("name", "world"),
    [(name, GREY) for name in MODELS if name != "moco_v2"]
    + [(name, COLOUR) for name in MODELS if name not in ("moco_v2", *LARGE)],
)
def test_training_lowers_the_loss_on_images_not_trained_on(name, world, tmp_path, monkeypatch):
    """Two hundred steps of small batches; large networks, which take as long as ten others, in one world.

    24 for densenet121, iodine and monet, and 8 for the deep residual networks, whose steps are 3 to 30 times as slow as
    others.
    """
    monkeypatch.setattr(trainer.Trainer, "_draw", lambda *_, **__: None)  # drawn by the runs of the first test
    spec = spec_of(name, world, **{"steps": 200, "batch_size": 4, **LENGTHS.get(name, {})})
    run = train(spec, tmp_path)
    before, _ = built(spec)
    after = load_model(run, world=world_of(world))
    # A later step's batch, larger so that the comparison is not of one draw.
    held_out = feed(run.spec.replace(batch_size=32), before, world_of(world)).batch(1000)
    assert total(after.train(), held_out, spec.steps) < total(before.train(), held_out, spec.steps)


@pytest.mark.parametrize(
    "name", [name for name, kind in MODELS.items() if kind.players is not Model.players] + ["cci_vae"]
)
def test_a_run_stopped_half_way_ends_with_the_weights_of_one_that_was_not(name, tmp_path, monkeypatch):
    monkeypatch.setattr(trainer, "LOG_EVERY", 4)
    spec = spec_of(name, steps=6, batch_size=4)
    whole = load_model(train(spec, tmp_path / "whole"), world=world_of(GREY)).state_dict()

    def stop(stage: str, done: int, total: int, **facts: object) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(spec, tmp_path / "halves", checkpoint_every=3, progress=stop)
    run = train(spec, tmp_path / "halves")
    resumed = load_model(run, world=world_of(GREY)).state_dict()
    assert all(torch.equal(whole[key], resumed[key]) for key in whole)


@every_model
def test_every_weight_belongs_to_a_player(name):
    model, _ = built(spec_of(name, batch_size=2))
    moved = {id(parameter) for player in model.players() for parameter in trainer.moved_by(player)}
    assert moved == {id(parameter) for parameter in model.parameters() if parameter.requires_grad}


@every_model
def test_codes_decode_to_images(name):
    model, batch = built(spec_of(name, COLOUR, batch_size=2))
    if not model.decodes:
        return
    with torch.no_grad():
        images = model.eval().decode(represent(model, batch.images).mean)
    assert 0 <= images.min() and images.max() <= 1


NUMBERS = [
    (name, option)
    for name, kind in MODELS.items()
    for option, parameter in options_of(kind).items()
    if type(parameter.default) in (int, float)
]
TEXTS = [
    (name, option)
    for name, kind in MODELS.items()
    for option, parameter in options_of(kind).items()
    if isinstance(parameter.default, str)
]


def tiny() -> Setting:
    return Setting(pixels=32, factors=world_of(GREY).factors)


@pytest.mark.parametrize(("name", "option"), NUMBERS)
def test_a_negative_option_is_refused(name, option):
    default = options_of(MODELS[name])[option].default
    with pytest.raises(UnknotError, match=option):
        build(name, tiny(), {option: type(default)(-1)})
    if isinstance(default, float):
        with pytest.raises(UnknotError, match=option):
            build(name, tiny(), {option: float("nan")})


@pytest.mark.parametrize(("name", "option"), TEXTS)
def test_a_text_option_takes_only_what_it_knows(name, option):
    with pytest.raises(UnknotError):
        build(name, tiny(), {option: "no such thing"})


@every_model
def test_options_are_plain_values_with_defaults_and_a_misspelt_one_is_told_its_name(name):
    known = options_of(MODELS[name])
    assert all(type(parameter.default) in (bool, int, float, str) for parameter in known.values())
    assert inspect.getdoc(MODELS[name])
    with pytest.raises(UnknotError, match="unknown option of"):
        build(name, tiny(), {"nothing_like_it": 1.0})
    for option in known:
        with pytest.raises(UnknotError, match=f"did you mean '{option}'"):
            build(name, tiny(), {f"{option}q": 1.0})


NEEDS_VALUES = {  # what cannot run without numbers, and why that is no harm on a GPU
    "slot_attention": "represent draws the noise of slots from the bytes of the image, once for each image",
    "iodine": "the same",
}


@every_model
def test_a_step_and_the_code_stay_on_one_device(name):
    """The meta device holds no numbers and refuses tensors of the CPU, as a GPU does."""
    spec = spec_of(name, COLOUR, batch_size=4)
    model, batch = built(spec)
    model, batch = model.to("meta").train(), ahead.moved(batch, torch.device("meta"))
    for player in model.players():
        moved = trainer.moved_by(player)
        terms = player.loss(batch, 0, seeded())
        torch.autograd.backward(torch.stack(list(terms.values())).sum(), inputs=moved)
        optimiser_of(player, moved, spec.lr).step()
        assert all(weight.device.type == "meta" for weight in moved)
    model.after_step()
    if name in NEEDS_VALUES:
        with pytest.raises(NotImplementedError, match="meta"):
            represent(model.eval(), batch.images)
    else:
        assert represent(model.eval(), batch.images).mean.device.type == "meta"
