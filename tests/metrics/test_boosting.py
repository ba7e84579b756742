from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingClassifier

from unknot.errors import UnknotError
from unknot.metrics import screening
from unknot.metrics.boosting import BINS, fit_trees, tabulate
from unknot.metrics.dci import dci
from unknot.metrics.screening import COARSE, screen

# Seeds without ties: where several latents part the rows equally well, implementations choose at random.
SEEDS = [(0, 2), (1, 2), (13, 3), (16, 3), (28, 4), (5, 5)]


def _job(n, sizes=(3, 6), noise=0.05, extra=3, seed=0):
    """Noisy linear codes of some factors, and latents that carry nothing."""
    rng = np.random.default_rng(seed)
    factors = rng.integers(0, sizes, size=(n, len(sizes)))
    sources = np.hstack([factors / (np.array(sizes) - 1), rng.normal(size=(n, extra))])
    return sources + noise * rng.normal(size=sources.shape), factors


def _gains(x, r):
    """S_left^2 / n_left + S_right^2 / n_right of every place where x can be cut, and the midpoints."""
    order = np.argsort(x, kind="stable")
    z, left = x[order].astype(float), np.cumsum(r[order])[:-1]
    n = np.arange(1, len(x))
    gains = left**2 / n + (r.sum() - left) ** 2 / (len(x) - n)
    return np.where(np.diff(z) > 1e-7, gains, -np.inf), (z[1:] + z[:-1]) / 2


def test_two_classes_worked_by_hand():
    # p = 1/2, residuals -1/2 and 1/2; leaves are sum r / sum p(1-p) = -+1 / (1/2); a tenth of that is taken.
    trees = fit_trees(tabulate(np.arange(4.0)[:, None]), np.array([0, 0, 1, 1]), rounds=1, depth=1)
    assert trees.thresholds[0, 0, 0] == 1.5
    np.testing.assert_allclose(trees.values[0, 0], [-2, 2])
    np.testing.assert_allclose(trees.raw(np.array([[1.4], [1.6]])), [[-0.2, 0.2]])


def test_three_classes_worked_by_hand():
    # Class 0 has residuals 2/3, -1/3, -1/3: leaves (2/3) (2/3) / (2/9) = 2 and (2/3) (-2/3) / (4/9) = -1.
    trees = fit_trees(tabulate(np.arange(3.0)[:, None]), np.array([0, 1, 2]), rounds=1, depth=1)
    assert trees.thresholds[0, 0, 0] == 0.5
    np.testing.assert_allclose(trees.values[0, 0], [2, -1])
    np.testing.assert_allclose(trees.values[0, 2], [-1, 2])


@pytest.mark.parametrize(("seed", "classes"), SEEDS)
def test_trees_are_those_of_scikit_learn_to_rounding(seed, classes):
    rng = np.random.default_rng(seed)
    latents = rng.normal(size=(800, 3))
    blurred = latents @ [1.0, 0.5, -0.7] + 0.5 * rng.normal(size=800)
    codes = np.digitize(blurred, np.quantile(blurred, np.linspace(0, 1, classes + 1)[1:-1]))
    trees = fit_trees(tabulate(latents[:700]), codes[:700], rounds=12)
    peer = GradientBoostingClassifier(n_estimators=12, random_state=0).fit(latents[:700], codes[:700])
    decision = np.atleast_2d(peer.decision_function(latents[700:]).T)
    np.testing.assert_allclose(trees.importances, peer.feature_importances_, atol=1e-9)
    np.testing.assert_allclose(trees.raw(latents[700:]), decision, atol=1e-9)
    np.testing.assert_array_equal(trees.predict(latents[700:]), peer.predict(latents[700:]))


def test_many_classes_agree_with_scikit_learn_up_to_ties():
    latents, factors = _job(1500, sizes=(12, 5), noise=0.1)
    trees = fit_trees(tabulate(latents[:1000]), factors[:1000, 0], rounds=10)
    peer = GradientBoostingClassifier(n_estimators=10, random_state=0).fit(latents[:1000], factors[:1000, 0])
    np.testing.assert_allclose(trees.importances, peer.feature_importances_, atol=0.01)
    same = trees.predict(latents[1000:]) == peer.predict(latents[1000:])
    assert same.mean() > 0.9


@pytest.mark.parametrize("seed", range(6))
def test_no_cut_anywhere_is_better_than_the_one_taken(seed):
    rng = np.random.default_rng(seed)
    latents = rng.normal(size=(4000, 3)).astype(np.float32)
    codes = np.digitize(latents[:, 1] + rng.normal(size=4000) * seed, [-0.5, 0.7])
    trees = fit_trees(tabulate(latents.astype(float)), codes, rounds=1)
    residuals = (codes == 1) - np.mean(codes == 1)

    def descend(node, rows):
        if node >= 7:
            return
        f, t = trees.features[0, 1, node], trees.thresholds[0, 1, node]
        if not np.isfinite(t):  # not split, as there is nothing to gain
            assert len(rows) < 2 or np.ptp(residuals[rows]) < 1e-7
            return
        found = [_gains(latents[rows, g], residuals[rows]) for g in range(3)]
        best = max(gains.max() for gains, _ in found)
        taken = np.argmin(np.abs(found[f][1] - t))
        assert found[f][1][taken] == pytest.approx(t, abs=1e-12)
        assert found[f][0][taken] == pytest.approx(best, rel=1e-12)
        descend(2 * node + 1, rows[latents[rows, f] <= t])
        descend(2 * node + 2, rows[latents[rows, f] > t])

    descend(0, np.arange(4000))


def test_importance_is_the_squared_error_that_splits_take_away():
    rng = np.random.default_rng(1)
    latents = rng.normal(size=(400, 2))
    codes = (latents[:, 0] + 0.5 * latents[:, 1] > 0).astype(int)
    trees = fit_trees(tabulate(latents), codes, rounds=1, depth=2)
    r = codes - codes.mean()
    decrease = np.zeros(2)

    def descend(node, rows):
        if node >= 3:
            return
        f, t = trees.features[0, 0, node], trees.thresholds[0, 0, node]
        left, right = rows[latents[rows, f] <= t], rows[latents[rows, f] > t]
        decrease[f] += sum(
            s * np.var(r[part]) for s, part in ((len(rows), rows), (-len(left), left), (-len(right), right))
        )
        descend(2 * node + 1, left)
        descend(2 * node + 2, right)

    descend(0, np.arange(400))
    np.testing.assert_allclose(trees.importances, decrease / decrease.sum(), atol=1e-10)


def test_binned_splits_are_exact_where_a_latent_has_few_values():
    latents, factors = _job(1000, noise=0)
    latents = latents.round(1)
    exact, binned = (fit_trees(tabulate(latents), factors[:, 1], rounds=5, exact=e) for e in (True, False))
    np.testing.assert_allclose(exact.importances, binned.importances, atol=1e-12)


def test_binned_splits_lie_between_bins_only():
    latents = np.random.default_rng(0).normal(size=(5000, 2))
    table = tabulate(latents)
    trees = fit_trees(table, (latents.sum(axis=1) > 0).astype(int), rounds=5, exact=False)
    used = np.isfinite(trees.thresholds)
    assert used.any()
    assert all(t in table.edges[f] for f, t in zip(trees.features[used], trees.thresholds[used], strict=True))


def test_bins_never_part_equal_values_and_count_every_row():
    column = np.repeat(np.arange(700.0), np.random.default_rng(0).integers(1, 30, size=700))
    table = tabulate(np.stack([column, column % 5], axis=1))
    assert table.n_bins[1] == 5
    assert 200 < table.n_bins[0] <= BINS
    for f in range(2):
        assert table.counts[f].sum() == len(column)
        for value in np.unique(table.x[f]):
            assert len(np.unique(table.bins[f][table.x[f] == value])) == 1


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 60), st.integers(1, 4), st.integers(1, 5), st.booleans())
def test_training_rows_are_predicted_as_they_were_fitted(seed, n, d, classes, exact):
    rng = np.random.default_rng(seed)
    latents = rng.normal(size=(n, d)).round(int(rng.integers(0, 4)))
    codes = rng.integers(0, classes, size=n) * 3
    trees = fit_trees(tabulate(latents), codes, rounds=4, depth=2, exact=exact)
    np.testing.assert_array_equal(trees.predict(latents), trees.fitted)
    assert set(trees.fitted) <= set(codes)
    assert trees.importances.sum() == pytest.approx(1) or not trees.importances.any()


def test_copies_of_a_latent_share_its_importance():
    latents, factors = _job(800, extra=0)
    twice = np.hstack([latents, latents])
    trees = fit_trees(tabulate(twice), factors[:, 1], rounds=30)
    assert min(trees.importances[1], trees.importances[3]) > 0.3


def test_same_seed_same_trees_and_another_seed_breaks_ties_differently():
    latents, factors = _job(300, extra=0)
    table = tabulate(np.hstack([latents, latents]))
    first, again, other = (fit_trees(table, factors[:, 1], rounds=5, rng=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.features, again.features)
    assert (first.features != other.features).any()


def test_latents_without_variation_leave_the_most_frequent_class():
    trees = fit_trees(tabulate(np.ones((5, 2))), np.array([0, 1, 1, 2, 1]), rounds=3)
    np.testing.assert_array_equal(trees.predict(np.zeros((2, 2))), [1, 1])
    np.testing.assert_array_equal(trees.importances, [0, 0])


def test_values_closer_than_single_precision_can_tell_are_not_split():
    latents = np.array([[0.0, 0.0], [5e-8, 0.02], [1e-7, 0.02], [1.5e-7, 0.02]])  # the first would tell all
    trees = fit_trees(tabulate(latents), np.array([0, 0, 1, 1]), rounds=2)
    assert set(trees.features[np.isfinite(trees.thresholds)]) == {1}


def test_small_numbers_are_split_where_all_are_small():
    rng = np.random.default_rng(0)
    latents = rng.normal(size=(300, 3))
    codes = (latents[:, 0] > 0) + 2 * (latents[:, 1] + rng.normal(size=300) > 0)
    usual, small = (fit_trees(tabulate(latents * unit), codes, rounds=5) for unit in (1.0, 2.0**-40))
    np.testing.assert_array_equal(small.fitted, usual.fitted)
    np.testing.assert_array_equal(small.importances, usual.importances)
    assert len(np.unique(small.fitted)) == 4


def test_latents_whose_range_is_beyond_single_precision_are_split():
    trees = fit_trees(tabulate(np.array([[-3e38], [-2e38], [2e38], [3e38]])), np.array([0, 0, 1, 1]), rounds=2)
    np.testing.assert_array_equal(trees.fitted, [0, 0, 1, 1])


def test_a_single_class_is_always_predicted():
    trees = fit_trees(tabulate(np.arange(3.0)[:, None]), np.array([4, 4, 4]))
    np.testing.assert_array_equal(trees.predict(np.array([[9.0]])), [4])


def test_mistakes_are_named():
    table = tabulate(np.arange(3.0)[:, None])
    with pytest.raises(UnknotError, match="depth 0"):
        fit_trees(table, np.array([0, 1, 1]), depth=0)
    with pytest.raises(UnknotError, match="beyond single precision"):
        tabulate(np.array([[1e300], [0.0]]))


def _wide(n, kind, seed=0):
    """Two factors, which the first latents of 120 know something about; most entries are 0 if `kind` is "sparse".

    In "copies" and "few values" many latents part the rows alike.
    """
    rng = np.random.default_rng(seed)
    factors = rng.integers(0, (4, 3), size=(n, 2))
    latents = rng.normal(size=(n, 120))
    latents[:, :8] += factors[:, [0, 1] * 4]
    if kind == "copies":
        latents = np.hstack([latents[:, :40], -latents[:, 39::-1], latents[:, :40] ** 3])
    kinds = {"sparse": np.maximum(latents - 1.5, 0), "few values": latents.round()}
    return kinds.get(kind, latents), factors


@pytest.fixture(scope="module")
def all_latents():
    """Trees that are grown inside look at every cut of every latent."""
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
        return import_module("every_latent").all_latents


@pytest.mark.parametrize("kind", ["dense", "sparse", "copies", "few values"])
@pytest.mark.parametrize("exact", [True, False])
def test_screened_trees_are_those_on_all_latents_to_the_last_bit(kind, exact, all_latents):
    latents, factors = _wide(600, kind)
    table = tabulate(latents)
    screened = screen(table, exact)
    for codes in (factors[:, 0], factors[:, 1] // 2):
        some = fit_trees(table, codes, rounds=8, exact=exact, screened=screened)
        with all_latents():
            every = fit_trees(table, codes, rounds=8, exact=exact, screened=screened)
        np.testing.assert_array_equal(some.features, every.features)
        np.testing.assert_array_equal(some.thresholds, every.thresholds)
        np.testing.assert_array_equal(some.importances, every.importances)
        assert np.isfinite(some.thresholds).any()


def test_screened_trees_of_many_classes_and_rows_are_those_on_all_latents(monkeypatch, all_latents):
    latents, factors = _wide(1_700, "dense")
    codes = np.minimum(3 * factors[:, 0] + factors[:, 1], 9)
    table = tabulate(latents)
    screened = screen(table)
    monkeypatch.setattr(screening, "ROOM", 6 * 4 * screened.divisible.size)  # six of ten trees are grown together
    some = fit_trees(table, codes, rounds=1, screened=screened)
    with all_latents():
        every = fit_trees(table, codes, rounds=1, screened=screened)
    for name in ("features", "thresholds", "importances", "fitted"):
        np.testing.assert_array_equal(getattr(some, name), getattr(every, name))
    below = (latents[:, some.features[0, :, 0]] <= some.thresholds[0, :, 0]).sum(axis=0)
    assert (np.minimum(below, 1_700 - below) > 400).any()  # rows that are added to cells of two latents


@pytest.mark.parametrize("n", [499, 500])
def test_more_rows_than_words_have_bits_for_are_not_screened(n, monkeypatch):
    monkeypatch.setattr(screening, "MOST_ROWS", 500)
    latents, factors = _wide(n, "dense")
    grown = []
    monkeypatch.setattr(screening.Workshop, "grow_round", _told(screening.Workshop.grow_round, grown))
    score = dci(latents, factors, latents_test=latents, factors_test=factors, rounds=5)
    assert bool(grown) == (n < 500)
    assert score.parts["importance"][:8].sum() > 0.5 * score.parts["importance"].sum()


def _told(method, calls):
    def called(*arguments):
        calls.append(1)
        return method(*arguments)

    return called


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("exact", [True, False])
def test_screened_trees_score_as_those_of_narrow_codes(kind, exact):
    latents, factors = _wide(900, kind)
    table = tabulate(latents[:600])
    for codes in factors.T:
        every = fit_trees(table, codes[:600], rounds=10, exact=exact)
        some = fit_trees(table, codes[:600], rounds=10, exact=exact, screened=screen(table, exact))
        assert some.decrease == pytest.approx(every.decrease, rel=0.01)  # ties are broken differently
        np.testing.assert_allclose(some.importances, every.importances, atol=0.01)
        right = [np.mean(trees.predict(latents[600:]) == codes[600:]) for trees in (some, every)]
        assert abs(right[0] - right[1]) <= 0.02


@pytest.mark.parametrize("seed", range(4))
def test_no_latent_has_a_better_cut_than_a_screened_tree_takes(seed):
    rng = np.random.default_rng(seed)
    latents = rng.normal(size=(3000, 101)).astype(np.float32)
    latents[:, ::3] = np.maximum(latents[:, ::3], seed - 1)
    codes = np.digitize(latents[:, 1] + latents[:, 3] * rng.normal(size=3000) * seed, [-0.5, 0.7])
    table = tabulate(latents.astype(float))
    trees = fit_trees(table, codes, rounds=3, screened=screen(table))
    odds = np.exp(fit_trees(table, codes, rounds=2, screened=screen(table)).raw(latents))
    residuals = (codes == 1) - odds[1] / odds.sum(axis=0)
    rows = [np.arange(3000)]
    for f, t in zip(trees.features[2, 1], trees.thresholds[2, 1], strict=True):
        own = rows.pop(0)
        rows += [own[latents[own, f] <= t], own[latents[own, f] > t]]
        if np.isfinite(t):
            gains = [_gains(latents[own, g], residuals[own]) for g in range(101)]
            taken = np.argmin(np.abs(gains[f][1] - t))
            assert gains[f][0][taken] == pytest.approx(max(g.max() for g, _ in gains), rel=1e-9)


def test_copies_of_many_latents_share_their_importance():
    latents, factors = _wide(400, "dense")
    table = tabulate(np.hstack([latents, latents]))
    first, again, other = (
        fit_trees(table, factors[:, 0], rounds=10, screened=screen(table), rng=s) for s in (0, 0, 1)
    )
    np.testing.assert_array_equal(first.features, again.features)
    assert (first.features != other.features).any()
    assert min(first.importances[0], first.importances[120]) > 0.05


def test_a_screen_does_not_depend_on_whether_entries_are_listed(monkeypatch):
    latents, factors = _wide(500, "sparse")
    table = tabulate(latents)
    listed = screen(table)
    monkeypatch.setattr(screening, "SPARSE", 0.0)
    dense = screen(table)
    assert len(listed.entries) < 0.25 * latents.size and not len(listed.bins)
    assert len(dense.bins) and not len(dense.entries)
    a, b = (fit_trees(table, factors[:, 0], rounds=5, screened=one) for one in (listed, dense))
    np.testing.assert_array_equal(a.features, b.features)
    np.testing.assert_array_equal(a.thresholds, b.thresholds)


def test_coarse_bins_hold_all_rows_and_part_no_equal_values():
    latents, _ = _wide(500, "sparse")
    latents[:, 0] = np.arange(500)
    latents[:, 1] = 7.0
    table = tabulate(latents)
    coarse = screen(table)
    assert coarse.n_bins.max() <= COARSE and coarse.n_bins[1] == 1
    zeros = (latents[:, 2:] == 0).sum(axis=0)
    counts = np.diff(coarse.places, axis=1)
    np.testing.assert_array_equal(counts.sum(axis=1), 500)
    common = (coarse.common // len(coarse.common))[2:120]
    np.testing.assert_array_equal(counts[np.arange(2, 120), common], zeros)
    assert not coarse.divisible[common, np.arange(2, 120)].any()
    assert coarse.divisible[:, 0].any()


def test_narrow_codes_are_not_screened():
    assert screen(tabulate(np.random.default_rng(0).normal(size=(20, 100)))) is None
