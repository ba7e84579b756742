import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.examples import entangled, toy_m1, toy_m2
from unknot.metrics.nk import nk
from unknot.metrics.probes import linear_accuracy, mlp_accuracy
from unknot.metrics.snc import snc


def grid_code(n=900, sizes=(3, 4, 5), seed=0):
    """A perfect ordinal code of uniformly sampled factors, each latent with unit variance."""
    y = np.random.default_rng(seed).integers(0, sizes, size=(n, len(sizes)))
    return (y - y.mean(axis=0)) / y.std(axis=0), y


def chance(score):
    return np.array(score.parts["chance"])


def test_a_perfect_code_loses_everything_above_chance():
    score = nk(*grid_code(3000))
    assert score.parts["mlp"] == 1.0
    np.testing.assert_allclose(score.parts["per_factor"], 1 - chance(score), atol=0.04)
    assert score.parts["nk_adjusted"] == pytest.approx(1, abs=0.05)


def test_a_redundant_code_loses_nothing_although_snc_is_one():
    z, y = grid_code()
    twice = np.hstack([z, -z])
    assert nk(twice, y).value == 0.0
    assert snc(twice, y).value == 1.0


def test_latents_that_know_nothing_lose_nothing():
    rng = np.random.default_rng(0)
    y = rng.integers(0, [3, 4], size=(2000, 2))
    assert nk(rng.normal(size=(2000, 5)), y).value == pytest.approx(0, abs=0.04)


MIXING = np.eye(3) - 2 / 3  # a rotation (with reflection) that gives every latent a part in every factor


def rotated_code(noise):
    z, y = grid_code(3000)
    return z @ MIXING + np.random.default_rng(1).normal(scale=noise, size=z.shape), y


def test_a_rotated_code_keeps_a_high_nk_and_loses_its_snc():
    z, y = rotated_code(noise=0.2)
    score = nk(z, y)
    assert score.parts["mlp"] > 0.9
    assert score.value > 0.25
    assert snc(z, y).value < 0.3


def test_a_rotated_grid_without_noise_keeps_its_nk_only_before_probes_that_stop_early():
    """Two coordinates still name every point of a rotated grid, and a net that converges finds out."""
    z, y = rotated_code(noise=0)
    assert nk(z, y, recipe="paper").value > 0.35
    assert nk(z, y).value < 0.02


@pytest.fixture(scope="module")
def theorem():
    z, y = entangled((3, 3, 3))  # 729 rows, each digit once
    return {"latents": z, "factors": y, "latents_test": z, "factors_test": y}


def test_the_fully_entangled_code_has_maximal_nk_and_no_snc(theorem):
    score = nk(**theorem)
    assert score.parts["alignment"].tolist() == [0, 1, 2], "factor i is encoded by latents i and i + 1"
    np.testing.assert_allclose(score.parts["per_factor"], 2 / 3, atol=0.04)
    assert score.parts["linear"] == pytest.approx(1 / 3, abs=1e-9)
    assert snc(**theorem).value == 0.0
    assert all("zero information" in note for note in score.parts["notes"])


def test_the_fully_entangled_code_has_no_nk_when_aligned_to_a_latent_that_does_not_take_part(theorem):
    np.testing.assert_allclose(nk(**theorem, alignment=[2, 0, 1]).parts["per_factor"], 0, atol=0.01)


@pytest.mark.parametrize("toy", [toy_m1, toy_m2])
@pytest.mark.parametrize("recipe", ["converged", "paper"])
def test_toy_models_have_the_value_of_table_1(toy, recipe):
    z, y = toy(copies=25)
    score = nk(z, y, latents_test=z, factors_test=y, recipe=recipe)
    np.testing.assert_allclose(score.parts["mlp_per_factor"], [0.75, 0.75])
    np.testing.assert_allclose(score.parts["per_factor"], [0.25, 0.0])
    assert score.value == 0.125


@pytest.mark.parametrize("case", ["sncnk", "theorem31_n4k3"])
def test_the_paper_recipe_gives_the_published_codes_numbers(golden, case):
    arrays, values = golden(case)
    score = nk(**arrays, recipe="paper")
    np.testing.assert_array_equal(score.parts["alignment"], values["snk_alignment"])
    assert score.value == pytest.approx(values["snk_nk"], abs=0.02)
    assert score.parts["mlp"] == pytest.approx(values["snk_mlp_acc"], abs=0.02)
    assert score.parts["knockout"] == pytest.approx(values["snk_knockout_acc"], abs=0.02)
    assert score.parts["linear"] == pytest.approx(values["snk_linear_acc"], abs=0.02)


def test_accuracies_are_those_of_the_metrics_of_their_own():
    z, y = grid_code(300)
    z = z + np.random.default_rng(0).normal(scale=0.5, size=z.shape)
    score = nk(z, y, rng=5)
    np.testing.assert_array_equal(score.parts["mlp_per_factor"], mlp_accuracy(z, y, rng=5).parts["per_factor"])
    np.testing.assert_array_equal(
        score.parts["linear_per_factor"], linear_accuracy(z, y, rng=5).parts["per_factor"]
    )


def test_one_latent_leaves_the_most_common_class():
    rng = np.random.default_rng(0)
    y = rng.choice(3, p=[0.2, 0.5, 0.3], size=(600, 1))
    test = np.repeat([0, 1, 2], [20, 30, 50])[:, None]
    score = nk(y * 1.0, y, latents_test=test * 1.0, factors_test=test)
    assert score.parts["knockout"] == 0.3, "class 1 is the most common of the training rows"
    assert score.value == 0.7


def test_factors_without_a_latent_are_nan_and_not_in_the_mean():
    z, y = grid_code(600)
    score = nk(z[:, :2], y)
    assert np.isnan(score.parts["per_factor"][2])
    assert np.isfinite(score.parts["mlp_per_factor"]).all()
    assert score.value == pytest.approx(np.mean(score.parts["per_factor"][:2]))
    assert any("'2' has no latent" in note for note in score.parts["notes"])


def test_test_values_unseen_in_training_are_errors():
    y = np.tile([[0, 0], [0, 1], [1, 0], [1, 1]], (40, 1))
    test = np.array([[0, 0], [1, 1], [7, 0], [7, 1]])
    score = nk(y * 1.0, y, latents_test=test * 1.0, factors_test=test)
    np.testing.assert_allclose(score.parts["mlp_per_factor"], [0.5, 1.0])


def test_two_knocked_out_latents_undo_a_redundant_code():
    z, y = grid_code(600, sizes=(3, 4))
    twice = np.hstack([z, -z])
    score = nk(twice, y, nk2=True)
    assert score.value == 0.0
    np.testing.assert_allclose(score.parts["nk2_per_factor"], 1 - chance(score), atol=0.1)
    assert score.parts["nk2"] == pytest.approx(np.mean(score.parts["nk2_per_factor"]))


def test_cross_knock_out_of_a_perfect_code_hits_the_diagonal_only():
    z, y = grid_code(600, sizes=(3, 4))
    with_constant = np.insert(y, 1, 9, axis=1)
    with pytest.warns(UserWarning, match="constant"):
        score = nk(z, with_constant, cross=True)
    cross = score.parts["cross"]
    assert cross.shape == (3, 3) and np.isnan(cross[1]).all() and np.isnan(cross[:, 1]).all()
    np.testing.assert_allclose(cross[[0, 2], [2, 0]], 1.0)
    np.testing.assert_array_equal(np.diag(cross)[[0, 2]], score.parts["knockout_per_factor"][[0, 2]])


@pytest.mark.parametrize("alignment", [[0], [0, 5, 1], [0, -2, 1], [-1, -1, -1]])
def test_an_alignment_that_does_not_fit_is_refused(alignment):
    with pytest.raises(UnknotError, match="nk: alignment"):
        nk(*grid_code(60), alignment=alignment)
