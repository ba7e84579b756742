"""Unknot tells people what a learned representation is worth."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from unknot import examples, papers
    from unknot.audits.audit import Audit, AuditOptions, audit
    from unknot.encoders.encoding import encode
    from unknot.errors import UnknotError, UnknotWarning
    from unknot.factors import Factor, FactorSpace
    from unknot.processes.trust import trust
    from unknot.ranking.ranking import Ranking, rank
    from unknot.representation import Representation, from_table, read_representation
    from unknot.runs.run import Run
    from unknot.runs.spec import RunSpec
    from unknot.runs.training import train
    from unknot.scoring.comparison import Comparison, compare
    from unknot.scoring.dictionaries.card import DictionaryCard, dictionary_card
    from unknot.scoring.scorecard import Scorecard
    from unknot.scoring.scoring import score
    from unknot.tasks.result import TaskResult
    from unknot.worlds import ArrayWorld, open_world
    from unknot.worlds.splits.combinations import combination_split
    from unknot.worlds.splits.split import Split, split

# Where each public name lives; tasks are in `TASKS`. Imported on first use, so that `import unknot` stays instant.
_HOMES = {
    "ArrayWorld": "unknot.worlds",
    "Audit": "unknot.audits.audit",
    "AuditOptions": "unknot.audits.audit",
    "DictionaryCard": "unknot.scoring.dictionaries.card",
    "Factor": "unknot.factors",
    "FactorSpace": "unknot.factors",
    "Ranking": "unknot.ranking.ranking",
    "Representation": "unknot.representation",
    "Run": "unknot.runs.run",
    "RunSpec": "unknot.runs.spec",
    "Scorecard": "unknot.scoring.scorecard",
    "Split": "unknot.worlds.splits.split",
    "TaskResult": "unknot.tasks.result",
    "UnknotError": "unknot.errors",
    "UnknotWarning": "unknot.errors",
    "Comparison": "unknot.scoring.comparison",
    "audit": "unknot.audits.audit",
    "combination_split": "unknot.worlds.splits.combinations",
    "dictionary_card": "unknot.scoring.dictionaries.card",
    "compare": "unknot.scoring.comparison",
    "encode": "unknot.encoders.encoding",
    "from_table": "unknot.representation",
    "open_world": "unknot.worlds",
    "rank": "unknot.ranking.ranking",
    "read_representation": "unknot.representation",
    "score": "unknot.scoring.scoring",
    "split": "unknot.worlds.splits.split",
    "train": "unknot.runs.training",
    "trust": "unknot.processes.trust",
}

__all__ = [
    "ArrayWorld",
    "Audit",
    "AuditOptions",
    "Comparison",
    "DictionaryCard",
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
    "audit",
    "combination_split",
    "compare",
    "dictionary_card",
    "encode",
    "examples",
    "from_table",
    "open_world",
    "papers",
    "rank",
    "read_representation",
    "score",
    "split",
    "train",
    "trust",
]


def __getattr__(name: str) -> Any:
    if name in ("examples", "papers"):
        return import_module(f"unknot.{name}")
    if name in _HOMES:
        with import_module("unknot.errors").extras(f"unknot.{name}"):
            return getattr(import_module(_HOMES[name]), name)
    if not name.startswith("_") and name in (tasks := import_module("unknot.tasks").TASKS):
        return tasks[name].function
    raise AttributeError(f"module 'unknot' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*__all__, *import_module("unknot.tasks").TASKS])
