"""Differences between representations: found where they are, and not where they are luck."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import unknot
from unknot import Representation, UnknotError
from unknot.cli import app
from unknot.scoring.comparison import Parted
from unknot.scoring.judging import doubts, judged
from unknot.statistics.scatter import scatter, untold

FACTORS = np.column_stack([np.random.default_rng(9).integers(0, size, 600) for size in (4, 5)])


def _code(noise: float, seed: int, factors: np.ndarray = FACTORS) -> Representation:
    rng = np.random.default_rng(seed)
    return Representation(factors + noise * rng.normal(size=factors.shape), factors, ("x", "y"))


def test_a_difference_is_found_with_an_interval_that_holds_it() -> None:
    result = unknot.compare({"clear": _code(0.2, 0), "noisy": _code(0.5, 1)}, metrics=["mig", "mutual_info_score"])
    mig, independence = result.differences
    scores = [
        unknot.score(_code(noise, seed), metrics=["mig"])["mig"].value for noise, seed in ((0.2, 0), (0.5, 1))
    ]
    assert mig.values == tuple(scores) and mig.difference == pytest.approx(scores[1] - scores[0])
    assert mig.verdict == "worse" and mig.low <= mig.difference <= mig.high < 0
    assert independence.difference < 0 and independence.verdict == "better"  # less is better


def test_luck_is_not_taken_for_a_difference() -> None:
    alarms = 0
    for seed in range(40):
        pair = {"a": _code(0.4, 2 * seed), "b": _code(0.4, 2 * seed + 1)}
        (difference,) = unknot.compare(pair, metrics=["mcc"], resamples=40, seed=seed).differences
        alarms += difference.p < 0.05
    assert alarms <= 7  # of 40, where 2 are expected: eight or more come about once in 1,000


def test_pairs_are_resampled_together() -> None:
    a = _code(0.4, 0)
    alike = Representation(
        np.asarray(a.latents) + 0.02 * np.random.default_rng(5).normal(size=(600, 2)), FACTORS, ("x", "y")
    )
    order = np.random.default_rng(0).permutation(600)
    shuffled = Representation(alike.latents[order], FACTORS[order], ("x", "y"))
    paired, apart = (unknot.compare({"a": a, "b": other}, metrics=["mcc"]) for other in (alike, shuffled))
    assert paired.paired and not apart.paired and "resampled apart" in apart.notes[0]
    widths = [each.differences[0].high - each.differences[0].low for each in (paired, apart)]
    assert widths[0] < 0.5 * widths[1]


def test_doubts_and_scatter_are_of_the_variant_that_was_measured() -> None:
    draws = np.random.default_rng(0).normal(size=40)
    ids = ["sap[classification]", "sap[regression]", "irs[quantile=0.99]", "irs[quantile=0.9]", "mig[bins=20]"]
    parted = {"a": [Parted(0.0, draws, 600)], "b": [Parted(1.0, np.roll(draws, 1), 600)]}
    found = judged(dict.fromkeys(ids, parted), "ab")
    (doubt,) = doubts(found)
    assert doubt.startswith("interval and p of irs[quantile=0.99]: right of latents with normal tails")
    held_out, regression, _, _, rows = (each.high - each.low for each in found)
    assert regression == rows != held_out


def test_equal_is_said_within_a_margin() -> None:
    pair = {"a": _code(0.3, 0), "b": _code(0.3, 1)}
    (difference,) = unknot.compare(pair, metrics=["mcc"], margin=0.1).differences
    assert difference.verdict == "equal"


def test_places_are_ranges_where_rows_cannot_tell() -> None:
    codes = {"clear": _code(0.1, 0), "worse": _code(0.8, 1), "as bad": _code(0.8, 2)}
    ranks = unknot.compare(codes, metrics=["mcc"]).ranks("mcc[pearson]")
    assert ranks == {"clear": (1, 1), "worse": (2, 3), "as bad": (2, 3)}


def test_the_command_is_a_gate(tmp_path: Path) -> None:
    for name, noise, seed in (("base", 0.2, 0), ("same", 0.2, 1), ("lost", 0.4, 2)):
        _code(noise, seed).write(tmp_path / f"{name}.npz")
    words = ["compare", str(tmp_path / "base.npz")]
    gate = ["--metrics", "mcc,mig", "--fail-below", "0.01"]
    fine = CliRunner().invoke(app, [*words, str(tmp_path / "same.npz"), *gate, "--json", str(tmp_path / "c.json")])
    assert fine.exit_code == 0 and "2 representations of the same rows" in fine.output
    assert (tmp_path / "c.json").is_file()
    lost = CliRunner().invoke(app, [*words, str(tmp_path / "lost.npz"), *gate])
    assert lost.exit_code == 1 and "is worse than" in lost.output and "in mcc[pearson]" in lost.output
    assert "first: base, second: lost" in lost.output


def test_no_name_of_a_file_is_a_formula_in_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for seed, name in enumerate(("base.npz", "=1+1.npz")):
        _code(0.2, seed).write(tmp_path / name)
    words = ["compare", "base.npz", "=1+1.npz", "--metrics", "mig", "--resamples", "20", "--csv", "-"]
    head, *rows = csv.reader(CliRunner().invoke(app, words).stdout.splitlines())
    assert rows and {dict(zip(head, row, strict=True))["second"] for row in rows} == {"'=1+1.npz"}


def test_bad_input_is_refused() -> None:
    a = _code(0.2, 0)
    with pytest.raises(UnknotError, match="expected two or more"):
        unknot.compare({"a": a})
    with pytest.raises(UnknotError, match="resamples is 3; expected at least 20"):
        unknot.compare({"a": a, "b": a}, resamples=3)
    with pytest.raises(UnknotError, match="a has the factors x, y and b has p, q"):
        unknot.compare({"a": a, "b": Representation(a.latents, FACTORS, ("p", "q"))})
    with pytest.raises(UnknotError, match="a has the factors x, y and c has p, q"):
        unknot.compare(
            {"a": a, "b": _code(0.2, 1, FACTORS[::-1]), "c": Representation(a.latents, FACTORS, ("p", "q"))}
        )
    with pytest.raises(UnknotError, match="compare: b is 3; expected a Representation"):
        unknot.compare({"a": a, "b": 3})


def test_seeds_of_a_setting_are_compared_as_one() -> None:
    lucky = {"a": _code(0.30, 1), "b": _code(0.22, 2)}
    assert unknot.compare(lucky, metrics="mcc", resamples=40).differences[0].verdict == "better"
    noises = {"a": (0.30, 0.22, 0.30, 0.22), "b": (0.22, 0.30, 0.22, 0.30)}
    seeds = {name: [_code(noise, 9 + at) for at, noise in enumerate(own)] for name, own in noises.items()}
    (difference,) = unknot.compare(seeds, metrics="mcc", resamples=40).differences
    assert difference.verdict == "undecided" and difference.high - difference.low > 0.02
    with pytest.raises(UnknotError, match="a has no representation"):
        unknot.compare({"a": [], "b": _code(0.2, 0)})


def test_seeds_of_other_rows_share_the_parts_of_their_setting() -> None:
    a, b = _code(0.4, 0), _code(0.4, 1, FACTORS[::-1])
    single, tripled = (
        unknot.compare({"a": [a] * copies, "b": [b] * copies}, metrics="mcc", resamples=40).differences[0]
        for copies in (1, 3)
    )
    assert tripled.smallest == pytest.approx(single.smallest)  # three copies know no more of other rows than one


def test_a_metric_that_trains_is_trained_on_few_parts_and_says_so() -> None:
    pair = {"clear": _code(0.2, 0), "noisy": _code(1.5, 1)}
    result = unknot.compare(pair, metrics=["linear_accuracy", "mcc"], resamples=50)
    assert [each.verdict for each in result.differences] == ["worse", "worse"]
    assert "20 parts of the rows only" in result.notes[0] and "linear_accuracy" in result.notes[0]
    assert "mcc" not in result.notes[0]


def test_metrics_give_the_same_by_themselves_as_together() -> None:
    pair = {"a": _code(0.2, 0), "b": _code(0.4, 1)}
    together = unknot.compare(pair, metrics=["mig", "jemmig", "mcc", "snc", "sap"], resamples=20)
    for each in together.differences:
        assert unknot.compare(pair, metrics=[each.metric], resamples=20).differences[0].low == each.low


def test_tables_are_compared_by_the_columns_that_are_named(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    kind, site = rng.choice(["ant", "owl"], 90), np.where(rng.random(90) < 0.3, "?", rng.choice(["n", "s"], 90))
    for name in ("a", "b"):
        codes = pd.DataFrame(rng.normal(size=(90, 2)) + (kind == "owl")[:, None], columns=["z0", "z1"])
        codes.assign(kind=kind, site=site, patient=np.arange(90) // 3).to_csv(
            tmp_path / f"{name}.csv", index=False
        )
    words = [
        "compare",
        str(tmp_path / "a.csv"),
        str(tmp_path / "b.csv"),
        "--latents",
        "z*",
        "--factors",
        "kind,site",
    ]
    words += ["--groups", "patient", "--missing", "?", "--metrics", "mig", "--resamples", "20"]
    done = CliRunner().invoke(app, [*words, "--json", str(tmp_path / "c.json")])
    assert done.exit_code == 0, done.output
    named = {"latents": "z*", "factors": ["kind", "site"], "groups": "patient", "missing": ["?"]}
    cells = {name: unknot.from_table(tmp_path / f"{name}.csv", **named) for name in ("a", "b")}
    by_hand = unknot.compare(cells, metrics=["mig"], resamples=20).differences[0]
    (row,) = json.loads((tmp_path / "c.json").read_text())["differences"]
    assert (row["difference"], row["low"]) == (by_hand.difference, by_hand.low)


def test_copies_in_one_representation_are_held_out_together_in_all() -> None:
    rng = np.random.default_rng(0)
    rows, noise = rng.normal(size=(300, 8)), rng.normal(size=(900, 8))
    factors = np.vstack([rows[:, :2] + rng.normal(size=(300, 2))] * 3)
    copied = np.vstack([rows] * 3)
    pair = {"a": Representation(copied, factors), "b": Representation(copied + 1e-6 * noise, factors)}
    result = unknot.compare(pair, metrics="r2", resamples=20)
    assert result.paired and "held out and resampled together in all" in result.notes[0]
    assert abs(result.differences[0].difference) < 1e-4 and result.differences[0].verdict == "undecided"


def test_what_tells_nothing_of_other_rows_has_no_interval_and_a_note() -> None:
    groups = np.arange(600) % 3
    pair = {name: replace(_code(0.4, seed), groups=groups) for name, seed in (("a", 0), ("b", 1))}
    few = unknot.compare(pair, metrics=["mig", "modularity"], resamples=20)
    assert np.isnan([each.p for each in few.differences]).all()
    assert few.notes == ("no interval and no p of mig[bins=20], modularity[bins=20]: " + untold(3) + ".",)
    record = unknot.score(pair["a"], metrics=["mig"], null=0, bootstrap=20).records["mig[bins=20]"]
    assert record.interval is None and record.warnings == (f"no interval: {untold(3)}.",)
    rare = np.zeros((600, 1), dtype=np.int64)
    rare[0] = 1  # which one part of the rows has, and the other does not
    pair = {
        name: Representation(rare + 0.4 * np.random.default_rng(seed).normal(size=(600, 2)), rare)
        for seed, name in enumerate("ab")
    }
    undecided = unknot.compare(pair, metrics="mig", resamples=20)
    assert "mig[bins=20]: fewer than half of the splits" in undecided.notes[-1]


def test_a_metric_is_judged_by_what_moves_it() -> None:
    rng = np.random.default_rng(0)
    rows, largest = rng.exponential(size=300), []
    for _ in range(60):
        order = rng.permutation(300)
        largest += [rows[order[:100]].max(), rows[order[100:]].max()]
    pair = {"a": [Parted(0.0, np.zeros(120), 300)], "b": [Parted(rows.max(), np.array(largest), 300)]}
    irs, mcc = judged({"irs": pair, "mcc": pair}, ("a", "b"))
    widths = [each.smallest**2 for each in (irs, mcc)]
    expected = [scatter(np.array(largest), 300, kind)[0] for kind in ("extremes", "rows")]
    assert widths[0] / widths[1] == pytest.approx(expected[0] / expected[1]) and expected[0] > 1.2 * expected[1]


def test_the_interval_of_a_card_is_by_what_moves_the_metric() -> None:
    from scipy.stats import t

    from unknot.scoring.redrawn import Drawn, redrawn

    card = unknot.score(_code(0.4, 0), metrics=["irs"], null=0, bootstrap=40)
    record = card.records["irs[quantile=0.99]"]
    (draws,), _ = redrawn(card.plan, [Drawn("irs", record.options)], 40, [0, 40])
    variance, freedom = scatter(draws, 600, "extremes")
    half = t.ppf(0.975, freedom) * variance**0.5
    assert record.score is not None and record.interval == pytest.approx(
        (record.score.value - half, record.score.value + half)
    )
    assert freedom == 4 and not record.warnings


def test_what_is_known_to_be_off_is_said_beside_p() -> None:
    pair = {"a": _code(0.4, 0), "b": _code(0.4, 1)}
    result = unknot.compare(pair, metrics=["mcc", "irs", "gaussian_total_correlation"], resamples=20)
    about = [note for note in result.notes if "interval and p of" in note]
    assert len(about) == 1 and "irs[quantile=0.99]: " in about[0]


def test_the_interval_of_a_sum_of_squares_is_that_of_its_root_and_never_below_zero() -> None:
    near, far = _code(0.4, 0), _code(0.4, 0)
    far = Representation(np.asarray(far.latents) @ np.array([[1.0, 0.6], [0.0, 0.8]]), FACTORS, ("x", "y"))
    ends = []
    for code in (near, far):
        (record,) = unknot.score(
            code, metrics=["gaussian_total_correlation"], bootstrap=40, null=0
        ).records.values()
        assert record.interval is not None and record.score is not None
        low, high = record.interval
        assert 0 <= low <= record.score.value < high
        ends.append((low, record.score.value, high))
    low, value, high = np.sqrt(ends[1])
    assert value - low == pytest.approx(high - value) and low > 0
