"""R² with the variance of the whole dataset, the one-OOD subset, the ratio to the mean, and the readout metric."""

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.factors import space
from unknot.metrics.r2 import (
    SquaredErrors,
    full_variance,
    one_ood,
    r2,
    r2_per_factor,
    ratio_to_mean,
    unseen_values,
)


@pytest.fixture
def stored(golden):
    arrays, values = golden("r2")
    train = arrays["train_mask"]
    unseen = unseen_values(arrays["factors"][~train], arrays["factors"][train])
    return arrays, values, train, unseen


def test_stored_predictions_have_the_stored_r2(stored) -> None:
    arrays, values, train, _ = stored
    predictions, targets = arrays["predictions"][~train], arrays["targets"][~train]
    variance = full_variance(arrays["targets"])
    np.testing.assert_allclose(r2_per_factor(predictions, targets, variance), values["r2_test_fullvar"], rtol=1e-9)
    own = full_variance(targets)
    np.testing.assert_allclose(r2_per_factor(predictions, targets, own), values["r2_sklearn_testvar"], rtol=1e-9)


def test_the_variance_of_a_grid_has_a_closed_form(stored) -> None:
    arrays, *_ = stored
    grid = space({"a": 4, "b": 5})
    np.testing.assert_allclose(full_variance(grid), full_variance(arrays["targets"]))
    whole = space({"shape": 3, "x": 32, "fixed": 1})
    points = whole.scaled(whole.classes(np.arange(whole.size)))
    np.testing.assert_allclose(full_variance(whole), points.var(axis=0), atol=1e-15)


def test_one_ood_agrees_with_the_stored_values(stored) -> None:
    arrays, values, train, unseen = stored
    found = one_ood(
        arrays["predictions"][~train], arrays["targets"][~train], unseen, full_variance(arrays["targets"])
    )
    assert found.count == values["one_ood_count"]
    np.testing.assert_allclose(found.ood, values["r2_one_ood_OODfactor"], rtol=1e-9)
    np.testing.assert_allclose(found.in_distribution, values["r2_one_ood_IDfactor"], rtol=1e-9)


@pytest.mark.parametrize("which", ["train", "full"])
def test_ratio_to_mean_agrees_with_the_stored_medians(stored, which: str) -> None:
    arrays, values, train, unseen = stored
    mean = arrays["targets"][train].mean(0) if which == "train" else arrays["targets"].mean(0)
    found = ratio_to_mean(arrays["predictions"][~train], arrays["targets"][~train], unseen, mean)
    np.testing.assert_allclose(found.median, values[f"ratio_{which}mean_median"], rtol=1e-9)
    np.testing.assert_array_equal(found.histogram.sum(axis=1), found.counts)


def test_ratios_worked_by_hand() -> None:
    unseen = np.array([[True, False], [True, False], [True, False], [True, True]])
    targets = np.array([[1.0, 0.0], [1.0, 0.0], [0.5, 0.0], [1.0, 1.0]])
    predictions = np.array([[0.75, 0.0], [1.25, 0.0], [9.0, 0.0], [9.0, 9.0]])
    found = ratio_to_mean(predictions, targets, unseen, [0.5, 0.5])
    assert found.counts.tolist() == [2, 0]  # the third row is at the mean, the fourth has two unseen values
    assert found.median[0] == pytest.approx(1.0)  # of 0.5 and 1.5
    assert found.share[0] == pytest.approx(0.5)
    assert np.isnan(found.median[1])


def test_a_split_without_unseen_values_has_no_one_ood_rows() -> None:
    zeros = np.zeros((3, 2))
    found = one_ood(zeros, zeros, zeros, [1.0, 1.0])
    assert found.count == 0
    assert np.isnan(found.ood).all() and np.isnan(found.in_distribution).all()


def test_chunks_add_up_to_the_whole() -> None:
    rng = np.random.default_rng(0)
    predictions, targets = rng.normal(size=(2, 1000, 3))
    errors = SquaredErrors(3)
    for rows in np.array_split(np.arange(1000), 7):
        errors.add(predictions[rows], targets[rows])
    np.testing.assert_allclose(errors.r2([1.0, 2.0, 3.0]), r2_per_factor(predictions, targets, [1.0, 2.0, 3.0]))
    assert errors.count.tolist() == [1000] * 3


def test_a_constant_factor_has_no_r2() -> None:
    assert np.isnan(r2_per_factor([[1.0], [0.0]], [[0.0], [0.0]], [0.0])).all()


@pytest.mark.parametrize(
    ("predictions", "targets", "variance", "message"),
    [
        ([[np.nan, 0.0]], [[0.0, 0.0]], [1.0, 1.0], "1 NaN"),
        ([[0.0]], [[0.0, 0.0]], [1.0, 1.0], r"\(1, 1\)"),
        ([[0.0, 0.0]], [[0.0, 0.0]], [1.0], "one number for 2 factors"),
        ([0.0], [0.0], [1.0], "n_samples"),
    ],
)
def test_wrong_arrays_are_refused(predictions, targets, variance, message: str) -> None:
    with pytest.raises(UnknotError, match=message):
        r2_per_factor(predictions, targets, variance)


def test_linear_readout_agrees_with_scikit_learn_and_uses_the_full_variance() -> None:
    from sklearn.linear_model import LinearRegression

    rng = np.random.default_rng(0)
    latents = rng.normal(size=(300, 4))
    factors = latents @ rng.normal(size=(4, 2)) + rng.normal(size=(300, 2))
    model = LinearRegression().fit(latents[:200], factors[:200])
    mse = ((model.predict(latents[200:]) - factors[200:]) ** 2).mean(0)
    score = r2(latents[:200], factors[:200], latents_test=latents[200:], factors_test=factors[200:])
    np.testing.assert_allclose(score.parts["per_factor"], 1 - mse / factors.var(0), rtol=1e-9)
    assert score.value == pytest.approx(score.parts["per_factor"].mean())


def test_noise_explains_nothing() -> None:
    rng = np.random.default_rng(0)
    assert r2(rng.normal(size=(3000, 3)), rng.integers(0, 5, size=(3000, 2))).value == pytest.approx(0, abs=0.02)


def test_dead_and_repeated_latents_change_nothing() -> None:
    rng = np.random.default_rng(0)
    latents = rng.normal(size=(200, 3))
    factors = np.round(latents[:, :2] * 2)
    odd = np.column_stack([latents, latents, np.full(200, 3.0)])
    assert r2(odd, factors).value == pytest.approx(r2(latents, factors).value)


def test_the_network_reads_what_a_line_cannot() -> None:
    rng = np.random.default_rng(0)
    latents = rng.normal(size=(1500, 2))
    factors = np.abs(latents)
    line, network = (r2(latents, factors, readout=readout).value for readout in ("linear", "mlp"))
    assert line < 0.1
    assert network > 0.95
    assert network == r2(latents, factors, readout="mlp").value


def test_an_unknown_readout_is_refused() -> None:
    with pytest.raises(UnknotError, match="did you mean 'linear'"):
        r2([[0.0], [1.0]], [[0], [1]], readout="liner")


@pytest.mark.parametrize("zeros", [0.0, 0.94])
def test_copies_of_a_row_do_not_choose_its_penalty(zeros: float) -> None:
    """A row that is left out is not to be guessed from its copy, which would allow any penalty."""
    rng = np.random.default_rng(3)
    latents = rng.exponential(size=(250, 200)) * (rng.random((250, 200)) >= zeros)
    factors = rng.integers(0, 3, size=(250, 2))
    score = r2(np.vstack([latents] * 2), np.vstack([factors] * 2), readout="ridge")
    assert -0.2 < score.value < 0.1


def test_labels_that_are_true_or_false_may_have_held_out_ones_that_are_numbers() -> None:
    rng = np.random.default_rng(0)
    z, y = rng.normal(size=(200, 2)), rng.integers(0, 2, size=(200, 1))
    z[:, :1] += y
    expected = r2(z[:150], y[:150], latents_test=z[150:], factors_test=y[150:]).value
    found = r2(z[:150], y[:150] > 0, latents_test=z[150:], factors_test=y[150:].astype(float)).value
    assert found == pytest.approx(expected)
