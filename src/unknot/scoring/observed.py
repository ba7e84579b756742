"""What an adviser looks at: what latents know of factors, which mix them, which hold them in parts."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from unknot.metrics import METRICS
from unknot.metrics.arrays import Bools, Floats, Ints
from unknot.metrics.conditional_mig import given_others
from unknot.metrics.inputs import Rows
from unknot.metrics.kernels.columns import binned_information
from unknot.metrics.kernels.information import factor_entropy, share
from unknot.metrics.ranks import average_ranks
from unknot.metrics.verdict import least_shares
from unknot.scoring.factor_facts import information
from unknot.scoring.yardsticks import Yardstick, yardstick

BINS, COARSE = 20, (3, 8)  # of one latent, and of each of two together
ENOUGH = 5  # rows for each class and pair of bins
MOST_WORK = 5 * 10**9  # factors x classes^2 x rows of an additive model, which take about 0.3 s
MOST_FACTORS = 15  # for which known codes of all metrics take about 0.2 s
TELLING = 0.3  # share of what the other factors leave of a latent, from which it tells of a factor
FEW = 0.25  # of the latents
PART = 0.15  # of a factor, that a second latent adds to what the first one knows


@dataclass(frozen=True)
class Observed:
    """Rows that have all labels, not too many, and what is seen in them.

    Attributes:
        rows: labels, and latents as they came.
        alive: which latents vary (d,).
        dependence: of the factors on each other (k, k).
    """

    rows: Rows
    alive: Bools
    dependence: Floats

    @property
    def names(self) -> list[str]:
        """Of the factors that vary."""
        return [self.rows.names[j] for j in self.rows.kept]

    @cached_property
    def entropy(self) -> Floats:
        """Of the factors (k,)."""
        return factor_entropy(self.rows.factors, self.rows.sizes)

    @cached_property
    def by_width(self) -> Floats:
        """Share of each factor that each latent knows (d, k), in bins of equal width, corrected."""
        return self._shares(self.rows.latents)

    @cached_property
    def by_count(self) -> Floats:
        """The same in bins of equal count."""
        return self._shares(self.ranks)

    def _shares(self, columns: Floats) -> Floats:
        found = binned_information(columns, self.rows.factors, self.rows.sizes, BINS, correct=True)
        return share(found.mutual, self.entropy)

    @cached_property
    def ranks(self) -> Floats:
        """Of the latents, ties averaged."""
        return average_ranks(self.rows.latents)

    @cached_property
    def tells(self) -> Bools:
        """Which latent tells of which factor (d, k); unless classes are many, beyond what other factors tell of it."""
        classes = int(self.rows.sizes.sum())
        work = len(self.names) * classes**2 * (len(self.rows.factors) + 10 * classes)
        told = given_others(self.rows) if work <= MOST_WORK else self.by_width
        tells: Bools = told > TELLING
        return tells

    @cached_property
    def mixing(self) -> tuple[int, int]:
        """How many latents tell of several factors, and how many of any."""
        return int((self.tells.sum(axis=1) > 1).sum()), int(self.tells.any(axis=1).sum())

    @property
    def mixed(self) -> bool:
        """Whether many latents mix factors."""
        several, telling = self.mixing
        return several > FEW * telling

    @cached_property
    def split(self) -> list[str]:
        """Factors of which two latents that tell no other one know more together than the better of them alone."""
        known = self.by_count >= least_shares(self.rows, len(self.alive))
        first = self.by_count == self.by_count.max(axis=1, keepdims=True)
        own = known & first & (self.tells.sum(axis=1, keepdims=True) <= 1) & self.alive[:, None]
        return [self.names[j] for j in np.flatnonzero(own.sum(axis=0) > 1).tolist() if self._adds(own[:, j], j)]

    def _adds(self, own: Bools, j: int) -> bool:
        """Whether a second of the latents of a factor adds to what the first knows."""
        order = np.flatnonzero(own)[np.argsort(-self.by_count[own, j], kind="stable")]
        y, size = self.rows.factors[:, j], int(self.rows.sizes[j])
        bins = int(np.clip(np.sqrt(len(y) / (ENOUGH * size)), *COARSE))
        cells: Ints = np.floor(bins * (self.ranks[:, order] - 0.5) / len(y)).astype(np.int64)
        alone = information(cells[:, 0], y, size)
        together = max(information(cells[:, 0] * bins + other, y, size) for other in cells[:, 1:].T)
        return bool(together - alone > PART * self.entropy[j])

    def yardstick(self, name: str, options: Mapping[str, Any]) -> Yardstick | None:
        """What a metric gives for known codes of these factors; None where that would take time."""
        metric = METRICS[name]
        slow = metric.facts.cost_of(options) != "instant" or len(self.names) > MOST_FACTORS
        if slow:
            return None
        factors, what = self.rows.factors, (name, repr(sorted(options.items())))
        return self.rows.kept_once(what, lambda: yardstick(metric, options, factors), factors)
