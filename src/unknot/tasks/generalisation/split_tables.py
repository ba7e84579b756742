"""What errors on a split look like as headline numbers and as tidy tables."""

import numpy as np

from unknot.factors import FactorSpace
from unknot.tasks.generalisation.constant_baselines import Baselines
from unknot.tasks.generalisation.split_errors import FINE, TOP, SplitErrors, mean_known
from unknot.tasks.result import Cell, Table
from unknot.worlds.splits.split import Split

BIN = 0.1  # width of the bins of ratios in tables


def split_values(label: str, split: Split, errors: SplitErrors, baselines: Baselines) -> dict[str, float]:
    """The headline numbers of a split, by name; those of unseen factors only where there are some."""
    r2 = errors.r2
    values = {
        f"{label}_r2": mean_known(r2),
        f"{label}_r2_clipped": mean_known(np.maximum(r2, 0.0)),
        f"{label}_r2_constant": mean_known(baselines.train.r2),
    }
    if errors.one_ood.any():
        values |= {
            f"{label}_r2_id": mean_known(errors.in_distribution),
            f"{label}_r2_ood": mean_known(errors.ood),
        }
    if split.kind == "extrapolation":  # between the values of training, the mean is no place to be drawn to
        values[f"{label}_ratio"] = errors.pooled_ratio()
    return values


def tables_of(label: str, split: Split, errors: SplitErrors, baselines: Baselines) -> dict[str, Table]:
    """`splits`, one row; `factors`, one a factor; `modularity`, one a pair of factors; `ratios`, histograms."""
    return {
        "splits": [_split_row(label, split, errors, baselines)],
        "factors": _factor_rows(label, split, errors, baselines),
        "modularity": _modularity_rows(label, split.space, errors),
        "ratios": _ratio_rows(label, split.space, errors) if split.kind == "extrapolation" else [],
    }


def _split_row(label: str, split: Split, errors: SplitErrors, baselines: Baselines) -> dict[str, Cell]:
    full, train = baselines.full, baselines.train
    return {
        "split": label,
        "r2": mean_known(errors.r2),
        "r2_clipped": mean_known(np.maximum(errors.r2, 0.0)),
        "constant_full_mean": mean_known(full.r2),
        "constant_train_mean": mean_known(train.r2),
        "r2_id": _cell(mean_known(errors.in_distribution)),
        "constant_id": _cell(mean_known(train.in_distribution)),
        "r2_ood": _cell(mean_known(errors.ood)),
        "constant_ood": _cell(mean_known(train.ood)),
        "ratio": _cell(errors.pooled_ratio()) if split.kind == "extrapolation" else None,
        "rows": errors.rows,
        "rows_one_ood": int(errors.one_ood.sum()),
        "test_part": full.rows,
    }


def _factor_rows(label: str, split: Split, errors: SplitErrors, baselines: Baselines) -> Table:
    full, train = baselines.full, baselines.train
    beyond = split.kind == "extrapolation"
    nothing = np.full(len(split.space), np.nan)
    columns = {
        "r2": errors.r2,
        "r2_clipped": np.where(np.isnan(errors.r2), np.nan, np.maximum(errors.r2, 0.0)),
        "constant_full_mean": full.r2,
        "constant_train_mean": train.r2,
        "r2_id": errors.in_distribution,
        "constant_id": train.in_distribution,
        "r2_ood": errors.ood,
        "constant_ood": train.ood,
        "ratio": errors.median_ratio() if beyond else nothing,
        "share_short": errors.share_short() if beyond else nothing,
    }
    rows: Table = []
    for j, factor in enumerate(split.space):
        row: dict[str, Cell] = {"split": label, "factor": factor.name, "kind": factor.kind}
        row["held_out"] = _held_out(split, factor.name)
        row |= {name: _cell(float(values[j])) for name, values in columns.items()}
        rows.append({**row, "rows_ood": int(errors.one_ood[j])})
    return rows


def _modularity_rows(label: str, space: FactorSpace, errors: SplitErrors) -> Table:
    counts, matrix = errors.one_ood, errors.modularity
    return [
        {
            "split": label,
            "unseen": space.names[i],
            "factor": space.names[j],
            "r2": _cell(float(matrix[i, j])),
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


def _held_out(split: Split, name: str) -> int:
    """How many classes of a factor training never sees."""
    return len(split.exclusive.get(name, ())) if split.kind in ("interpolation", "extrapolation") else 0


def _cell(value: float) -> float | None:
    return None if np.isnan(value) else value
