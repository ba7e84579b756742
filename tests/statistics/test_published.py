"""What docs/statistics.md says of published correlations is what comes out of the published tables."""

from pathlib import Path

import pandas as pd
import pytest

from unknot.papers import table
from unknot.statistics.correlations import Method, correlations
from unknot.statistics.dependent import compare_correlations, williams_t

PAGE = Path(__file__).parents[2] / "docs" / "statistics.md"
METRICS = ["snc", "nk", "mig", "med", "dci", "sap", "irs"]


@pytest.fixture(scope="module")
def published() -> pd.DataFrame:
    cells = table("mahon2024", "table3").query("setting == 'cg' and model != 'mtd'")
    left_out = cells.pivot(index=["dataset", "model"], columns="factor", values="value")
    scores = table("mahon2024", "table8").pivot(index=["dataset", "model"], columns="metric", values="value")
    scores["accuracy"] = left_out["size_and_shape"]
    scores.loc[("shapes3d", "parted_vae"), "accuracy"] = left_out.loc[("shapes3d", "parted_vae"), "size"]
    return scores


def test_the_table_of_the_page_comes_out(published: pd.DataFrame) -> None:
    page = PAGE.read_text(encoding="utf-8")
    printed = table("mahon2024", "table4").query("scope == 'all_datasets'").set_index("metric")["value"]
    by_value, by_rank = (
        correlations(published, METRICS, against=["accuracy"], method=method, correction="holm").set_index("first")
        for method in ("pearson", "spearman")
    )
    for metric in METRICS:
        cells = [f"`{metric}`", f"{printed[metric]:.3f}"]
        for found in (by_value.loc[metric], by_rank.loc[metric]):
            cells += [f"{found.r:.2f}", f"{found.low:.2f} to {found.high:.2f}", f"{found.p_adjusted:.3f}"]
        assert f"| {' | '.join(cells)} |" in page


@pytest.mark.parametrize(
    ("method", "sure"), [("pearson", [("snc", "irs"), ("nk", "irs")]), ("spearman", [("snc", "irs")])]
)
def test_few_differences_are_sure(published: pd.DataFrame, method: Method, sure: list[tuple[str, str]]) -> None:
    pairs = compare_correlations(published, "accuracy", METRICS, method=method, bootstraps=0, correction="holm")
    assert len(pairs) == 21
    kept = pairs[pairs["p_adjusted"] < 0.05]
    assert list(zip(kept["first"], kept["second"], strict=True)) == sure


def test_360_models_tell_two_correlations_apart() -> None:
    figure = table("vansteenkiste2019", "figure8").query("dataset == 'abstract_dsprites'")
    r = figure.set_index(["metric_row", "metric_column"])["value"] / 100
    dci = "dci_disentanglement"
    test = williams_t(r["mig", "sap"], r["mig", dci], r["sap", dci], 360)
    assert f"t = {test.statistic:.2f}, p = {test.p:.0e}" in PAGE.read_text(encoding="utf-8")
