"""The scores of the COAT paper, beside which those of other models are shown. They are of its renders, not of ours."""

from typing import Any

from unknot.papers import table
from unknot.tasks.algebra.options import LOSSES
from unknot.tasks.result import Cell, Table, as_cell

NAMES = {
    "pixels": "pixels",
    "auto_encoder": "autoencoder",
    "beta_tc_vae": "beta-TC-VAE",
    "slot_attention": "slot attention",
    "iodine": "IODINE",
    "moco_v2": "MoCo v2",
    "beta_vae": "beta-VAE",
}
WITHOUT = {
    "no_duplicates": " without duplicates",
    "no_duplicates_no_invisible": " without duplicates and invisible slots",
}
CORPORA = {
    "with": "occluded",
    "without": "clear",
    "without (inferred)": "clear (an inference; printed as occluded)",
}
PASSED = {"pass": True, "fail": False}  # pixels were not put to the test


def published_rows() -> Table:
    """Table 1 of the paper, each row with its tree reconstruction error of Table 2, then VAEs that only Table 2 has.

    >>> pixels = published_rows()[0]
    >>> pixels["l2"], pixels["l2_passed"], pixels["ari"]
    (75.47, None, None)
    """
    first, second = table("xie2022", "table1"), table("xie2022", "table2")
    rows = [_scores(cells.set_index("metric")) for _, cells in first.groupby("row")]
    slots = second[second["variant"] != ""].to_dict("records")
    for cell in slots:  # of models trained as usual and tested with occlusion
        after = WITHOUT.get(cell["variant"], "")
        row = _named(rows, f"{NAMES[cell['model']]}{after} (IID)", CORPORA["with"])
        row |= _tre(cell)
    for cell in second[second["variant"] == ""].to_dict("records"):
        empty: dict[str, Cell] = dict.fromkeys(rows[0])
        name = f"{NAMES[cell['model']]} (beta {cell['beta']}, IID)"
        rows.append(empty | {"representation": name, "kind": "published", "corpus": CORPORA["with"]} | _tre(cell))
    return rows


def _scores(cells: Any) -> dict[str, Cell]:
    """The row of one setting of Table 1."""
    setting = cells.iloc[0]
    trained = f" ({setting['train_set'].upper()})" if setting["train_set"] else ""
    name = NAMES[setting["model"]] + WITHOUT.get(setting["postprocessing"], "") + trained
    row: dict[str, Cell] = {
        "representation": name,
        "kind": "published",
        "corpus": CORPORA[setting["test_occlusion"]],
    }
    for column, metric in {**{loss: f"{loss}_coat" for loss in LOSSES}, "ari": "ari"}.items():
        cell = cells.loc[metric]
        row |= {column: as_cell(cell["value"]), f"{column}_error": as_cell(cell["spread"])}
        if column in LOSSES:
            row[f"{column}_passed"] = PASSED.get(cell["hard_negative_test"])
    return row | {"tre": None, "tre_spread": None}


def _named(rows: Table, name: str, corpus: str) -> dict[str, Cell]:
    return next(row for row in rows if (row["representation"], row["corpus"]) == (name, corpus))


def _tre(cell: Any) -> dict[str, Cell]:
    return {"tre": cell["value"], "tre_spread": cell["spread"]}
