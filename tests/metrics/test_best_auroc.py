import numpy as np
import pytest
import scipy.sparse
from sklearn.metrics import roc_auc_score

from unknot.errors import UnknotError
from unknot.metrics.best_auroc import best_auroc


def _planted(d=150, n=1_500):
    """Latent 3 fires for value 2 of a factor, 7 falls for value 0, 9 and 11 repeat it, 20 knows both factors."""
    rng = np.random.default_rng(0)
    factors = rng.integers(0, [3, 4], size=(n, 2))
    latents = rng.normal(size=(n, d))
    latents[:, 3] += 4.0 * (factors[:, 0] == 2)
    latents[:, 7] -= 6.0 * (factors[:, 0] == 0)
    latents[:, 9] = latents[:, 11] = -2 * latents[:, 7]
    latents[:, 20] = 10 * (factors[:, 0] == 1) + factors[:, 1] + 0.1 * latents[:, 20]
    return latents, factors


def test_planted_latents_are_found_and_measured_on_other_rows():
    latents, factors = _planted()
    score = best_auroc(
        latents[:1_000], factors[:1_000], latents_test=latents[1_000:], factors_test=factors[1_000:]
    )
    assert score.parts["best_latents"]["0"][2] == 3 and score.parts["best_latents"]["0"][1] == 20
    assert score.parts["best_latents"]["0"][0] in (7, 9, 11)
    expected = roc_auc_score(factors[1_000:, 0] == 2, latents[1_000:, 3])
    assert score.parts["per_value"]["0"][2] == pytest.approx(expected, abs=1e-6)
    assert score.parts["copies"] == 3
    assert 20 in score.parts["shared_latents"] and 3 not in score.parts["shared_latents"]
    curve = score.parts["accuracy_of_best"][:, 0]
    assert curve[-1] > 0.95 and curve[0] < curve[-1]
    needs, repeated, several = score.parts["notes"]
    shown = ", ".join(f"{share:.2f}" for share in curve)
    assert needs.startswith(f"accuracy from the 1, 2, 5 and 20 latents that know most: 0 {shown}; 1 ")
    assert repeated == f"3 of {latents.shape[1]} latents repeat another." and "20" in several


def test_noise_of_any_width_is_at_chance():
    rng = np.random.default_rng(0)
    score = best_auroc(rng.normal(size=(3_000, 400)), rng.integers(0, 3, size=(3_000, 2)))
    assert score.value == pytest.approx(0.5, abs=0.02)
    assert score.parts["copies"] == 0 and len(score.parts["shared_latents"]) == 0
    assert score.parts["accuracy_of_best"].max() < 0.4 and len(score.parts["notes"]) == 1


def test_noise_in_few_rows_knows_no_factor() -> None:
    rng = np.random.default_rng(0)
    factors, latents = rng.integers(0, 5, size=(200, 4)), rng.normal(size=(200, 120))
    latents[:, 7] += 3 * factors[:, 0]
    score = best_auroc(latents, factors)
    assert len(score.parts["shared_latents"]) == 0 and len(score.parts["notes"]) == 1


@pytest.mark.parametrize(
    ("n_latents", "sizes", "said"),
    [(3, (1, 2, 3), "1, 2 and 3 latents that know most"), (1, (1,), "only latent"), (5, (1, 2, 5), "1, 2 and 5 ")],
)
def test_no_more_latents_are_counted_than_there_are(n_latents, sizes, said) -> None:
    rng = np.random.default_rng(0)
    score = best_auroc(rng.normal(size=(200, n_latents)), rng.integers(0, 2, size=(200, 12)))
    assert score.parts["sizes"] == sizes and score.parts["accuracy_of_best"].shape == (len(sizes), 12)
    assert f"accuracy from the {said}" in score.parts["notes"][0]
    assert score.parts["notes"][0].endswith(" and 2 more.")  # factors


def test_latents_beyond_single_precision_are_scored_without_a_warning() -> None:
    factors = np.arange(60)[:, None] % 2
    assert best_auroc(1e40 * (factors + 0.1 * np.arange(60)[:, None] / 60), factors).value == 1.0


def test_held_out_rows_of_one_value_are_noted_and_refused_where_there_is_nothing_else() -> None:
    rng = np.random.default_rng(0)
    factors, latents = rng.integers(0, 3, size=(60, 2)), rng.normal(size=(60, 3))
    held_out = np.zeros((30, 2), dtype=np.int64)
    with pytest.raises(UnknotError, match="no value of any factor"):
        best_auroc(latents, factors, latents_test=latents[:30], factors_test=held_out)
    held_out[:, 1] = factors[:30, 1]
    score = best_auroc(latents, factors, latents_test=latents[:30], factors_test=held_out)
    assert np.isnan(score.parts["per_factor"]).tolist() == [True, False]
    assert any("one value in the held-out rows" in note for note in score.parts["notes"])


@pytest.mark.filterwarnings("error")
def test_copied_rows_are_held_out_together_of_sparse_latents_too() -> None:
    rng = np.random.default_rng(0)
    latents, factors = (
        np.tile(rng.normal(size=(300, 110)), (2, 1)),
        np.tile(rng.integers(0, 3, size=(300, 1)), (2, 1)),
    )
    latents[:, 5] *= latents[:, 5] > 1
    latents[:, 6] += 1e8  # far from zero: its deviation must not cancel
    latents[:, 7] = -3 * latents[:, 6]
    dense, sparse = best_auroc(latents, factors), best_auroc(scipy.sparse.csr_matrix(latents), factors)
    assert sparse.value == pytest.approx(dense.value, abs=1e-12)
    assert any("rows are copied" in note for note in sparse.parts["notes"])
    assert sparse.parts["notes"] == dense.parts["notes"]
    assert sparse.parts["copies"] == dense.parts["copies"] == 2


@pytest.mark.parametrize("wrong", [1e200, -1e200])
def test_sparse_entries_that_cannot_be_squared_are_refused_as_dense_ones(wrong: float) -> None:
    latents = np.eye(120)
    latents[5, 7] = wrong
    messages = []
    for given in (latents, scipy.sparse.csr_matrix(latents)):
        with pytest.raises(UnknotError, match="best_auroc: latents has") as caught:
            best_auroc(given, np.arange(120) % 2)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_sparse_latents_are_scored_as_they_are(monkeypatch):
    rng = np.random.default_rng(0)
    factors = rng.integers(0, [3, 4], size=(900, 2))
    latents = rng.exponential(size=(900, 130)) * (rng.random((900, 130)) < 0.1)
    latents[:, 3] += factors[:, 0] == 2
    latents[:, 9] = 2 * latents[:, 3]
    latents[:, 11] = factors[:, 0] != 2  # the opposite of another latent, and never beside it
    latents[:, 12] = factors[:, 0] == 2
    latents[:, 20] = 0.0
    expected = best_auroc(latents, factors)
    monkeypatch.setattr("unknot.reading.arrays.DENSE_BYTES", 900 * 100 * 8)  # of a hundred latents
    score = best_auroc(scipy.sparse.csr_matrix(latents), factors)
    assert score.value == pytest.approx(expected.value, abs=1e-6)
    assert score.parts["copies"] == expected.parts["copies"] == 4
    np.testing.assert_allclose(score.parts["accuracy_of_best"], expected.parts["accuracy_of_best"], atol=1e-12)


@pytest.mark.filterwarnings("error")
def test_latents_below_single_precision_are_dead_to_probes() -> None:
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 3, (60, 2))
    score = best_auroc(rng.normal(size=(60, 3)) * 1e-45, factors)
    np.testing.assert_array_equal(
        score.parts["accuracy_of_best"], best_auroc(np.zeros((60, 3)), factors).parts["accuracy_of_best"]
    )
