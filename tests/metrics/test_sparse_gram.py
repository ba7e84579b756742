import numpy as np
import pytest
from scipy import sparse

from unknot.errors import UnknotError
from unknot.metrics import sparse_gram
from unknot.metrics.probes import linear_accuracy
from unknot.metrics.r2 import r2
from unknot.metrics.ridge import Gram, ridge
from unknot.reading import arrays


def _code(n, d, seed=0):
    """Sparse latents: the first few are of the factors, one is full, one is dead, one fires in a single row."""
    rng = np.random.default_rng(seed)
    factors = rng.integers(0, [3, 5], size=(n, 2))
    table = sparse.random_array((n, d), density=8 / d, rng=rng, format="lil")
    table[:, 0] = 2 * (factors[:, [0]] == 1) + 0.1 * (factors[:, [0]] == 2)
    table[:, 1] = 0.5 * factors[:, [1]] * (rng.random((n, 1)) < 0.9)
    table[:, 2] = 3 + rng.normal(size=(n, 1))
    table[:, 3] = 0
    table[:, 4] = 0
    table[0, 4] = 7.0
    return table.tocsr(), factors


def test_ridge_regression_of_sparse_rows_is_that_of_dense_ones():
    latents, factors = _code(150, 600)
    found, penalties = ridge(Gram.in_units(latents[:100], latents[100:]), factors[:100].astype(float))
    table = latents.toarray()
    expected, same = ridge(Gram.in_units(table[:100], table[100:]), factors[:100].astype(float))
    np.testing.assert_allclose(penalties, same, rtol=1e-9)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_probes_score_sparse_codes_as_they_score_dense_ones(kind):
    latents, factors = _code(240, 900)
    for metric, options in ((r2, {"readout": "ridge"}), (linear_accuracy, {"recipe": "penalised"})):
        found, expected = (metric(z, factors, **options) for z in (kind(latents), latents.toarray()))
        assert found.value == pytest.approx(expected.value, abs=1e-6)
        np.testing.assert_allclose(found.parts["penalty"], expected.parts["penalty"], rtol=1e-6)
        assert found.value > 0.25


def test_where_nothing_is_known_rounding_does_not_choose_the_penalty():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, [3, 2], size=(120, 2))
    latents = sparse.random_array((120, 400), density=0.05, rng=rng).tocsr()
    found, expected = (r2(z, factors, readout="ridge") for z in (latents, latents.toarray()))
    np.testing.assert_allclose(found.parts["penalty"], expected.parts["penalty"], rtol=1e-6)
    assert found.value == pytest.approx(expected.value, abs=1e-6)


@pytest.mark.parametrize("kind", ["often", "never", "far from 0"])
def test_latents_that_fire_often_never_or_far_from_zero_score_as_dense_ones_do(kind, monkeypatch):
    monkeypatch.setattr("unknot.metrics.latents.DENSE_BYTES", 0)  # well-filled ones too stay sparse
    latents, factors = _code(240, 400)
    latents = latents.tolil()
    if kind == "often":
        latents[:, 5:20] = np.random.default_rng(1).normal(size=(240, 15)) + 1
        latents = latents[:, list(range(3)) + list(range(5, 20)) * 20]
    elif kind == "never":
        latents = sparse.lil_array((240, 400))
    else:
        latents[:, 2] = 1e9 + np.random.default_rng(1).normal(size=(240, 1))
    for metric, options in ((r2, {"readout": "ridge"}), (linear_accuracy, {"recipe": "penalised"})):
        found, expected = (metric(z, factors, **options).value for z in (latents.tocsr(), latents.toarray()))
        assert found == pytest.approx(expected, abs=0.01)


def test_a_sparse_array_of_one_dimension_is_refused_in_words():
    with pytest.raises(UnknotError, match="shape"):
        r2(sparse.coo_array(np.arange(5.0)), np.arange(5)[:, None] % 2, readout="ridge")


def test_entries_in_half_precision_are_scored():
    latents, factors = _code(120, 300)
    half = sparse.csr_array(
        (latents.data.astype(np.float16), latents.indices, latents.indptr), shape=latents.shape
    )
    double = sparse.csr_array((half.data.astype(np.float64), half.indices, half.indptr), shape=half.shape)
    expected = r2(double, factors, readout="ridge").value
    assert r2(half, factors, readout="ridge").value == pytest.approx(expected, abs=1e-9)


def test_held_out_rows_may_be_dense():
    latents, factors = _code(240, 900)
    for metric, options in ((r2, {"readout": "ridge"}), (linear_accuracy, {"recipe": "penalised"})):
        values = [
            metric(latents[:160], factors[:160], latents_test=z, factors_test=factors[160:], **options).value
            for z in (latents[160:], latents[160:].toarray())
        ]
        assert values[0] == values[1]


def test_probes_of_sparse_codes_make_no_dense_array(monkeypatch):
    latents, factors = _code(300, 65_536)
    monkeypatch.setattr(arrays, "DENSE_BYTES", 2_000_000)
    assert r2(latents, factors, readout="ridge").value > 0.1
    assert linear_accuracy(latents, factors, recipe="penalised").value > 0.4
    with pytest.raises(UnknotError, match="needs all 300 x 65536 latents"):
        r2(latents, factors)


def test_each_factor_with_gaps_is_scored_on_its_known_rows():
    import unknot

    latents, factors = _code(300, 500)
    holes = factors.astype(float)
    gone = np.random.default_rng(1).random(300) < 0.3
    holes[gone, 1] = np.nan
    card = unknot.score(latents, holes, metrics=["r2[ridge]"])
    alone = r2(latents[~gone], factors[~gone][:, [1]], readout="ridge")
    assert card["r2[ridge]"].parts["per_factor"][1] == pytest.approx(alone.value, abs=1e-12)


def test_more_rows_than_there_is_room_for_are_refused_in_words(monkeypatch):
    latents, factors = _code(300, 500)
    monkeypatch.setattr(sparse_gram, "DENSE_BYTES", 100_000)
    with pytest.raises(UnknotError, match=r"all pairs of 200 sparse training rows.*--limit"):
        r2(latents, factors, readout="ridge")


def test_sparse_codes_that_are_all_dead_in_training_rows_explain_nothing():
    rows = sparse.csr_array((np.ones(1), ([9], [3])), shape=(10, 40))
    y = np.arange(10.0)[:, None]
    found = r2(rows[:8], y[:8], latents_test=rows[8:], factors_test=y[8:], readout="ridge")
    assert found.parts["per_factor"][0] < 0
    np.testing.assert_array_equal(ridge(Gram.in_units(rows[:8], rows[8:]), y[:8])[0], np.full((2, 1), 3.5))
