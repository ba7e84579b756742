"""What people ask of each factor: can it be read off, is it in one latent, and what is mixed into that?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import Any

from unknot.metrics.verdict import CLEARLY, PARTLY

# Which part of which metric tells what a linear and a non-linear reader make of each factor; the first there is counts.
LINEAR = (("linear_accuracy", "per_factor"), ("nk", "linear_per_factor"))
MLP = (("mlp_accuracy", "per_factor"), ("nk", "mlp_per_factor"))
CHANCE = (("linear_accuracy", "chance"), ("mlp_accuracy", "chance"), ("nk", "chance"))
R2 = (("r2", "per_factor"),)
WELL, SOMEWHAT = 0.8, 0.1  # of what chance leaves
VERBS = {False: {"is": "is"}, True: {"is": "are"}}  # of one, of several


@dataclass(frozen=True)
class Answer:
    """One factor. A number that no metric gave is NaN.

    Attributes:
        factor: its name.
        linear: accuracy of a linear reader on held-out rows.
        mlp: accuracy of a small network there.
        chance: what guessing classes as often as they come gives them.
        r2: share of the variance that a linear reader explains, of class numbers where there are classes.
        share: of what is to be known of the factor, how much its best latent knows.
        exclusivity: how much of what that latent knows is about this factor.
        where: which latent, and what else it carries, in words.
    """

    factor: str
    linear: float
    mlp: float
    chance: float
    r2: float
    share: float
    exclusivity: float
    where: str

    @property
    def read_off(self) -> float:
        """How much of what chance leaves is read off, by the better of both readers; NaN where none was asked."""
        accuracies = [value for value in (self.linear, self.mlp) if isfinite(value)]
        return (max(accuracies) - self.chance) / (1 - self.chance) if accuracies and self.chance < 1 else nan


def answers(verdicts: Sequence[Mapping[str, Any]], metrics: Mapping[str, Mapping[str, Any]]) -> list[Answer]:
    """One for each factor that varies.

    Args:
        verdicts: of the factors, as records.
        metrics: full name -> parts of each score.
    """
    parts = {id_.partition("[")[0]: parts for id_, parts in metrics.items()}
    linear, mlp, chance, r2 = (_by_factor(parts, places) for places in (LINEAR, MLP, CHANCE, R2))
    return [
        Answer(
            verdict["factor"],
            linear=linear.get(verdict["factor"], nan),
            mlp=mlp.get(verdict["factor"], nan),
            chance=chance.get(verdict["factor"], nan),
            r2=r2.get(verdict["factor"], nan),
            share=verdict["share"] or 0.0,
            exclusivity=verdict.get("exclusivity") or 0.0,
            where=verdict["text"],
        )
        for verdict in verdicts
    ]


def _by_factor(parts: Mapping[str, Mapping[str, Any]], places: Sequence[tuple[str, str]]) -> dict[str, float]:
    for metric, part in places:
        values = parts.get(metric, {}).get(part)
        if values is not None:
            pairs = zip(parts[metric]["factor_names"], values, strict=False)
            return {name: nan if value is None else float(value) for name, value in pairs}
    return {}


def in_a_sentence(found: Sequence[Answer]) -> str:
    """What the answers come to; empty without any.

    >>> own = Answer("x", 0.97, 0.99, 0.1, 0.9, share=0.9, exclusivity=0.8, where="z0 clearly, alone")
    >>> lost = Answer("y", 0.11, 0.12, 0.1, 0.0, share=0.0, exclusivity=0.0, where="in no single latent")
    >>> in_a_sentence([own, lost])
    'x can be read off well, y not at all. x is captured by a single latent, y is not.'
    >>> in_a_sentence([lost])
    'No factor can be read off. No factor is captured by a single latent.'
    """
    readable = [(answer.factor, answer.read_off) for answer in found if isfinite(answer.read_off)]
    single = [(answer.factor, answer.share) for answer in found]
    clauses = (
        _clause(readable, "can be read off{}", {" well": WELL, " in part": SOMEWHAT}, "not at all"),
        _clause(single, "{is} captured{} by a single latent", {"": CLEARLY, " in part": PARTLY}, "{is} not"),
    )
    return " ".join(clause for clause in clauses if clause)


def _clause(values: Sequence[tuple[str, float]], what: str, levels: Mapping[str, float], not_so: str) -> str:
    """Which factors reach which level; `what` has a place for the verb of one or many and one for the level."""
    if not values:
        return ""
    groups: dict[str, list[str]] = {how: [] for how in (*levels, not_so)}
    for name, value in values:
        groups[next((how for how, level in levels.items() if value >= level), not_so)].append(name)
    if not any(groups[how] for how in levels):
        return f"No factor {what.format('', **VERBS[False])}."
    texts: list[str] = []
    for how, names in groups.items():
        if names:
            verb = VERBS[len(names) > 1]
            said = what.format(how, **verb) if not texts else how.strip().format(**verb)
            texts.append(f"{listed(names)} {said}")
    return f"{', '.join(texts)}."


def listed(words: Sequence[str]) -> str:
    """Words as a sentence lists them; of many, the first.

    >>> listed(["x"]), listed(["x", "y", "z"]), listed(list("abcdefgh"))
    ('x', 'x, y and z', 'a, b, c, d, e and 3 others')
    """
    words = [*words[:5], f"{len(words) - 5} others"] if len(words) > 6 else list(words)
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
