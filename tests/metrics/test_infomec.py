import math

import numpy as np
import pytest

from unknot.errors import UnknotError, UnknotWarning
from unknot.metrics._neighbours import neighbour_information
from unknot.metrics.infomec import infomec


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, [3, 5], size=(600, 2))
    latents = np.stack(
        [
            factors[:, 0] + rng.normal(size=600) * 0.4,
            factors @ [0.5, 0.5] + rng.normal(size=600) * 0.5,
            rng.normal(size=600),
            rng.normal(size=600) * 0.01,
        ],
        axis=1,
    )
    return latents, factors


def test_neighbour_information_agrees_with_scikit_learn(table):
    from sklearn.feature_selection import mutual_info_classif

    latents, factors = table
    found = neighbour_information(latents, factors, np.array([3, 5]), 10)
    expected = [mutual_info_classif(latents, y, n_neighbors=10, random_state=0) for y in factors.T]
    assert found == pytest.approx(np.stack(expected, axis=1), abs=1e-9)


def test_neighbour_information_by_hand():
    # Classes {0, 1} and {10, 12}, one neighbour: nothing lies nearer than it, so every count is 1, and
    # I = psi(4) + psi(1) - psi(2) - psi(1) = 1/3 + 1/2.
    latents, factors = np.array([0.0, 1, 10, 12])[:, None], np.array([0, 0, 1, 1])[:, None]
    assert neighbour_information(latents, factors, np.array([2]), 1)[0, 0] == pytest.approx(1 / 2 + 1 / 3)


def test_neighbour_information_of_a_discrete_latent_is_about_the_entropy():
    factors = np.tile(np.arange(4), 250)[:, None]
    found = neighbour_information(factors * 1.0, factors, np.array([4]), 10)
    assert found[0, 0] == pytest.approx(math.log(4), abs=0.01)
    shuffled = np.repeat(np.arange(4), 250)[:, None] * 1.0
    assert neighbour_information(shuffled, factors, np.array([4]), 10)[0, 0] == pytest.approx(0, abs=0.01)


def test_classes_of_one_row_are_left_out_of_the_estimate():
    latents = np.array([0.0, 1, 10, 12, 99])[:, None]
    factors = np.array([0, 0, 1, 1, 2])[:, None]
    assert neighbour_information(latents, factors, np.array([3]), 1)[0, 0] == pytest.approx(1 / 2 + 1 / 3)
    assert neighbour_information(latents[:2], np.array([[0], [1]]), np.array([2]), 1)[0, 0] == 0


def by_the_paper(latents, factors, estimate):
    """InfoM and InfoC from the definition, with the pruning of the authors' code."""
    n = np.array([[estimate(z, y) / estimate(y, y) for z in latents.T] for y in factors.T])  # factors x latents
    spread = latents.max(axis=0) - latents.min(axis=0)
    n = n[:, spread > spread.max() / 20]
    k, d = n.shape
    infom = (np.mean([max(n[:, i]) / sum(n[:, i]) for i in range(d)]) - 1 / k) / (1 - 1 / k)
    infoc = (np.mean([max(n[j]) / sum(n[j]) for j in range(k)]) - 1 / d) / (1 - 1 / d)
    return infom, infoc


def test_infom_and_infoc_agree_with_a_slow_version(table):
    from sklearn.metrics import mutual_info_score

    latents, factors = table

    def estimate(a, b):
        binned = np.digitize(a, np.histogram(a, 20)[1][:-1]) if a.dtype.kind == "f" else a
        return mutual_info_score(binned, b)

    score = infomec(latents, factors, estimator="bins", explicitness=False)
    infom, infoc = by_the_paper(latents, factors, estimate)
    assert score.value == score.parts["infom"] == pytest.approx(infom)
    assert score.parts["infoc"] == pytest.approx(infoc)
    assert score.parts["active"].tolist() == [True, True, True, False]


def test_infoe_in_sample_agrees_with_the_definition(table):
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss

    latents, factors = table
    z = (latents - latents.mean(axis=0)) / latents.std(axis=0)
    expected = []
    for y in factors.T:
        losses = []
        for inputs in (z, np.zeros_like(z)):
            head = LogisticRegression(C=np.inf, class_weight="balanced", max_iter=100).fit(inputs, y)
            losses.append(log_loss(y, head.predict_proba(inputs)))
        expected.append((losses[1] - losses[0]) / losses[1])
    score = infomec(latents, factors, held_out=False, estimator="bins")
    assert score.parts["explicitness"] == pytest.approx(expected, abs=1e-3)
    assert score.parts["infoe"] == pytest.approx(np.mean(expected), abs=1e-3)


def test_infoe_of_noise_is_positive_in_sample_and_not_held_out():
    rng = np.random.default_rng(1)
    latents, factors = rng.normal(size=(300, 8)), rng.integers(0, 4, size=(300, 2))
    assert infomec(latents, factors, held_out=False).parts["infoe"] > 0.01
    assert infomec(latents, factors, held_out=True).parts["infoe"] < 0


def test_a_perfect_code_is_modular_compact_and_explicit_and_a_rotated_one_only_explicit(golden):
    for case, modular in (("perfect", True), ("rotated", False)):
        arrays, _ = golden(case)
        small = {name: a[:2000] for name, a in arrays.items()}
        parts = infomec(**small).parts
        assert (parts["infom"] > 0.95) == (parts["infoc"] > 0.95) == modular
        assert parts["infoe"] > 0.98


def test_repeating_every_latent_costs_compactness_alone():
    factors = np.tile(np.stack(np.meshgrid(range(4), range(3)), axis=-1).reshape(-1, 2), (30, 1))
    parts = infomec(np.hstack([factors, factors]) * 1.0, factors, explicitness=False).parts
    assert parts["infom"] == pytest.approx(1)
    assert parts["infoc"] == pytest.approx((1 / 2 - 1 / 4) / (1 - 1 / 4))


def test_discrete_latents_are_read_as_classes_whatever_their_order():
    factors = np.tile(np.stack(np.meshgrid(range(4), range(3)), axis=-1).reshape(-1, 2), (30, 1))
    scrambled = np.stack([np.array([2.0, -7.0, 0.5, 1.0])[factors[:, 0]], factors[:, 1]], axis=1)
    parts = infomec(scrambled, factors, estimator="discrete").parts
    assert parts["infom"] == pytest.approx(1)
    assert parts["infoe"] > 0.99
    assert parts["normalised_information"] == pytest.approx(np.eye(2))


def test_degenerate_input_has_documented_values(table):
    _, factors = table
    dead = infomec(np.zeros((600, 3)), factors)
    assert dead.value == dead.parts["infoc"] == 0
    assert dead.parts["infoe"] == pytest.approx(0, abs=0.02)
    assert "inactive latent(s) left out: 0, 1, 2." in dead.parts["notes"]
    alone = infomec(factors[:, :1] * 1.0, factors[:, 0], explicitness=False)
    assert np.isnan(alone.value)
    assert np.isnan(alone.parts["infoc"])
    assert sum("is undefined" in note for note in alone.parts["notes"]) == 2
    with pytest.warns(UnknotWarning, match="constant"):
        score = infomec(factors * 1.0, np.insert(factors, 0, 1, axis=1))
    assert np.isnan(score.parts["explicitness"][0])


def test_a_class_only_in_the_test_rows_costs_information_but_does_not_crash():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, size=(200, 2))
    score = infomec(y + 0.0, y, latents_test=[[0.0, 0.0], [1.0, 1.0]], factors_test=[[0, 5], [1, 1]])
    assert score.parts["explicitness"][0] > 0.9
    assert score.parts["explicitness"][1] < 0


def test_a_solver_that_stops_early_says_so(table):
    notes = infomec(*table, max_iter=1).parts["notes"]
    assert any("stopped after 1 iterations" in note for note in notes)


@pytest.mark.parametrize("options", [{"neighbours": 0}, {"min_range": 1.0}, {"max_iter": 0}, {"estimator": "ksg"}])
def test_impossible_options_are_refused(table, options):
    with pytest.raises(UnknotError, match="infomec"):
        infomec(*table, **options)


def test_measurements_stay_real_numbers():
    rng = np.random.default_rng(0)
    factors = np.column_stack([rng.normal(size=1500), rng.uniform(size=1500), rng.integers(0, 3, size=1500)])
    latents = factors[:, [1, 0, 2]] * [1.0, -3.0, 2.0] + [0.05, 0.2, 0.01] * rng.normal(size=(1500, 3))
    latents = np.column_stack([latents, rng.normal(size=1500)])
    score = infomec(latents, factors)
    shares = score.parts["normalised_information"]
    # Linear in one factor with normal errors: 1 - exp(-2 I) of jointly normal ones is their R².
    assert shares[1, 0] == pytest.approx(9 / (9 + 0.04), abs=0.02)
    assert shares[3].max() < 0.05
    assert score.parts["infoc"] > 0.9
    expected = [9 / (9 + 0.04), 1 / (1 + 12 * 0.0025)]
    np.testing.assert_allclose(score.parts["explicitness"][:2], expected, atol=0.01)
    assert score.parts["explicitness"][2] > 0.99
    assert sum("is continuous: its information" in note for note in score.parts["notes"]) == 2
    wide = np.hstack([latents, rng.normal(size=(1500, 100))])
    for cut in (infomec(latents, factors, estimator="bins"), infomec(wide, factors, explicitness=False)):
        assert sum("cut into 20 bins" in note for note in cut.parts["notes"]) == 2


def test_classes_score_the_same_beside_a_measurement(table):
    latents, factors = table
    alone = infomec(latents, factors, explicitness=False)
    beside = infomec(latents, np.column_stack([factors, latents[:, 2] ** 3]), explicitness=False)
    information = [score.parts["normalised_information"] for score in (alone, beside)]
    np.testing.assert_array_equal(information[0], information[1][:, :2])


def test_neighbours_of_discrete_latents_are_noted():
    factors = np.random.default_rng(0).integers(0, 4, size=(200, 2))
    notes = infomec(factors * 1.0, factors, explicitness=False).parts["notes"]
    assert "2 latent(s) take few values" in notes[0]
    assert not infomec(factors * 1.0, factors, estimator="discrete", explicitness=False).parts["notes"]
