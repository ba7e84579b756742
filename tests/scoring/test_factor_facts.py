"""What is said of the factors before any score."""

import numpy as np
import pytest

import unknot
from unknot.metrics.inputs import prepare
from unknot.scoring.factor_facts import dependence, missing_labels

RNG = np.random.default_rng(0)
N = 4000


def card(y: dict[str, np.ndarray]) -> unknot.Scorecard:
    return unknot.score(RNG.normal(size=(N, 3)), y, metrics=["modularity", "r2"], limit=200)


def test_dependence_is_0_for_independent_factors_and_1_where_one_determines_the_other() -> None:
    a, b = RNG.integers(0, 4, N), RNG.integers(0, 3, N)
    rows = prepare("score", RNG.normal(size=(N, 1)), np.stack([a, b, a // 2], axis=1))
    matrix = dependence(rows)
    assert matrix[0, 1] == pytest.approx(0, abs=0.002)
    assert matrix[0, 2] == pytest.approx(1, abs=0.002)
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_array_equal(np.diag(matrix), 1)


def test_dependence_worked_by_hand() -> None:
    y = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [3000, 1000, 1000, 3000], axis=0)
    information = np.log(2) + 0.75 * np.log(0.75) + 0.25 * np.log(0.25)
    found = dependence(prepare("score", np.arange(8000.0)[:, None], y))[0, 1]
    assert found == pytest.approx((information - 1 / 16000) / np.log(2), abs=1e-12)


def test_dependent_factors_stand_at_the_top_with_what_they_do_to_which_metric() -> None:
    species = RNG.integers(0, 3, N)
    site = np.where(RNG.random(N) < 0.8, species, RNG.integers(0, 3, N))
    sentences = card({"species": species, "site": site}).plan.about_factors
    assert sentences[0].startswith("factors depend on each other: species and site 0.")
    assert any(text.startswith("modularity: a latent that knows one factor") for text in sentences)
    assert any(text.startswith("r2: one factor can be read off through the other") for text in sentences)
    assert card({"a": RNG.integers(0, 3, N), "b": RNG.integers(0, 3, N)}).plan.about_factors == ()


def test_missing_labels_are_counted_by_factor_and_by_the_class_that_says_most_about_them() -> None:
    species = np.where(RNG.random(N) < 0.5, "owl", "ant")
    sex = RNG.choice(["f", "m"], N)
    site = RNG.choice(["x", "y"], N).astype(object)
    site[RNG.random(N) < np.where(species == "owl", 0.6, 0.1)] = None
    plan = card({"species": species, "sex": sex, "site": site}).plan
    (missing,) = plan.missing
    assert (missing.factor, missing.by) == ("site", "species")
    assert missing.share == pytest.approx(0.35, abs=0.02)
    assert missing.shares["owl"] == pytest.approx(0.6, abs=0.04)
    assert missing.shares["ant"] == pytest.approx(0.1, abs=0.04)
    assert "from 1" in str(missing)
    assert "% where species is ant to " in str(missing)
    assert str(missing) in plan.about_factors


def test_labels_that_are_missing_at_random_have_no_class_to_blame() -> None:
    y = RNG.integers(0, 3, (N, 2)).astype(float)
    y[RNG.random(N) < 0.3, 0] = np.nan
    rows = prepare("score", RNG.normal(size=(N, 1)), y, gaps=True)
    (missing,) = missing_labels(rows, {})
    assert missing.by == ""
    assert str(missing).endswith("% of the labels are missing.")
