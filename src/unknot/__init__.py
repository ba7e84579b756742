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
    from unknot.tasks.algebra import algebra
    from unknot.tasks.combinations import combinations
    from unknot.tasks.fairness import fairness
    from unknot.tasks.generalisation import generalisation
    from unknot.tasks.reasoning import reasoning
    from unknot.tasks.result import TaskResult
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
    "TaskResult": "unknot.tasks.result",
    "UnknotError": "unknot.errors",
    "UnknotWarning": "unknot.errors",
    "algebra": "unknot.tasks.algebra",
    "combination_split": "unknot.worlds.combinations",
    "combinations": "unknot.tasks.combinations",
    "encode": "unknot.encoding",
    "fairness": "unknot.tasks.fairness",
    "generalisation": "unknot.tasks.generalisation",
    "open_world": "unknot.worlds",
    "rank": "unknot.ranking",
    "read_representation": "unknot.representation",
    "reasoning": "unknot.tasks.reasoning",
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
    "TaskResult",
    "UnknotError",
    "UnknotWarning",
    "__version__",
    "algebra",
    "combination_split",
    "combinations",
    "encode",
    "examples",
    "fairness",
    "generalisation",
    "open_world",
    "rank",
    "read_representation",
    "reasoning",
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
