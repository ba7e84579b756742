"""The base of all models: its defaults, and anyone's own module behind it."""

import inspect

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from unknot.errors import UnknotError
from unknot.models import build, find, find_preset, options_of
from unknot.models.beta_vae import VAE
from unknot.models.model import Batch, Model, Setting, adapted, required
from unknot.runs.run import RunSpec
from unknot.runs.training import load_model, train

IMAGES = torch.zeros(2, 1, 8, 8)


class Bare(Model):
    """A model that has only what it must have."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(64, 3)

    def loss(self, batch, step, generator):
        return {"size": self.represent(batch.images).pow(2).sum()}

    def represent(self, images):
        return self.layer(images.flatten(1))


class Foreign(nn.Module):
    """Knows nothing of ours."""

    def __init__(self, setting, *, scale: float = 1.0):
        super().__init__()
        self.layer, self.scale = nn.Linear(setting.pixels**2, 3), scale

    def loss(self, batch, step, generator):
        return {"size": self.scale * self.represent(batch.images).pow(2).sum()}

    def represent(self, images):
        return self.layer(images.flatten(1))


class Able(Foreign):
    """Has members of a model, some of them networks or functions that its constructor sets."""

    supervision = "few_labels"
    n_labelled = 7

    def __init__(self, setting):
        super().__init__(setting)
        self.decode = nn.Sequential(nn.Linear(3, setting.pixels**2), nn.Unflatten(1, (1, setting.pixels, -1)))
        self.predict = lambda images: self.represent(images).sigmoid()
        self.steps = 0

    def loss(self, batch, step, generator):
        return {"fit": (self.decode(self.represent(batch.images)) - batch.images).pow(2).sum()}

    def masks(self, images):
        return torch.ones(len(images), 1, *images.shape[2:])

    def after_step(self):
        self.steps += 1


class NoLoss(nn.Module):
    def represent(self, images):
        return images.flatten(1)


class NoCode(Model):
    def loss(self, batch, step, generator):
        return {}


def function():
    """Not a class."""


def test_a_model_needs_a_loss_and_a_code_and_all_else_has_a_default():
    model = Bare()
    assert (Bare.supervision, Bare.pairs, Bare.presets, Bare.standard_prior) == ("none", "", {}, True)
    assert (model.n_labelled, model.wants_other) == (0, False)
    (player,) = model.players()
    assert (player.name, player.modules, player.loss) == ("model", (model,), model.loss)
    assert model.load_pretrained() == ""
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    model.after_initialise()
    model.after_step()
    assert all(torch.equal(before[name], weight) for name, weight in model.state_dict().items())


def test_what_a_class_can_do_is_known_before_a_model_is_built_and_the_rest_is_refused_by_name():
    assert (Bare.decodes, Bare.predicts, Bare.masks_objects, Bare.decodes_slots) == (False,) * 4
    assert (VAE.decodes, VAE.predicts, VAE.masks_objects, VAE.decodes_slots) == (True, False, False, False)
    for method in (Bare().decode, Bare().predict, Bare().masks, Bare().slots_decoded):
        with pytest.raises(UnknotError, match=rf"Bare: has no {method.__name__}\("):
            method(IMAGES)
    with pytest.raises(UnknotError, match="NoCode: has no represent"):
        NoCode().represent(IMAGES)
    with pytest.raises(UnknotError, match="Model: has no loss"):
        Model().loss(Batch(IMAGES), 0, torch.Generator())


def test_a_module_of_ones_own_becomes_a_model_with_its_own_name_text_file_options_and_weights():
    kind = find(f"{__name__}:Foreign")
    assert issubclass(kind, Model) and issubclass(kind, Foreign)
    assert (kind.__name__, kind.__module__, kind.__doc__) == ("Foreign", __name__, Foreign.__doc__)
    assert inspect.getfile(kind) == __file__
    assert list(options_of(kind)) == ["scale"]
    torch.manual_seed(0)
    model, options = build(f"{__name__}:Foreign", Setting(pixels=8), {"scale": 2})
    torch.manual_seed(0)
    plain = Foreign(Setting(pixels=8), scale=2.0)
    assert options == {"scale": 2.0}
    assert list(model.state_dict()) == list(plain.state_dict())
    assert all(torch.equal(ours, own) for ours, own in zip(model.parameters(), plain.parameters(), strict=True))
    assert (model.supervision, model.decodes, model.load_pretrained()) == ("none", False, "")


def test_a_module_of_ones_own_keeps_the_members_it_has_also_those_that_are_networks():
    model, _ = build(f"{__name__}:Able", Setting(pixels=8), {})
    assert (model.supervision, model.n_labelled, type(model).masks_objects) == ("few_labels", 7, True)
    assert model.decodes and model.predicts and not model.decodes_slots
    assert isinstance(model.decode, nn.Sequential)
    assert model.decode(model.represent(IMAGES)).shape == IMAGES.shape
    assert model.predict(IMAGES).shape == (2, 3)
    assert [name for name, _ in model.named_children()] == ["layer", "decode"]
    assert not type(model).decodes  # as long as nobody has built it, nobody knows


def test_a_module_of_ones_own_is_trained_and_read_again_and_told_after_every_step(tmp_path):
    spec = RunSpec(world="dsprites_rendered", model=f"{__name__}:Able", image_size=8, batch_size=2, steps=2)
    run = train(spec, tmp_path)
    assert list(load_file(run.weights)) == ["decode.0.bias", "decode.0.weight", "layer.bias", "layer.weight"]
    assert (run.folder / "pictures" / "reconstructions.png").is_file()
    assert load_model(run).decodes


def test_a_model_of_ours_is_taken_as_it_is():
    assert adapted(VAE) is VAE
    assert find(f"{__name__}:Bare") is Bare


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("NoLoss", r"needs methods loss\(batch, step, generator\) and represent\(images\)"),
        ("NoCode", "needs methods loss"),
        ("function", "is not a class of torch.nn.Module"),
        ("Setting", "is not a class of torch.nn.Module"),
        ("Nothing", "cannot be imported"),
    ],
)
def test_what_is_no_model_is_refused(name, message):
    with pytest.raises(UnknotError, match=f"model '{__name__}:{name}': {message}"):
        find(f"{__name__}:{name}")


def test_a_part_that_a_batch_lacks_is_named():
    assert required(IMAGES, "pcl", "pairs") is IMAGES
    with pytest.raises(UnknotError, match="pcl: the batch has no pairs; this model learns from them"):
        required(None, "pcl", "pairs")


@pytest.mark.parametrize(
    ("model", "old", "new"),
    [
        ("beta_vae", "s0", "mahon2024"),
        ("beta_vae", "s1", "duan2020"),
        ("beta_tc_vae", "s2_ae", "xie2022_ae"),
        ("densenet121", "s3_transfer", "schott2022_transfer"),
        ("dip_vae_i", "s4", "vansteenkiste2019"),
    ],
)
def test_a_preset_by_the_number_of_its_paper_is_refused_with_its_name_of_today(model, old, new):
    assert find_preset(model, new).source
    with pytest.raises(UnknotError, match=f"preset '{old}' of {model} is called '{new}' now") as refused:
        find_preset(model, old)
    assert refused.value.field == ("preset",)


def test_a_preset_that_no_model_has_is_told_the_nearest():
    with pytest.raises(UnknotError, match="unknown preset of beta_vae 'duan2022'; did you mean 'duan2020'"):
        find_preset("beta_vae", "duan2022")
    with pytest.raises(UnknotError, match="unknown preset of autoencoder 's1'"):
        find_preset("autoencoder", "s1")
