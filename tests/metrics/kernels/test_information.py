import math
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from unknot.errors import UnknotError
from unknot.metrics.kernels import information
from unknot.metrics.kernels.information import (
    code,
    contingency,
    entropy,
    equal_frequency,
    equal_frequency_cuts,
    equal_width,
    equal_width_edges,
    factor_entropy,
    frequency_information,
    mutual_information,
    table_information,
    width_contingency,
    width_information,
)

SIZES = np.array([3, 6, 4])


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, SIZES, size=(500, 3))
    latents = rng.normal(size=(500, 4))
    latents[:, :3] += factors
    latents[:, 3] = np.round(latents[:, 3])
    return latents, factors


def slow_information(a, b):
    """I(a; b) from the definition, one dictionary entry at a time."""
    n, pairs, of_a, of_b = len(a), Counter(zip(a, b, strict=True)), Counter(a), Counter(b)
    return math.fsum(m / n * math.log(m * n / (of_a[x] * of_b[y])) for (x, y), m in pairs.items())


def without_numba(monkeypatch):
    monkeypatch.setattr(information, "_compiled", lambda work: False)


def with_numba(monkeypatch):
    monkeypatch.setattr(information, "_compiled", lambda work: True)


def test_equal_width_counts_left_edges_and_puts_the_maximum_into_the_last_bin():
    latents = np.array([0.0, 0.49, 0.5, 1.0, 1.99, 2.0])[:, None]
    assert equal_width(latents, 4).ravel().tolist() == [0, 0, 1, 2, 3, 3]


def test_equal_width_agrees_with_digitize_over_histogram_edges(table):
    latents, _ = table
    for i, column in enumerate(latents.T):
        expected = np.digitize(column, np.histogram(column, 20)[1][:-1]) - 1
        assert np.array_equal(equal_width(latents)[:, i], expected)


@pytest.mark.parametrize("path", [with_numba, without_numba])
def test_a_latent_without_variance_occupies_one_bin(monkeypatch, path):
    path(monkeypatch)
    noise = 1e8 + np.array([0.0, 1e-8, 0.0, 1e-8, 1e-8])
    latents = np.stack([np.full(5, 3.0), noise, np.arange(5.0)], axis=1)
    codes = equal_width(latents, 5)
    assert codes[:, :2].max() == 0
    assert codes[:, 2].tolist() == [0, 1, 2, 3, 4]


def test_a_range_beyond_the_largest_float_is_still_cut_into_bins():
    latents = np.array([-1.7e308, -1.0, 1.0, 1.7e308])[:, None]
    assert equal_width(latents, 2).ravel().tolist() == [0, 0, 1, 1]


@settings(max_examples=150, deadline=None)
@given(
    arrays(np.float64, (12, 2), elements=st.floats(-1e6, 1e6) | st.sampled_from([0.0, 0.1, 0.2, 0.3, 1.0])),
    st.integers(1, 25),
)
def test_compiled_and_plain_codes_are_the_same(latents, bins):
    edges = equal_width_edges(latents, bins)
    compiled, plain = np.empty((12, 2), np.int32), np.empty((12, 2), np.int32)
    information._code_width(latents, edges, compiled, True)
    information._code_width(latents, edges, plain, False)
    assert np.array_equal(compiled, plain)
    assert plain.min() >= 0
    assert plain.max() < bins


def test_other_rows_are_coded_by_the_edges_of_the_first(table):
    latents, _ = table
    edges = equal_width_edges(latents, 7)
    assert np.array_equal(code(latents, edges[:, 1:]), equal_width(latents, 7))
    outside = code(np.array([[-1e9] * 4, [1e9] * 4]), edges[:, 1:])
    assert outside.tolist() == [[0] * 4, [6] * 4]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.floats(-3, 3), max_size=9, unique=True), min_size=2, max_size=2))
def test_compiled_and_plain_cuts_give_the_same_codes(cuts):
    points = [np.sort(np.array(row, dtype=np.float64)) for row in cuts]
    latents = np.random.default_rng(0).uniform(-4, 4, size=(20, 2))
    for i, row in enumerate(points):
        latents[: len(row), i] = row  # on the cuts themselves
    with pytest.MonkeyPatch.context() as patch:
        with_numba(patch)
        compiled = code(latents, points)
        without_numba(patch)
        plain = code(latents, points)
    assert np.array_equal(compiled, plain)
    assert plain[:, 0].tolist() == [sum(c <= v for c in points[0]) for v in latents[:, 0]]


def test_both_paths_count_the_same(table, monkeypatch):
    latents, factors = table
    monkeypatch.setattr(information, "CHUNK", 64)  # several chunks, the last one short
    without_numba(monkeypatch)
    plain = width_contingency(latents, factors, SIZES, 6)
    with_numba(monkeypatch)
    compiled = width_contingency(np.asfortranarray(latents), factors, SIZES, 6)
    assert [t.shape for t in plain] == [(4, 6, 3), (4, 6, 6), (4, 6, 4)]
    for a, b, c in zip(plain, compiled, contingency(equal_width(latents, 6), 6, factors, SIZES), strict=True):
        assert np.array_equal(a, b)
        assert np.array_equal(a, c)
        assert a.dtype == np.int64
        assert (a.sum(axis=(1, 2)) == 500).all()


def test_small_tables_do_not_import_numba():
    script = (
        "import sys, numpy as np; from unknot.metrics.mig import mig; rng = np.random.default_rng(0);"
        "mig(rng.normal(size=(15000, 10)), rng.integers(0, 5, size=(15000, 6)));"
        "heavy = {'numba', 'scipy', 'sklearn', 'pandas', 'torch'} & set(sys.modules); sys.exit(len(heavy))"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_mutual_information_agrees_with_the_definition_and_with_scikit_learn(table):
    from sklearn.metrics import mutual_info_score

    latents, factors = table
    codes = equal_width(latents)
    found = mutual_information(codes, 20, factors, SIZES)
    for i in range(4):
        for j in range(3):
            assert found[i, j] == pytest.approx(
                slow_information(codes[:, i].tolist(), factors[:, j].tolist()), abs=1e-12
            )
            assert found[i, j] == pytest.approx(mutual_info_score(codes[:, i], factors[:, j]), abs=1e-12)
    assert np.array_equal(found, width_information(latents, factors, SIZES))


def test_a_balanced_table_has_exactly_zero_information():
    grid = np.stack(np.meshgrid(range(3), range(7), range(2)), axis=-1).reshape(-1, 3)
    found = width_information(grid[:, :1] * 1.0, grid[:, 1:], np.array([7, 2]))
    assert (found == 0).all()


def test_a_copy_has_the_information_of_its_entropy():
    factors = np.array([0, 0, 1, 2])[:, None]
    found = width_information(factors * 1.0, factors, np.array([3]))
    assert found[0, 0] == pytest.approx(1.5 * math.log(2))
    assert factor_entropy(factors, np.array([3]))[0] == pytest.approx(1.5 * math.log(2))


def test_bias_correction_takes_noise_to_about_zero_and_no_lower():
    rng = np.random.default_rng(1)
    factors = rng.integers(0, 10, size=(2000, 20))
    latents = rng.uniform(size=(2000, 1))
    sizes = np.full(20, 10)
    raw = width_information(latents, factors, sizes)
    expected = 19 * 9 / (2 * 2000)
    assert raw.mean() == pytest.approx(expected, rel=0.1)
    corrected = width_information(latents, factors, sizes, correct=True)
    assert np.allclose(corrected, np.maximum(raw - expected, 0))
    assert corrected.min() == 0


def test_bias_correction_counts_occupied_bins_only():
    factors = np.tile([0, 1], 50)[:, None]
    latents = np.repeat([0.0, 1.0], 50)[:, None]  # two of twenty bins
    tables = width_contingency(latents, factors, np.array([2]))
    tables[0][0, 0, 0] += 7  # something to correct
    raw, corrected = table_information(tables), table_information(tables, correct=True)
    assert corrected[0, 0] == pytest.approx(max(0.0, raw[0, 0] - 1 / (2 * 107)))


def test_entropy_of_counts_by_hand():
    assert entropy(np.array([1, 1, 2])) == pytest.approx(1.5 * math.log(2))
    assert entropy(np.array([0, 5])) == 0
    assert entropy(np.array([[0, 0]]))[0] == 0
    tables = [np.array([[[1, 1], [0, 2]]])]
    assert information.bin_entropy(tables)[0] == pytest.approx(math.log(2))


def slow_cuts(ordered, bins):
    """The rule of the cuts, one target rank at a time."""
    n = len(ordered)
    admissible = [r for r in range(1, n) if ordered[r - 1] < ordered[r]]
    ranks = set()
    for m in range(1, bins):
        if admissible:
            target = round(m * n / bins)
            ranks.add(min((abs(r - target), r) for r in admissible)[1])
    return [(ordered[r - 1] + ordered[r]) / 2 for r in sorted(ranks)]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 8), min_size=1, max_size=30), st.integers(1, 12))
def test_equal_frequency_cuts_follow_the_rule_for_any_ties(values, bins):
    ordered = np.sort(np.array(values, dtype=np.float64))
    assert equal_frequency_cuts(ordered, bins).tolist() == slow_cuts(ordered.tolist(), bins)


def test_equal_frequency_bins_of_distinct_values_have_equal_counts():
    latents = np.random.default_rng(2).normal(size=(1000, 3))
    codes = equal_frequency(latents, 8)
    for column in codes.T:
        assert np.bincount(column).tolist() == [125] * 8


def test_equal_frequency_cuts_take_the_lower_of_two_ranks_as_near():
    # Target rank 3 of 6; values change after ranks 2 and 4.
    assert equal_frequency_cuts(np.array([0.0, 0.0, 1.0, 1.0, 2.0, 2.0]), 2).tolist() == [0.5]


def test_neighbouring_floats_are_separated_by_their_cut():
    low = 1.0
    high = np.nextafter(low, 2)
    assert equal_frequency(np.array([[low], [high]]), 2).ravel().tolist() == [0, 1]


def test_frequency_information_of_an_ordinal_code_is_the_entropy_of_the_factor():
    rng = np.random.default_rng(3)
    factors = rng.integers(0, SIZES, size=(2000, 3))  # sampled: counts differ, so naive cuts would merge levels
    found = frequency_information(-factors * 1.0, factors, SIZES)
    assert np.diag(found) == pytest.approx(factor_entropy(factors, SIZES), rel=1e-12)


@pytest.mark.parametrize("case", ["sncnk", "perfect", "rotated", "noise", "m1", "m2", "theorem31_n4k3"])
def test_width_information_reproduces_the_stored_matrices(golden, case):
    arrays_, values = golden(case)
    factors = np.stack([np.unique(y, return_inverse=True)[1] for y in arrays_["factors"].T], axis=1)
    found = width_information(arrays_["latents"].astype(np.float64), factors, factors.max(axis=0) + 1)
    assert found == pytest.approx(values["_mi_matrix_nats"], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("case", ["sncnk", "noise", "m1", "m2", "theorem31_n4k3"])
def test_frequency_information_is_that_of_the_alignment_up_to_where_ranks_are_cut(golden, case):
    arrays_, values = golden(case)
    factors = np.stack([np.unique(y, return_inverse=True)[1] for y in arrays_["factors"].T], axis=1)
    found = frequency_information(arrays_["latents"].astype(np.float64), factors, factors.max(axis=0) + 1)
    assert found == pytest.approx(values["_snk_mi_matrix_alignment_nats"], abs=1e-3)


@pytest.mark.parametrize("bins", [0, -3, 2.5, True])
def test_bins_that_are_no_count_are_refused(bins):
    with pytest.raises(UnknotError, match="bins is"):
        equal_width(np.zeros((3, 1)), bins)


@pytest.mark.parametrize("kind", ["normal", "ties", "heavy tails", "tiny", "huge", "one value", "two values"])
def test_counting_between_cuts_without_sorting_gives_the_tables_of_the_sorted_latent(kind):
    from unknot.metrics.kernels.information import _frequency_tables, _sorted_tables

    rng = np.random.default_rng(0)
    for n in (2, 7, 60, 900):
        z = rng.normal(size=(n, 3))
        z = {
            "normal": z,
            "ties": np.round(2 * z),
            "heavy tails": np.exp(8 * z),
            "tiny": z * 1e-310,
            "huge": z * 1e149,
            "one value": np.full((n, 3), 3.0),
            "two values": (z > 0) * 1.0,
        }[kind]
        sizes = np.array([2, 5, 40, 41])
        y = rng.integers(0, sizes, size=(n, 4))
        pairs = zip(_frequency_tables(z, y, sizes), _sorted_tables(z, y, sizes), strict=True)
        for found, wanted in pairs:
            np.testing.assert_array_equal(found, wanted)
