"""What every metric is given: shared rows, names, and the words for input that cannot be scored."""

import warnings

import numpy as np
import pandas as pd
import pytest

import unknot
from unknot.errors import UnknotError, UnknotWarning
from unknot.metrics import METRICS
from unknot.metrics.inputs import prepare
from unknot.metrics.latents import Checked, dead
from unknot.metrics.penalised_head import PenalisedHeads

QUICK = [name for name, metric in METRICS.items() if metric.facts.cost == "instant"]


def _code(n=240, seed=0):
    rng = np.random.default_rng(seed)
    factors = rng.integers(0, (2, 3, 4), size=(n, 3))
    return factors + 0.3 * rng.normal(size=(n, 3)), factors


def test_metrics_that_share_rows_give_the_values_they_give_alone_and_leave_the_rows_as_they_were():
    latents, factors = _code()
    shared = Checked(latents.copy())
    for _ in range(2):
        for name in QUICK:
            assert METRICS[name](shared, factors).value == METRICS[name](latents, factors).value
    np.testing.assert_array_equal(shared.array, latents)
    for rows, _ in shared._rows.values():
        z = np.concatenate([rows.latents, rows.latents_test]) if rows.latents_test is not None else rows.latents
        np.testing.assert_array_equal(np.sort(z, axis=0), np.sort(latents, axis=0))
        assert rows.notes == []


def test_shared_rows_are_made_once_for_each_split_and_anew_for_a_generator():
    latents, factors = _code()
    shared = Checked(latents)
    first, again, other, whole = (prepare("x", shared, factors, rng=seed) for seed in (0, 0, 1, None))
    assert first.latents is again.latents
    assert first.latents is not other.latents
    assert len(whole.latents) == len(latents)
    generator = np.random.default_rng(0)
    one, two = (prepare("x", shared, factors, rng=generator) for _ in range(2))
    assert not np.array_equal(one.latents, two.latents)


def test_test_labels_that_are_missing_are_kept_from_metrics_that_take_none_and_are_of_no_class():
    latents, factors = _code()
    test = factors.astype(float)
    test[:5, 1] = np.nan
    shared = Checked(latents)
    prepare("sap", shared, factors, latents, test, gaps=True)
    with pytest.raises(UnknotError, match="r2: factors_test has NaN"):
        prepare("r2", shared, factors, latents, test)
    real = prepare("sap", latents, latents, latents, np.where(np.isnan(test), np.nan, latents), gaps=True)
    assert (real.factors_test == -2).nonzero()[0].tolist() == list(range(5)), "the code of what is missing"


def test_each_metric_is_warned_of_constant_factors_even_where_rows_are_shared():
    latents, factors = _code()
    shared, constant = Checked(latents), np.insert(factors, 1, 7, axis=1)
    for name in ("mig", "sap", "mig"):
        with pytest.warns(UnknotWarning, match=f"{name}: left out constant"):
            METRICS[name](shared, constant)


@pytest.mark.parametrize("name", [n for n in METRICS if METRICS[n].facts.labels])
def test_two_rows_are_called_too_few_not_constant(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            METRICS[name]([[0.0, 1.0], [1.0, 0.0]], [[0, 1], [1, 0]])
        except UnknotError as error:
            assert "every factor is constant" not in str(error)


@pytest.mark.parametrize(("n", "per_value"), [(60, 1), (3000, 1), (3000, 3)])
def test_columns_whose_values_hardly_repeat_are_identifiers(n, per_value):
    latents, factors = _code(n)
    with pytest.raises(UnknotError, match="identifier"):
        prepare("x", latents, np.column_stack([factors, np.arange(n) // per_value]))


@pytest.mark.parametrize(("n", "size"), [(40, 40), (180, 40), (2000, 100), (10_000, 2000)])
def test_factors_of_many_values_are_not(n, size):
    latents, factors = _code(n)
    table = np.column_stack([factors, np.arange(n) % size])
    assert prepare("x", latents, table).sizes[-1] == size


def test_a_named_column_keeps_its_name():
    latents, factors = _code()
    assert METRICS["mig"](latents, pd.Series(factors[:, 2], name="scale")).parts["factor_names"] == ["scale"]
    assert METRICS["mig"](latents, pd.Series(factors[:, 2])).parts["factor_names"] == ["0"]


def test_only_narrow_latents_are_dead():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(500, 1)) * [1.0, 1e-9, 1e-14, 0.0, 1e-3] + [0.0, 0.0, 0.0, 5.0, 1e10]
    z[:, 4] = 1e10
    z[0, 4] += 1.0
    wanted = z.std(axis=0) <= 1e-12 * np.maximum(1.0, np.abs(z.mean(axis=0)))
    np.testing.assert_array_equal(dead(z), wanted)


def test_what_metrics_make_of_the_same_latents_is_made_once():
    rng = np.random.default_rng(0)
    latents, factors = Checked(rng.normal(size=(60, 3))), rng.integers(0, 3, size=(60, 2))
    first, again, other = (prepare("mig", latents, factors, rng=seed) for seed in (0, 0, 1))
    heads = first.once(PenalisedHeads.of)
    assert again.once(PenalisedHeads.of) is heads
    assert other.once(PenalisedHeads.of) is not heads


def test_infinite_labels_are_told_from_missing_ones() -> None:
    latents, factors = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60.0)[:, None] % 4
    factors[3] = np.inf
    with pytest.raises(UnknotError, match=r"infinite entries in .*--missing inf"):
        unknot.score(latents, factors, metrics=["mig"])
    with pytest.raises(UnknotError, match="no row has a label"):
        unknot.score(latents, np.full((60, 1), np.nan), metrics=["mig"])
