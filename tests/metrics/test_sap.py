"""SAP: exact one-dimensional support vector machines, squared correlations, and the gap between the best two."""

import numpy as np
import pytest

from unknot.errors import UnknotError, UnknotWarning
from unknot.metrics.sap import sap


def _code(sizes: tuple[int, ...], n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    factors = rng.integers(0, sizes, size=(n, len(sizes)))
    latents = (
        factors @ rng.normal(size=(len(sizes), 4))
        + rng.normal(size=(n, 4)) * [0.1, 1.0, 5.0, 20.0]
        + [0, 3, 0, -50]
    )
    return latents, factors


@pytest.mark.parametrize("case", ["sncnk", "perfect", "rotated", "noise", "m1", "m2"])
def test_classification_agrees_with_public_values(golden, case: str) -> None:
    arrays, values = golden(case)
    assert sap(**arrays).value == pytest.approx(values["sap_discrete"], abs=2e-4)


@pytest.mark.parametrize("case", ["sncnk", "perfect", "rotated", "noise", "m1", "m2", "theorem31_n4k3"])
def test_regression_agrees_with_public_values(golden, case: str) -> None:
    arrays, values = golden(case)
    value = sap(arrays["latents"], arrays["factors"], mode="regression").value
    assert value == pytest.approx(values["sap_continuous"], rel=1e-6, abs=1e-12)
    assert value == pytest.approx(values["ubi_sap_regression"], rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("case", ["theorem31_n4k3", "m1", "m2", "rotated"])
def test_liblinear_itself_gives_public_values_where_every_line_is_flat_too(golden, case: str) -> None:
    arrays, values = golden(case)
    # On theorem31 which rows lie on which side of a flat line is rounding's: by kind of processor, 0.0061 or 0.0088.
    tolerance = 5e-3 if case == "theorem31_n4k3" else 1e-9
    assert sap(**arrays, mode="liblinear").value == pytest.approx(values["sap_discrete"], abs=tolerance)


def test_a_code_without_information_has_no_gap(golden) -> None:
    """Every line of the Theorem 3.1 code is flat; public values are not 0 there, because rounding breaks the ties."""
    arrays, _ = golden("theorem31_n4k3")
    assert sap(**arrays).value == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("sizes", [(2, 2), (3, 5), (12, 2)])
def test_every_pair_has_the_accuracy_of_linear_svc(sizes: tuple[int, ...]) -> None:
    from sklearn.svm import LinearSVC

    latents, factors = _code(sizes, 900)
    train, test = slice(0, 600), slice(600, None)
    found = sap(latents[train], factors[train], latents_test=latents[test], factors_test=factors[test]).parts[
        "predictability"
    ]
    for i in range(4):
        for j in range(len(sizes)):
            svm = LinearSVC(C=0.01, class_weight="balanced", dual=False, tol=1e-10, max_iter=100_000)
            svm.fit(latents[train, i : i + 1], factors[train, j])
            wanted = svm.score(latents[test, i : i + 1], factors[test, j])
            assert found[i, j] == pytest.approx(wanted, abs=1.1 / 300)  # one row may lie on the boundary


@pytest.mark.parametrize("sizes", [(2,), (4,)])
def test_lines_are_the_minimum_of_the_objective(sizes: tuple[int, ...]) -> None:
    from scipy.optimize import minimize

    from unknot.metrics.kernels.svm import fit

    latents, factors = _code(sizes, 200, seed=3)
    for i in range(4):
        x, y = latents[:, i], factors[:, 0]
        order = np.argsort(x)
        counts = np.bincount(y)
        lines = fit(x[order], y[order], counts, 0.01)
        for c, line in enumerate(lines):
            positive = y == (1 if len(counts) == 2 else c)
            weight = np.where(positive, 200 / len(counts) / positive.sum(), 1.0)
            if len(counts) == 2:
                weight = 200 / 2 / counts[y]
            sign = np.where(positive, 1.0, -1.0)

            def objective(wb: np.ndarray, x=x, weight=weight, sign=sign) -> float:
                margin = np.maximum(0, 1 - sign * (wb[0] * x + wb[1]))
                return 0.5 * wb @ wb + 0.01 * np.sum(weight * margin**2)

            best = minimize(objective, line, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-14})
            assert objective(line) <= best.fun + 1e-9
            other = minimize(objective, np.zeros(2), method="BFGS")
            assert objective(line) <= other.fun + 1e-9


def test_a_copy_of_the_best_latent_closes_the_gap() -> None:
    latents, factors = _code((5, 3), 600)
    twice = np.hstack([latents, latents])
    assert sap(twice, factors).value == pytest.approx(0, abs=1e-12)
    assert sap(twice, factors, mode="regression").value == pytest.approx(0, abs=1e-12)


def test_regression_is_the_gap_of_squared_correlations() -> None:
    latents, factors = _code((5, 3), 300)
    squared = np.corrcoef(latents.T, factors.T)[:4, 4:] ** 2
    ranked = np.sort(squared, axis=0)
    score = sap(latents, factors, mode="regression")
    np.testing.assert_allclose(score.parts["predictability"], squared, atol=1e-12)
    np.testing.assert_allclose(score.parts["per_factor"], ranked[-1] - ranked[-2], atol=1e-12)
    assert score.value == pytest.approx((ranked[-1] - ranked[-2]).mean())


def test_regression_takes_real_numbers_as_they_are() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=(200, 2))
    score = sap(y * [2.0, -3.0] + 1, y, mode="regression")
    assert score.value == pytest.approx(1 - np.corrcoef(y.T)[0, 1] ** 2)
    assert any("continuous" in note for note in score.parts["notes"])


@pytest.mark.parametrize("mode", ["classification", "regression"])
def test_one_latent_has_a_runner_up_of_zero_and_says_so(mode: str) -> None:
    latents, factors = _code((4,), 300)
    score = sap(latents[:, :1], factors, mode=mode)
    assert score.value == pytest.approx(score.parts["predictability"][0, 0])
    assert any("one latent" in note for note in score.parts["notes"])


def test_dead_latents_predict_nothing_in_regression_and_one_class_in_classification() -> None:
    latents, factors = _code((4, 3), 300)
    latents[:, 2] = 7.0
    assert (sap(latents, factors, mode="regression").parts["predictability"][2] == 0).all()
    test = {"latents_test": latents, "factors_test": factors}
    shares = [np.bincount(factors[:, j]) / 300 for j in range(2)]
    found = sap(latents, factors, **test).parts["predictability"][2]
    for j in range(2):
        assert np.isclose(shares[j], found[j]).any()


def test_a_value_unseen_in_training_is_an_error_of_the_classifier() -> None:
    factors = np.repeat([0, 1], 50)[:, None]
    latents = factors * 10.0 - 5
    test_factors = np.array([[0], [1], [2], [2]])
    score = sap(latents, factors, latents_test=[[-5.0], [5.0], [5.0], [-5.0]], factors_test=test_factors)
    assert score.parts["predictability"][0, 0] == pytest.approx(0.5)


def test_a_constant_factor_is_nan_at_its_place() -> None:
    latents, factors = _code((4, 3), 300)
    with pytest.warns(UnknotWarning, match="constant"):
        score = sap(latents, np.insert(factors, 1, 0, axis=1))
    assert np.isnan(score.parts["per_factor"]).tolist() == [False, True, False]


def test_wrong_options_are_named() -> None:
    latents, factors = _code((4, 3), 30)
    with pytest.raises(UnknotError, match="did you mean 'regression'"):
        sap(latents, factors, mode="regresion")
    with pytest.raises(UnknotError, match="cost is 0"):
        sap(latents, factors, cost=0)


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_a_latent_predicts_alike_among_few_and_among_many(layout: str) -> None:
    import scipy.sparse

    rng = np.random.default_rng(0)
    factors = rng.integers(0, [2, 3, 10], size=(900, 3))
    latents = rng.normal(size=(900, 120)).astype(np.float32)
    latents[:, :30] += 9 * factors[:, :1] + 3 * factors[:, 1:2] * (np.arange(30) % 2)  # beyond their margins
    latents[:, 30:60] += 0.1 * factors[:, 2:]
    latents[:, 60] = 2.0
    latents[rng.random(latents.shape) < 0.2] = 0
    form = scipy.sparse.csr_matrix if layout == "sparse" else np.asarray
    many = sap(form(latents[:600]), factors[:600], latents_test=form(latents[600:]), factors_test=factors[600:])
    few = [
        sap(part[:600], factors[:600], latents_test=part[600:], factors_test=factors[600:]).parts["predictability"]
        for part in (latents[:, :60], latents[:, 60:])
    ]
    np.testing.assert_array_equal(many.parts["predictability"], np.vstack(few))
