from itertools import permutations

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.examples import toy_m1, toy_m2
from unknot.metrics.snc import _bins_of_classes, snc

CASES = ["sncnk", "perfect", "rotated", "noise", "m1", "m2", "theorem31_n4k3"]
EXACT = ["m1", "m2", "theorem31_n4k3"]


def on_itself(latents, factors, **options):
    return snc(latents, factors, latents_test=latents, factors_test=factors, **options)


def split_names(arrays):
    return arrays["latents"], arrays["factors"], {n: arrays[n] for n in ("latents_test", "factors_test")}


def slow_accuracy(z, y):
    """K bins of equal count of a latent without ties; the best one-to-one map of bins to classes, by trial."""
    k = len(np.unique(y))
    ranks = np.argsort(np.argsort(z))
    bins = ranks * k // len(z)
    return max(np.mean(np.array(p)[bins] == y) for p in permutations(range(k)))


@pytest.mark.parametrize("case", CASES)
def test_stored_values_of_tie_safe_class_bins_are_met_exactly(golden, case):
    arrays, values = golden(case)
    z, y, test = split_names(arrays)
    score = snc(z, y, **test, bins="classes")
    np.testing.assert_array_equal(score.parts["alignment"], values["ref_alignment"])
    np.testing.assert_allclose(score.parts["accuracy"], values["ref_snc_classes_acc_test"], atol=1e-12)
    np.testing.assert_allclose(score.parts["accuracy_train"], values["ref_snc_classes_acc_train"], atol=1e-12)
    assert score.value == pytest.approx(values["ref_snc_classes_adjusted_test"], abs=1e-12)
    assert score.parts["train"] == pytest.approx(values["ref_snc_classes_adjusted_train"], abs=1e-12)


@pytest.mark.parametrize("case", EXACT)
def test_stored_values_of_gcd_bins_are_met_exactly(golden, case):
    arrays, values = golden(case)
    z, y, test = split_names(arrays)
    score = snc(z, y, **test, bins="gcd")
    np.testing.assert_allclose(score.parts["accuracy"], values["ref_snc_gcd_acc_test"], atol=1e-12)
    np.testing.assert_allclose(score.parts["accuracy_train"], values["ref_snc_gcd_acc_train"], atol=1e-12)
    assert score.value == pytest.approx(values["ref_snc_gcd_adjusted_test"], abs=1e-12)
    assert score.parts["train"] == pytest.approx(values["ref_snc_gcd_adjusted_train"], abs=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_published_cuts_give_the_published_codes_numbers(golden, case):
    arrays, values = golden(case)
    z, y, test = split_names(arrays)
    score = snc(z, y, **test, bins="classes", cuts="published")
    np.testing.assert_array_equal(score.parts["alignment"], values["snk_alignment"])
    np.testing.assert_allclose(score.parts["accuracy"], values["snk_snc_acc_test"], atol=1e-12)
    np.testing.assert_allclose(score.parts["accuracy_train"], values["snk_snc_acc_train"], atol=1e-12)
    assert score.value == pytest.approx(values["snk_snc_adjusted_test"], abs=1e-12)
    assert score.parts["train"] == pytest.approx(values["snk_snc_adjusted_train"], abs=1e-12)


@pytest.mark.parametrize(("toy", "eq3", "table1"), [(toy_m1, 0.25, 0.125), (toy_m2, 0.45, 0.225)])
def test_toy_models_have_the_values_of_table_1(toy, eq3, table1):
    assert on_itself(*toy()).value == pytest.approx(eq3)
    assert on_itself(*toy(), adjustment="table1").value == pytest.approx(table1)
    assert on_itself(*toy(), adjustment="none").value == pytest.approx(0.5 + table1)


def test_accuracy_is_that_of_the_best_map_of_bins_to_classes():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 30)
    z = np.array([2.0, 0.0, 3.0, 1.0])[y] + rng.normal(scale=0.8, size=120)
    score = on_itself(z[:, None], y[:, None])
    assert score.parts["accuracy"][0] == pytest.approx(slow_accuracy(z, y))
    assert score.value == pytest.approx((slow_accuracy(z, y) - 0.25) / 0.75)


def test_unequal_classes_by_hand():
    """Counts 4 and 2 have gcd 2: three bins of two rows, two of them for class 0."""
    z = np.array([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]])
    y = np.array([[0], [0], [1], [1], [0], [0]])
    score = on_itself(z, y, bins="gcd")
    assert score.parts["n_bins"].tolist() == [3]
    assert score.value == 1.0
    by_class = on_itself(z, y, bins="classes")  # two bins of three rows hold 2 + 1 and 1 + 2
    assert by_class.parts["accuracy"].tolist() == [0.5]


@pytest.mark.parametrize("flip", [1, -1])
@pytest.mark.parametrize("copies", [1, 2])
def test_a_sampled_ordinal_code_scores_one_also_negated_and_repeated(flip, copies):
    y = np.random.default_rng(0).integers(0, [3, 6, 10], size=(2000, 3))
    z = np.tile(flip * y[:, [2, 0, 1]].astype(float), (1, copies))
    assert snc(z, y).value == 1.0


def test_unbalanced_factors_need_bins_by_their_shares():
    rng = np.random.default_rng(1)
    y = rng.choice(4, p=[0.4, 0.3, 0.2, 0.1], size=6000)[:, None]
    z = y + rng.normal(scale=0.05, size=y.shape)
    assert snc(z, y, bins="classes").value < 0.7
    assert snc(z, y).value > 0.95


def test_latents_that_know_nothing_score_almost_zero_on_held_out_rows():
    rng = np.random.default_rng(2)
    y = rng.integers(0, [3, 8], size=(6000, 2))
    score = snc(rng.normal(size=(6000, 5)), y)
    assert score.value < 0.02
    assert score.parts["train"] > score.value


def test_how_many_bins_each_class_receives():
    assert _bins_of_classes(np.array([100, 110, 90]), "auto", None).tolist() == [1, 1, 1], "balanced by chance"
    assert _bins_of_classes(np.array([300, 100]), "auto", None).tolist() == [3, 1], "the gcd is large enough"
    assert _bins_of_classes(np.array([301, 100]), "auto", 50).tolist() == [6, 2], "301 / 50 and 100 / 50"
    assert _bins_of_classes(np.array([320, 90]), "auto", 50).tolist() == [6, 2], "8 bins; .8 of a bin beats .4"
    assert _bins_of_classes(np.array([405, 3]), "auto", 50).tolist() == [8, 1], "no class goes without"


def test_a_dead_latent_predicts_one_class():
    y = np.tile(np.arange(3), 100)[:, None]
    score = on_itself(np.ones((300, 1)), y)
    assert score.value == 0.0
    assert score.parts["accuracy"][0] == pytest.approx(1 / 3)
    assert "zero information" in score.parts["notes"][0]


def test_factors_without_a_latent_count_zero_and_are_named():
    y = np.random.default_rng(3).integers(0, 3, size=(900, 3))
    score = snc(y[:, :2].astype(float), y)
    np.testing.assert_allclose(score.parts["per_factor"], [1, 1, 0])
    assert score.parts["alignment"].tolist() == [0, 1, -1]
    assert score.parts["accuracy"][2] == score.parts["chance"][2]
    assert any("'2' has no latent" in note for note in score.parts["notes"])
    assert (snc(y[:, :2].astype(float), y, share=True).parts["alignment"] >= 0).all()


def test_test_values_unseen_in_training_are_errors():
    y = np.tile(np.arange(2), 50)[:, None]
    test = np.array([[0], [1], [7], [7]])
    score = snc(y * 1.0, y, latents_test=test * 1.0, factors_test=test)
    assert score.parts["accuracy"].tolist() == [0.5]


def test_majority_chance_is_stricter():
    rng = np.random.default_rng(4)
    y = (rng.random((3000, 1)) < 0.2).astype(int)
    z = y + rng.normal(scale=0.7, size=y.shape)
    assert snc(z, y, chance="majority").value < snc(z, y).value
    assert snc(z, y, chance="majority").parts["chance"][0] == pytest.approx(0.8, abs=0.03)


def test_constant_test_rows_are_adjusted_by_the_training_rows():
    y = np.tile(np.arange(2), 50)[:, None]
    score = snc(y * 1.0, y, latents_test=np.zeros((5, 1)), factors_test=np.zeros((5, 1), dtype=int))
    assert score.value == 1.0
    assert score.parts["chance"].tolist() == [0.5]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"bins": "class"}, "did you mean 'classes'"),
        ({"adjustment": "eq4"}, "did you mean 'eq3'"),
        ({"cuts": "safe"}, "unknown cuts"),
        ({"chance": "fair"}, "unknown chance"),
        ({"min_bin_size": 0}, "min_bin_size is 0"),
    ],
)
def test_wrong_options_are_refused(options, match):
    with pytest.raises(UnknotError, match=match):
        on_itself(*toy_m1(), **options)


def test_gcd_bins_of_sampled_labels_are_refused_with_a_way_out():
    y = np.concatenate([np.zeros(4999, dtype=int), np.ones(5001, dtype=int)])[:, None]
    with pytest.raises(UnknotError, match=r"divisor 1, which makes 10000 bins .* bins='auto'"):
        on_itself(y * 1.0, y, bins="gcd")
