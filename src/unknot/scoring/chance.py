"""What a metric gives by chance, as measured on the same latents with labels of other rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from unknot.metrics.arrays import Floats
from unknot.metrics.score import Facts, Score

FEW_ROWS = 1_000  # below which chance is measured unasked
UNASKED = 10  # permutations then
OF_TRAINING = 10  # permutations of a metric that trains something, at most


@dataclass(frozen=True)
class Chance:
    """The chance level of a score.

    Attributes:
        value: what the metric gives, on average, where labels are those of other rows.
        spread: standard deviation of that between permutations; NaN of a closed form.
        p: how often permutations do as well as the labels in their places; NaN of a closed form.
        permutations: how many there were; 0 for a closed form.
    """

    value: float
    spread: float = np.nan
    p: float = np.nan
    permutations: int = 0

    @classmethod
    def measured(cls, score: float, draws: Sequence[float] | Floats, facts: Facts) -> "Chance | None":
        """That of the values that permutations gave; None if most of them gave none."""
        values = np.array([draw for draw in draws if isfinite(draw)])
        if len(values) < max(2, len(draws) // 2) or not isfinite(score):
            return None
        reached = values >= score if facts.higher_is_better else values <= score
        return cls(
            float(values.mean()),
            float(values.std(ddof=1)),
            (1 + int(reached.sum())) / (1 + len(values)),
            len(values),
        )

    @classmethod
    def by_formula(cls, score: Score, facts: Facts) -> "Chance | None":
        """That of a metric that knows its own; None of the others."""
        if isinstance(facts.chance, int | float):
            return cls(float(facts.chance))
        level = score.parts.get(facts.chance_part)
        return None if level is None else cls(float(np.nanmean(np.asarray(level, dtype=np.float64))))

    def above(self, score: float, facts: Facts) -> float | None:
        """The share of what was possible above chance; negative below it, None where there is no best value.

        >>> from unknot.metrics import METRICS
        >>> Chance(0.5).above(0.75, METRICS["mig"].facts)
        0.5
        """
        best = facts.bounds[1] if facts.higher_is_better else facts.bounds[0]
        room = best - self.value
        return (score - self.value) / room if isfinite(room) and abs(room) > 1e-9 else None

    def record(self, score: float, facts: Facts) -> dict[str, Any]:
        """As plain values, with the share above it."""
        return {**vars(self), "above": self.above(score, facts)}


def permutations(null: int | None, rows: int, cost: str) -> int:
    """How many permutations a metric gets: as many as were asked for, few if it trains; unasked if rows are few."""
    if null is None:
        return UNASKED if rows < FEW_ROWS and cost == "instant" else 0
    return {"instant": null, "seconds": min(null, OF_TRAINING), "minutes": 0}[cost]


def as_fields(record: Mapping[str, Any] | None) -> dict[str, Any]:
    """What a row of a scorecard says of a chance level, from its record; nothing without one."""
    if not record:
        return {}
    level = float(record["value"])
    text = f"{level:.3f}" if record["permutations"] else f"{level:.3g}"
    return {
        "chance": text,
        "chance_level": level,
        "above_chance": record["above"],
        "p_chance": _or_none(record["p"]),
    }


def _or_none(number: float | None) -> float | None:
    return None if number is None or not isfinite(number) else float(number)
