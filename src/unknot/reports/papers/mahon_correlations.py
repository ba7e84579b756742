"""How well metrics foretell accuracy on left-out combinations: Tables 4 and 6 of Mahon et al. 2024 from 3, 7 and 8."""

from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from unknot.papers import table
from unknot.reports.papers.mahon_averages import BOTH, PAPER, above_chance, chance
from unknot.statistics.correlations import Method, correlation, student_p
from unknot.statistics.dependent import compare_correlations

if TYPE_CHECKING:
    import pandas as pd

    Scores = pd.Series[float]

NEAR = 0.0025  # correlations are printed with three digits, of scores with two
SCOPES = ("all_datasets", "shapes3d")
METRICS = ("snc", "nk", "mig", "sap", "irs", "dci_d", "dci_c", "dci_i", "dci", "med")
EXTREME = ("shapes3d", "parted_vae_ss")  # the one point far from all others
DOUBTFUL = ("shapes3d", "parted_vae")  # the one cell of Table 3 that has to be corrected
LEVEL = 0.01  # of the paper's claims


@cache
def accuracy(*, corrected: bool = True) -> "Scores":
    """Accuracy on left-out combinations by dataset and model, of Table 3.

    Corrected: the cell of PartedVAE on Shapes3D has the number that stands beside it, under size, which is what the
    formula of all other cells gives.
    """
    cells = table(PAPER, "table3")
    cells = cells[(cells["setting"] == "cg") & (cells["model"] != "mtd")]
    by_factor: Any = cells.pivot(index=["dataset", "model"], columns="factor", values="value")
    values = by_factor[BOTH].copy()
    if corrected:
        values[DOUBTFUL] = by_factor.loc[DOUBTFUL, "size"]
    return cast("Scores", values)


@cache
def scores() -> "pd.DataFrame":
    """Scores of Table 8, one row a dataset and model."""
    return table(PAPER, "table8").pivot(index=["dataset", "model"], columns="metric", values="value")


def foretold(values: "Scores", scope: str, target: "Scores", method: Method = "pearson") -> float:
    """The correlation of scores with a target, over all datasets or one."""
    return correlation(*_within(values, target, scope), method=method, bootstraps=0).r


def recomputed(name: str) -> "pd.DataFrame":
    """The cells of Table 4 or 6: scope, metric, printed, recomputed, as_printed (with no cell corrected), comes_out."""
    cells: Any = table(PAPER, name)[["scope", "metric", "value"]].rename(columns={"value": "printed"})
    for column, corrected in (("recomputed", True), ("as_printed", False)):
        target = accuracy(corrected=corrected)
        cells[column] = [
            foretold(scores()[metric], scope, target)
            for scope, metric in zip(cells["scope"], cells["metric"], strict=True)
        ]
    cells["comes_out"] = (cells["printed"] - cells["recomputed"]).abs() < NEAR
    return cast("pd.DataFrame", cells)


def true_chance(*, foreign: bool = False) -> "dict[str, Scores]":
    """SNC and NK of size and shape from appendix G, with chance 1 / classes.

    SNC is the product of the two means above chance, NK that of the two drops of accuracy. The headings of Table 24 are
    corrected. `foreign`: keep the two rows of Table 18 that belong to another dataset.
    """
    rows: Any = table(PAPER, "appendix_g")
    rows["factor"] = rows["factor_probable"].where(rows["factor_probable"] != "", rows["factor"])
    rows = rows[rows["split"].str.startswith("normal") & rows["factor"].isin(["size", "shape"])]
    if not foreign:
        alien = (rows["table"] == 18) & (rows["statistic"] == "snc") & rows["split"].isin(["normal_1", "normal_2"])
        rows = rows[~alien]
    means: Any = rows.groupby(["dataset", "model", "statistic", "factor"])["value"].mean().unstack("statistic")
    level = np.array([chance(dataset, factor) for dataset, _, factor in means.index])
    parts = {"snc": above_chance(means["snc"], level) / 100, "nk": (means["mlp"] - means["nk1"]) / 100}
    return {name: part.unstack("factor").prod(axis=1, skipna=False).dropna() for name, part in parts.items()}


def firmness() -> "pd.DataFrame":
    """Each metric's correlation with accuracy: as published, by rank, without one point, with true chance levels."""
    import pandas as pd

    target, true = accuracy(), true_chance()
    rest = target.drop([EXTREME])
    rows = []
    for scope in SCOPES:
        for metric in METRICS:
            values = scores()[metric]
            plain = correlation(*_within(values, target, scope), method="pearson")
            rows.append(
                {
                    "scope": scope,
                    "metric": metric,
                    "pearson": plain.r,
                    "low": plain.low,
                    "high": plain.high,
                    "rank": foretold(values, scope, target, "spearman"),
                    "without_extreme": foretold(values, scope, rest),
                    "true_chance": foretold(true[metric], scope, target) if metric in true else None,
                }
            )
    return pd.DataFrame(rows)


def differences(scope: str) -> "pd.DataFrame":
    """Every two metrics of Table 4, and how sure it is that the first foretells accuracy better than the second.

    Returns:
        Table with stronger, weaker, r_stronger, r_weaker; p_single of the standard error 1 / sqrt(n - 3), one-sided, by
        which the paper's claims come out; p_usual of sqrt(2 / (n - 3)), one-sided; p_williams, one-sided, of the test
        that knows that both were measured on the same models, and p_williams_rest without the one extreme point;
        claimed, whether the paper says p < 0.01.
    """
    import pandas as pd
    from scipy.special import ndtr

    printed = table(PAPER, "table4")
    printed = printed[printed["scope"] == scope]
    n = int(printed["n"].iloc[0])
    r = dict(zip(printed["metric"], printed["value"], strict=True))
    williams = [_williams(scope, target) for target in (accuracy(), accuracy().drop([EXTREME]))]
    rows = []
    for pair in combinations(METRICS, 2):
        a, b = sorted(pair, key=lambda metric: -r[metric])
        z = np.arctanh(r[a]) - np.arctanh(r[b])
        rows.append(
            {
                "stronger": a,
                "weaker": b,
                "r_stronger": r[a],
                "r_weaker": r[b],
                "p_single": float(ndtr(-z * np.sqrt(n - 3))),
                "p_usual": float(ndtr(-z * np.sqrt((n - 3) / 2))),
                "p_williams": williams[0][a, b],
                "p_williams_rest": williams[1][a, b],
                "claimed": claimed(scope, a, b),
            }
        )
    return pd.DataFrame(rows)


def _williams(scope: str, target: "Scores") -> dict[tuple[str, str], float]:
    """(stronger, weaker) -> one-sided p-value, for every two metrics in either order."""
    columns = {"accuracy": target} | {metric: scores()[metric].reindex(target.index) for metric in METRICS}
    within = columns if scope == "all_datasets" else {name: column.loc[scope] for name, column in columns.items()}
    tests: Any = compare_correlations(within, "accuracy", METRICS, method="pearson", bootstraps=0)
    one_sided: dict[tuple[str, str], float] = {}
    for test in tests.itertuples():
        p = test.p / 2 if test.statistic > 0 else 1 - test.p / 2
        one_sided |= {(test.first, test.second): p, (test.second, test.first): 1 - p}
    return one_sided


def claimed(scope: str, stronger: str, weaker: str) -> bool:
    """Whether the paper calls a difference significant: over all datasets, SNC over all but NK, and NK over IRS."""
    if scope != "all_datasets":
        return False
    return (stronger == "snc" and weaker != "nk") or (stronger, weaker) == ("nk", "irs")


def t_tests() -> "pd.DataFrame":
    """The t-test of each new metric's correlation, as printed in Table 4: scope, metric, r, n, t, p."""
    import pandas as pd

    cells = table(PAPER, "table4")
    rows = []
    for cell in cells[cells["metric"].isin(["snc", "nk"])].itertuples():
        r, n = cast(float, cell.value), cast(int, cell.n)
        t = r * np.sqrt((n - 2) / (1 - r * r))
        rows.append({"scope": cell.scope, "metric": cell.metric, "r": r, "n": n, "t": t, "p": student_p(t, n - 2)})
    return pd.DataFrame(rows)


def agreement() -> "tuple[list[str], np.ndarray[Any, Any], np.ndarray[Any, Any]]":
    """Metrics of Table 7, their correlations with each other over 18 points, and the p-values of these."""
    wide = table(PAPER, "table7").pivot(index=["dataset", "model"], columns="metric", values="value")
    names = [metric for metric in METRICS if metric in wide]
    r, p = np.eye(len(names)), np.zeros((len(names), len(names)))
    for i, j in combinations(range(len(names)), 2):
        pair = correlation(wide[names[i]], wide[names[j]], method="pearson", bootstraps=0)
        r[i, j], r[j, i], p[i, j], p[j, i] = pair.r, pair.r, pair.p, pair.p
    return names, r, p


def _within(values: "Scores", target: "Scores", scope: str) -> "tuple[Scores, Scores]":
    kept = target if scope == "all_datasets" else target.loc[[scope]]
    return values.reindex(kept.index), kept
