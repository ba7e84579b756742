"""Unknot tells people what a learned representation is worth."""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from unknot import examples, papers
    from unknot.encoders.encoding import encode
    from unknot.errors import UnknotError, UnknotWarning
    from unknot.factors import Factor, FactorSpace
    from unknot.ranking.ranking import Ranking, rank
    from unknot.representation import Representation, read_representation
    from unknot.runs.run import Run, RunSpec
    from unknot.runs.training import train
    from unknot.scoring.scoring import Scorecard, score
    from unknot.tasks.algebra.task import algebra
    from unknot.tasks.combinations.task import combinations
    from unknot.tasks.fairness.task import fairness
    from unknot.tasks.generalisation.task import generalisation
    from unknot.tasks.reasoning.task import reasoning
    from unknot.tasks.result import TaskResult
    from unknot.worlds import ArrayWorld, open_world
    from unknot.worlds.splits.combinations import combination_split
    from unknot.worlds.splits.split import Split, split

# Where each public name lives. Imported on first use, so that `import unknot` stays instant.
_HOMES = {
    "ArrayWorld": "unknot.worlds",
    "Factor": "unknot.factors",
    "FactorSpace": "unknot.factors",
    "Ranking": "unknot.ranking.ranking",
    "Representation": "unknot.representation",
    "Run": "unknot.runs.run",
    "RunSpec": "unknot.runs.run",
    "Scorecard": "unknot.scoring.scoring",
    "Split": "unknot.worlds.splits.split",
    "TaskResult": "unknot.tasks.result",
    "UnknotError": "unknot.errors",
    "UnknotWarning": "unknot.errors",
    "algebra": "unknot.tasks.algebra.task",
    "combination_split": "unknot.worlds.splits.combinations",
    "combinations": "unknot.tasks.combinations.task",
    "encode": "unknot.encoders.encoding",
    "fairness": "unknot.tasks.fairness.task",
    "generalisation": "unknot.tasks.generalisation.task",
    "open_world": "unknot.worlds",
    "rank": "unknot.ranking.ranking",
    "read_representation": "unknot.representation",
    "reasoning": "unknot.tasks.reasoning.task",
    "score": "unknot.scoring.scoring",
    "split": "unknot.worlds.splits.split",
    "train": "unknot.runs.training",
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
    "papers",
    "rank",
    "read_representation",
    "reasoning",
    "score",
    "split",
    "train",
]


def __getattr__(name: str) -> object:
    if name in ("examples", "papers"):
        return import_module(f"unknot.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'unknot' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
