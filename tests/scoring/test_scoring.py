"""`unknot.score`: the same numbers as the metrics themselves, however they are asked for."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch

import unknot
from unknot import Representation, UnknotError, UnknotWarning
from unknot.metrics import METRICS, parse_identity
from unknot.metrics.subset import subset
from unknot.scoring.scoring import plan, run


def _code(n: int = 600, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    factors = np.column_stack([rng.integers(0, 3, n), rng.integers(0, 5, n)])
    return np.column_stack([factors + 0.1 * rng.normal(size=factors.shape), rng.normal(size=n)]), factors


def test_a_card_says_which_scores_are_moved_by_the_units_of_a_code() -> None:
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 3, size=(200, 2))
    latents = factors + 0.1 * rng.normal(size=(200, 2))
    asked = ["mig", "sap", "omes"]
    assert not any("units" in note for note in unknot.score(latents, factors, metrics=asked).plan.notes)
    (note,) = unknot.score(latents * 1e-9, factors, metrics=asked).plan.notes
    assert note.startswith(
        "latents have a range of 2.7e-09 at most, and sap[classification], omes[average] depend"
    )
    (note,) = unknot.score(np.c_[latents, rng.normal(size=(200, 2)) * 1e6], factors, metrics=asked).plan.notes
    assert "bring them to a range near 1" in note
    assert not unknot.score(latents * 1e-9, factors, metrics=["mig"]).plan.notes


def test_a_card_says_of_variants_whether_units_move_them() -> None:
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 2, size=(60, 2))
    latents = (factors + 0.1 * rng.normal(size=(60, 2))) * 1e-9
    still = ["sap[regression]", "factor_vae_score[relative]", "linear_accuracy[penalised]", "mcc"]
    moved = ["sap[liblinear]", "dci[forest]", "linear_accuracy[paper_text]", "data_efficiency[lr]"]
    assert not unknot.score(latents, factors, metrics=still).plan.notes
    (note,) = unknot.score(latents, factors, metrics=[*still, *moved]).plan.notes
    named = "sap[liblinear], dci[forest], linear_accuracy[paper_text], data_efficiency[lr,few=100,many=10000]"
    assert f"at most, and {named} depend on" in note


def test_the_range_of_a_wide_code_may_be_beyond_its_precision() -> None:
    latents = np.linspace(-3e38, 3e38, 110 * 40, dtype=np.float64).reshape(40, 110).astype(np.float32)
    latents[0], latents[1] = -3e38, 3e38
    (note,) = unknot.score(latents, np.arange(40)[:, None] % 2, metrics=["mig", "omes"]).plan.notes
    assert note.startswith("latents have a range of 6e+38 at most, and omes[average] depends")


def test_a_score_is_what_the_metric_itself_returns() -> None:
    latents, factors = _code()
    card = unknot.score(latents, factors, metrics=["mig", "modularity"])
    assert card["mig"].value == METRICS["mig"](latents, factors).value
    assert card["modularity[bins=20]"].value == METRICS["modularity"](latents, factors).value


@pytest.mark.parametrize("name", ["mcc", "med", "sap[regression]", "snc", "r2"])
def test_without_test_rows_a_score_is_what_the_function_gives(name: str) -> None:
    rng = np.random.default_rng(0)
    factors = rng.integers(0, [3, 4], size=(300, 2))
    latents = factors + rng.normal(size=(300, 2))
    key, options = parse_identity(name, METRICS)
    card = unknot.score(latents, factors, metrics=[name])
    assert card[key].value == METRICS[key](latents, factors, **options).value


def test_held_out_rows_are_used_where_given() -> None:
    latents, factors = _code()
    card = unknot.score(
        latents[:400], factors[:400], latents_test=latents[400:], factors_test=factors[400:], metrics=["sap"]
    )
    direct = METRICS["sap"](latents[:400], factors[:400], latents_test=latents[400:], factors_test=factors[400:])
    assert card["sap"].value == direct.value


def test_variants_are_asked_for_by_their_full_name() -> None:
    latents, factors = _code()
    card = unknot.score(latents, factors, metrics=["mig[bins=10]", "mig"])
    assert list(card.records) == ["mig[bins=10]", "mig[bins=20]"]
    assert card["mig[bins=10]"].value == METRICS["mig"](latents, factors, bins=10).value


def test_the_order_the_company_and_the_processes_change_nothing() -> None:
    latents, factors = _code()
    names = ["sap", "mig", "irs"]
    alone = {name: unknot.score(latents, factors, metrics=[name])[name].value for name in names}
    together = unknot.score(latents, factors, metrics=names[::-1])
    spread = unknot.score(latents, factors, metrics=names, jobs=2)
    assert {name: together[name].value for name in names} == alone
    assert {name: spread[name].value for name in names} == alone
    assert list(spread.records) == [record.id for record in spread.records.values()]


def test_torch_pandas_and_lists_are_taken() -> None:
    latents, factors = _code()
    latents = latents.astype(np.float32)
    expected = unknot.score(latents, factors, metrics=["mig"])["mig"].value
    tensors = unknot.score(torch.tensor(latents, requires_grad=True), torch.tensor(factors), metrics=["mig"])
    table = unknot.score(pd.DataFrame(latents), pd.DataFrame(factors, columns=["a", "b"]), metrics=["mig"])
    lists = unknot.score(latents.tolist(), factors.tolist(), metrics=["mig"])
    assert [card["mig"].value for card in (tensors, table, lists)] == pytest.approx([expected] * 3)
    assert table.plan.representation.factor_names == ("a", "b")


def test_without_factors_only_label_free_metrics_run() -> None:
    latents, _ = _code()
    card = unknot.score(latents)
    assert card.values()
    assert not any(METRICS[record.name].facts.labels for record in card.records.values())
    with pytest.raises(UnknotError, match="mig needs factors"):
        unknot.score(latents, metrics=["mig"])


def test_a_metric_that_refuses_is_reported_and_the_rest_goes_on() -> None:
    latents, factors = _code()
    card = unknot.score(latents, factors[:, :1], metrics=["beta_vae_score", "mig"])
    assert "at least 2 factors" in card.records["beta_vae_score"].refused
    assert np.isfinite(card["mig"].value)
    with pytest.raises(UnknotError, match="has no score"):
        card["beta_vae_score"]


def test_constant_factors_are_announced_once() -> None:
    latents, factors = _code()
    with pytest.warns(UnknotWarning, match="constant") as caught:
        card = unknot.score(latents, np.insert(factors, 0, 4, axis=1), metrics=["mig", "sap"])
    assert len(caught) == 1
    assert [verdict.factor for verdict in card.verdicts] == ["factor_1", "factor_2"]


def test_limit_takes_that_many_rows_by_the_seed() -> None:
    latents, factors = _code()
    first = unknot.score(latents, factors, metrics=["mig"], limit=100)
    again = unknot.score(latents, factors, metrics=["mig"], limit=100)
    other = unknot.score(latents, factors, metrics=["mig"], limit=100, seed=1)
    assert first["mig"].parts["n_rows"] == 100
    assert first["mig"].value == again["mig"].value != other["mig"].value


def test_metrics_that_train_use_at_most_the_rows_of_the_literature() -> None:
    latents, factors = _code(16_000)
    card = unknot.score(latents, factors, metrics=["explicitness", "mig"])
    assert card["explicitness"].parts["n_rows"] == 10_000
    assert card["explicitness"].parts["n_test_rows"] == 5_000
    assert card["mig"].parts["n_rows"] == 16_000


def test_bootstrap_intervals_hold_the_value_and_narrow_with_rows() -> None:
    widths = []
    for n in (150, 2400):
        record = unknot.score(*_code(n), metrics=["mig"], bootstrap=60).records["mig[bins=20]"]
        low, high = record.interval
        assert low <= record.score.value <= high
        widths.append(high - low)
    assert widths[1] < widths[0] / 2


def test_the_bootstrap_interval_covers_what_other_rows_give() -> None:
    low, high = unknot.score(*_code(400), metrics=["mig"], bootstrap=100).records["mig[bins=20]"].interval
    others = [unknot.score(*_code(400, seed), metrics=["mig"])["mig"].value for seed in range(1, 41)]
    assert np.mean([low - 0.01 <= value <= high + 0.01 for value in others]) > 0.7


def test_verdicts_say_which_latent_carries_a_factor() -> None:
    latents, factors = _code(3000)
    card = unknot.score(latents, factors, metrics=["mig"], factor_names=["shape", "x"])
    assert [(v.factor, v.latent) for v in card.verdicts] == [("shape", 0), ("x", 1)]
    assert "z0 clearly, alone" in card.verdicts[0].text
    mixed = unknot.score(latents @ np.array([[1, 1, 0], [1, -1, 0], [0, 0, 1]]), factors, metrics=["mig"])
    assert "shared with" in mixed.verdicts[1].text
    noise = unknot.score(np.random.default_rng(0).normal(size=(3000, 3)), factors, metrics=["mig"])
    assert all(v.latent is None and v.text == "in no single latent" for v in noise.verdicts)


def test_a_run_can_be_stopped_between_metrics() -> None:
    todo = plan(Representation(*_code()), metrics=["mig", "sap"])
    records = run(todo)
    first = next(records)
    records.close()
    assert unknot.scoring.scoring.scorecard(todo, [first]).values().keys() == {"mig[bins=20]"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metrics": ["migs"]}, "did you mean 'mig'"),
        ({"metrics": ["mig[bins=a]"]}, "should be a number"),
        ({"metrics": ["mig[boxes=3]"]}, "not an option"),
        ({"metrics": ["mig]["]}, "not a name like"),
        ({"metrics": ["mig"], "exclude": ["mig"]}, "nothing is left"),
        ({"limit": 1}, "at least two rows"),
        ({"bootstrap": 3}, "4 at least"),
        ({"jobs": 0}, "at least one process"),
        ({"seed": -1}, "seed is -1; expected a whole number from 0 up"),
        ({"factor_names": ["a", "a"]}, "a occur twice"),
        ({"factor_names": ["a"]}, "1 factor names for 2"),
    ],
)
def test_bad_options_are_refused_in_words(options: dict[str, object], message: str) -> None:
    with pytest.raises(UnknotError, match=message):
        unknot.score(*_code(), **options)


def test_one_name_needs_no_list_and_a_scorecard_prints_one_line_for_each_metric() -> None:
    latents, factors = _code()
    card = unknot.score(latents, factors, metrics="mig")
    assert list(card.records) == ["mig[bins=20]"]
    value = card["mig"].value
    assert str(card) == repr(card) == f"Scorecard of 600 rows, 3 latents, 2 factors\nmig[bins=20]  {value:.3f}"
    assert "mig" not in {name for name, _ in plan(Representation(latents, factors), exclude="mig").tasks}


@pytest.mark.parametrize(("limit", "held_out", "rows"), [(90, False, 90), (90, True, 60), (9000, False, 600)])
def test_a_scorecard_counts_the_rows_that_were_scored(limit: int, held_out: bool, rows: int) -> None:
    latents, factors = _code()
    test = {"latents_test": latents, "factors_test": factors} if held_out else {}
    card = unknot.score(latents, factors, **test, metrics="mig", limit=limit)
    assert repr(card).startswith(f"Scorecard of {rows} rows, ")
    whole = plan(Representation(latents, factors), metrics="mig").seconds
    assert card.plan.seconds == pytest.approx(whole * rows / 600)


def test_a_representation_or_its_file_scores_like_its_arrays(tmp_path: "pytest.TempPathFactory") -> None:
    latents, factors = _code()
    expected = unknot.score(latents, factors, metrics=["mig"])["mig"].value
    representation = Representation(latents, factors)
    path = representation.write(tmp_path / "r.npz")
    assert unknot.score(representation, metrics=["mig"])["mig"].value == expected
    assert unknot.score(path, metrics=["mig"])["mig"].value == expected


def test_arrays_beside_a_file_or_a_representation_are_not_passed_over_in_silence(
    tmp_path: "pytest.TempPathFactory",
) -> None:
    latents, factors = _code()
    representation = Representation(latents, factors)
    path = representation.write(tmp_path / "r.npz")
    for beside in ({"factors": factors}, {"latents_test": latents}, {"factor_names": ["a", "b"]}):
        with pytest.raises(UnknotError, match=f"{next(iter(beside))} beside a Representation"):
            unknot.score(representation, **beside)
        with pytest.raises(UnknotError, match=f"{next(iter(beside))} beside the file"):
            unknot.score(path, **beside)


def test_metrics_know_the_names_of_the_factors() -> None:
    latents, factors = _code()
    names = ["colour", "shape"]
    card = unknot.score(latents[:, :1], factors, metrics=["mig", "mcc", "lidar"], factor_names=names)
    assert card["mig"].parts["factor_names"] == names
    assert subset(card["mig"], ["shape"]).value == card["mig"].parts["per_factor"][1]
    assert any(name in card["mcc"].parts["notes"][0] for name in names)


def test_all_default_metrics_run_on_a_small_code_without_a_stray_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        card = unknot.score(*_code(300))
    suite = {name for name, metric in METRICS.items() if not metric.facts.asked}
    assert {record.name for record in card.records.values()} == suite
    assert {"dci", "nk", "snc", "mig"} <= suite
    assert all(record.score is not None or record.refused for record in card.records.values())


def _wide(d: int) -> Representation:
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 3, size=(40, 2))
    return Representation(rng.normal(size=(40, d)), factors)


def test_the_default_suite_chooses_by_width_and_says_so() -> None:
    narrow, wide = plan(_wide(100)), plan(_wide(101))
    assert "r2[linear]" in narrow.ids and not any("wide code" in note for note in narrow.notes)
    assert {"r2[ridge]", "linear_accuracy[penalised]"} <= set(wide.ids)
    assert not {"r2[linear]", "linear_accuracy[converged]"} & set(wide.ids)
    assert "101 latents are a wide code" in wide.notes[-1] and "r2[ridge]" in wide.notes[-1]


def test_metrics_that_would_take_too_long_are_left_out_with_the_time_they_would_take() -> None:
    todo = plan(_wide(5_000))
    assert not any(id_.startswith(("nk", "mutual_info_score")) for id_ in todo.ids)
    assert "nk (about 5 min)" in todo.notes[-1] and "mutual_info_score (about 2 min)" in todo.notes[-1]
    assert plan(_wide(5_000), metrics=["nk"]).ids == ["nk[converged]"]
    assert plan(_wide(5_000), metrics=["r2"]).ids == ["r2[linear]"]


def test_tiers_are_the_metrics_that_train_nothing_the_usual_ones_and_all() -> None:
    representation = unknot.read_representation("example")
    quick, default, every = (plan(representation, metrics=tier) for tier in ("quick", "default", "all"))
    assert default.tasks == plan(representation).tasks
    assert {name for name, _ in every.tasks} == set(METRICS)
    assert quick.tasks == tuple(task for task in default.tasks if METRICS[task[0]].facts.cost == "instant")
    mixed = plan(representation, metrics=["quick", "mig", "dci[lasso]"])
    assert mixed.tasks == (*quick.tasks, ("dci", {"model": "lasso"}))
    assert 0 < quick.seconds < default.seconds < every.seconds


def test_continuous_factors_are_scored_without_bins_where_the_metric_can() -> None:
    rng = np.random.default_rng(0)
    age, kind = rng.normal(size=400), rng.integers(0, 3, size=400)
    representation = unknot.Representation(np.stack([age, kind], axis=1), {"age": age, "kind": kind})
    names = plan(representation, metrics="default").ids
    assert {"mig[neighbours=3]", "mig_sup[neighbours=3]", "modularity[neighbours=3]", "dcimig[bins=20]"} <= set(
        names
    )
    assert "mig[bins=20]" in plan(representation, metrics="quick").ids
    assert "mig[bins=20]" in plan(representation, metrics="mig").ids
    assert "mig[bins=20]" in plan(representation.with_factors(["kind"]), metrics="default").ids
    card = unknot.score(representation, metrics=["mig_sup[neighbours=3]", "modularity[neighbours=3]"], bootstrap=4)
    assert all(value > 0.9 for value in card.values().values())
    assert all(
        record.interval is None for record in card.records.values()
    )  # repeated rows are each other's neighbours


def test_of_very_many_latents_the_default_suite_takes_what_their_memory_and_time_allow() -> None:
    rng = np.random.default_rng(0)
    codes = scipy.sparse.random_array((60, 65_536), density=0.001, format="csr", rng=rng)
    todo = plan(Representation(codes, rng.integers(0, 3, size=(60, 2))))
    assert {"snc[auto,eq3]", "mig[bins=20]", "sap[classification]", "best_auroc"} <= set(todo.ids)
    assert "best_auroc (about" not in todo.notes[-1] and todo.seconds < 60  # it takes time by entries
    fuller = scipy.sparse.random_array((60, 65_536), density=0.01, format="csr", rng=rng)
    assert "best_auroc (about" in plan(Representation(fuller, rng.integers(0, 3, size=(60, 2)))).notes[-1]
    for name in ("gaussian_total_correlation", "rankme", "lidar", "med"):
        assert not any(id_.startswith(name) for id_ in todo.ids)
        assert f"{name} (about" in todo.notes[-1]
    assert {"r2[ridge]", "linear_accuracy[penalised]"} <= set(todo.ids)  # they take time by rows
    longer = scipy.sparse.random_array((10_000, 65_536), density=1e-5, format="csr", rng=rng)
    notes = plan(Representation(longer, rng.integers(0, 3, size=(10_000, 2)))).notes[-1]
    assert "r2 (about" in notes and "linear_accuracy (about" in notes
