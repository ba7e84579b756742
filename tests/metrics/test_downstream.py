import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.metrics.dci import dci
from unknot.metrics.downstream import data_efficiency, gbt_accuracy, lr_accuracy
from unknot.metrics.score import identity


def _job(n=600, seed=0):
    rng = np.random.default_rng(seed)
    factors = rng.integers(0, (3, 4), size=(n, 2))
    return factors + 0.3 * rng.normal(size=(n, 2)), factors


@pytest.mark.parametrize("case", ["m1", "m2", "noise", "theorem31_n4k3", "sncnk"])
def test_logistic_regression_reproduces_stored_values_with_their_folds(golden, case):
    arrays, values = golden(case)
    score = lr_accuracy(**arrays, folds="ordered")
    assert score.value == pytest.approx(values["downstream_lr_test"], abs=1e-3)
    assert score.parts["train"] == pytest.approx(values["downstream_lr_train"], abs=1e-3)


def test_logistic_regression_reads_a_rotated_code_perfectly(golden):
    arrays, values = golden("rotated")
    few = {name: array[:, [0, 1]] if "factors" in name else array for name, array in arrays.items()}
    assert lr_accuracy(**few, n=2000).value == pytest.approx(values["downstream_lr_test"], abs=5e-3)


def test_linear_probes_cannot_read_the_fully_entangled_code(golden):
    arrays, values = golden("theorem31_n4k3")
    score = lr_accuracy(**arrays)
    assert score.value == pytest.approx(values["downstream_lr_test"], abs=0.01)
    assert score.parts["adjusted"] < 0.01


@pytest.mark.parametrize("case", ["m2", "theorem31_n4k3"])
def test_trees_on_all_rows_give_the_informativeness_of_dci(golden, case):
    arrays, values = golden(case)
    score = gbt_accuracy(**arrays)
    assert score.value == dci(**arrays).parts["informativeness"]
    assert score.value == pytest.approx(values["dci_gbt_informativeness_test"], abs=0.01)


def test_accuracies_worked_by_hand():
    # One latent that is the first factor; the second factor is constant at 3/4 and cannot be predicted.
    latents = np.tile([0.0, 1.0], 40)[:, None]
    factors = np.stack([np.tile([5, 7], 40), np.repeat([0, 0, 0, 1], 20)], axis=1)
    for metric in (gbt_accuracy, lr_accuracy):
        score = metric(latents, factors, latents_test=latents, factors_test=factors)
        np.testing.assert_allclose(score.parts["per_factor"], [1, 0.75])
        assert score.value == pytest.approx(0.875)
        assert score.parts["min"] == 0.75
        # r = 1/2 and 9/16 + 1/16 = 5/8: (0.75 - 0.625) / 0.375 = 1/3.
        np.testing.assert_allclose(score.parts["adjusted_per_factor"], [1, 1 / 3])
        majority = metric(latents, factors, latents_test=latents, factors_test=factors, chance="majority")
        np.testing.assert_allclose(majority.parts["adjusted_per_factor"], [1, 0])


@pytest.mark.parametrize("metric", [gbt_accuracy, lr_accuracy])
def test_more_rows_help(metric):
    latents, factors = _job()
    values = [metric(latents, factors, n=n).value for n in (10, 300)]
    assert values[0] < values[1]


@pytest.mark.parametrize("metric", [gbt_accuracy, lr_accuracy])
def test_ten_rows_of_one_class_predict_that_class(metric):
    factors = np.stack([np.repeat([0, 1], [2, 118]), np.tile([0, 1, 2], 40)], axis=1)
    latents = factors * 1.0
    test = {"latents_test": latents[:6], "factors_test": factors[:6]}
    score = metric(latents, factors, n=10, rng=1, **test)
    assert score.parts["per_factor"][0] == pytest.approx(4 / 6)


def test_fewer_rows_than_asked_for_are_noted():
    latents, factors = _job(90)
    assert "60 training rows where 10000" in gbt_accuracy(latents, factors, rounds=3).parts["notes"][0]
    assert gbt_accuracy(latents, factors, rounds=3, n=60).parts["notes"] == []


def test_sorted_tables_need_shuffled_folds():
    rng = np.random.default_rng(0)
    factors = np.repeat(np.arange(5), 24)[:, None]  # in order, each fold is a class that no other fold has
    latents = factors + 0.1 * rng.normal(size=(120, 1))
    test = {"latents_test": latents, "factors_test": factors}
    shuffled, ordered = (lr_accuracy(latents, factors, folds=folds, **test) for folds in ("shuffled", "ordered"))
    assert ordered.parts["strength"][0] == 1e-4  # nothing is ever predicted right: the first penalty wins
    assert shuffled.parts["strength"][0] > 0.01
    assert shuffled.value > ordered.value


@pytest.mark.parametrize("model", ["gbt", "lr"])
def test_data_efficiency_is_the_ratio_of_two_accuracies(model):
    latents, factors = _job()
    score = data_efficiency(latents, factors, model=model, few=20, many=300)
    metric = {"gbt": gbt_accuracy, "lr": lr_accuracy}[model]
    few, many = metric(latents, factors, n=20).value, metric(latents, factors, n=300).value
    assert score.value == pytest.approx(few / many)
    assert score.parts["accuracy_few"] == few


def test_names_carry_the_number_of_rows():
    assert identity(gbt_accuracy) == "gbt_accuracy[n=10000]"
    assert identity(lr_accuracy, n=100) == "lr_accuracy[n=100]"


def test_mistakes_are_named():
    latents, factors = _job(60)
    with pytest.raises(UnknotError, match="n is 0"):
        gbt_accuracy(latents, factors, n=0)
    with pytest.raises(UnknotError, match="few is 50 and many 50"):
        data_efficiency(latents, factors, few=50, many=50)
    with pytest.raises(UnknotError, match="unknown kind of folds"):
        lr_accuracy(latents, factors, folds="random")
    with pytest.raises(UnknotError, match="unknown chance"):
        gbt_accuracy(latents, factors, chance="none")


def test_a_class_for_each_row_is_scored_without_a_warning() -> None:
    latents = np.random.default_rng(0).normal(size=(60, 2))
    assert lr_accuracy(latents, np.arange(60)[:, None]).value == 0
