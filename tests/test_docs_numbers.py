"""The numbers that docs/metrics.md prints for codes of known quality are what the metrics give."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unknot.examples import entangled, toy_m1, toy_m2
from unknot.metrics.beta_vae_score import beta_vae_score
from unknot.metrics.dci import dci
from unknot.metrics.dcimig import dcimig
from unknot.metrics.explicitness import explicitness
from unknot.metrics.factor_vae_score import factor_vae_score
from unknot.metrics.irs import irs
from unknot.metrics.jemmig import jemmig
from unknot.metrics.mcc import mcc
from unknot.metrics.med import med
from unknot.metrics.mig import mig
from unknot.metrics.mig_sup import mig_sup
from unknot.metrics.modularity import modularity
from unknot.metrics.sap import sap
from unknot.metrics.snc import snc

PAGE = Path(__file__).parents[1] / "docs" / "metrics.md"
COLUMNS = ("perfect", "repeated", "rotated", "noise", "M1", "M2", "T4")  # T16 was drawn by a generator in between
ROUNDED, DRAWN, TIED = 6e-4, 0.02, 0.05  # printed to three digits; sampled scores; ties of trees broken at random
Rows = dict[str, np.ndarray]


def _med(part: str | None, rows: Rows) -> float:
    score = med(rows["latents"], rows["factors"], informativeness=False)
    return score.value if part is None else score.parts[part]


def _dci(part: str | None, rows: Rows) -> float:
    score = dci(**rows)
    return score.value if part is None else score.parts[part]


def _plain(metric: Callable[..., Any], **options: object) -> Callable[[Rows], float]:
    return lambda rows: metric(rows["latents"], rows["factors"], **options).value


METRICS: dict[str, tuple[Callable[[Rows], float], float]] = {
    "`mig`": (_plain(mig), ROUNDED),
    "`mig_sup`": (_plain(mig_sup), ROUNDED),
    "`sap[classification]`": (lambda rows: sap(**rows).value, 2e-3),
    "`sap[regression]`": (_plain(sap, mode="regression"), ROUNDED),
    "`modularity`": (_plain(modularity), ROUNDED),
    "`med` D": (lambda rows: _med(None, rows), ROUNDED),
    "`med` C": (lambda rows: _med("completeness", rows), ROUNDED),
    "`irs`": (_plain(irs), ROUNDED),
    "`beta_vae_score`": (_plain(beta_vae_score), DRAWN),
    "`factor_vae_score`": (_plain(factor_vae_score), DRAWN),
    "`dcimig`": (_plain(dcimig), ROUNDED),
    "`jemmig`": (_plain(jemmig), ROUNDED),
    "`mcc[pearson]`": (_plain(mcc), ROUNDED),
    "`explicitness`": (lambda rows: explicitness(**rows).value, 2e-3),
    "`snc`": (lambda rows: snc(**rows).value, ROUNDED),
}
TREES: dict[str, str | None] = {
    "`dci[gbt]` D": None,
    "`dci[gbt]` C": "completeness",
    "`dci[gbt]` I": "informativeness",
}


@pytest.fixture(scope="module")
def printed() -> dict[str, dict[str, float]]:
    """Metric -> code -> number, as the page has it."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("| metric | perfect |"))
    heads = _cells(lines[start])[1:]
    found = {}
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        name, *values = _cells(line)
        pairs = zip(heads, values, strict=True)
        found[name] = {head: float(value.strip("*")) for head, value in pairs if value != "-"}
    return found


@pytest.fixture
def code(golden: Callable[[str], tuple[Rows, Any]]) -> Callable[[str], Rows]:
    def make(name: str) -> Rows:
        if name in ("M1", "M2", "T4"):
            latents, factors = {"M1": toy_m1, "M2": toy_m2}[name](125) if name != "T4" else entangled()
            return {"latents": latents, "factors": factors, "latents_test": latents, "factors_test": factors}
        rows = golden("perfect" if name == "repeated" else name)[0]
        if name == "repeated":
            rows |= {key: np.hstack([rows[key], -rows[key]]) for key in ("latents", "latents_test")}
        return rows

    return make


@pytest.mark.parametrize("column", COLUMNS)
def test_printed_scores_of_known_codes_are_what_the_metrics_give(
    column: str, printed: dict[str, dict[str, float]], code: Callable[[str], Rows]
) -> None:
    rows = code(column)
    wrong = {}
    for name, (metric, tolerance) in METRICS.items():
        value = metric(rows)
        if abs(value - printed[name][column]) > tolerance:
            wrong[name] = (printed[name][column], value)
    assert not wrong


@pytest.mark.parametrize("column", ["M1", "M2", "T4"])
def test_printed_dci_of_the_toy_codes_is_what_trees_give(
    column: str, printed: dict[str, dict[str, float]], code: Callable[[str], Rows]
) -> None:
    rows = code(column)
    for name, part in TREES.items():
        assert _dci(part, rows) == pytest.approx(printed[name][column], abs=TIED)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]
