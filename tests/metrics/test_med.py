import math

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.metrics._importance import completeness, disentanglement
from unknot.metrics.med import med


def toy(right):
    """The toy models of Mahon et al., Table 1, as an exact table: z2 is the shape in `right` of ten rows."""
    rows = [
        ((c if c == s else coin, s if r < right else 1 - s), (c, s))
        for c in (0, 1)
        for s in (0, 1)
        for coin in (0, 1)
        for r in range(10)
    ]
    latents, factors = zip(*rows, strict=True)
    return np.array(latents, dtype=np.float64), np.array(factors)


@pytest.mark.parametrize(("right", "printed"), [(5, 58.3), (7, 46.4)])
def test_raw_information_gives_the_med_row_of_table_1(right, printed):
    score = med(*toy(right), normalise=False, informativeness=False)
    mean = (score.value + score.parts["completeness"] + 0.75) / 3  # the table's I is the model's 75 %
    assert 100 * mean == pytest.approx(printed, abs=0.05)


def test_normalised_columns_give_the_values_of_the_public_code_on_the_second_toy_model():
    score = med(*toy(7), informativeness=False)
    assert score.value == pytest.approx(0.2267, abs=5e-5)
    assert score.parts["completeness"] == pytest.approx(0.5189, abs=5e-5)


def test_informativeness_of_the_toy_models_is_three_quarters():
    latents, factors = toy(7)
    score = med(latents, factors, latents_test=latents, factors_test=factors)
    assert score.parts["informativeness"] == pytest.approx(0.75, abs=1e-3)
    assert score.parts["n_test_rows"] == 80


@pytest.mark.parametrize("case", ["sncnk", "perfect", "rotated", "noise", "m1", "m2"])
@pytest.mark.parametrize(("normalise", "key"), [(True, "colnorm"), (False, "raw")])
def test_med_reproduces_stored_values(golden, case, normalise, key):
    arrays, values = golden(case)
    score = med(arrays["latents"], arrays["factors"], normalise=normalise, informativeness=False)
    assert score.value == pytest.approx(values[f"med_disentanglement_{key}"], rel=1e-6, abs=1e-9)
    assert score.parts["completeness"] == pytest.approx(values[f"med_completeness_{key}"], rel=1e-6)


@pytest.mark.parametrize("normalise", [True, False])
def test_a_code_that_knows_nothing_scores_zero_where_public_code_has_nan(golden, normalise):
    arrays, _ = golden("theorem31_n4k3")
    score = med(arrays["latents"], arrays["factors"], normalise=normalise, informativeness=False)
    assert score.value == 0
    assert score.parts["completeness"] == 0


def test_aggregation_by_hand():
    # Rows (1/2, 1/2) and (1, 0) with weights 2/3, 1/3; columns (2/3... ) normalised: (1/2, 1/2) and (1, 0).
    importance = np.array([[1.0, 1.0], [1.0, 0.0]])
    value, per_latent = disentanglement(importance)
    assert per_latent == pytest.approx([0, 1])
    assert value == pytest.approx(1 / 3)
    value, per_factor = completeness(importance)
    assert per_factor == pytest.approx([0, 1])
    assert value == pytest.approx(1 / 2)
    assert completeness(importance, weighted=True)[0] == pytest.approx(1 / 3)


def test_aggregation_agrees_with_a_slow_version():
    importance = np.random.default_rng(0).exponential(size=(5, 3))
    d = 0.0
    for row in importance:
        p = row / row.sum()
        d += (1 + sum(x * math.log(x, 3) for x in p)) * row.sum() / importance.sum()
    c = sum(1 + sum(x * math.log(x, 5) for x in column / column.sum()) for column in importance.T) / 3
    assert disentanglement(importance)[0] == pytest.approx(d)
    assert completeness(importance)[0] == pytest.approx(c)


def test_a_factor_nobody_knows_counts_as_incomplete_and_has_no_part_in_disentanglement():
    factors = np.stack(np.meshgrid(range(2), range(2), range(2)), axis=-1).reshape(-1, 3)
    score = med(factors[:, :2] * 1.0, factors, informativeness=False)
    assert score.value == pytest.approx(1)
    assert score.parts["per_factor"] == pytest.approx([1, 1, 0])


def test_informativeness_of_a_perfect_code_is_one_and_of_noise_is_chance(golden):
    for case, expected in (("perfect", 1.0), ("noise", 0.17)):
        arrays, _ = golden(case)
        small = {name: a[:2000] for name, a in arrays.items()}
        score = med(**small)
        assert score.parts["informativeness"] == pytest.approx(expected, abs=0.02)


def test_rows_are_held_out_for_informativeness_only_and_by_the_seed(golden):
    arrays, _ = golden("rotated")
    latents, factors = arrays["latents"][:600], arrays["factors"][:600, :2]
    first, again, other = (med(latents, factors, rng=seed) for seed in (0, 0, 1))
    assert first.parts["informativeness"] == again.parts["informativeness"]
    assert first.value == other.value == med(latents, factors, informativeness=False).value
    assert "informativeness" not in med(latents, factors, informativeness=False).parts


def test_a_value_unseen_in_training_is_an_error_of_the_classifier():
    z, y = np.array([0.0, 0.1, 1.0, 1.1])[:, None], np.array([0, 0, 1, 1])
    score = med(z, y, latents_test=[[0.0], [1.0], [2.0], [1.0]], factors_test=[0, 1, 9, 1])
    assert score.parts["informativeness"] == pytest.approx(0.75)


def test_top_keeps_the_purest_latents_of_each_factor():
    factors = np.stack(np.meshgrid(range(2), range(2)), axis=-1).reshape(-1, 2)
    a, b = factors.T
    latents = np.stack([a, 2 * a + b, b, b, np.zeros(4)], axis=1).astype(float)
    score = med(latents, factors, top=1, informativeness=False)
    assert score.parts["latents_used"].tolist() == [0, 2]
    assert score.value == pytest.approx(1)
    assert score.parts["completeness"] == pytest.approx(1)
    assert np.isnan(score.parts["per_latent"]).tolist() == [False, True, False, True, True]
    assert med(np.zeros((4, 3)), factors, top=1, informativeness=False).value == 0


def test_one_latent_and_one_factor_are_undefined_and_say_so():
    y = np.tile([0, 1, 2, 3], 3)
    score = med(y[:, None] * 1.0, y, informativeness=False)
    assert np.isnan(score.value)
    assert np.isnan(score.parts["completeness"])
    assert len(score.parts["notes"]) == 2


def test_dead_latents_do_not_stop_the_probe():
    latents, factors = toy(7)
    score = med(np.insert(latents, 0, 4.0, axis=1), factors)
    assert score.parts["per_latent"][0] == 0
    assert med(np.zeros((80, 2)), factors).parts["informativeness"] == pytest.approx(0.5, abs=0.15)


def test_top_below_one_is_refused():
    with pytest.raises(UnknotError, match="top is 0"):
        med(*toy(5), top=0)
