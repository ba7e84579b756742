"""Recipes."""

import pytest

from unknot.errors import UnknotError
from unknot.models import MODELS
from unknot.runs.recipes import RECIPES, recipe_spec, recipe_values
from unknot.runs.spec import RunSpec
from unknot.runs.training import build_model
from unknot.worlds import open_world

FAMILY = [(recipe, model) for recipe in RECIPES for model in RECIPES[recipe].models]


@pytest.mark.parametrize(("recipe", "model"), FAMILY)
def test_every_recipe_fits_the_fields_and_options_of_its_models(recipe, model):
    spec = recipe_spec(recipe, world="dsprites_rendered", model=model)
    built, full = build_model(spec, open_world("dsprites_rendered"))
    assert built.decodes
    assert {name: full.options[name] for name in spec.options} == spec.options


def test_every_vae_has_a_recipe():
    named = {name for name in MODELS if name.endswith("vae") or "_vae_" in name}
    assert named - set(RECIPES["quick"].models) == {"parted_vae", "parted_vae_ss"}


def test_the_recipe_of_the_papers_changes_nothing():
    assert recipe_spec("paper", world="w", model="cnn") == RunSpec(world="w", model="cnn")


def test_what_is_given_goes_before_a_recipe():
    spec = recipe_spec("quick", world="w", model="beta_vae", lr=1e-3, options={"beta": 3.0})
    assert (spec.lr, spec.options, spec.architecture) == (1e-3, {"beta": 3.0}, "separable")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("quik", "beta_vae"), "unknown recipe 'quik'; did you mean 'quick'"),
        (("quick", "cnn"), "recipe 'quick': is not made for cnn; it is for vae, beta_vae"),
    ],
)
def test_a_recipe_that_is_unknown_or_for_other_models_is_refused(words, message):
    with pytest.raises(UnknotError, match=message) as caught:
        recipe_values(*words)
    assert caught.value.field == ("recipe",)


def test_what_is_no_recipe_no_model_or_no_options_is_named_as_such():
    with pytest.raises(UnknotError, match="unknown recipe"):
        recipe_values(["quick"], "vae")
    with pytest.raises(UnknotError, match="unknown model 'beta_vaee'; did you mean 'beta_vae'"):
        recipe_values("quick", "beta_vaee")
    with pytest.raises(UnknotError, match="run: options is None"):
        recipe_spec("quick", world="w", options=None)
    for model in (None, 5, ["vae"]):
        with pytest.raises(UnknotError) as of_spec:
            RunSpec(world="w", model=model)
        with pytest.raises(UnknotError, match="run: model is") as caught:
            recipe_spec("quick", world="w", model=model)
        assert str(caught.value) == str(of_spec.value) and caught.value.field == ("model",)


def test_a_preset_and_a_recipe_exclude_each_other_but_for_that_of_the_papers():
    with pytest.raises(UnknotError, match="'duan2020' in that of a paper; leave out one"):
        recipe_values("quick", "beta_vae", preset="duan2020")
    assert recipe_values("paper", "beta_vae", preset="duan2020") == {}
