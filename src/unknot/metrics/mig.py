"""MIG: how much more the best latent knows about each factor than the runner-up."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from unknot.errors import UnknotError, check_known
from unknot.metrics._neighbours import rows_information
from unknot.metrics.arrays import Floats, Ints
from unknot.metrics.inputs import Rows, prepare
from unknot.metrics.kernels.columns import Binning
from unknot.metrics.kernels.information import (
    Tables,
    share,
    table_information,
    width_contingency,
)
from unknot.metrics.known_information import factor_entropies, known_information
from unknot.metrics.score import Facts, Score

Normaliser = Literal["factor", "code"]
LEAST_BINS = 20


@Facts(
    title="Mutual information gap",
    measures="compactness",
    bounds=(0.0, 1.0),
    chance="about 0; the bias of counting cancels in the gap (0.0005 for noise at 10,000 rows)",
    reference="Chen et al. 2018, Isolating Sources of Disentanglement in VAEs, arXiv:1802.04942",
    per_factor=True,
    identity=("bins", "neighbours", "corrected"),
    instead_of={"neighbours": "bins"},
    continuous={"neighbours": 3},
    invariances=frozenset({"rows", "latents", "scale", "shift"}),
    assumes=("independent factors", "evenly spread latents", "latents that differ"),
)
def mig(
    latents: Any,
    factors: Any,
    *,
    bins: int | str = 20,
    neighbours: int | None = None,
    normaliser: Normaliser = "factor",
    bias_correction: bool = False,
    corrected: bool = False,
) -> Score:
    """How much more the best latent knows about each factor than the runner-up.

    MIG = mean_j [ I(z_(1); y_j) - I(z_(2); y_j) ] / H(y_j)        in [0, 1], 1 is best

    Latents are cut into equal-width bins; I and H are plug-in estimates in nats. Affine maps of a latent leave
    the score alone, other monotone maps do not, and one outlier can empty most bins. A code that repeats every
    latent scores 0 by design.

    With `neighbours`, I is an estimate from nearest neighbours (Ross 2014 for classes, Kraskov et al. 2004 for
    measurements), and what a latent knows of a measurement, which has no entropy, is 1 - exp(-2 I): R^2, if both were
    jointly normal.

    Edge cases: constant factors are left out of the mean and listed in `parts["skipped"]`; a latent without
    variance knows nothing; with one latent the runner-up counts as 0 and `parts["notes"]` says so.
    Departs from the paper: bins of the posterior mean instead of samples of the posterior, as all public code.

    Args:
        latents: (n, d).
        factors: (n, k).
        bins: how many bins of equal width each latent gets; "zero+10", for codes that are mostly zero, gives 0 a bin
            of its own and cuts what is not zero into 10 bins of equal count: `mig[zero+10]`; "auto" takes as many as
            the largest factor has classes, 20 at least, so that a perfect latent reaches 1: `mig[auto]`.
        neighbours: information from nearest neighbours instead of bins: latents and measurements stay real numbers,
            `mig[neighbours=3]`.
        normaliser: "factor" divides by H(y_j), as the paper; "code" divides each I(z_i; y_j) by the entropy of
            the binned latent before the gap is taken, as the code of Zaidi et al. 2022 does.
        bias_correction: subtract the bias (B - 1)(K - 1) / (2 n) from every I, never below 0.
        corrected: for few rows: what a latent knows of a factor is (I - E) / (H(y_j) - E), never below 0, where E is
            what I would be, on average, with labels of other rows (Vinh et al. 2010): 0 for noise and 1 for all that
            is to be known, at any number of rows.

    Returns:
        Score with `parts["per_factor"]` (k,), `parts["mutual_information"]` (d, k) and `parts["entropy"]` (k,)
        in nats, NaN for what has none, and `parts["best_latent"]` (k,).

    >>> factors = np.stack(np.meshgrid(range(4), range(3)), axis=-1).reshape(-1, 2)
    >>> round(mig(factors[:, ::-1] * 1.0, factors).value, 6)
    1.0
    """
    how = How(bins, neighbours, normaliser, bias_correction, corrected)
    rows, information, shares = shared_information("mig", latents, factors, how, gaps=True)
    ranked = np.sort(np.vstack([np.zeros(rows.n_factors), shares]), axis=0)
    per_factor = ranked[-1] - ranked[-2]
    if neighbours is None:
        rows.notes.extend(_ceilings(rows, how.bins_of(rows)))
    if len(information) == 1:
        rows.notes.append("one latent only: there is no runner-up, so the gap is all that the latent knows.")
    entropy = factor_entropies(rows).copy()
    if neighbours is not None:
        entropy[rows.continuous] = np.nan
    parts = {
        "per_factor": per_factor,
        "mutual_information": information,
        "entropy": entropy,
        "best_latent": information.argmax(axis=0),
    }
    return rows.score(per_factor.mean(), parts, bins=bins, normaliser=normaliser)


def _ceilings(rows: Rows, bins: int | str) -> Iterator[str]:
    """Factors with more classes than a latent has bins, which keep a perfect latent below 1."""
    total = Binning.of(bins).total
    most = np.log(total) / factor_entropies(rows)
    short = [
        f"{rows.names[column]} ({size} classes) {value:.2f}"
        for column, size, value in zip(rows.kept, rows.sizes, most, strict=True)
        if size > total and value < 1
    ]
    if short:
        yield f"{total} bins hold fewer values than some factors have; the gap is at most: {', '.join(short)}."


@dataclass(frozen=True)
class How:
    """How much latents know of factors is estimated so: the options of `mig`."""

    bins: int | str
    neighbours: int | None
    normaliser: str
    bias_correction: bool
    corrected: bool = False

    def bins_of(self, rows: Rows) -> int | str:
        """How many bins, where they are chosen by the data."""
        return max(LEAST_BINS, int(rows.sizes.max())) if self.bins == "auto" else self.bins

    def check(self, who: str) -> None:
        """Refuse options that do not go together."""
        check_known(f"normaliser of {who}", self.normaliser, get_args(Normaliser))
        other = self.normaliser != "factor" or self.bias_correction
        if self.neighbours is not None and (other or self.corrected):
            raise UnknotError(
                f"{who}: neighbours is {self.neighbours}, and normaliser 'code', bias_correction and corrected are for "
                "bins; leave them out, or neighbours."
            )
        if self.corrected and (other or "+" in str(self.bins)):
            raise UnknotError(
                f"{who}: corrected is for bins of equal width, and neither for normaliser 'code' nor bias_correction; "
                "leave one of them out."
            )


def shared_information(
    who: str, latents: Any, factors: Any, how: How, *, gaps: bool = False
) -> tuple[Rows, Floats, Floats]:
    """The rows, I(z_i; y_j) (d, k) in nats, and the same as a share of what the normaliser names.

    With `gaps`, labels that are counted in bins may be missing: each factor is looked at in the rows that have it.
    """
    how.check(who)
    if how.neighbours is not None:
        rows = prepare(who, latents, factors, continuous="keep")
        return rows, *rows_information(who, rows, how.neighbours)
    wide = not how.corrected
    rows = prepare(who, latents, factors, as_is=wide, gaps=gaps and wide)
    bins, entropy = how.bins_of(rows), factor_entropies(rows)
    if how.corrected:
        tables = width_contingency(rows.latents, rows.factors, rows.sizes, int(bins))
        mutual, expected = table_information(tables), _by_chance(tables, len(rows.factors))
        return rows, mutual, np.maximum(share(mutual - expected, entropy - expected), 0.0)
    information = known_information(rows, bins, correct=how.bias_correction)
    whole = entropy if how.normaliser == "factor" else information.entropy
    return rows, information.mutual, share(information.mutual, whole)


def _by_chance(tables: Tables, n: int) -> Floats:
    """E(I) (d, k) in nats over all ways to give the labels to other rows."""
    from sklearn.metrics.cluster import expected_mutual_information

    def occurring(table: Ints) -> Ints:
        return table[table.any(axis=1)][:, table.any(axis=0)]

    return np.array([[expected_mutual_information(occurring(t), n) for t in table] for table in tables]).T
