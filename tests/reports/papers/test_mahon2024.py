"""Mahon et al. 2024 recomputed: exactly what comes out of its own tables, and what does not."""

import numpy as np
import pytest

from unknot.papers import table
from unknot.reports.papers.mahon_averages import CLASSES, FITTED, NEAR, chance, table2, table3
from unknot.reports.papers.mahon_correlations import (
    LEVEL,
    SCOPES,
    accuracy,
    agreement,
    differences,
    firmness,
    foretold,
    recomputed,
    scores,
    t_tests,
    true_chance,
)


@pytest.mark.parametrize(("name", "come_out", "of"), [("table4", 12, 20), ("table6", 26, 34)])
def test_correlations_come_out_once_one_cell_is_corrected(name: str, come_out: int, of: int) -> None:
    cells = recomputed(name)
    assert (cells["comes_out"].sum(), len(cells)) == (come_out, of)
    assert set(cells[~cells["comes_out"]]["metric"]) == {"dci_d", "dci_c", "dci_i", "dci"}
    as_printed = (cells["printed"] - cells["as_printed"]).abs() < 0.0025
    assert set(cells[as_printed]["metric"]) == {"snc", "dci_c"}  # that of C over all datasets by chance


def test_the_one_corrected_cell_is_the_number_beside_it() -> None:
    changed = accuracy() - accuracy(corrected=False)
    assert changed[changed != 0].round(2).to_dict() == {("shapes3d", "parted_vae"): 0.59}
    assert accuracy()["shapes3d", "parted_vae"] == 19.11
    assert (accuracy() == 0).sum() == 10 and len(accuracy()) == 18


def test_what_is_printed_for_dci_is_the_correlation_of_d() -> None:
    printed = table("mahon2024", "table4").set_index(["scope", "metric"])["value"]
    for scope in SCOPES:
        assert foretold(scores()["dci_d"], scope, accuracy()) == pytest.approx(printed[scope, "dci"], abs=1e-3)


@pytest.mark.parametrize(
    ("scope", "metric", "pearson", "rank", "without"),
    [
        ("all_datasets", "snc", 0.850, 0.722, 0.688),
        ("all_datasets", "nk", 0.715, 0.210, 0.530),
        ("all_datasets", "mig", 0.570, 0.270, 0.333),
        ("shapes3d", "snc", 0.849, 0.771, 0.459),
        ("shapes3d", "nk", 0.709, 0.371, 0.571),
        ("shapes3d", "mig", 0.799, 0.829, 0.692),
    ],
)
def test_the_correlation_by_rank_and_without_its_extreme_point(
    scope: str, metric: str, pearson: float, rank: float, without: float
) -> None:
    row = firmness().set_index(["scope", "metric"]).loc[(scope, metric)]
    assert row[["pearson", "rank", "without_extreme"]].tolist() == pytest.approx(
        [pearson, rank, without], abs=6e-4
    )
    assert row["low"] < row["pearson"] < row["high"]


def test_without_the_extreme_point_and_no_cell_corrected_snc_has_0_685() -> None:
    target = accuracy(corrected=False).drop([("shapes3d", "parted_vae_ss")])
    assert foretold(scores()["snc"], "all_datasets", target) == pytest.approx(0.685, abs=5e-4)


def test_true_chance_levels_lower_what_snc_and_nk_foretell() -> None:
    true, kept = true_chance(), true_chance(foreign=True)
    assert [foretold(true["snc"], scope, accuracy()) for scope in SCOPES] == pytest.approx([0.65, 0.69], abs=6e-3)
    assert [foretold(true["nk"], scope, accuracy()) for scope in SCOPES] == pytest.approx([0.45, 0.31], abs=6e-3)
    assert [foretold(kept["snc"], scope, accuracy()) for scope in SCOPES] == pytest.approx([0.68, 0.83], abs=6e-3)
    assert all(len(values) == 18 for values in (*true.values(), kept["snc"]))


def test_snc_stays_ahead_over_all_datasets_and_nk_does_not() -> None:
    firm = firmness()
    rows = firm[firm["scope"] == "all_datasets"].set_index("metric")
    for column in ("pearson", "rank", "without_extreme"):
        assert rows[column].idxmax() == "snc"
    assert (
        rows.loc["snc", "true_chance"] > rows["pearson"].drop(["snc", "nk"]).max() > rows.loc["nk", "true_chance"]
    )


def test_seven_of_nine_claimed_differences_vanish_with_the_usual_standard_error() -> None:
    pairs = differences("all_datasets")
    assert len(pairs) == 45 and pairs["claimed"].sum() == 9
    assert ((pairs["p_single"] < LEVEL) == pairs["claimed"]).all()
    stays = pairs[pairs["claimed"] & (pairs["p_usual"] < LEVEL)]
    assert stays[["stronger", "weaker"]].to_numpy().tolist() == [["snc", "sap"], ["snc", "irs"]]
    assert stays["p_usual"].tolist() == pytest.approx([0.0052, 0.0008], abs=5e-5)
    claimed = pairs[pairs["claimed"]]
    assert (claimed["p_williams"] < LEVEL).sum() == 7 and (claimed["p_williams_rest"] < LEVEL).sum() == 2


def test_on_shapes3d_no_difference_is_claimed_and_none_comes_out() -> None:
    pairs = differences("shapes3d")
    assert len(pairs) == 45 and not pairs["claimed"].any() and not (pairs["p_single"] < LEVEL).any()


def test_t_tests_are_those_of_appendix_e() -> None:
    tests = t_tests().set_index(["scope", "metric"])
    assert tests.loc[("all_datasets", "snc"), "t"] == pytest.approx(6.45, abs=5e-3)
    assert tests.loc[("shapes3d", "snc"), "t"] == pytest.approx(3.21, abs=5e-3)
    p = tests["p"]
    assert p["all_datasets", "snc"] < 1e-5 and p["all_datasets", "nk"] == pytest.approx(8.3e-4, abs=5e-6)
    assert p["shapes3d", "snc"] == pytest.approx(0.0325, abs=5e-5) and p["shapes3d", "nk"] == pytest.approx(
        0.114, abs=5e-4
    )


def test_metrics_of_table_7_agree_as_appendix_h_says() -> None:
    names, r, p = agreement()
    means = dict(zip(names, ((r.sum(axis=0) - 1) / (len(names) - 1)).round(2), strict=True))
    assert sorted(means, key=lambda name: means[name])[:2] == ["irs", "sap"]
    expected = {"irs": 0.47, "sap": 0.62, "mig": 0.82, "med": 0.82, "snc": 0.73, "nk": 0.71}
    assert {name: means[name] for name in expected} == expected
    assert r[0, 1] == pytest.approx(0.58, abs=5e-3) and np.allclose(r, r.T) and np.allclose(p, p.T)


def test_means_of_table_2_come_out_of_single_runs() -> None:
    cells = table2()
    assert cells.groupby("metric")["comes_out"].sum().to_dict() == {
        "linear_accuracy": 16,
        "mlp_accuracy": 17,
        "nk": 17,
        "snc": 17,
    }
    missed = cells[~cells["comes_out"]][["dataset", "model"]].drop_duplicates().to_numpy().tolist()
    assert missed == [["dsprites", "weak_de"], ["shapes3d", "beta_tc_vae"]]


def test_snc_of_table_2_has_true_chance_levels_on_dsprites_alone() -> None:
    snc = table2().query("metric == 'snc'")
    true = (snc["printed"] - snc["true_chance"]).abs() < NEAR
    assert true.groupby(snc["dataset"]).sum().to_dict() == {"dsprites": 5, "mpi3d": 0, "shapes3d": 0}
    beta = snc[snc["model"] == "beta_vae"].set_index("dataset")["true_chance"]
    assert (beta["shapes3d"], beta["mpi3d"]) == pytest.approx((15.6, 27.6), abs=0.05)
    assert all(
        FITTED[dataset][factor] != chance(dataset, factor) for dataset in FITTED for factor in FITTED[dataset]
    )


def test_cells_of_table_3_come_out_by_one_rule_or_another() -> None:
    cells = table3()
    nonzero = cells[cells["printed"] > 0]
    assert (cells["comes_out"].sum(), len(cells)) == (171, 180)
    assert (nonzero["comes_out"].sum(), len(nonzero)) == (115, 121)
    missed = cells[~cells["comes_out"]]
    assert set(zip(missed["dataset"], missed["model"], missed["setting"], strict=True)) == {
        ("shapes3d", "factor_vae", "cg"),
        ("shapes3d", "parted_vae", "cg"),
        ("shapes3d", "parted_vae_ss", "cg"),
        ("shapes3d", "weak_de", "cg"),
        ("dsprites", "weak_de", "normal_test_set"),
        ("dsprites", "mtd", "normal_test_set"),
    }
    assert ((cells["printed"] - cells["stated"]).abs() < NEAR).sum() == 52
    exception = cells.query("printed == 18.52").iloc[0]
    assert (exception["rule"], round(exception["stated"], 2)) == ("joint accuracy minus chance", 19.11)


def test_chance_is_that_of_guessing_both_factors_or_one() -> None:
    assert chance("shapes3d", "size_and_shape") == 1 / 32 and chance("dsprites", "shape") == 1 / 3
    sizes = {"dsprites": 737_280, "shapes3d": 480_000, "mpi3d": 1_036_800}
    assert {name: int(np.prod(list(classes.values()))) for name, classes in CLASSES.items()} == sizes
