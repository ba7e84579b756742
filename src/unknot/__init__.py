"""Unknot tells people what a learned representation is worth."""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from unknot import examples
    from unknot.encoding import encode
    from unknot.errors import UnknotError, UnknotWarning
    from unknot.factors import Factor, FactorSpace
    from unknot.ranking import Ranking, rank
    from unknot.representation import Representation, read_representation
    from unknot.runs import Run, RunSpec
    from unknot.scoring import Scorecard, score
    from unknot.training import train
    from unknot.worlds import ArrayWorld, open_world
    from unknot.worlds.combinations import combination_split
    from unknot.worlds.splits import Split, split

# Where each public name lives. Imported on first use, so that `import unknot` stays instant.
_HOMES = {
    "ArrayWorld": "unknot.worlds",
    "Factor": "unknot.factors",
    "FactorSpace": "unknot.factors",
    "Ranking": "unknot.ranking",
    "Representation": "unknot.representation",
    "Run": "unknot.runs",
    "RunSpec": "unknot.runs",
    "Scorecard": "unknot.scoring",
    "Split": "unknot.worlds.splits",
    "UnknotError": "unknot.errors",
    "UnknotWarning": "unknot.errors",
    "combination_split": "unknot.worlds.combinations",
    "encode": "unknot.encoding",
    "open_world": "unknot.worlds",
    "rank": "unknot.ranking",
    "read_representation": "unknot.representation",
    "score": "unknot.scoring",
    "split": "unknot.worlds.splits",
    "train": "unknot.training",
}

__all__ = [
    "ArrayWorld",
    "Factor",
    "FactorSpace",
    "Ranking",
    "Representation",
    "Run",
    "RunSpec",
    "Scorecard",
    "Split",
    "UnknotError",
    "UnknotWarning",
    "__version__",
    "combination_split",
    "encode",
    "examples",
    "open_world",
    "rank",
    "read_representation",
    "score",
    "split",
    "train",
]


def __getattr__(name: str) -> object:
    if name == "examples":
        return import_module("unknot.examples")
    if name not in _HOMES:
        raise AttributeError(f"module 'unknot' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
