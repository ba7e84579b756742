"""What errors on a split look like as headline numbers and as tidy tables."""

from collections.abc import Mapping

import numpy as np

from unknot.factors import FactorSpace
from unknot.tasks.generalisation.constant_baselines import Baselines
from unknot.tasks.generalisation.split_errors import FINE, TOP, Floats, SplitErrors, mean_known
from unknot.tasks.result import Cell, Table, as_cell, as_number
from unknot.worlds.splits.split import Split

BIN = 0.1  # width of the bins of ratios in tables


def split_values(split: Split, row: Mapping[str, Cell]) -> dict[str, float]:
    """The headline numbers of a split, from its row of `splits`; those of unseen factors only where there are some."""
    columns = {"r2": "r2", "r2_clipped": "r2_clipped", "r2_constant": "constant_train_mean"}
    if row["rows_one_ood"]:
        columns |= {"r2_id": "r2_id", "r2_ood": "r2_ood"}
    if split.kind == "extrapolation":  # between the values of training, the mean is no place to be drawn to
        columns["ratio"] = "ratio"
    return {f"{row['split']}_{name}": as_number(row[column]) for name, column in columns.items()}


def tables_of(label: str, split: Split, errors: SplitErrors, baselines: Baselines) -> dict[str, Table]:
    """`splits`, one row; `factors`, one a factor; `modularity`, one a pair of factors; `ratios`, histograms."""
    full, train, beyond = baselines.full, baselines.train, split.kind == "extrapolation"
    columns = {
        "r2": errors.r2,
        "r2_clipped": np.maximum(errors.r2, 0.0),
        "constant_full_mean": full.r2,
        "constant_train_mean": train.r2,
        "r2_id": errors.in_distribution,
        "constant_id": train.in_distribution,
        "r2_ood": errors.ood,
        "constant_ood": train.ood,
    }
    whole: dict[str, Cell] = {"split": label}
    whole |= {name: as_cell(mean_known(values)) for name, values in columns.items()}
    whole |= {"ratio": as_cell(errors.pooled_ratio()) if beyond else None, "rows": errors.rows}
    whole |= {"rows_one_ood": int(errors.one_ood.sum()), "test_part": full.rows}
    nothing = np.full(len(split.space), np.nan)
    columns["ratio"] = errors.median_ratio() if beyond else nothing
    columns["share_short"] = errors.share_short() if beyond else nothing
    return {
        "splits": [whole],
        "factors": _factor_rows(label, split, columns, errors),
        "modularity": _modularity_rows(label, split.space, errors),
        "ratios": _ratio_rows(label, split.space, errors) if beyond else [],
    }


def _factor_rows(label: str, split: Split, columns: Mapping[str, Floats], errors: SplitErrors) -> Table:
    held_out = split.exclusive if split.kind in ("interpolation", "extrapolation") else {}
    rows: Table = []
    for j, factor in enumerate(split.space):
        row: dict[str, Cell] = {"split": label, "factor": factor.name, "kind": factor.kind}
        row["held_out"] = len(held_out.get(factor.name, ()))  # classes that training never sees
        row |= {name: as_cell(values[j]) for name, values in columns.items()}
        rows.append({**row, "rows_ood": int(errors.one_ood[j])})
    return rows


def _modularity_rows(label: str, space: FactorSpace, errors: SplitErrors) -> Table:
    counts, matrix = errors.one_ood, errors.modularity
    return [
        {
            "split": label,
            "unseen": space.names[i],
            "factor": space.names[j],
            "r2": as_cell(matrix[i, j]),
            "rows": int(counts[i]),
        }
        for i in np.flatnonzero(counts)
        for j in range(len(space))
    ]


def _ratio_rows(label: str, space: FactorSpace, errors: SplitErrors) -> Table:
    """Counts of ratios in bins; the last row of a factor is of those from the top on."""
    width, rows = round(BIN / FINE), []
    for i in np.flatnonzero(errors.ratios.any(axis=1)):
        fine = errors.ratios[i]
        counts = [*fine[:-1].reshape(-1, width).sum(axis=1).tolist(), int(fine[-1])]
        last = max(j for j, count in enumerate(counts) if count)
        for j, count in enumerate(counts[: last + 1]):
            low = min(TOP, round(j * BIN, 10))
            rows.append({"split": label, "factor": space.names[i], "ratio": low, "rows": count})
    return rows
