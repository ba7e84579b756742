"""Recipes: named ways to train a model that are known to work, as plain values.

A recipe is a setting of size, network, optimiser, schedule and precision. The papers' own is `paper`, which is what a
run has without a recipe. What is typed, or stands in a study's file, goes before a recipe.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from unknot.errors import UnknotError, unknown
from unknot.runs.spec import RunSpec

Value = float | int | str


@dataclass(frozen=True)
class Recipe:
    """A way to train.

    Attributes:
        about: what it is, and what it costs.
        fields: field of a run -> value.
        models: the models it is made for -> their options, and fields in which they differ; empty: any model.
    """

    about: str
    fields: Mapping[str, Value] = field(default_factory=dict)
    models: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)


_QUICK: dict[str, Value] = {
    "architecture": "separable",
    "image_size": 32,
    "lr": 2e-3,
    "schedule": "cosine",
    "pressure": "24..2",
    "steps": 6000,
}
_LONG: dict[str, Value] = {**_QUICK, "architecture": "centred", "pressure": "0.1..1", "steps": 12_000}
_FAMILY: dict[str, dict[str, Value]] = {
    "vae": {},
    "beta_vae": {"beta": 1.0},
    "beta_tc_vae": {"beta": 1.5},
    "factor_vae": {"gamma": 0.5, "discriminator_layers": 1, "discriminator_lr": 1e-3, "same_batch": True},
    "dip_vae_i": {"lambda_od": 0.5, "lambda_d_factor": 0.0},
    "dip_vae_ii": {"lambda_od": 0.5},
    "cci_vae": {"pressure": "", "c_max": 15.0, "gamma": 30.0, "c_steps": 4200},
    "ada_gvae": {"beta": 1.0},
    "ada_ml_vae": {"beta": 1.0},
    "slow_vae": {"beta": 1.0, "gamma": 0.5},
}
_OF_LONG = {model: _FAMILY[model] for model in ("vae", "beta_vae", "beta_tc_vae")}
RECIPES: dict[str, Recipe] = {
    "paper": Recipe("The papers' own settings; the default. Hours, for all their steps."),
    "quick": Recipe(
        "A dense encoder at 32 pixels, a decoder separable in rows and columns, and a pressure that falls: less than a "
        "minute of one core. The decoder builds in the two axes of the picture.",
        _QUICK,
        _FAMILY,
    ),
    "quick_dense": Recipe(
        "The same with a dense decoder, which builds nothing in.", {**_QUICK, "architecture": "dense256"}, _FAMILY
    ),
    "long": Recipe(
        "A network that looks at one object in a frame of its own, and draws it there; the pressure rises: shape and "
        "orientation too, in two minutes of one core. Three latents are x, y and size by construction.",
        _LONG,
        _OF_LONG,
    ),
}


def recipe_values(name: str, model: str, *, preset: str = "") -> dict[str, Value]:
    """The fields and options of a run of a model by a recipe.

    Args:
        name: of the recipe.
        model: that is trained by it.
        preset: a published setting that was asked for as well, which only `paper` leaves alone.

    >>> recipe_values("quick", "beta_tc_vae")["pressure"], recipe_values("paper", "beta_tc_vae")
    ('24..2', {})
    """
    if not isinstance(name, str) or name not in RECIPES:
        raise unknown("recipe", str(name), RECIPES, field="recipe")
    recipe = RECIPES[name]
    if recipe.models and model not in recipe.models:
        if ":" not in model:  # a word misspelt, rather than a model of one's own
            from unknot.models import find

            find(model)
        raise UnknotError(
            f"recipe '{name}': is not made for {model}; it is for {', '.join(recipe.models)}. Leave it out, or use "
            "'paper'.",
            field="recipe",
        )
    if recipe.fields and preset:
        raise UnknotError(
            f"recipe '{name}': trains in its own way, and the preset '{preset}' in that of a paper; leave out one.",
            field="recipe",
        )
    return {**recipe.fields, **recipe.models.get(model, {})}


def recipe_spec(name: str, **fields: Any) -> RunSpec:
    """The spec of a run by a recipe; fields and options that are given go before it.

    >>> spec = recipe_spec("quick", world="dsprites_rendered", model="vae", steps=100)
    >>> spec.architecture, spec.pressure, spec.steps
    ('separable', '24..2', 100)
    """
    model = fields.get("model", "beta_vae")
    if not isinstance(fields.get("options", {}), Mapping) or not isinstance(model, str):
        return RunSpec(**fields)  # which says so
    return RunSpec(**filled(fields, recipe_values(name, model)))


def filled(fields: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a run, with values of fields and options where it has none."""
    of_run = {name: value for name, value in values.items() if name in RunSpec.model_fields}
    of_model = {name: value for name, value in values.items() if name not in of_run}
    return {**of_run, **fields, "options": {**of_model, **fields.get("options", {})}}
