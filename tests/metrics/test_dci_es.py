import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.metrics.dci_es import dci_es, explicitness
from unknot.metrics.score import identity


def _sources(n=3000, k=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n, k))


def test_explicitness_of_curves_worked_by_hand():
    capacity = np.array([0.0, 1.0, 3.0])
    # Linear probe best; only the largest succeeds; half of it at the second capacity; worse again does not count.
    losses = np.array([[0.2, 1.0, 1.0, 0.5], [0.2, 1.0, 0.5, 0.9], [0.2, 0.0, 0.0, 0.0]])
    found, curve = explicitness(capacity, losses)
    # Areas over the minimum: 0, 1 + 1, 0.75 + 0.5, 0.5 + 0.5; Z = 3 / 2.
    np.testing.assert_allclose(found, [1, 1 - 2 / 1.5, 1 - 1.25 / 1.5, 1 - 1 / 1.5])
    np.testing.assert_allclose(curve[:, 3], [0.5, 0.5, 0.0])


def test_a_loss_that_falls_evenly_from_one_to_zero_has_explicitness_zero():
    capacity = np.linspace(2, 9, 30)
    assert explicitness(capacity, np.linspace(1, 0, 30)[:, None])[0] == pytest.approx(0)


def test_losses_above_those_of_a_constant_count_as_those_of_a_constant():
    np.testing.assert_allclose(explicitness(np.arange(2.0), np.array([[3.0], [5.0]]))[0], [1])


def test_a_linear_code_is_fully_explicit_and_a_folded_one_is_not():
    z = _sources()
    linear = dci_es(z @ np.array([[1.0, 2.0], [-1.0, 0.5]]), z)
    folded = dci_es(z, np.sin(2 * z))
    assert linear.value == pytest.approx(1, abs=1e-3)
    assert linear.parts["informativeness"] == pytest.approx(1, abs=1e-3)
    assert folded.value < 0.7
    assert folded.parts["informativeness"] > 0.9


def test_a_stronger_fold_is_less_explicit():
    z = _sources()
    values = [dci_es(z, np.sin(strength * z)).value for strength in (0.5, 1.5, 2.5)]
    assert values[0] > values[1] > values[2]


def test_a_code_that_says_nothing_is_explicit_and_uninformative():
    score = dci_es(_sources(), _sources(seed=1))
    assert score.value > 0.95
    assert score.parts["informativeness"] < 0.05


def test_the_first_point_of_the_curve_is_least_squares():
    rng = np.random.default_rng(3)
    z, z_test = rng.normal(size=(500, 3)), rng.normal(size=(200, 3))
    y, y_test = (x @ [1.0, 2.0, 0.0] + rng.normal(size=len(x)) for x in (z, z_test))
    design = np.insert(z, 0, 1, axis=1)
    weights = np.linalg.lstsq(design, y, rcond=None)[0]
    loss = np.mean((y_test - np.insert(z_test, 0, 1, axis=1) @ weights) ** 2) / np.mean((y_test - y.mean()) ** 2)
    score = dci_es(z, y[:, None], latents_test=z_test, factors_test=y_test[:, None])
    assert score.parts["loss"][0, 0] == pytest.approx(loss, abs=1e-3)


def test_size_is_factors_over_latents_with_dead_ones_counted():
    z = _sources(400)
    assert dci_es(z, z.round()).parts["size"] == 1
    assert dci_es(np.insert(z, [1, 1], 5.0, axis=1), z.round()).parts["size"] == 0.5


def test_indicators_make_the_names_of_classes_irrelevant():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 4, size=(2000, 2))
    latents = np.eye(4)[factors[:, 0]] + 0.01 * rng.normal(size=(2000, 4))
    renamed = np.stack([np.array([2, 0, 3, 1])[factors[:, 0]], factors[:, 1]], axis=1)
    plain, other = (dci_es(latents, y, categorical=(0,)).parts["loss"] for y in (factors, renamed))
    np.testing.assert_allclose(plain, other, atol=1e-9)
    assert plain[0, 0] < 0.01


def test_capacity_grows_with_the_rows_there_are():
    z = _sources(4000)
    few, many = dci_es(z[:300], z[:300]).parts["capacity"], dci_es(z, z).parts["capacity"]
    assert len(few) == 3  # none, 16 and 32 features for 200 training rows
    assert many[-1] == pytest.approx(np.log2(1 + 2 + 512))


def test_too_few_rows_for_two_probes_leave_explicitness_undefined():
    score = dci_es(_sources(12), np.tile([0, 1], 6))
    assert np.isnan(score.value)
    assert "too few" in score.parts["notes"][-1]


def test_mistakes_are_named():
    z = _sources(60)
    with pytest.raises(UnknotError, match="unknown factor 'colour'"):
        dci_es(z, z.round(), categorical=("colour",))
    with pytest.raises(UnknotError, match="largest is 4"):
        dci_es(z, z.round(), largest=4)
    with pytest.raises(UnknotError, match="unknown probe"):
        dci_es(z, z.round(), probe="mlp")
    assert identity(dci_es) == "dci_es[random_features]"


@pytest.mark.filterwarnings("error")
def test_numbers_whose_squares_are_zero_are_scored_as_larger_ones():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(300, 2))
    latents = numbers @ rng.normal(size=(2, 3))
    tiny = dci_es(latents, np.ldexp(numbers, -1000))
    assert tiny.value == dci_es(latents, numbers).value
    assert dci_es(latents, np.where(numbers > 0, 5e-324, 0.0)).value == dci_es(latents, numbers > 0).value
