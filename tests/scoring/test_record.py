"""The scorecard as plain values."""

import json

import numpy as np

import unknot
from unknot.files import as_json, plain
from unknot.scoring.record import score_rows, scorecard_record, to_csv


def _card(**options: object) -> unknot.Scorecard:
    latents, factors = unknot.examples.toy_m2()
    return unknot.score(latents, factors, **options)


def test_json_is_strict_and_complete() -> None:
    record = json.loads(as_json(scorecard_record(_card(metrics=["mig", "snc"]))))
    assert record["complete"]
    assert record["alignment"] == {"factor_0": 0, "factor_1": 1}
    assert record["parameters"]["metrics"] == ["mig[bins=20]", "snc[auto,eq3]"]
    assert np.shape(record["information_shares"]) == (2, 2)


def test_nan_becomes_null_and_infinity_a_word() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(200, 1))
    twice = unknot.score(np.hstack([z, z]), metrics=["gaussian_total_correlation"])
    assert scorecard_record(twice)["scores"]["gaussian_total_correlation"]["value"] == "inf"
    one_factor = unknot.score(z, rng.integers(0, 3, (200, 1)), metrics=["modularity"])
    assert scorecard_record(one_factor)["scores"]["modularity[bins=20]"]["value"] is None


def test_a_refusal_is_in_the_record_with_its_reason() -> None:
    rng = np.random.default_rng(0)
    card = unknot.score(rng.normal(size=(50, 2)), rng.integers(0, 3, (50, 1)), metrics=["beta_vae_score", "mig"])
    record = scorecard_record(card)
    assert "at least 2 factors" in record["refused"]["beta_vae_score"]
    assert "beta_vae_score" not in record["scores"]


def test_csv_has_a_row_for_each_number_of_the_table() -> None:
    lines = to_csv(_card(metrics=["med"])).splitlines()
    assert [line.split(",")[1] for line in lines] == ["part", "", "completeness", "informativeness"]


def test_a_card_and_its_record_have_the_same_rows() -> None:
    rng = np.random.default_rng(0)
    latents, factors = rng.normal(size=(60, 2)), rng.integers(0, 3, (60, 1))
    card = unknot.score(latents, factors, metrics=["med", "mig", "beta_vae_score"], bootstrap=4)
    of_card = {(row.metric, row.part): row for row in score_rows(card)}
    of_record = {(row.metric, row.part): row for row in score_rows(scorecard_record(card))}
    assert of_card.keys() == of_record.keys()
    for key, row in of_card.items():
        other = of_record[key]
        assert plain(row.value) == other.value
        assert (row.measures, row.refused, row.version) == (other.measures, other.refused, other.version)
        assert list(row.interval or ()) == list(other.interval or ())
    (part,) = (row for row in of_card.values() if row.part == "completeness")
    assert part.measures == "compactness" and part.interval is None
    assert of_card["beta_vae_score", ""].refused and of_card["beta_vae_score", ""].value is None
    assert of_card["mig[bins=20]", ""].interval


def test_a_metric_that_is_not_ours_has_a_row_too() -> None:
    (row,) = score_rows({"scores": {"theirs[x]": {"value": 0.5, "parts": {"a": 1}, "version": 3}}})
    assert (row.metric, row.value, row.measures, row.version, row.label) == ("theirs[x]", 0.5, "", 3, "theirs[x]")
