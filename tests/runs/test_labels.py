"""Names that tell runs apart."""

from unknot.runs.labels import differing, settings
from unknot.runs.spec import RunSpec


def test_settings_that_differ_little_keep_different_labels() -> None:
    base = RunSpec(world="w", options={"beta": 1.0, "on": True})
    close = [base, base.replace(options={"beta": 1.00000001, "on": False})]
    assert settings(close) == ["beta 1, on true", "beta 1.00000001, on false"]


def test_what_one_record_lacks_sets_it_apart_and_equal_values_of_other_types_do_too() -> None:
    assert differing([{"a": 1, "b": 2}, {"a": 1.0, "b": 2, "c": True}]) == ["a", "c"]
    assert differing([{"a": None}, {}]) == []
    assert differing([{"a": 1}]) == []
