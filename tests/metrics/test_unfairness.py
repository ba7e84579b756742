import numpy as np
import pytest

from unknot.errors import UnknotError, UnknotWarning
from unknot.metrics.interventions import TableSource
from unknot.metrics.unfairness import conditional_unfairness, total_variation, unfairness


def _grid(*sizes, repeat=10):
    mesh = np.meshgrid(*(range(size) for size in sizes), indexing="ij")
    return np.stack(mesh, axis=-1).reshape(-1, len(sizes)).repeat(repeat, axis=0)


def test_total_variation_worked_by_hand():
    # Groups (3/4, 1/4) and (1/4, 3/4) around (1/2, 1/2).
    groups = [np.array([0, 0, 0, 1]), np.array([0, 1, 1, 1])]
    np.testing.assert_allclose(total_variation(groups, np.concatenate(groups)), [0.25, 0.25])
    np.testing.assert_allclose(total_variation([np.array([2])], np.array([0, 1, 2, 2])), [0.5])


@pytest.mark.parametrize("case", ["m1", "m2"])
def test_toy_models_reproduce_stored_values(golden, case):
    arrays, values = golden(case)
    scores = [unfairness(**arrays, rounds=20, rng=seed) for seed in range(8)]
    assert np.mean([score.value for score in scores]) == pytest.approx(values["unfairness_mean"], abs=0.02)
    assert np.mean([score.parts["max"] for score in scores]) == pytest.approx(values["unfairness_max"], abs=0.02)


def test_a_perfect_code_is_fair():
    factors = _grid(2, 3, 4)
    score = unfairness(factors * 1.0, factors, rounds=5)
    assert score.value == 0
    assert np.isnan(np.diag(score.parts["mean_tv"])).all()


def test_a_prediction_that_is_the_sensitive_factor_differs_as_much_as_can_be():
    # The only latent is the second factor, which is always equal to the first one in the training rows.
    train = np.repeat([[0, 0], [1, 1]], 20, axis=0)
    grid = _grid(2, 2)
    score = unfairness(train[:, 1:] * 1.0, train, latents_test=grid[:, 1:] * 1.0, factors_test=grid, rounds=5)
    # Setting the second factor sets the prediction of the first: each group's histogram is 1/2 away from both.
    np.testing.assert_allclose(score.parts["mean_tv"], [[np.nan, 0.5], [0.0, np.nan]])
    assert score.value == pytest.approx(0.25)
    assert score.parts["mean_max"] == pytest.approx(0.25)
    np.testing.assert_allclose(score.parts["per_factor"], [0.5, 0.0])


def test_combinations_are_means_and_maxima_of_the_matrices():
    rng = np.random.default_rng(0)
    factors = _grid(2, 3, 3)
    latents = factors @ rng.normal(size=(3, 3)) + 0.5 * rng.normal(size=(len(factors), 3))
    parts = unfairness(latents, factors, rounds=10).parts
    for first, matrix in (("mean", parts["mean_tv"]), ("max", parts["max_tv"])):
        assert parts[f"{first}_mean"] == pytest.approx(np.nanmean(matrix))
        assert parts[f"{first}_max"] == pytest.approx(np.nanmax(matrix, axis=1).mean())
    assert (np.nan_to_num(parts["max_tv"]) >= np.nan_to_num(parts["mean_tv"])).all()


def test_an_incomplete_table_is_refused_with_a_way_out():
    factors = _grid(2, 3)
    missing = ~((factors[:, 0] == 1) & (factors[:, 1] == 2))
    with pytest.raises(UnknotError, match="use conditional_unfairness"):
        unfairness(factors[missing] * 1.0, factors[missing], rounds=3)
    assert conditional_unfairness(factors[missing] * 1.0, factors[missing], rounds=3).value > 0


def test_one_row_per_combination_is_looked_up_among_all_rows_with_a_note():
    factors = _grid(3, 4, repeat=1)
    score = unfairness(factors * 1.0, factors, rounds=3)
    assert "among all rows" in score.parts["notes"][-1]


def test_a_source_takes_the_place_of_rows_that_are_missing():
    grid = _grid(2, 3)
    some = grid[~((grid[:, 0] == 1) & (grid[:, 1] == 2))]
    source = TableSource(grid * 1.0, grid)
    assert unfairness(some * 1.0, some, source=source, rounds=5).value == 0
    with pytest.raises(UnknotError, match="same factors in the same order"):
        unfairness(some * 1.0, some, source=TableSource(grid[:, :1] * 1.0, grid[:, :1]), rounds=3)


def test_conditional_unfairness_sees_correlation_where_intervention_does_not():
    rng = np.random.default_rng(0)
    first = rng.integers(0, 2, size=2000)
    second = np.where(rng.random(2000) < 0.9, first, 1 - first)
    factors = np.stack([first, second], axis=1)
    # P(first = 1 | second = c) is 0.9 or 0.1 around 1/2.
    assert conditional_unfairness(factors * 1.0, factors, rounds=5).value == pytest.approx(0.4, abs=0.03)
    assert unfairness(factors * 1.0, factors, rounds=5).value == 0


def test_constant_factors_are_neither_targets_nor_sensitive():
    factors = np.insert(_grid(2, 3), 1, 3, axis=1)
    for metric in (unfairness, conditional_unfairness):
        with pytest.warns(UnknotWarning, match="constant"):
            score = metric(factors * 1.0, factors, rounds=3)
        assert np.isnan(score.parts["mean_tv"][1]).all() and np.isnan(score.parts["mean_tv"][:, 1]).all()


def test_mistakes_are_named():
    grid = _grid(2, 3)
    with pytest.raises(UnknotError, match="at least 2 factors"):
        unfairness(grid * 1.0, grid[:, :1])
    with pytest.raises(UnknotError, match="points is 0"):
        unfairness(grid * 1.0, grid, points=0)


def test_the_accuracy_of_the_classifiers_stands_beside_the_scores():
    # The first factor is the only latent; the second cannot be told from it, in a table of the whole grid.
    factors = _grid(2, 4)
    for score in (
        unfairness(factors[:, :1] * 1.0, factors),
        conditional_unfairness(factors[:, :1] * 1.0, factors),
    ):
        assert score.parts["accuracy"][0] == 1
        assert score.parts["accuracy"][1] < 0.6


def test_shuffled_predictions_differ_as_binomials_do():
    # Two groups of n fair coins: the distance of one share from that of both is |p - q| / 2, on average
    # 1 / (2 sqrt(pi n)).
    factors = _grid(2, 2)
    found = [unfairness(factors * 1.0, factors, rounds=3, points=100, rng=seed).parts for seed in range(20)]
    assert np.mean([parts["shuffled"] for parts in found]) == pytest.approx(
        1 / (2 * np.sqrt(100 * np.pi)), abs=0.012
    )
    assert np.isnan(np.diag(found[0]["shuffled_tv"])).all()
    assert all(parts["mean_mean"] == 0 for parts in found)
