from inspect import signature

import numpy as np
import pytest
import scipy.sparse

import unknot
from unknot.metrics import METRICS
from unknot.metrics.held_out import copies

OPTIONS = {
    "snc": {},
    "sap": {},
    "mig": {},
    "mig_sup": {},
    "dcimig": {},
    "med": {"informativeness": False},
    "r2": {"readout": "ridge"},
}


@pytest.fixture(scope="module")
def noise():
    rng = np.random.default_rng(0)
    return rng.normal(size=(2_000, 1_500)).astype(np.float32), rng.integers(0, (10, 8, 4), size=(2_000, 3))


@pytest.mark.parametrize("name", OPTIONS)
def test_the_best_of_many_latents_without_information_scores_chance(noise, name):
    score = METRICS[name](*noise, **OPTIONS[name])
    assert score.value < 0.01
    if name == "snc":
        assert score.parts["train"] > 0.02  # the rows that the latents were chosen on


@pytest.mark.parametrize("name", ["snc", "mig", "mig_sup", "jemmig", "dcimig", "modularity"])
def test_sparse_latents_too_many_for_an_array_are_scored_as_they_are(name, monkeypatch):
    rng = np.random.default_rng(0)
    y = rng.integers(0, (5, 4), size=(300, 2))
    z = rng.exponential(size=(300, 130)) * (rng.random((300, 130)) < 0.1)
    z[:, :2] = y
    expected = METRICS[name](z, y)
    monkeypatch.setattr("unknot.reading.arrays.DENSE_BYTES", 300 * 100 * 8)  # of a hundred latents
    assert METRICS[name](scipy.sparse.csr_matrix(z), y).value == pytest.approx(expected.value, abs=1e-12)


def mostly_zero():
    """Latents of all kinds: rare, frequent, negative, of few values, full, dead, and with zeros that are stored."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, (2, 7, 4), size=(700, 3))
    z = rng.exponential(size=(700, 140)) * (rng.random((700, 140)) < rng.choice([0.01, 0.1, 0.6], size=140))
    z[:, 20:60] *= rng.choice([-1.0, 1.0], size=(700, 40))
    z[:, 30:50] = np.round(2 * z[:, 30:50]) + 6 * y[:, :1] * (z[:, 30:50] != 0)
    z[:, 50:53], z[:, 53], z[:, 54:57] = rng.normal(size=(700, 3)), 2.0, y - 1
    z[:, 60:] *= 1 + 4 * y[:, [1]] * (np.arange(80) % 3 == 0)
    z[:, 139] = 0.0
    sparse = scipy.sparse.csr_array(z)
    sparse.data[::50] = 0.0
    return sparse, sparse.toarray(), y


@pytest.mark.parametrize("gaps", [False, True])
def test_single_latents_that_are_mostly_zero_predict_alike_in_any_layout(gaps):
    sparse, dense, y = mostly_zero()
    if gaps:
        y = np.where(np.random.default_rng(2).random(y.shape) < 0.3, np.nan, y)
    expected = METRICS["sap"](dense, y)
    assert expected.parts["predictability"].std() > 0.05
    found = METRICS["sap"](sparse, y)
    np.testing.assert_array_equal(found.parts["predictability"], expected.parts["predictability"])


def test_bins_of_equal_count_of_latents_that_are_mostly_zero_are_alike_in_any_layout():
    sparse, dense, y = mostly_zero()
    expected, found = METRICS["snc"](dense, y), METRICS["snc"](sparse, y)
    assert expected.parts["mutual_information"].max() > 0.2
    np.testing.assert_array_equal(found.parts["mutual_information"], expected.parts["mutual_information"])
    np.testing.assert_array_equal(found.parts["alignment"], expected.parts["alignment"])
    assert found.value == expected.value


@pytest.mark.parametrize("layout", ["dense", "half", "sparse"])
def test_copied_rows_that_are_mostly_zero_are_held_out_together(layout):
    rng = np.random.default_rng(3)
    z = (rng.exponential(size=(300, 400)) * (rng.random((300, 400)) < 0.02)).astype(np.float16)
    z[0], y = 0, rng.integers(0, 3, size=(300, 1))
    twice, labels = np.vstack([z, z]), np.vstack([y, y])
    form = {"dense": np.float64, "half": np.float16, "sparse": lambda a: scipy.sparse.csr_array(a.astype(float))}
    codes = copies(form[layout](twice))
    found, counts = np.unique(codes[1:300], return_counts=True)
    assert len(found) == 299 and (counts == 1).all()
    np.testing.assert_array_equal(codes[1:300], codes[301:])
    assert codes[0] != codes[300]  # nothing shows that two rows of zeros are one
    assert copies(form[layout](z)) is None
    score = METRICS["sap"](form[layout](twice), labels)
    assert any("copies of a row" in note for note in score.parts["notes"])


@pytest.mark.parametrize("values", ["one", "counts"])
def test_rows_of_few_values_are_no_copies_where_they_are_equal(values):
    rng = np.random.default_rng(4)
    combination = rng.integers(0, 150, size=600)
    z = np.zeros((600, 300))
    z[np.arange(600), combination] = 1.0  # a latent of each combination
    if values == "counts":
        z[:, 150:] = rng.poisson(20, size=(600, 150)) * (rng.random((600, 150)) < 0.3)
        z[:300, 150:] = 0.0  # rows that other rows share their only value with
        z[300:, :150] += z[rng.permutation(300), :150]
        z[:, 299] = np.arange(600) % 200 * (np.arange(600) >= 300)
    assert copies(z) is None and copies(scipy.sparse.csr_array(z)) is None


def filled(kind):
    """Rows of noise, of which all kinds of shares are zero."""
    rng = np.random.default_rng(6)
    if kind == "rectified":
        return np.maximum(rng.normal(size=(300, 130)), 0.0)
    if kind == "mostly filled":
        return rng.normal(size=(300, 200)) * (rng.random((300, 200)) < 0.69)
    shares = np.sort(rng.beta(0.1, 1.0, size=1_000))
    return rng.exponential(size=(300, 1_000)) * (rng.random((300, 1_000)) < shares[::-1])


@pytest.mark.parametrize("kind", ["rectified", "mostly filled", "frequent first"])
@pytest.mark.parametrize("form", [np.float64, np.float32, scipy.sparse.csr_array])
def test_copied_rows_are_found_whatever_share_of_them_is_zero(kind, form):
    z = filled(kind)
    z = z[z.any(axis=1)]
    codes = copies(form(np.vstack([z, z])))
    np.testing.assert_array_equal(codes[: len(z)], codes[len(z) :])
    assert len(np.unique(codes)) == len(z)
    np.testing.assert_array_equal(copies(form(np.vstack([z, z])[:, ::-1])), codes)
    assert copies(form(z)) is None


def test_all_metrics_that_hold_rows_out_rose_with_the_copies_that_are_found():
    wanted = {"latents_test", "rng"}
    held_out = [name for name, metric in METRICS.items() if wanted <= signature(metric).parameters.keys()]
    assert "mcc" in held_out
    assert [name for name in held_out if METRICS[name].facts.version < 2] == []


def test_rows_that_rounding_made_equal_are_no_copies():
    z = np.maximum(np.random.default_rng(7).normal(size=(3_000, 2)), 0.0).round(2)
    assert len(np.unique(z, axis=0)) < 2_600 and len(np.unique(z)) > 200
    assert copies(z) is None and copies(scipy.sparse.csr_array(z)) is None


def test_a_code_is_searched_for_copies_in_parts(monkeypatch):
    z = filled("mostly filled")
    expected = copies(np.vstack([z, z]))
    monkeypatch.setattr("unknot.metrics.held_out.ENTRIES", 4_000)
    np.testing.assert_array_equal(copies(np.vstack([z, z])), expected)


def test_copied_sparse_rows_are_held_out_together_where_labels_are_missing():
    rng = np.random.default_rng(5)
    z = scipy.sparse.random_array((400, 500), density=0.03, rng=rng)
    y = rng.integers(0, 4, size=(400, 2)).astype(float)
    y[rng.random(y.shape) < 0.3] = np.nan
    twice, labels = scipy.sparse.vstack([z, z]).tocsr(), np.vstack([y, y])
    for name in ("sap", "snc"):
        card = unknot.score(twice, labels, metrics=[name])
        assert any("copies of a row" in note for note in card[name].parts["notes"])
