"""Rows of the table of object algebra: what is scored on a corpus beside the encoder, and how a row is written."""

import csv
import math
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.metrics.coat import Coat
from unknot.tasks.algebra.mask_slots import has_masks, mask_slots
from unknot.tasks.algebra.quadruples import CorpusTuples, Tuples
from unknot.tasks.algebra.symbols import symbolic_codes
from unknot.tasks.result import Cell, Table

Codes = Mapping[str, Any]
LOSSES = ("l2", "acos")


class Pixels:
    """Images of one role as codes (n, h w c), read when they are asked for: whole corpora do not fit into memory."""

    dtype = np.dtype(np.uint8)

    def __init__(self, tuples: Tuples, role: str) -> None:
        self.tuples, self.role = tuples, role
        self.shape = len(tuples), math.prod(tuples.image_shape)

    def __getitem__(self, rows: NDArray[np.int64]) -> NDArray[np.uint8]:
        return self.tuples.images(rows, self.role).reshape(len(rows), -1)


def pixel_codes(tuples: Tuples) -> dict[str, Any]:
    """Images themselves as codes; without the pixel negative, which they satisfy by construction."""
    return {role: Pixels(tuples, role) for role in tuples.roles}


def baselines(tuples: Tuples, *, seed: int, full: bool) -> dict[str, Callable[[], Codes]]:
    """Name -> codes of what every encoder is shown beside.

    Args:
        tuples: images.
        seed: of the projection.
        full: whether codes that say the same of every corpus are wanted too.
    """
    rows: dict[str, Callable[[], Codes]] = {"pixels": lambda: pixel_codes(tuples)}
    if not isinstance(tuples, CorpusTuples):
        return rows
    corpus = tuples.corpus

    def projected() -> Codes:
        codes = symbolic_codes(corpus.tuples)
        width = codes["A"].shape[1]
        matrix = np.random.default_rng([seed, 1]).normal(size=(width, width)) / math.sqrt(width)
        return {role: code @ matrix for role, code in codes.items()}

    if has_masks(corpus):
        rows["slots from true masks"] = lambda: mask_slots(corpus)
    if full:
        rows["symbolic attributes"] = lambda: symbolic_codes(corpus.tuples)
        rows["random projection of symbolic attributes"] = projected
        rows["symbolic attributes without colour"] = lambda: symbolic_codes(corpus.tuples, without="color")
        rows["constant code"] = lambda: {role: np.ones((len(tuples), 1)) for role in tuples.roles}
    return rows


def score_row(name: str, kind: str, corpus: str, scores: Coat) -> dict[str, Cell]:
    """One line of the table of scores, in percent."""
    row: dict[str, Cell] = {"representation": name, "kind": kind, "corpus": corpus}
    for loss, score in zip(LOSSES, scores, strict=True):
        low, high = score.parts["interval"]
        numbers = {"": score.value, "_low": low, "_high": high, "_error": score.parts["error"]}
        row |= {loss + key: None if math.isnan(value) else 100 * value for key, value in numbers.items()}
        row |= {f"{loss}_passed": score.parts["passed"], f"{loss}_collapsed": score.parts["collapsed"]}
    return row | {"n": scores.l2.parts["n_scored"], "n_invalid": scores.acos.parts["n_invalid"]}


def negative_rows(name: str, kind: str, corpus: str, scores: Coat) -> Table:
    """The share of successes on every negative, with its test."""
    return [
        {
            "representation": name,
            "kind": kind,
            "corpus": corpus,
            "loss": loss,
            "negative": negative,
            "p_hat": test.p_hat,
            "low": test.interval[0],
            "high": test.interval[1],
            "z": test.z,
            "p_value": test.p_value,
            "n": test.n,
            "passed": test.passed,
        }
        for loss, score in zip(LOSSES, scores, strict=True)
        for negative, test in score.parts["negatives"].items()
    ]


def published_rows() -> Table:
    """Scores of the COAT paper, from its table 1 and text; on its own renders, which are not ours.

    >>> published_rows()[0]["l2"]
    75.47
    """
    text = (files("unknot.tasks.algebra") / "published_coat.csv").read_text(encoding="utf-8")
    rows: Table = []
    for line in csv.DictReader(text.splitlines()):
        trained = f" ({line['training']})" if line["training"] else ""
        row: dict[str, Cell] = {"representation": line["representation"] + trained, "kind": "published"}
        row["corpus"] = line["corpus"]
        for loss in LOSSES:
            row |= {loss: _number(line[loss]), f"{loss}_error": _number(line[f"{loss}_error"])}
            row[f"{loss}_passed"] = line[f"{loss}_passed"] == "1"
        rows.append(row)
    return rows


def _number(text: str) -> float | None:
    return float(text) if text else None
