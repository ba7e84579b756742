"""Unknot tells people what a learned representation is worth."""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from unknot.errors import UnknotError, UnknotWarning
    from unknot.factors import Factor, FactorSpace

# Where each public name lives. Imported on first use, so that `import unknot` stays instant.
_HOMES = {
    "Factor": "unknot.factors",
    "FactorSpace": "unknot.factors",
    "UnknotError": "unknot.errors",
    "UnknotWarning": "unknot.errors",
}

__all__ = ["Factor", "FactorSpace", "UnknotError", "UnknotWarning", "__version__"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'unknot' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
