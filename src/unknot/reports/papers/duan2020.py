"""Duan et al. 2020: does UDR order models as supervised metrics do?"""

from typing import TYPE_CHECKING, Any

import numpy as np

from unknot.papers import table
from unknot.reports.kit.page import Section
from unknot.reports.papers.recomputed import Claim, Recomputed, grid, share

if TYPE_CHECKING:
    import pandas as pd

PAPER = "duan2020"
CELLS = ["dataset", "model"]


def duan2020() -> Recomputed:
    """Averages and pairs of Table 1, the course of Table 2, Table 7 beside them."""
    by_version: Any = versions()
    course = comparisons()
    averages = by_version.mean()
    seventh: Any = table(PAPER, "table7")
    return Recomputed(
        [_supervised(seventh, averages), _lasso(by_version), _all_to_all(by_version), _more(course), _totals()],
        [_version_section(by_version, seventh, averages), _course_section(course)],
    )


def versions() -> "pd.DataFrame":
    """Table 1, one row a dataset and model class, one column a version of UDR."""
    return table(PAPER, "table1").pivot(index=CELLS, columns="udr_version", values="value")


def comparisons() -> "pd.DataFrame":
    """Table 2 with its steps: comparisons, value, spread, rise and fall of the spread from the row before.

    `errors` is the rise in standard errors of a difference of two means over `n` subsets, if ± is a standard deviation.
    """
    rows: Any = table(PAPER, "table2")[["pairwise_comparisons", "value", "spread", "n"]]
    squares = (rows["spread"] ** 2 / rows["n"]).rolling(2).sum()
    rows["rise"] = rows["value"].diff().round(4)
    rows["fall_of_spread"] = 0 - rows["spread"].diff().round(4)
    rows["errors"] = rows["rise"] / np.sqrt(squares)
    return rows  # type: ignore[no-any-return]


def _supervised(seventh: "pd.DataFrame", averages: Any) -> Claim:
    cells = seventh.set_index("udr_version")["value"]
    why = (
        f"{cells['udr_l']:.2f} within a setting and {cells['udr_l_a2a']:.2f} over all models, against "
        f"{cells['']:.2f} between supervised metrics. The correlations behind these means stand in Figure 6 "
        f"only; of Table 1, which has MIG alone, the means are {averages['udr_l']:.2f} and "
        f"{averages['udr_l_a2a']:.2f}."
    )
    text = "UDR agrees with supervised metrics nearly as well as these do with each other."
    return Claim(text, "section 5, Table 7", "cannot be checked", why)


def _lasso(by_version: Any) -> Claim:
    gain = _pairs(by_version, ("udr_l", "udr_s"), ("udr_l_a2a", "udr_s_a2a"))
    why = (
        f"In Table 1 lasso is higher in {(gain > 0).sum()} of {len(gain)} pairs, Spearman in "
        f"{(gain < 0).sum()}; the others tie."
    )
    return Claim(
        "Lasso is the better measure of similarity, and the one that is used.", "section 4", "holds in part", why
    )


def _all_to_all(by_version: Any) -> Claim:
    words = []
    for dataset, rows in by_version.groupby("dataset"):
        words.append(f"{share(_pairs(rows, ('udr_l_a2a', 'udr_l'), ('udr_s_a2a', 'udr_s')) > 0)} on {dataset}")
    text = "Comparing all models with all raises the correlation (0.60 against 0.54)."
    return Claim(text, "Table 7", "holds in part", f"Higher in Table 1 in {', '.join(words)} pairs.")


def _more(course: Any) -> Claim:
    falls, wider = course[course["rise"] < 0], course[course["fall_of_spread"] < 0]
    first, last = course.iloc[0], course.iloc[-1]
    why = (
        f"From {first['value']} ± {first['spread']} to {last['value']} ± {last['spread']}; it falls at "
        f"{_listed(falls)} comparisons, and the spread grows at {_listed(wider)}. Most of the rise is the first step "
        f"({course['rise'].iloc[1]:.2f} of {last['value'] - first['value']:.2f})."
    )
    text = "With more comparisons the correlation rises and its variance falls."
    return Claim(text, "section 4, Table 2", "holds", why)


def _listed(rows: Any) -> str:
    return ", ".join(str(n) for n in rows["pairwise_comparisons"])


def _totals() -> Claim:
    text = table(PAPER, "text").drop_duplicates("quantity").set_index("quantity")["value"]
    classes, settings = text["model classes"], text["hyperparameter settings per model class (H)"]
    total = classes * settings * text["seeds per setting (S)"] * text["datasets in the main sweep"]
    why = (
        f"{classes:.0f} classes x {settings:.0f} settings x {text['seeds per setting (S)']:.0f} seeds x 3 "
        f"datasets = {total:.0f}."
    )
    said = "UDR was tried on 5400 models."
    holds = total == text["models evaluated with UDR"]
    return Claim(said, "abstract, section 1", "holds" if holds else "does not hold", why)


def _pairs(by_version: Any, *pairs: tuple[str, str]) -> Any:
    """First minus second of each pair of versions, in every dataset and model class."""
    return np.concatenate([(by_version[a] - by_version[b]).round(6) for a, b in pairs])


def _version_section(by_version: Any, seventh: Any, averages: Any) -> Section:
    texts = [
        "Rank correlation of UDR with MIG (Table 1), its means over model classes and datasets, and beside "
        "these the means over four supervised metrics that Table 7 prints. The two need not agree. What follows "
        "± in Table 7 is not said."
    ]
    beside = seventh[seventh["udr_version"] != ""][["udr_version", "value", "spread"]].assign(
        table1_mean=lambda rows: rows["udr_version"].map(averages)
    )
    heads = {
        "udr_version": "version",
        "table1_mean": "mean of Table 1 (MIG)",
        "value": "Table 7 (four metrics)",
        "spread": "±",
    }
    contents = [
        grid(beside, "Versions of UDR.", "versions", **heads),
        grid(by_version.reset_index(), "Table 1.", "table1"),
    ]
    return Section("Tables 1 and 7", texts, contents)


def _course_section(course: Any) -> Section:
    texts = [
        "Rank correlation of UDR with the BetaVAE score on dSprites. If ± is a standard deviation over the 20 "
        "random subsets, `errors` says how many standard errors each step is."
    ]
    return Section("Table 2", texts, [grid(course.drop(columns="n"), "More comparisons.", "table2")])
