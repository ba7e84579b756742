"""Metrics of representations: plain arrays in, a `Score` out.

A metric is a function `metric(latents, factors, *, options) -> Score` with its facts (range, direction, chance
level, what it measures, reference) recorded beside it as `metric.facts`.
"""

from unknot.errors import UnknotWarning
from unknot.metrics.dcimig import dcimig
from unknot.metrics.jemmig import jemmig
from unknot.metrics.mig import mig
from unknot.metrics.mig_sup import mig_sup
from unknot.metrics.modularity import modularity
from unknot.metrics.sap import sap
from unknot.metrics.score import Facts, Metric, Score, identity, parse_identity

METRICS: dict[str, Metric] = {
    "mig": mig,
    "mig_sup": mig_sup,
    "sap": sap,
    "modularity": modularity,
    "dcimig": dcimig,
    "jemmig": jemmig,
}

__all__ = ["METRICS", "Facts", "Metric", "Score", "UnknotWarning", "identity", "parse_identity"]
