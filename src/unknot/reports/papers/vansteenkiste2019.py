"""Van Steenkiste et al. 2019: do metrics of disentanglement agree, and with the reasoner?"""

from itertools import combinations
from math import log10, sqrt
from typing import Any

import numpy as np

from unknot.papers import table
from unknot.reports.kit.charts import heat_map
from unknot.reports.kit.page import Content, Drawing, Section
from unknot.reports.papers.recomputed import Claim, Recomputed, grid
from unknot.statistics.correlations import student_p

PAPER = "vansteenkiste2019"
MODELS = 180  # of a dataset: six methods, six settings, five seeds


def vansteenkiste2019() -> Recomputed:
    """Figure 8 as heat maps, and the counts of the study."""
    matrices = {dataset: figure8(dataset) for dataset in dict.fromkeys(table(PAPER, "figure8")["dataset"])}
    drawings = [
        Drawing(heat_map(names, rho, _p_values(rho)), f"{dataset}; {MODELS} models.")
        for dataset, (names, rho) in matrices.items()
    ]
    texts = [
        "Spearman's correlation of eight metrics over the models of a dataset, as printed in Figure 8; pale "
        "where it would not be significant (p > 0.05) with 180 models. Reconstruction is the error, and its "
        "sign is as printed."
    ]
    pairs = agreement(matrices)
    contents: list[Content] = [*drawings, grid(pairs, "Every pair on both datasets.", "pairs")]
    claims = [_use(), _agree(pairs), _counts(), _instances()]
    return Recomputed(claims, [Section("Figure 8", texts, contents)])


def figure8(dataset: str) -> tuple[list[str], Any]:
    """Names of the metrics, and their rank correlations (k, k)."""
    cells = table(PAPER, "figure8")
    cells = cells[cells["dataset"] == dataset]
    names = list(dict.fromkeys(cells["metric_row"]))
    square = cells.pivot(index="metric_row", columns="metric_column", values="value")
    return names, square.loc[names, names].to_numpy() / 100


def agreement(matrices: Any) -> Any:
    """Every pair of metrics: first, second, and the correlation on each dataset."""
    import pandas as pd

    (names, _), *_ = matrices.values()
    rows = [
        {"first": names[i], "second": names[j]} | {dataset: rho[i, j] for dataset, (_, rho) in matrices.items()}
        for i, j in combinations(range(len(names)), 2)
    ]
    return pd.DataFrame(rows)


def _p_values(rho: Any) -> Any:
    inside = np.minimum(np.abs(rho), 1 - 1e-12)
    t = inside * np.sqrt((MODELS - 2) / (1 - inside**2))
    return np.vectorize(lambda value: student_p(value, MODELS - 2))(t)


def _use() -> Claim:
    text = "Disentangled codes let a reasoner learn from fewer examples."
    why = (
        "The accuracies and their correlations with metrics stand in figures only; of accuracies the text has "
        "80 % (dSprites) and 90 % (Shapes3D), reached on the easy answers that its released code makes, of which row "
        "three and the answers alone give away 89 % and 95 %. `unknot study vansteenkiste2019_easy` is the study on "
        "them, `unknot study vansteenkiste2019_small` one in small."
    )
    return Claim(text, "sections 4.2 and 5, Figures 3 to 5", "cannot be checked", why)


def _agree(pairs: Any) -> Claim:
    first, second = pairs.columns[2:4]
    low, high = (pairs.sort_values(first).iloc[i] for i in (0, -1))
    turned = int((np.sign(pairs[first]) != np.sign(pairs[second])).sum())
    both = float(np.corrcoef(pairs[first], pairs[second])[0, 1])
    why = (
        f"On {first} from {low[first]:.2f} ({low['first']} and {low['second']}) to {high[first]:.2f} "
        f"({high['first']} and {high['second']}); {turned} of {len(pairs)} pairs have another sign on {second}, "
        f"and the two matrices correlate with {both:.2f}. With 180 models anything beyond ±{_least():.2f} is "
        "significant."
    )
    text = (
        "Metrics of disentanglement are correlated with each other, not always and not equally on both datasets."
    )
    return Claim(text, "appendix B.1, Figure 8", "holds", why)


def _least() -> float:
    """The least correlation of so many models that is significant."""
    from scipy.special import stdtrit

    t = float(stdtrit(MODELS - 2, 0.975))
    return t / sqrt(MODELS - 2 + t * t)


def _counts() -> Claim:
    why = "6 methods x 6 settings x 5 seeds x 2 datasets = 360; x 10 settings of the reasoner = 3600."
    return Claim("360 encoders and 3600 reasoners were trained.", "abstract, section 4", "holds", why)


def _instances() -> Claim:
    text = table(PAPER, "text").drop_duplicates("quantity").set_index("quantity")["value"]
    digits = text["panels per instance"] * log10(text["factor combinations per panel"])
    why = (
        f"10^6 combinations in each of 14 panels make 10^{digits:.0f}; a panel of section 3 has thousands, not "
        "a million."
    )
    return Claim("There are more than 10^144 puzzles.", "section 4.2, footnote 3", "does not hold", why)
