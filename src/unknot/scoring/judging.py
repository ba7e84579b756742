"""What differences between scores are worth, told from scores on parts of the rows, and what is said beside them."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from unknot.metrics import METRICS
from unknot.metrics.arrays import Floats
from unknot.metrics.score import identity, parse_identity
from unknot.statistics.differences import Difference, Measured, differences
from unknot.statistics.scatter import untold as why_untold


class Scored(Protocol):
    """A score with those of parts of its rows: a `Parted`, or the `KeptScore` of a baseline."""

    @property
    def value(self) -> float:
        """Of all rows."""

    @property
    def draws(self) -> Floats:
        """Of their parts."""

    @property
    def units(self) -> int:
        """How many rows, or groups of rows, were parted."""


def judged(
    scores: Mapping[str, Mapping[str, Sequence[Scored]]], names: Sequence[str], margin: float = 0.0
) -> tuple[Difference, ...]:
    """Differences of all pairs of names, from metric -> name -> a score for each seed."""
    metrics = {id_: parse_identity(id_, METRICS) for id_ in scores}
    scatters = {id_: METRICS[name].facts.scattering(options) for id_, (name, options) in metrics.items()}
    measured = {
        id_: {
            name: Measured(
                np.array([each.value for each in own]),
                np.stack([each.draws for each in own]),
                units=min(each.units for each in own),
                scatters=scatters[id_],
            )
            for name, own in of_each.items()
        }
        for id_, of_each in scores.items()
    }
    higher = {id_: METRICS[name].facts.higher_is_better for id_, (name, _) in metrics.items()}
    return tuple(differences(measured, names, higher, margin))


def untold(found: Sequence[Difference], scores: Mapping[str, Mapping[str, Sequence[Scored]]]) -> list[str]:
    """Which metrics have differences without interval and p, and why."""
    why: dict[str, list[str]] = {}
    for each in found:
        if np.isnan(each.p):
            units = min(own.units for name in (each.first, each.second) for own in scores[each.metric][name])
            why.setdefault(why_untold(units), []).append(each.metric)
    return [f"no interval and no p of {', '.join(dict.fromkeys(ids))}: {text}." for text, ids in why.items()]


def doubts(found: Sequence[Difference]) -> list[str]:
    """Which intervals and p were not what they say in simulations, which were of metrics as they are by default."""
    told = dict.fromkeys(each.metric for each in found if not np.isnan(each.p))
    of_kind: dict[str, list[str]] = {}
    for id_ in told:
        metric = METRICS[id_.partition("[")[0]]
        doubt = metric.facts.doubt
        if doubt and id_ == identity(metric):
            of_kind.setdefault(doubt, []).append(id_)
    return [f"interval and p of {', '.join(ids)}: {doubt}." for doubt, ids in of_kind.items()]
