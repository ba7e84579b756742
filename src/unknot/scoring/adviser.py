"""Which numbers of a card to distrust: what metrics assume, measured on the data, in one sentence each."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unknot.metrics import METRICS
from unknot.metrics.arrays import WIDE, Floats
from unknot.metrics.inputs import UNKNOWN, Rows
from unknot.metrics.latents import dead
from unknot.metrics.ranks import average_ranks
from unknot.metrics.score import Assumption
from unknot.metrics.verdict import FOUND, least_shares
from unknot.reading.arrays import is_sparse
from unknot.scoring.observed import BINS, FEW, Observed
from unknot.scoring.yardsticks import Yardstick, drawn

ROWS = 5_000  # are enough to look at
DEPENDENT = 0.05  # of a factor, known from another one
KEPT = 0.6  # of its score among independent factors, below which a perfect code suffers from dependent ones
GIVEN_AWAY = 0.35  # of the score of a perfect code, from which mixtures get too much
TOLD = 0.2  # score of a perfect code, below which it says little of any
CROWDED = 0.35  # of what bins of equal count find, that those of equal width miss
NOT_ORDERED = 0.5  # by which the correlation of a latent with class numbers is below that with classes
NOT_STRAIGHT = 0.45  # share of the variance of class numbers that a latent knows and no line tells
BIAS = 0.1  # of a factor, known to noise by counting
ALIKE = 0.95  # correlation of ranks of latents that are copies
COMMON = 0.5  # share of a class that is common, if it is
UNEVEN = 1.5  # times what it would be were all classes alike


@dataclass(frozen=True)
class Advice:
    """One assumption that does not hold here.

    Attributes:
        assumption: what metrics assume.
        metrics: those of the card that do.
        found: what was measured, in words.
        direction: which way the numbers are off.
        instead: what to read.
        example: of `unknot.examples.misleading`, where the same can be seen.
    """

    assumption: Assumption
    metrics: tuple[str, ...]
    found: str
    direction: str
    instead: str
    example: str

    def __str__(self) -> str:
        return (
            f"{self.found}: {', '.join(self.metrics)} {'is' if len(self.metrics) == 1 else 'are'} {self.direction}; "
            f"read {self.instead} instead (for an example: unknot.examples.misleading('{self.example}'))."
        )


@dataclass(frozen=True)
class Rule:
    """How an assumption is looked at.

    Attributes:
        look: yields what is wrong, in words, if anything is.
        direction: which way numbers are off.
        instead: what to read.
        low: whether they are too low: no matter, then, where the code deserves a low one.
        bites: whether a metric suffers, by what it gives for known codes of these factors; of those without, all do.
    """

    look: Callable[[Observed], Iterator[str]]
    direction: str
    instead: str
    low: bool = False
    bites: Callable[[Yardstick], bool] | None = None

    def touches(self, name: str, options: Mapping[str, Any], observed: Observed) -> bool:
        """Whether it is about a metric that assumes what was looked at."""
        asks = METRICS[name].facts.measures
        in_one = asks in ("compactness", "holistic")
        if self.low and asks != "explicitness" and (observed.mixed or (in_one and observed.split)):
            return False
        known = None if self.bites is None else observed.yardstick(name, options)
        return known is None or self.bites is None or self.bites(known)


def advise(
    rows: Rows, latents: Any, dependence: Floats, metrics: Sequence[tuple[str, Mapping[str, Any]]]
) -> list[Advice]:
    """What does not hold of what these metrics assume; nothing of wide codes, which have a suite of their own.

    Args:
        rows: checked labels, and latents as they came.
        latents: (n, d).
        dependence: of the factors on each other, (k, k).
        metrics: those on the card, by key, with their options.
    """
    if is_sparse(latents) or latents.shape[1] > WIDE:
        return []
    complete = np.flatnonzero((rows.factors != UNKNOWN).all(axis=1))
    if len(complete) < 2:
        return []
    few = complete[drawn(len(complete), ROWS)]
    z, codes = np.asarray(latents[few], dtype=np.float64), rows.factors[few]
    alive, vary = ~dead(z), (codes != codes[0]).any(axis=0)
    if not alive.any() or not vary.any():
        return []
    looked_at = replace(
        rows,
        latents=z,
        factors=codes[:, vary],
        sizes=rows.sizes[vary],
        given=rows.given[few],
        kept=rows.kept[vary],
        continuous=rows.continuous[vary],
    )
    observed = Observed(looked_at, alive, dependence[np.ix_(vary, vary)])
    advice = []
    for assumption, rule in RULES.items():
        own = [task for task in metrics if assumption in METRICS[task[0]].facts.assumed(task[1])]
        found = next(rule.look(observed), "") if own else ""
        touched = dict.fromkeys(name for name, options in own if found and rule.touches(name, options, observed))
        if touched:
            advice.append(Advice(assumption, tuple(touched), found, rule.direction, rule.instead, assumption))
    return advice


def _dependent(observed: Observed) -> Iterator[str]:
    most = (observed.dependence - np.eye(len(observed.dependence))).max(initial=0.0)
    if most >= DEPENDENT:
        yield f"factors depend on each other (up to {most:.2f})"


def _unordered(observed: Observed) -> Iterator[str]:
    """Factors that a latent tells by its values, while the numbers of their classes do not follow it."""
    codes, z = observed.rows.factors, _standardised(observed)
    apart = []
    for j, size in enumerate(observed.rows.sizes):
        numbers = codes[:, j] - codes[:, j].mean()
        linear = (z.T @ numbers) ** 2 / len(z) / max((numbers**2).sum(), 1e-300)
        explained = _explained(z, observed, j)
        most, straight = (np.sqrt(max(0.0, part.max(initial=0.0))) for part in (explained, linear))
        if size > 2 and most - straight > NOT_ORDERED:
            apart.append(observed.names[j])
    if apart:
        yield f"latents follow {', '.join(apart[:3])}, but not in the order and at the distances of the class numbers"


def _bent(observed: Observed) -> Iterator[str]:
    """Latents that tell classes, while no line through all of them gives the numbers of the classes."""
    z = _standardised(observed)
    numbers = observed.rows.factors - observed.rows.factors.mean(axis=0)
    weights = np.linalg.lstsq(z, numbers, rcond=None)[0]
    told = 1 - ((numbers - z @ weights) ** 2).sum(axis=0) / np.maximum((numbers**2).sum(axis=0), 1e-300)
    known = np.array([_explained(z, observed, j).max(initial=0.0) for j in range(len(told))])
    if (lost := float(np.mean(known - told))) > NOT_STRAIGHT:
        yield f"latents are bent: straight lines miss {lost:.2f} of what they know about the class numbers"


def _standardised(observed: Observed) -> Floats:
    z = observed.rows.latents[:, observed.alive]
    standardised: Floats = (z - z.mean(axis=0)) / np.maximum(z.std(axis=0), 1e-300)
    return standardised


def _explained(z: Floats, observed: Observed, j: int) -> Floats:
    """Share of the variance of each latent that the classes of a factor explain, less what they do of noise."""
    codes, size = observed.rows.factors[:, j], int(observed.rows.sizes[j])
    counts = np.bincount(codes, minlength=size)
    sums = np.stack([np.bincount(codes, weights=column, minlength=size) for column in z.T], axis=1)
    explained: Floats = (sums**2 / np.maximum(counts, 1)[:, None]).sum(axis=0) / len(z) - (size - 1) / len(z)
    return explained


def _uneven(observed: Observed) -> Iterator[str]:
    """Latents most of whose values lie in few of 20 bins of equal width, so that these miss what they know."""
    found, seen = (float(shares.max(axis=0).mean()) for shares in (observed.by_count, observed.by_width))
    if found > FOUND and (lost := 1 - seen / found) > CROWDED:
        yield f"the values of latents crowd into a few bins of equal width, which miss {lost:.2f} of what they know"


def _idle(observed: Observed) -> Iterator[str]:
    least = least_shares(observed.rows, len(observed.alive))
    known = (observed.by_width >= least).any(axis=1)
    idle, alive = int((observed.alive & ~known).sum()), int(observed.alive.sum())
    if idle > FEW * max(1, alive):
        yield f"{idle} of {alive} latents know no factor"


def _few_rows(observed: Observed) -> Iterator[str]:
    bias = (BINS - 1) * (observed.rows.sizes - 1) / (2 * len(observed.rows.factors)) / observed.entropy
    if (most := float(bias.max())) > BIAS:
        name = observed.names[int(bias.argmax())]
        yield f"there are so few rows that noise seems to know {min(most, 1.0):.2f} of {name}"


def _mixed(observed: Observed) -> Iterator[str]:
    if observed.mixed:
        several, telling = observed.mixing
        yield f"{several} of the {telling} latents that know much of a factor mix several"


def _split(observed: Observed) -> Iterator[str]:
    if parts := observed.split:
        yield f"{', '.join(parts[:3])} {'is' if len(parts) == 1 else 'are'} spread over several latents"


def _middle_classes(observed: Observed) -> Iterator[str]:
    if observed.rows.sizes.max() > 2:
        yield "one threshold on a latent cannot separate classes in the middle, not even in a perfect code"


def _common(observed: Observed) -> Iterator[str]:
    shares = np.array([np.bincount(column).max() / len(column) for column in observed.rows.factors.T])
    shares[shares * observed.rows.sizes < UNEVEN] = 0
    if shares.max() > COMMON:
        yield f"{shares.max():.0%} of the rows are in one class of {observed.names[int(shares.argmax())]}"


def _few_latents(observed: Observed) -> Iterator[str]:
    if observed.alive.sum() < len(observed.names):
        yield f"{int(observed.alive.sum())} latents cannot hold {len(observed.names)} factors, one in each"


def _repeated(observed: Observed) -> Iterator[str]:
    telling = observed.rows.latents[:, observed.alive & observed.tells.any(axis=1)]
    if telling.shape[1] > 1:
        alike = np.abs(np.corrcoef(average_ranks(telling), rowvar=False)) - np.eye(telling.shape[1])
        if alike.max() > ALIKE:
            yield "latents repeat each other"


RULES: dict[Assumption, Rule] = {
    "independent factors": Rule(
        _dependent,
        "too low for codes with a latent of its own for each factor",
        "conditional_mig",
        low=True,
        bites=lambda known: known.kept < KEPT,
    ),
    "ordered classes": Rule(_unordered, "too low", "snc, or linear_accuracy", low=True),
    "straight latents": Rule(_bent, "too low", "explicitness, or linear_accuracy", low=True),
    "classes at the ends": Rule(
        _middle_classes,
        "low whatever the code",
        "snc, or sap[regression]",
        low=True,
        bites=lambda known: known.perfect < TOLD,
    ),
    "evenly spread latents": Rule(_uneven, "too low", "snc, or mig[neighbours=3]", low=True),
    "informed latents": Rule(
        _idle, "averages over latents, so noise decides them", "med or dci (which weigh latents)"
    ),
    "unmixed latents": Rule(
        _mixed, "too high", "mig or conditional_mig", bites=lambda known: known.given_away > GIVEN_AWAY
    ),
    "one latent for each factor": Rule(
        _split, "too high (mig_sup: too low, since each latent knows a part)", "mig or conditional_mig"
    ),
    "many rows": Rule(
        _few_rows,
        "pulled towards those of noise",
        "mig[auto,corrected], and the chance level (--null 200)",
        low=True,
    ),
    "balanced classes": Rule(_common, "high without knowing anything", "the adjusted accuracy, or explicitness"),
    "as many latents as factors": Rule(_few_latents, "0 for the factors left over", "linear_accuracy"),
    "latents that differ": Rule(
        _repeated, "low by design, however clearly factors are kept apart", "mig_sup, or med"
    ),
}
