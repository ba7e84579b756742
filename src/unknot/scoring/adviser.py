"""Which numbers of a card to distrust: what metrics assume, measured on the data, in one sentence each."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from unknot.metrics import METRICS
from unknot.metrics.arrays import WIDE, Bools, Floats
from unknot.metrics.conditional_mig import given_others
from unknot.metrics.inputs import UNKNOWN, Rows
from unknot.metrics.kernels.columns import binned_information
from unknot.metrics.kernels.information import factor_entropy, share
from unknot.metrics.latents import dead
from unknot.metrics.ranks import average_ranks
from unknot.metrics.score import Assumption
from unknot.metrics.verdict import least_shares
from unknot.reading.arrays import is_sparse

ROWS = 5_000  # are enough to look at
BINS = 20
DEPENDENT = 0.05  # of a factor, known from another one
CROWDED = 0.2  # share of a factor that bins of equal width miss and those of equal count find
NOT_LINEAR = 0.5  # by which the correlation of a latent with class numbers is below that with classes
MOST_CLASSES = 500  # of all factors together, for which an additive model takes no time
TELLING = 0.3  # share of what the other factors leave of a latent, from which it tells of a factor
IDLE = 0.25  # of the latents
BIAS = 0.1  # of a factor, known to noise by counting
ALIKE = 0.95  # correlation of ranks of latents that are copies
COMMON = 0.5  # share of a class that is common


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
            f"read {self.instead} instead (unknot.examples.misleading('{self.example}'))."
        )


@dataclass(frozen=True)
class _Seen:
    """What is looked at: rows that have all labels, not too many."""

    rows: Rows
    alive: Bools
    entropy: Floats  # (k,) of the factors
    shares: Floats  # (d, k) of the entropy, in bins of equal width, corrected
    dependence: Floats

    @property
    def names(self) -> list[str]:
        return [self.rows.names[j] for j in self.rows.kept]

    @cached_property
    def tells(self) -> Bools:
        """Which latent tells of which factor (d, k); unless classes are many, beyond what other factors tell of it."""
        told = given_others(self.rows) if self.rows.sizes.sum() <= MOST_CLASSES else self.shares
        tells: Bools = told > TELLING
        return tells


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
    step = -(-len(latents) // ROWS)
    there = (rows.factors[::step] != UNKNOWN).all(axis=1)
    z, codes = np.asarray(latents[::step][there], dtype=np.float64), rows.factors[::step][there]
    alive = ~dead(z)
    if len(z) < 2 or not alive.any() or not (codes != codes[0]).any(axis=0).all():
        return []
    few = replace(rows, latents=z, factors=codes, given=rows.given[::step][there])
    entropy = factor_entropy(codes, rows.sizes)
    information = binned_information(z, codes, rows.sizes, BINS, correct=True).mutual
    seen = _Seen(few, alive, entropy, share(information, entropy), dependence)
    advice = []
    for assumption, (look, direction, instead) in RULES.items():
        own = [name for name, options in metrics if assumption in METRICS[name].facts.assumed(options)]
        touched = tuple(dict.fromkeys(own))
        found = next(look(seen), "") if touched else ""
        if found:
            advice.append(Advice(assumption, touched, found, direction, instead, assumption))
    return advice


def _dependent(seen: _Seen) -> Iterator[str]:
    most = (seen.dependence - np.eye(len(seen.dependence))).max(initial=0.0)
    if most >= DEPENDENT:
        yield f"factors depend on each other (up to {most:.2f})"


def _unordered(seen: _Seen) -> Iterator[str]:
    """Factors that a latent tells by its values, while the numbers of their classes do not follow it."""
    codes, z = seen.rows.factors, seen.rows.latents[:, seen.alive]
    z = (z - z.mean(axis=0)) / np.maximum(z.std(axis=0), 1e-300)
    apart = []
    for j, size in enumerate(seen.rows.sizes):
        counts = np.bincount(codes[:, j], minlength=size)
        sums = np.stack([np.bincount(codes[:, j], weights=column, minlength=size) for column in z.T], axis=1)
        explained = (sums**2 / np.maximum(counts, 1)[:, None]).sum(axis=0) / len(z)
        explained -= (size - 1) / len(z)  # what classes explain of noise
        numbers = codes[:, j] - codes[:, j].mean()
        linear = (z.T @ numbers) ** 2 / len(z) / max((numbers**2).sum(), 1e-300)
        most, straight = (np.sqrt(max(0.0, part.max(initial=0.0))) for part in (explained, linear))
        if size > 2 and most - straight > NOT_LINEAR:
            apart.append(seen.names[j])
    if apart:
        yield f"latents follow {', '.join(apart[:3])}, but not in the order and at the distances of the class numbers"


def _uneven(seen: _Seen) -> Iterator[str]:
    """Latents most of whose values lie in few of 20 bins of equal width, so that these miss what they know."""
    ranks = average_ranks(seen.rows.latents)
    by_rank = binned_information(ranks, seen.rows.factors, seen.rows.sizes, BINS, correct=True).mutual
    lost = (share(by_rank, seen.entropy) - seen.shares).max(initial=0.0)
    if lost > CROWDED:
        yield f"values of latents crowd in few bins of equal width, which miss up to {lost:.2f} of a factor"


def _idle(seen: _Seen) -> Iterator[str]:
    least = least_shares(seen.rows, len(seen.alive))
    known = (seen.shares >= least).any(axis=1)
    idle = int((seen.alive & ~known).sum())
    if idle > IDLE * max(1, int(seen.alive.sum())):
        yield f"{idle} of {int(seen.alive.sum())} latents know no factor"


def _few_rows(seen: _Seen) -> Iterator[str]:
    bias = (BINS - 1) * (seen.rows.sizes - 1) / (2 * len(seen.rows.factors)) / seen.entropy
    if (most := float(bias.max())) > BIAS:
        yield f"rows are few, so that noise seems to know {min(most, 1.0):.2f} of {seen.names[int(bias.argmax())]}"


def _mixed(seen: _Seen) -> Iterator[str]:
    telling, mixed = seen.tells.any(axis=1), seen.tells.sum(axis=1) > 1
    if mixed.sum() > IDLE * telling.sum():
        yield f"{int(mixed.sum())} of {int(telling.sum())} latents that tell anything mix factors"


def _split(seen: _Seen) -> Iterator[str]:
    """Factors that several latents of their own tell in parts, not as copies of each other."""
    own = seen.tells & (seen.tells.sum(axis=1, keepdims=True) == 1)
    ranks = average_ranks(seen.rows.latents)
    spread = []
    for j in np.flatnonzero(own.sum(axis=0) > 1):
        alike = np.abs(np.corrcoef(ranks[:, own[:, j]], rowvar=False))
        spread += [seen.names[j]] if alike.min() < ALIKE else []
    if spread:
        yield f"{', '.join(spread[:3])} {'is' if len(spread) == 1 else 'are'} told by several latents in parts"


def _common(seen: _Seen) -> Iterator[str]:
    shares = [np.bincount(column).max() / len(column) for column in seen.rows.factors.T]
    if max(shares) > COMMON:
        yield f"{max(shares):.0%} of the rows are one class of {seen.names[int(np.argmax(shares))]}"


def _few_latents(seen: _Seen) -> Iterator[str]:
    if seen.alive.sum() < len(seen.names):
        yield f"{int(seen.alive.sum())} latents cannot hold {len(seen.names)} factors one by one"


def _repeated(seen: _Seen) -> Iterator[str]:
    telling = seen.rows.latents[:, seen.alive & seen.tells.any(axis=1)]
    if telling.shape[1] > 1:
        alike = np.abs(np.corrcoef(average_ranks(telling), rowvar=False)) - np.eye(telling.shape[1])
        if alike.max() > ALIKE:
            yield "latents repeat each other"


LOW_AND_HIGH = "too low for a latent of its own for each factor and too high for mixtures"
RULES: dict[Assumption, tuple[Callable[[_Seen], Iterator[str]], str, str]] = {
    "independent factors": (_dependent, LOW_AND_HIGH, "conditional_mig"),
    "ordered classes": (_unordered, "too low", "snc, or linear_accuracy"),
    "evenly spread latents": (_uneven, "too low", "snc, or mig[neighbours=3]"),
    "informed latents": (_idle, "averages over latents, so that noise decides", "med or dci (they weigh latents)"),
    "unmixed latents": (_mixed, "too high", "snc, mig or conditional_mig"),
    "one latent for each factor": (_split, "too high", "mig or conditional_mig"),
    "many rows": (
        _few_rows,
        "pulled towards those of noise",
        "mig[auto,corrected], and the chance level (--null 200)",
    ),
    "balanced classes": (_common, "high without knowing anything", "the adjusted accuracy, or explicitness"),
    "as many latents as factors": (_few_latents, "0 for the factors left over", "linear_accuracy"),
    "latents that differ": (_repeated, "low by design, however clearly factors are kept apart", "mig_sup, or med"),
}
