"""Unknot tells people what a learned representation is worth."""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from unknot import examples
    from unknot.errors import UnknotError, UnknotWarning
    from unknot.factors import Factor, FactorSpace
    from unknot.representation import Representation, read_representation
    from unknot.scoring import Scorecard, score

# Where each public name lives. Imported on first use, so that `import unknot` stays instant.
_HOMES = {
    "Factor": "unknot.factors",
    "FactorSpace": "unknot.factors",
    "Representation": "unknot.representation",
    "Scorecard": "unknot.scoring",
    "UnknotError": "unknot.errors",
    "UnknotWarning": "unknot.errors",
    "read_representation": "unknot.representation",
    "score": "unknot.scoring",
}

__all__ = [
    "Factor",
    "FactorSpace",
    "Representation",
    "Scorecard",
    "UnknotError",
    "UnknotWarning",
    "__version__",
    "examples",
    "read_representation",
    "score",
]


def __getattr__(name: str) -> object:
    if name == "examples":
        return import_module("unknot.examples")
    if name not in _HOMES:
        raise AttributeError(f"module 'unknot' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
