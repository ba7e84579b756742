"""UDR of pairs: Lasso and Spearman similarities, the two normalisers, and what scikit-learn and scipy say."""

import numpy as np
import pytest

from unknot.errors import UnknotError, UnknotWarning
from unknot.metrics import udr as module
from unknot.metrics.udr import informative, similarity, udr_pair, udr_scores


def _models(n: int = 400, d: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    sources = rng.normal(size=(n, d))
    mix = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return sources + 0.3 * rng.normal(size=(n, d)), sources @ mix * 3 + 0.3 * rng.normal(size=(n, d)) + 5


def _standard(latents: np.ndarray) -> np.ndarray:
    return (latents - latents.mean(0)) / latents.std(0)


@pytest.mark.parametrize(
    ("name", "options", "tolerance"),
    [
        ("udr_lasso_pairwise", {"normaliser": "public"}, 1e-6),
        ("udr_eq2_lasso0.1_pairwise", {}, 1e-6),
        ("udr_spearman_pairwise", {"method": "spearman", "normaliser": "public"}, 1e-9),
        ("udr_eq2_spearman_pairwise", {"method": "spearman"}, 1e-9),
        ("udr_eq2_multitask_cv_pairwise", {"alpha": "cv"}, 2e-4),
    ],
)
def test_pairwise_scores_agree_with_stored_values(golden, name: str, options: dict, tolerance: float) -> None:
    arrays, values = golden("udr")
    off = ~np.eye(8, dtype=bool)
    wanted = values[name].astype(float)[off]
    options = dict(options)
    method = options.pop("method", "lasso")
    models = [informative(z, kl, method=method) for z, kl in zip(arrays["reps"], arrays["kl"], strict=True)]
    table = np.full((8, 8), np.nan)
    table[off] = udr_scores(models, **options)
    np.testing.assert_allclose(table[off], wanted, atol=tolerance)
    if "eq2" in name:  # each model as the one that predicts the others, besides as the one predicted
        row = values[name.replace("pairwise", "a2a_model_scores_row")]
        np.testing.assert_allclose(np.nanmedian(table, axis=1), row, atol=tolerance)
    one = udr_pair(
        arrays["reps"][0], arrays["reps"][7], kl_a=arrays["kl"][0], kl_b=arrays["kl"][7], method=method, **options
    )
    assert one.value == pytest.approx(wanted[6], abs=tolerance)


def test_medians_over_partners_rank_the_stored_models(golden) -> None:
    arrays, values = golden("udr")
    models = [informative(z, kl) for z, kl in zip(arrays["reps"], arrays["kl"], strict=True)]
    table = np.full((8, 8), np.nan)
    table[~np.eye(8, dtype=bool)] = udr_scores(models)
    np.testing.assert_allclose(np.nanmedian(table, axis=0), values["udr_eq2_lasso0.1_a2a_model_scores"], atol=1e-6)


def test_similarities_agree_with_stored_matrices(golden) -> None:
    arrays, values = golden("udr")
    (a, b), (kl_a, kl_b) = arrays["reps"][:2], arrays["kl"][:2]
    found = udr_pair(a, b, kl_a=kl_a, kl_b=kl_b).parts["similarity"]
    np.testing.assert_allclose(found, values["_raw_lasso_01"].astype(float), atol=1e-6)
    found = udr_pair(a, b, kl_a=kl_a, kl_b=kl_b, method="spearman").parts["similarity"]
    np.testing.assert_allclose(found, np.nan_to_num(values["_raw_spearman_01"].astype(float)), atol=1e-9)


@pytest.mark.parametrize("alpha", [0.02, 0.1, 0.5])
def test_lasso_is_that_of_scikit_learn(alpha: float) -> None:
    from sklearn.linear_model import Lasso

    a, b = _models()
    slow = Lasso(alpha=alpha, tol=1e-12, max_iter=100_000).fit(_standard(a), _standard(b))
    found = udr_pair(a, b, alpha=alpha)
    np.testing.assert_allclose(found.parts["similarity"], np.abs(slow.coef_.T), atol=1e-6)
    assert found.parts["alpha"] == alpha


@pytest.mark.parametrize("kind", ["rotation", "cubed", "near-duplicate", "few rows"])
def test_cross_validated_lasso_is_that_of_scikit_learn(kind: str) -> None:
    from sklearn.linear_model import MultiTaskLassoCV

    a, b = _models(403)
    if kind == "cubed":
        a = a**3
    if kind == "near-duplicate":
        a[:, 1] = a[:, 0] + 0.1 * a[:, 1]
    if kind == "few rows":
        a, b = a[:43], b[:43]
    slow = MultiTaskLassoCV(cv=5, tol=1e-9, max_iter=100_000).fit(_standard(a), _standard(b))
    found = udr_pair(a, b, alpha="cv")
    assert found.parts["alpha"] == pytest.approx(slow.alpha_, rel=1e-9)
    np.testing.assert_allclose(found.parts["similarity"], np.abs(slow.coef_.T), atol=1e-4)


@pytest.mark.parametrize("ties", [False, True])
def test_spearman_is_that_of_scipy(ties: bool) -> None:
    from scipy.stats import spearmanr

    a, b = _models(200)
    if ties:
        a, b = np.round(a), np.round(b)
    found = udr_pair(a, b, method="spearman").parts["similarity"]
    wanted = [[abs(spearmanr(x, y)[0]) for y in b.T] for x in a.T]
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_copies_up_to_order_sign_scale_and_shift_score_one_less_the_penalty() -> None:
    a, _ = _models(5000)
    copy = a[:, [2, 0, 3, 1]] * [1.0, -2.0, 5.0, -1.0] + 3
    assert udr_pair(a, copy).value == pytest.approx(0.9, abs=0.005)
    spearman = udr_pair(a, copy, method="spearman").parts["similarity"]
    np.testing.assert_allclose(spearman.max(axis=0), 1.0)


def test_pair_score_worked_by_hand() -> None:
    from unknot.metrics.kernels.lasso import pair_score

    r = np.array([[0.8, 0.0], [0.2, 0.6], [0.0, 0.0]])
    columns, rows = 0.64 / 1.0 + 0.36 / 0.6, 0.64 / 0.8 + 0.36 / 0.8 + 0.0
    assert pair_score(r, True) == pytest.approx((columns + rows) / 5)
    assert pair_score(-r, False) == pytest.approx((columns / 2 + rows / 3) / 2)


def test_the_predictor_comes_first() -> None:
    """One latent that is the sum of two explains each only in part; the two explain it fully."""
    rng = np.random.default_rng(0)
    parts = rng.normal(size=(2000, 2))
    whole = parts.sum(axis=1, keepdims=True)
    forward, backward = udr_pair(parts, whole), udr_pair(whole, parts)
    np.testing.assert_allclose(forward.parts["similarity"].ravel(), [0.6, 0.6], atol=0.05)
    np.testing.assert_allclose(backward.parts["similarity"].ravel(), [0.6, 0.6], atol=0.05)
    assert forward.parts["similarity"].shape == (2, 1)


@pytest.mark.parametrize(("method", "alpha"), [("lasso", 0.1), ("lasso", "cv"), ("spearman", 0.1)])
def test_blocks_of_models_score_as_all_at_once(monkeypatch: pytest.MonkeyPatch, method: str, alpha) -> None:
    models = [informative(z, method=method) for s in range(4) for z in _models(100, 3, seed=s)]
    whole = udr_scores(models, alpha=alpha)
    monkeypatch.setattr(module, "BLOCK", 7)
    np.testing.assert_allclose(udr_scores(models, alpha=alpha), whole, atol=1e-6)
    chosen = [(3, 1), (0, 7), (7, 0)]
    wanted = [whole[[(a, b) for a in range(8) for b in range(8) if a != b].index(pair)] for pair in chosen]
    np.testing.assert_allclose(udr_scores(models, chosen, alpha=alpha), wanted, atol=1e-6)


def test_scores_of_many_are_those_of_pairs() -> None:
    a, b = _models()
    many = udr_scores([informative(a), informative(b)])
    assert many.tolist() == pytest.approx([udr_pair(a, b).value, udr_pair(b, a).value])
    matrix, alpha = similarity(informative(a), informative(b))
    np.testing.assert_allclose(matrix, udr_pair(a, b).parts["similarity"])
    assert alpha == 0.1


def test_without_kl_the_standard_deviation_decides_and_a_note_says_so() -> None:
    a, b = _models()
    a = np.insert(a, 1, 0.04 * a[:, 0], axis=1)
    score = udr_pair(a, b)
    assert score.parts["informative_a"].tolist() == [True, False, True, True, True]
    assert any("no KL" in note for note in score.parts["notes"])
    assert udr_pair(a, b, kl_a=[1, 0, 1, 1, 1], kl_b=np.ones(4)).value == pytest.approx(score.value)
    assert (score.parts["similarity"][1] == 0).all()


@pytest.mark.parametrize("method", ["lasso", "spearman"])
def test_no_informative_latent_is_nan_with_a_warning(method: str) -> None:
    a, b = _models()
    with pytest.warns(UnknotWarning, match="model B has no informative latent"):
        score = udr_pair(a, b, kl_a=np.ones(4), kl_b=np.zeros(4), method=method)
    assert np.isnan(score.value)
    assert score.parts["notes"]
    models = [
        informative(a, method=method),
        informative(b, np.zeros(4), method=method),
        informative(b, method=method),
    ]
    assert np.isnan(udr_scores(models)).tolist() == [True, False, True, True, False, True]


@pytest.mark.parametrize(("method", "alpha"), [("lasso", 0.1), ("lasso", "cv"), ("spearman", 0.1)])
def test_a_latent_without_variance_is_similar_to_none(method: str, alpha) -> None:
    a, b = _models()
    a[:, 2] = 4.0
    score = udr_pair(a, b, kl_a=np.ones(4), kl_b=np.ones(4), method=method, alpha=alpha)
    assert (score.parts["similarity"][2] == 0).all()
    assert np.isfinite(score.value)


def test_wrong_input_is_named() -> None:
    a, b = _models()
    with pytest.raises(UnknotError, match="399 and 400 rows"):
        udr_pair(a, b[:-1])
    with pytest.raises(UnknotError, match=r"kl has shape \(3,\); expected 4"):
        udr_pair(a, b, kl_a=[1, 2, 3])
    with pytest.raises(UnknotError, match="did you mean 'spearman'"):
        udr_pair(a, b, method="spearmen")
    with pytest.raises(UnknotError, match="alpha is 0"):
        udr_pair(a, b, alpha=0)
    with pytest.raises(UnknotError, match="did you mean 'public'"):
        udr_pair(a, b, normaliser="pubic")
    with pytest.raises(UnknotError, match="at least 10"):
        udr_pair(a[:9], b[:9])
    with pytest.raises(UnknotError, match="some models were prepared"):
        udr_scores([informative(a), informative(b, method="spearman")])
    with pytest.raises(UnknotError, match="no models"):
        udr_scores([])
