"""Metrics of representations: plain arrays in, a `Score` out.

A metric is a function `metric(latents, factors, *, options) -> Score` with its facts (range, direction, chance
level, what it measures, reference) recorded beside it as `metric.facts`.
"""

from typing import cast

from unknot.metrics.best_auroc import best_auroc
from unknot.metrics.beta_vae_score import beta_vae_score
from unknot.metrics.conditional_mig import conditional_mig
from unknot.metrics.dci import dci
from unknot.metrics.dci_es import dci_es
from unknot.metrics.dcimig import dcimig
from unknot.metrics.downstream import data_efficiency, gbt_accuracy, lr_accuracy
from unknot.metrics.explicitness import explicitness
from unknot.metrics.factor_vae_score import factor_vae_score
from unknot.metrics.independence import (
    gaussian_total_correlation,
    gaussian_wasserstein_correlation,
    gaussian_wasserstein_correlation_norm,
    mutual_info_score,
)
from unknot.metrics.infomec import infomec
from unknot.metrics.irs import irs
from unknot.metrics.jemmig import jemmig
from unknot.metrics.mcc import mcc
from unknot.metrics.med import med
from unknot.metrics.mig import mig
from unknot.metrics.mig_sup import mig_sup
from unknot.metrics.modularity import modularity
from unknot.metrics.nk import nk
from unknot.metrics.omes import omes
from unknot.metrics.probes import linear_accuracy, mlp_accuracy
from unknot.metrics.r2 import r2
from unknot.metrics.sap import sap
from unknot.metrics.score import Facts, Metric, Score, identity, parse_identity
from unknot.metrics.snc import snc
from unknot.metrics.spectrum import alpha_req, effective_rank, lidar, rankme
from unknot.metrics.tmex import tmex
from unknot.metrics.unfairness import conditional_unfairness, unfairness

METRICS: dict[str, Metric] = cast(
    dict[str, Metric],
    {
        "snc": snc,
        "nk": nk,
        "mig": mig,
        "mig_sup": mig_sup,
        "conditional_mig": conditional_mig,
        "sap": sap,
        "modularity": modularity,
        "dci": dci,
        "dci_es": dci_es,
        "med": med,
        "dcimig": dcimig,
        "jemmig": jemmig,
        "infomec": infomec,
        "omes": omes,
        "tmex": tmex,
        "mcc": mcc,
        "best_auroc": best_auroc,
        "explicitness": explicitness,
        "mlp_accuracy": mlp_accuracy,
        "linear_accuracy": linear_accuracy,
        "gbt_accuracy": gbt_accuracy,
        "lr_accuracy": lr_accuracy,
        "data_efficiency": data_efficiency,
        "r2": r2,
        "irs": irs,
        "beta_vae_score": beta_vae_score,
        "factor_vae_score": factor_vae_score,
        "unfairness": unfairness,
        "conditional_unfairness": conditional_unfairness,
        "gaussian_total_correlation": gaussian_total_correlation,
        "gaussian_wasserstein_correlation": gaussian_wasserstein_correlation,
        "gaussian_wasserstein_correlation_norm": gaussian_wasserstein_correlation_norm,
        "mutual_info_score": mutual_info_score,
        "effective_rank": effective_rank,
        "rankme": rankme,
        "lidar": lidar,
        "alpha_req": alpha_req,
    },
)

__all__ = ["METRICS", "Facts", "Metric", "Score", "identity", "parse_identity"]
