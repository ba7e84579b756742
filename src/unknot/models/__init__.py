"""Things that learn a representation, one file per published model."""

import inspect
from collections.abc import Mapping
from typing import Any

from torch import nn

from unknot.errors import UnknotError, unknown
from unknot.models.ada_gvae import AdaGVAE
from unknot.models.ada_ml_vae import AdaMLVAE
from unknot.models.autoencoder import Autoencoder
from unknot.models.beta_tc_vae import BetaTCVAE
from unknot.models.beta_vae import VAE, BetaVAE
from unknot.models.bit_resnet import BiTResNet50, BiTResNet101
from unknot.models.cci_vae import CCIVAE
from unknot.models.cnn import CNN
from unknot.models.coord_conv import CoordConv
from unknot.models.densenet import DenseNet121
from unknot.models.dip_vae import DIPVAEI, DIPVAEII
from unknot.models.factor_vae import FactorVAE
from unknot.models.iodine import IODINE
from unknot.models.mlp import MLP
from unknot.models.moco_v2 import MoCoV2
from unknot.models.model import Model, Preset, Setting, adapted
from unknot.models.monet import MONet
from unknot.models.mtd import MTD
from unknot.models.parted_vae import PartedVAE, PartedVAESS
from unknot.models.pcl import PCL
from unknot.models.rot_eq import RotEQ, RotEQBig
from unknot.models.set_encoder import SetEncoder
from unknot.models.slot_attention import SlotAttention
from unknot.models.slow_vae import SlowVAE
from unknot.models.spatial_transformer import SpatialTransformer
from unknot.models.weak_de import WeakDE
from unknot.papers import renamed
from unknot.processes.trust import imported

MODELS: dict[str, type[Model]] = {
    "vae": VAE,
    "beta_vae": BetaVAE,
    "cci_vae": CCIVAE,
    "factor_vae": FactorVAE,
    "beta_tc_vae": BetaTCVAE,
    "dip_vae_i": DIPVAEI,
    "dip_vae_ii": DIPVAEII,
    "autoencoder": Autoencoder,
    "parted_vae": PartedVAE,
    "parted_vae_ss": PartedVAESS,
    "ada_gvae": AdaGVAE,
    "ada_ml_vae": AdaMLVAE,
    "slow_vae": SlowVAE,
    "pcl": PCL,
    "weak_de": WeakDE,
    "mtd": MTD,
    "mlp": MLP,
    "cnn": CNN,
    "coord_conv": CoordConv,
    "set_encoder": SetEncoder,
    "rot_eq": RotEQ,
    "rot_eq_big": RotEQBig,
    "spatial_transformer": SpatialTransformer,
    "bit_resnet50": BiTResNet50,
    "bit_resnet101": BiTResNet101,
    "densenet121": DenseNet121,
    "slot_attention": SlotAttention,
    "iodine": IODINE,
    "monet": MONet,
    "moco_v2": MoCoV2,
}


def find(name: str) -> type[Model]:
    """The class of a model by its name in MODELS, or by `package.module:Class` for anyone's own."""
    if name in MODELS:
        return MODELS[name]
    if ":" not in name:
        raise unknown("model", name, MODELS, field="model")
    own = imported(name, "model")
    if not (isinstance(own, type) and issubclass(own, nn.Module)):
        raise UnknotError(f"model '{name}': is not a class of torch.nn.Module.", field="model")
    kind = adapted(own)
    if kind.loss is Model.loss or kind.represent is Model.represent:
        raise UnknotError(
            f"model '{name}': needs methods loss(batch, step, generator) and represent(images).", field="model"
        )
    return kind


def find_preset(model: str, name: str) -> Preset:
    """A published setting of a model by its name."""
    presets = find(model).presets
    if name in presets:
        return presets[name]
    if (new := renamed(name)) in presets:
        raise UnknotError(f"preset '{name}' of {model} is called '{new}' now.", field="preset", value=name)
    raise unknown(f"preset of {model}", name, presets, field="preset")


def options_of(model: type[Model]) -> dict[str, inspect.Parameter]:
    """The options of a model: the keyword-only arguments of its class, and those of the one it hands `**extras` to.

    Or the fields of its `option_set`.
    """
    if model.option_set is not None:
        return dict(inspect.signature(model.option_set).parameters)
    options: dict[str, inspect.Parameter] = {}
    for kind in model.__mro__:
        parameters = inspect.signature(kind).parameters.values()
        for parameter in parameters:
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
                options.setdefault(parameter.name, parameter)
        if all(parameter.kind is not inspect.Parameter.VAR_KEYWORD for parameter in parameters):
            break
    return options


def build(name: str, setting: Setting, options: Mapping[str, Any]) -> tuple[Model, dict[str, Any]]:
    """A model with its options checked, and all options that a run records, with defaults filled in."""
    kind = find(name)
    known = options_of(kind)
    full = {option: parameter.default for option, parameter in known.items()}
    for option, value in options.items():
        if option not in known:
            raise unknown(f"option of {name}", option, known, field=option)
        full[option] = _like(known[option].default, value, name, option)
    return kind(setting, **full), recorded(kind, full)


def recorded(model: type[Model], options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that a run of a model records: all, but for later ones at their default."""
    known = options_of(model)
    return {name: v for name, v in options.items() if name not in model.later or v != known[name].default}


def _like(default: Any, value: Any, model: str, option: str) -> Any:
    """The value in the type of the default, or an error."""
    if default is None or default is inspect.Parameter.empty:
        return value
    if isinstance(value, bool) == isinstance(default, bool):  # True is an int in Python, and no number here
        if isinstance(value, type(default)):
            return value
        if isinstance(default, float) and isinstance(value, int):
            return float(value)
    kind = type(default).__name__
    raise UnknotError(who=model, field=option, value=value, expected=f"{kind}, such as {default!r}")
