"""Tables 2 and 3 of Mahon et al. 2024 from the single runs of its appendix G, with the rules by which they come out."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from unknot.papers import table

if TYPE_CHECKING:
    import pandas as pd

PAPER = "mahon2024"
BOTH = "size_and_shape"  # the share of images of which both are right
# How many classes each factor has; 1 / classes is chance.
CLASSES = {
    "dsprites": {"shape": 3, "size": 6, "orientation": 40, "x": 32, "y": 32},
    "shapes3d": {"floor_hue": 10, "wall_hue": 10, "object_hue": 10, "size": 8, "shape": 4, "orientation": 15},
    "mpi3d": {
        "object_hue": 6,
        "shape": 6,
        "size": 2,
        "camera_height": 3,
        "background_hue": 3,
        "horizontal": 40,
        "vertical": 40,
    },
}
# The chance levels with which SNC of Table 2 comes out, found by search; where none is named, 1 / classes does.
FITTED = {
    "dsprites": {},
    "shapes3d": {"size": 0.05, "orientation": 0.05, "shape": 0.05},
    "mpi3d": {"camera_height": 0.03, "background_hue": 0.03},
}
NEAR = 0.06  # percent; the tables print one or two digits
LEFT_OUT = "nc_1_1"  # the combination of MPI3D without which Table 3 comes out
RANDOM = "normal_test_set"
STATISTIC = {"cg": "cg", "cg_linear": "cg_linear", RANDOM: "mlp"}  # setting of Table 3 -> statistic of appendix G


def chance(dataset: str, factor: str) -> float:
    """The accuracy of guessing a factor, or size and shape together."""
    classes = CLASSES[dataset]
    return 1 / (classes["size"] * classes["shape"] if factor == BOTH else classes[factor])


def above_chance(accuracy: Any, level: Any) -> Any:
    """What of an accuracy in percent is above chance, as a share of what can be: (a - r) / (1 - r)."""
    return (accuracy - 100 * level) / (1 - level)


def random_runs() -> "pd.DataFrame":
    """Accuracy by factor on random test sets: one row a dataset, model, run and factor, one column a statistic."""
    rows = table(PAPER, "appendix_g")
    rows = rows[rows["split"].str.startswith("normal") & (rows["model"] != "mtd") & (rows["factor"] != BOTH)]
    index = ["dataset", "model", "split", "factor"]
    wide: Any = rows.pivot(index=index, columns="statistic", values="value").reset_index()
    wide["true_chance"] = [chance(d, f) for d, f in zip(wide["dataset"], wide["factor"], strict=True)]
    wide["fitted_chance"] = [
        FITTED[row.dataset].get(row.factor, row.true_chance) for row in wide.itertuples(index=False)
    ]
    return wide  # type: ignore[no-any-return]


def table2() -> "pd.DataFrame":
    """Every mean of Table 2 beside what appendix G gives: dataset, model, metric, printed, recomputed, true_chance.

    NK is the mean over factors of MLP - NK1; linear and MLP accuracy are means as they are; SNC is above the fitted
    chance, and above the true one in the last column.
    """
    runs = random_runs()
    runs["nk"] = runs["mlp"] - runs["nk1"]
    runs["true_snc"] = above_chance(runs["snc"], runs["true_chance"])
    runs["snc"] = above_chance(runs["snc"], runs["fitted_chance"])
    runs = runs.rename(columns={"mlp": "mlp_accuracy", "linear": "linear_accuracy"})
    means = runs.groupby(["dataset", "model"])[["snc", "nk", "mlp_accuracy", "linear_accuracy", "true_snc"]].mean()
    cells: Any = table(PAPER, "table2")[["dataset", "model", "metric", "value"]].rename(
        columns={"value": "printed"}
    )
    at = list(zip(cells["dataset"], cells["model"], strict=True))
    metrics = list(cells["metric"])
    cells["recomputed"] = [means.loc[place, metric] for place, metric in zip(at, metrics, strict=True)]
    of_snc = [means.loc[place, "true_snc"] for place in at]
    cells["true_chance"] = [
        value if metric == "snc" else None for value, metric in zip(of_snc, metrics, strict=True)
    ]
    return _compared(cells)


def table3() -> "pd.DataFrame":
    """Every cell of Table 3 beside the nearest of what a few rules make of appendix G.

    Returns:
        Table with dataset, model, setting, factor, printed, recomputed, rule, stated (by the formula of the text, with
        headings corrected and over all combinations), comes_out.
    """
    import pandas as pd

    cells: Any = table(PAPER, "table3")[["dataset", "model", "setting", "factor", "value"]]
    accuracies, corrected = _mean_accuracies(), _mean_accuracies(corrected=True)
    rows = []
    for cell in cells.itertuples(index=False):
        at = cell.dataset, cell.model, cell.setting
        rules = dict(_rules(cell, accuracies[at]))
        nearest = min(rules, key=lambda rule: abs(rules[rule] - cell.value))
        stated = above_chance(corrected[at][cell.factor], chance(cell.dataset, cell.factor))
        rows.append((*cell, rules[nearest], nearest, max(0.0, stated)))
    names = ["dataset", "model", "setting", "factor", "printed", "recomputed", "rule", "stated"]
    return _compared(pd.DataFrame(rows, columns=names))


def _mean_accuracies(*, corrected: bool = False) -> "dict[tuple[str, str, str], pd.Series[float]]":
    """(dataset, model, setting) -> mean accuracy by factor.

    Headings are those printed and one combination of MPI3D is left out; or headings are corrected, and none is.
    """
    rows: Any = table(PAPER, "appendix_g")
    if corrected:
        rows["factor"] = rows["factor_probable"].where(rows["factor_probable"] != "", rows["factor"])
    else:
        rows = rows[~((rows["dataset"] == "mpi3d") & (rows["split"] == LEFT_OUT))]
    novel = rows["split"].str.startswith("nc_")
    means = {}
    for setting, statistic in STATISTIC.items():
        wanted = rows["statistic"].isin([statistic, "supervised_model"]) & (novel == (setting != RANDOM))
        for (dataset, model), group in rows[wanted].groupby(["dataset", "model"]):
            means[dataset, model, setting] = group.groupby("factor")["value"].mean()
    return means


def _rules(cell: Any, means: "pd.Series[float]") -> Iterator[tuple[str, float]]:
    """Rule -> the cell by it, the usual ones first."""
    joint = chance(cell.dataset, BOTH)
    if cell.factor == BOTH:
        yield "joint accuracy above chance", max(0.0, above_chance(means[BOTH], joint))
        yield "joint accuracy minus chance", max(0.0, means[BOTH] - 100 * joint)
        yield "joint accuracy", means[BOTH]
        yield "mean accuracy of all factors", means.drop(BOTH).mean()
        return
    other = "size" if cell.factor == "shape" else "shape"
    for words, factor in (("headings exchanged", other), ("headings as printed", cell.factor)):
        # The headings of hue and shape of the object are exchanged in Tables 33 to 38 as well.
        also = cell.dataset == "shapes3d" and cell.setting != RANDOM and factor == "shape"
        accuracy = means["object_hue" if also else factor]
        levels = chance(cell.dataset, factor), joint
        for level in levels:
            yield f"{words}, minus 1/{1 / level:.0f}", max(0.0, accuracy - 100 * level)
        for level in levels:
            yield f"{words}, above chance of 1/{1 / level:.0f}", max(0.0, above_chance(accuracy, level))
        yield f"{words}, accuracy", accuracy


def _compared(cells: "pd.DataFrame") -> "pd.DataFrame":
    cells["comes_out"] = (cells["printed"] - cells["recomputed"]).abs() < NEAR
    return cells
