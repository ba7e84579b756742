"""Factors as they come: words, gaps, dates, tags, and every way they can be wrong."""

import datetime
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import unknot
from unknot import Representation, UnknotError
from unknot.metrics.mcc import mcc
from unknot.metrics.mig import mig
from unknot.tables.labels import Labels, group_codes, labels_of

NAN = float("nan")


def same(labels: Labels, values: list[list[float]]) -> None:
    np.testing.assert_array_equal(labels.values, values)


def test_words_become_classes_in_alphabetical_order_and_gaps_nan() -> None:
    labels = labels_of(pd.DataFrame({"species": ["owl", "ant", None, "", "owl"], "legs": [2, 6, 2, 2, 6]}))
    same(labels, [[1, 2], [0, 6], [NAN, 2], [NAN, 2], [1, 6]])
    assert labels.columns == ("species", "legs")
    assert labels.words == {"species": ("ant", "owl")}


def test_a_categorical_keeps_its_own_order_and_loses_classes_that_do_not_occur() -> None:
    sizes = pd.Categorical(["small", "large", "small"], categories=["small", "medium", "large"], ordered=True)
    labels = labels_of(pd.DataFrame({"size": sizes}))
    same(labels, [[0], [1], [0]])
    assert labels.words["size"] == ("small", "large")


def test_whole_numbers_and_booleans_stay_whole_where_nothing_is_missing() -> None:
    labels = labels_of({"a": [3, 4], "b": [True, False]})
    assert labels.values.dtype == np.int64
    same(labels, [[3, 1], [4, 0]])
    same(labels_of({"a": [3, None], "b": [True, None]}), [[3, 1], [NAN, NAN]])


def test_values_that_the_caller_names_are_missing_whether_words_or_numbers() -> None:
    table = {"sex": ["f", "?", "m"], "age": [30, -1, 40], "weight": [70.5, 60.0, -1.0]}
    same(labels_of(table, missing=["?", -1]), [[0, 30, 70.5], [NAN, NAN, 60.0], [1, 40, NAN]])
    same(labels_of(np.array([[0, 9], [1, 9]]), missing=["9"]), [[0, NAN], [1, NAN]])


def test_dates_are_days_and_measured_where_there_are_many() -> None:
    first = datetime.date(1970, 1, 2)
    labels = labels_of({"born": [first, None, first + datetime.timedelta(days=2)]})
    same(labels, [[1], [NAN], [3]])
    assert not labels.continuous
    many = [first + datetime.timedelta(days=i) for i in range(40)]
    assert labels_of({"born": many}).continuous == {"born"}
    same(labels_of({"t": [datetime.datetime(1970, 1, 1, 12)]}), [[0.5]])
    same(labels_of({"t": [datetime.timedelta(seconds=3)]}), [[3]])


def test_lists_of_words_become_one_factor_for_each_word() -> None:
    labels = labels_of({"tags": [["red", "big"], [], None, ["big"]]})
    assert labels.columns == ("tags=big", "tags=red")
    same(labels, [[1, 1], [0, 0], [NAN, NAN], [1, 0]])


def test_numbers_that_float64_cannot_tell_apart_are_ranked() -> None:
    big = 2**60
    same(labels_of({"id": [big + 1, big, None]}), [[0], [1], [NAN]])


def test_a_list_or_array_of_words_is_one_factor() -> None:
    for words in (["b", "a", "b"], np.array(["b", "a", "b"]), np.array(["b", "a", "b"], dtype=object)):
        same(labels_of(words), [[1], [0], [1]])
    assert labels_of(pd.Series(["b", "a"], name="shape"), names=("shape",)).words == {"shape": ("a", "b")}
    same(labels_of(np.array([["b", "x"], ["a", None]], dtype=object)), [[1, 0], [0, NAN]])


def test_arrow_tables_are_taken_as_they_are() -> None:
    table = pa.table({"c": pa.array(["u", "v", None]).dictionary_encode(), "d": pa.array([1.5, None, 2.0])})
    same(labels_of(table), [[0, 1.5], [1, NAN], [NAN, 2.0]])


@pytest.mark.parametrize(
    ("factors", "message"),
    [
        ({"age": ["30", "40", "unknown"]}, "factor 'age' mixes numbers and words, such as '30' and 'unknown'"),
        (pd.DataFrame({"age": [30, "unknown"]}), "mixes words and numbers"),
        ({"age": [30, "unknown"]}, "'age'.*mixes words and numbers"),
        ({"empty": [None, None]}, "factor 'empty' has no label in any row"),
        ({"vector": [[0.5, 1.0], [2.0, 3.0]]}, "factor 'vector' holds lists of double.*--latents"),
        ({"odd": [{"a": 1}]}, "factor 'odd' holds struct"),
        ({"tags": [[str(i) for i in range(101)]]}, "101 different words in its lists; at most 100"),
        (3, r"shape \(\)"),
        ({}, "no column of factors"),
    ],
)
def test_what_is_no_factor_is_refused(factors: object, message: str) -> None:
    with pytest.raises(UnknotError, match=message):
        labels_of(factors)


def test_words_are_no_measurement() -> None:
    with pytest.raises(UnknotError, match="'sex' is words, which are no measurement"):
        Representation(np.zeros((2, 1)), {"sex": ["f", "m"]}, kinds={"sex": "continuous"})


def test_columns_by_name_have_their_words() -> None:
    columns = labels_of({"sex": ["m", None, "f"], "age": [1, 2, 3]}).by_name()
    assert columns["sex"].to_pylist() == ["m", None, "f"] and list(columns["age"]) == [1, 2, 3]
    with pytest.raises(UnknotError, match="classes are not the numbers of 1 words"):
        Labels(np.array([[0], [7]]), ("sex",), {"sex": ("f",)}).by_name()


def test_held_out_words_are_the_classes_they_are_in_training() -> None:
    train, test = labels_of({"a": ["cat", "owl"]}), labels_of({"a": ["owl", "bee", None]})
    same(test.like(train), [[1], [2], [NAN]])
    assert test.like(train).words["a"] == ("cat", "owl", "bee")
    with pytest.raises(UnknotError, match="'a' is words in some rows and numbers in others"):
        labels_of({"a": [1, 2]}).like(train)
    both = Representation(np.zeros((2, 1)), ["cat", "owl"], ("a",), np.zeros((2, 1)), ["owl", "owl"])
    assert both.factors_test.tolist() == [[1], [1]]


def test_a_metric_takes_words() -> None:
    words = np.array(["a", "b", "c"] * 20)
    z = np.array([[0.0], [1.0], [2.0]] * 20)
    assert mig(z, words).value == pytest.approx(1)
    assert mig(z, pd.DataFrame({"letter": words})).parts["factor_names"] == ["letter"]


def test_a_metric_of_all_factors_together_refuses_gaps_by_itself() -> None:
    with pytest.raises(UnknotError, match=r"mcc: factors has NaN.* in letter; .*unknot\.score"):
        mcc(np.zeros((4, 1)), pd.DataFrame({"letter": ["a", "b", None, "a"]}))


@pytest.mark.parametrize("ids", [np.arange(200), [f"cell {i}" for i in range(200)]])
def test_a_column_of_ids_is_no_factor(ids: object) -> None:
    with pytest.raises(UnknotError, match=r"'id' has 200 distinct values in 200 rows; .*--kinds id=continuous"):
        unknot.score(np.zeros((200, 2)), {"id": ids}, metrics=["mig"])


def test_metrics_that_regress_say_in_which_order_words_count() -> None:
    rng = np.random.default_rng(0)
    score = unknot.score(rng.normal(size=(60, 2)), {"kind": ["a", "b", "c"] * 20}, metrics=["r2"])["r2"]
    assert score.parts["notes"] == [
        "factor 'kind' is words: its classes count as the numbers 0 to 2, in this order."
    ]


@pytest.mark.parametrize("metric", ["mig[neighbours=3]", "modularity[neighbours=3]", "infomec[neighbours]"])
def test_metrics_that_take_words_as_classes_count_nothing(metric: str) -> None:
    rng = np.random.default_rng(0)
    factors = {"kind": ["a", "b", "c"] * 20, "age": rng.uniform(size=60)}
    notes = unknot.score(rng.normal(size=(60, 2)), factors, metrics=[metric])[metric].parts["notes"]
    assert any("'age' is continuous" in note for note in notes)
    assert not any("'kind'" in note or "bins" in note for note in notes)


def test_a_factor_is_scored_by_its_kind_whatever_its_values_look_like() -> None:
    rng = np.random.default_rng(0)
    turn, year = rng.integers(0, 12, 600), rng.integers(0, 50, 600)
    latents = np.stack([turn, year], axis=1) + rng.normal(size=(600, 2))

    def notes(metrics: list[str], **kinds: Any) -> list[str]:
        codes = unknot.Representation(latents, np.stack([turn, year], axis=1), ("turn", "year"), kinds=kinds)
        return list(unknot.score(codes, metrics=metrics)[metrics[-1]].parts.get("notes", []))

    regressed = "factor 'year' is continuous: regressed as it is."
    assert regressed in notes(["mig", "r2"], year="continuous"), "though the metric before it cut the same rows"
    assert any("'turn' is circular: its classes" in note for note in notes(["r2"], turn="circular"))
    fractions = unknot.Representation(latents, rng.normal(size=(600, 1)), ("year",), kinds={"year": "ordinal"})
    with pytest.raises(UnknotError, match=r"'year' has 600 distinct values in 600 rows; that is an identifier"):
        unknot.score(fractions, metrics=["mig"])


def test_groups_of_any_kind_are_numbered_and_none_is_missing() -> None:
    assert group_codes(["p", "q", "p"], "score").tolist() == [0, 1, 0]
    assert group_codes(np.array([7, 7, 3]), "score").tolist() == [7, 7, 3]
    with pytest.raises(UnknotError, match=r"1 row\(s\) have no group"):
        group_codes(["p", None], "score")


@pytest.mark.parametrize("names", [("a",), ("a", "b", "c")])
def test_words_need_one_name_for_each_factor(names: tuple[str, ...]) -> None:
    with pytest.raises(UnknotError, match=f"{len(names)} factor names for 2 factors"):
        labels_of(np.array([["cat", "x"], ["dog", "y"]]), who="score", names=names)
