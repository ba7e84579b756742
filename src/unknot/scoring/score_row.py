"""A scorecard as flat rows: the headline of each metric, and the scalars that belong beside it."""

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from unknot.metrics import METRICS
from unknot.metrics.score import Facts

NO_CHANCE: dict[str, Any] = {
    "chance": "",
    "chance_level": None,
    "above_chance": None,
    "p_chance": None,
}  # of parts
Entry = tuple[str, dict[str, Any], Mapping[str, Any]]  # full name of a metric, fields of its row, its parts


@dataclass(frozen=True)
class ScoreRow:
    """One number of a scorecard, or the reason why there is none.

    Attributes:
        metric: the variant's full name.
        part: which of its numbers; empty for the headline.
        value: None if the metric refused, or where JSON has no such number.
        measures: the question it answers; empty for a metric that is not ours.
        higher_is_better: direction.
        version: of the metric.
        seconds: that the metric took, all its parts together.
        interval: 95 % of the headline, if that was asked for.
        drift: how much the headline is above that of half of the rows, beside an interval.
        refused: why there is no score.
        chance: what a code gets that knows nothing, in few words; empty where no words tell it.
        chance_level: the same as a number, measured or by a formula; None where neither is known.
        above_chance: the share of what was possible above it; None where there is no best value.
        p_chance: how often labels of other rows do as well; None where they were not tried.
    """

    metric: str
    part: str = ""
    value: Any = None
    measures: str = ""
    higher_is_better: bool = True
    version: int = 1
    seconds: float = 0.0
    interval: Sequence[float] | None = None
    drift: float | None = None
    refused: str = ""
    chance: str = ""
    chance_level: float | None = None
    above_chance: float | None = None
    p_chance: float | None = None

    @property
    def label(self) -> str:
        """Metric and part."""
        return f"{self.metric} {self.part}".strip()


def rows_of(entries: Iterable[Entry]) -> Iterator[ScoreRow]:
    """The rows of metrics, each with its parts after it."""
    for id_, about, parts in entries:
        metric = METRICS.get(id_.partition("[")[0])
        if metric is None:
            yield ScoreRow(id_, **about)
            continue
        facts = metric.facts
        known = {
            "measures": facts.measures,
            "higher_is_better": facts.higher_is_better,
            "version": facts.version,
            "chance": _chance(facts),
        }
        headline = ScoreRow(id_, **{**known, **about})
        yield headline
        for part, measures in facts.also.items():
            if part in parts:
                yield replace(
                    headline, part=part, value=parts[part], measures=measures, interval=None, **NO_CHANCE
                )


def said_by(notes: Mapping[str, Iterable[str]], general: Container[str]) -> Iterator[str]:
    """What metrics note, each sentence once with all that say it, but for what holds for all.

    >>> list(said_by({"mig": ["few rows."], "sap": ["few rows.", "one latent."]}, ()))
    ['mig, sap: few rows.', 'sap: one latent.']
    """
    metrics: dict[str, list[str]] = {}
    for metric, texts in notes.items():
        for text in texts:
            if text not in general:
                metrics.setdefault(text, []).append(metric)
    for text, names in metrics.items():
        yield f"{', '.join(dict.fromkeys(names))}: {text}"


def _chance(facts: Facts) -> str:
    """The chance level as far as it takes few words; `unknot metrics NAME` says the rest."""
    if not facts.labels:
        return ""
    return re.split("[;:,(]", facts.chance)[0].strip() if isinstance(facts.chance, str) else f"{facts.chance:g}"
