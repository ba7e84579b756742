from itertools import permutations, product

import numpy as np
import pytest

from unknot.errors import UnknotError, UnknotWarning
from unknot.factors import space
from unknot.worlds import conventions
from unknot.worlds.pairs import k_factors, laplace, one_factor
from unknot.worlds.published.dsprites import SPACE as DSPRITES
from unknot.worlds.published.mpi3d import SPACE as MPI3D
from unknot.worlds.published.shapes3d import SPACE as SHAPES3D
from unknot.worlds.splits.regions import Listed
from unknot.worlds.splits.rules import Rule
from unknot.worlds.splits.split import Split, split

N = 200_000
SIGMAS = 6  # a false alarm once in 5e8 draws of the seed, and the seed is fixed
SMALL = space({"shape": 2, "x": 4, "y": 3}, categorical=["shape"])
COMPOSITION = Split("composition", SMALL, {"x": (0,), "y": (0,)})
EXTRAPOLATION = Split("extrapolation", SMALL, {"x": (3,), "y": (2,)})
RANDOM = Split("random", SMALL, seed=1, train_size=11)
LISTED = Listed(SMALL, SMALL.classes(np.arange(0, 24, 2)))
WHERES = {
    "grid": SMALL,
    "composition": COMPOSITION,
    "extrapolation": EXTRAPOLATION,
    "random": RANDOM,
    "listed": LISTED,
}


def rng(seed=0):
    return np.random.default_rng(seed)


def points_of(where):
    """All points of a part of SMALL, in index order."""
    everything = SMALL.classes(np.arange(SMALL.size))
    if where is SMALL:
        return [tuple(p) for p in everything.tolist()]
    return [tuple(p) for p in everything[where.contains(everything)].tolist()]


def other_values(inside, point, column):
    """The points of a set that differ from one of them in one column at most."""
    around = [(*point[:column], v, *point[column + 1 :]) for v in range(SMALL.shape[column])]
    return [p for p in around if p in inside]


def exact_one_factor(where):
    """P(first, second), by enumerating every order in which the factors can be tried."""
    inside = set(points_of(where))
    joint = {}
    for first in inside:
        orders = list(permutations(range(3)))
        for order in orders:
            for column in order:
                others = [p for p in other_values(inside, first, column) if p != first]
                if others:
                    break
            for second in others or [first]:
                p = 1 / len(inside) / len(orders) / len(others or [first])
                joint[first, second] = joint.get((first, second), 0) + p
    return joint


def exact_laplace(where, rate):
    """P(first, second) of the sequential law without a forced change, by enumeration; the shape stays."""
    inside = set(points_of(where))
    joint = {}
    for first in inside:
        paths = {first: 1 / len(inside)}
        for column in (1, 2):
            after = {}
            for point, p in paths.items():
                options = other_values(inside, point, column)
                size = SMALL.shape[column]
                weights = [np.exp(-abs(o[column] - point[column]) * rate / np.log(size)) for o in options]
                for option, weight in zip(options, weights, strict=True):
                    after[option] = after.get(option, 0) + p * weight / sum(weights)
            paths = after
        for second, p in paths.items():
            joint[first, second] = p
    return joint


def agrees(pairs, joint):
    """Chi-square test of drawn pairs against exact probabilities; nothing impossible may be drawn."""
    drawn = SMALL.indices(pairs.first) * SMALL.size + SMALL.indices(pairs.second)
    counts = np.bincount(drawn, minlength=SMALL.size**2)
    expected = np.zeros(SMALL.size**2)
    for (first, second), p in joint.items():
        expected[SMALL.indices([first])[0] * SMALL.size + SMALL.indices([second])[0]] = p * len(drawn)
    assert expected.sum() == pytest.approx(len(drawn))
    assert not counts[expected == 0].any()
    cells = expected > 0
    chi2 = ((counts[cells] - expected[cells]) ** 2 / expected[cells]).sum()
    df = cells.sum() - 1
    return chi2 < df + SIGMAS * np.sqrt(2 * df)


def share_is(hits, p):
    assert abs(hits.mean() - p) < SIGMAS * np.sqrt(p * (1 - p) / len(hits)) + 1e-12


@pytest.mark.parametrize("name", WHERES)
@pytest.mark.filterwarnings("ignore:.*no neighbour:unknot.errors.UnknotWarning")
def test_one_factor_follows_its_exact_law_everywhere(name):
    pairs = one_factor(WHERES[name], N, rng())
    assert agrees(pairs, exact_one_factor(WHERES[name]))
    np.testing.assert_array_equal(pairs.changed, pairs.first != pairs.second)


@pytest.mark.parametrize("name", WHERES)
def test_laplace_without_force_follows_its_exact_law_everywhere(name):
    pairs = laplace(WHERES[name], N, rng(), rate=0.7, forced=False)
    assert agrees(pairs, exact_laplace(WHERES[name], 0.7))
    np.testing.assert_array_equal(pairs.changed, pairs.first != pairs.second)


def test_laplace_on_a_grid_forces_a_change_by_the_law_without_the_old_class():
    joint = exact_laplace(SMALL, 2.0)
    for point in points_of(SMALL):
        idle = joint.pop((point, point))
        for column in (1, 2):
            others = [p for p in other_values(set(points_of(SMALL)), point, column) if p != point]
            weights = [np.exp(-abs(o[column] - point[column]) * 2.0 / np.log(SMALL.shape[column])) for o in others]
            for other, weight in zip(others, weights, strict=True):
                joint[point, other] += idle / 2 * weight / sum(weights)
    assert agrees(laplace(SMALL, N, rng(), rate=2.0), joint)


def test_forced_change_works_within_a_split_and_at_enormous_rates():
    pairs = laplace(COMPOSITION, 5000, rng(), rate=1e6, forced=True)
    assert COMPOSITION.contains(pairs.second).all()
    # At such a rate only the forced step is left, to the nearest class there is.
    assert (pairs.changed.sum(axis=1) == 1).all()
    assert laplace(COMPOSITION, 5000, rng(), rate=1e6).changed.sum() == 0


@pytest.mark.parametrize("name", WHERES)
@pytest.mark.parametrize("sampler", [one_factor, k_factors, laplace])
@pytest.mark.filterwarnings("ignore:.*no neighbour:unknot.errors.UnknotWarning")
def test_seed_decides_everything_and_both_points_stay_inside(name, sampler):
    where = WHERES[name]
    pairs = sampler(where, 2000, rng(3))
    for again, same in zip(sampler(where, 2000, rng(3)), pairs, strict=True):
        np.testing.assert_array_equal(again, same)
    assert (sampler(where, 2000, rng(4)).second != pairs.second).any()
    inside = set(points_of(where))
    assert {tuple(p) for p in pairs.first.tolist()} == inside
    assert {tuple(p) for p in pairs.second.tolist()} <= inside


@pytest.mark.parametrize("kind", ["random", "composition", "interpolation", "extrapolation"])
@pytest.mark.parametrize("sampler", [one_factor, k_factors, laplace])
def test_pairs_of_a_published_split_are_training_points(kind, sampler):
    parts = split(DSPRITES, kind, rule="dsprites")
    pairs = sampler(parts, 5000, rng())
    assert parts.contains(pairs.first).all()
    assert parts.contains(pairs.second).all()


@pytest.mark.parametrize(("grid", "p"), [(DSPRITES, 0.1175), (SHAPES3D, 0.1236), (MPI3D, 0.2214)])
def test_locatello_mode_repeats_the_point_as_often_as_the_reference_library(grid, p):
    exact = np.mean(1 / grid.sizes)
    assert exact == pytest.approx(p, abs=6e-5)
    pairs = one_factor(grid, N, rng(), compat="locatello")
    share_is(~pairs.changed.any(axis=1), exact)
    assert pairs.changed.sum(axis=1).max() == 1
    for column, size in enumerate(grid.shape):
        share_is(pairs.changed[:, column], (1 - 1 / size) / len(grid))


def test_one_factor_changes_every_factor_equally_often_to_every_other_class():
    pairs = one_factor(DSPRITES, N, rng())
    assert (pairs.changed.sum(axis=1) == 1).all()
    for column, size in enumerate(DSPRITES.shape):
        share_is(pairs.changed[:, column], 1 / 5)
        moved = pairs.changed[:, column]
        step = (pairs.second[moved, column] - pairs.first[moved, column]) % size
        counts = np.bincount(step, minlength=size)[1:]
        mean = counts.mean()
        assert ((counts - mean) ** 2 / mean).sum() < size + SIGMAS * np.sqrt(2 * size)


def test_constant_factors_are_never_chosen():
    grid = space({"one": 1, "x": 5, "y": 5})
    pairs = one_factor(grid, 1000, rng())
    assert (pairs.changed.sum(axis=1) == 1).all()
    assert not pairs.changed[:, 0].any()
    share_is(~one_factor(grid, N, rng(), compat="locatello").changed.any(axis=1), (1 + 0.2 + 0.2) / 3)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_k_factors_changes_exactly_k(k):
    assert (k_factors(DSPRITES, 2000, rng(), k=k).changed.sum(axis=1) == k).all()


def test_random_k_is_uniform_up_to_one_less_than_all():
    counts = k_factors(DSPRITES, N, rng()).changed.sum(axis=1)
    for k in range(6):
        share_is(counts == k, 0.25 if 1 <= k <= 4 else 0)


def test_random_k_of_locatello_mode_is_one_half_of_the_time():
    grid = space({"a": 1000, "b": 1000, "c": 1000, "d": 1000, "e": 1000})  # old class drawn again: 1 in 1000
    counts = k_factors(grid, N, rng(), compat="locatello").changed.sum(axis=1)
    exact = np.zeros(6)
    for k in range(1, 5):
        for chosen, p in ((k, 1 / 8), (1, 1 / 8)):
            for moved in product([0, 1], repeat=chosen):
                exact[sum(moved)] += p * 0.999 ** sum(moved) * 0.001 ** (chosen - sum(moved))
    for k in range(6):
        share_is(counts == k, exact[k])


def mean_stay(n):
    """P(v = s), averaged over uniform s, straight from the formula."""
    distance = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    weights = np.exp(-distance / np.log(n))
    return np.mean(np.diag(weights) / weights.sum(axis=1))


def changed_counts(stays):
    """Distribution of the number of changed factors, the forced change included."""
    counts = np.ones(1)
    for p in stays:
        counts = np.convolve(counts, [p, 1 - p])
    counts[1] += counts[0]
    forced, counts[0] = counts[0], 0
    return counts, forced


@pytest.mark.parametrize(
    ("n", "p"), [(3, 0.611), (6, 0.380), (8, 0.318), (10, 0.280), (15, 0.227), (32, 0.164), (40, 0.152)]
)
def test_laplace_stays_as_often_as_published(n, p):
    assert mean_stay(n) == pytest.approx(p, abs=6e-4)
    pairs = laplace(space({"x": n, "y": 2}), N, rng(), forced=False)
    share_is(~pairs.changed[:, 0], mean_stay(n))


@pytest.mark.parametrize(
    ("world", "grid", "mean", "forced_share"),
    [
        ("dsprites", DSPRITES, 3.14, 0.0016),
        ("shapes3d", SHAPES3D, 3.62, 0.0016),
        ("mpi3d_toy", MPI3D, 3.29, 0.0026),
    ],
)
def test_laplace_changes_as_many_factors_as_published(world, grid, mean, forced_share):
    still = conventions(world).still
    stays = [mean_stay(f.size) for f in grid if f.name not in still]
    exact, forced = changed_counts(stays)
    assert exact @ np.arange(len(exact)) == pytest.approx(mean, abs=6e-3)
    assert forced == pytest.approx(forced_share, abs=6e-5)
    if world == "dsprites":
        np.testing.assert_allclose(exact[1:], [0.029, 0.169, 0.435, 0.368], atol=6e-4)
    pairs = laplace(grid, N, rng(), still=still)
    counts = pairs.changed.sum(axis=1)
    for k, p in enumerate(exact):
        share_is(counts == k, p)
    assert not pairs.changed[:, [grid.position(name) for name in still]].any()


@pytest.mark.parametrize(("kind", "share"), [("extrapolation", 0.00199), ("interpolation", 0.00462)])
def test_laplace_within_a_published_split_is_identical_as_often_as_the_law_says(kind, share):
    parts = split(DSPRITES, kind, rule="dsprites")
    exact = 1.0
    for name, classes in parts.exclusive.items():  # all factors but the shape
        seen = np.array([c for c in range(DSPRITES[name].size) if c not in classes])
        weights = np.exp(-np.abs(np.subtract.outer(seen, seen)) / np.log(DSPRITES[name].size))
        exact *= np.mean(1 / weights.sum(axis=1))
    assert exact == pytest.approx(share, abs=1e-5)
    share_is(~laplace(parts, N, rng()).changed.any(axis=1), exact)


def test_laplace_leaves_categorical_factors_alone_unless_told():
    assert not laplace(MPI3D, 2000, rng()).changed[:, [0, 1, 4]].any()
    assert laplace(MPI3D, 2000, rng(), still=("shape",)).changed[:, [0, 4]].any(axis=0).all()


def test_laplace_rates_between_bounds_mix_the_laws():
    grid = space({"x": 8})
    pairs = laplace(grid, N, rng(), rate=(1.0, 10.0), forced=False)
    distance = np.abs(np.subtract.outer(np.arange(8), np.arange(8)))
    rates = np.linspace(1, 10, 2001)
    weights = np.exp(-distance * rates[:, None, None] / np.log(8))
    stays = (1 / weights.sum(axis=2)).mean(axis=1)
    share_is(~pairs.changed[:, 0], np.trapezoid(stays, rates) / 9)


def test_isolated_points_are_paired_with_themselves_with_a_warning():
    lonely = Listed(SMALL, np.array([[0, 0, 0], [1, 1, 1]]))
    with pytest.warns(UnknotWarning, match="10 of 10 points have no neighbour"):
        pairs = one_factor(lonely, 10, rng())
    np.testing.assert_array_equal(pairs.first, pairs.second)
    assert not laplace(lonely, 10, rng(), forced=True).changed.any()


def test_rows_of_a_huge_grid_need_no_mask():
    huge = space({name: 1000 for name in "abcdef"})
    rows = np.array([[0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 999], [5, 0, 0, 0, 0, 0]])
    pairs = one_factor(Listed(huge, rows), 3000, rng())
    assert (pairs.changed.sum(axis=1) == 1).all()
    assert {tuple(p) for p in pairs.second.tolist()} == {tuple(p) for p in rows.tolist()}
    assert one_factor(split(huge, "extrapolation", rule=Rule(0.1)), 100, rng()).second.max() < 900


def test_rows_listed_twice_come_first_twice_as_often():
    listed = Listed(SMALL, np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0]]))
    assert listed.size == 2
    assert np.count_nonzero(listed.mask()) == 2
    pairs = one_factor(listed, N, rng())
    share_is(pairs.first[:, 1] == 0, 2 / 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: k_factors(space({"one": 1, "two": 1}), 1, rng()),
            "no factor can change; one, two have one class",
        ),
        (lambda: k_factors(SMALL, 1, rng(), k=0), "k is 0, but 3 factor"),
        (lambda: k_factors(SMALL, 1, rng(), k=4), "give a k from 1 to 3"),
        (lambda: one_factor(SMALL, 1, rng(), compat="lib"), "unknown compatibility mode 'lib'"),
        (lambda: laplace(SMALL, 1, rng(), rate=0), "rate is 0"),
        (lambda: laplace(SMALL, 1, rng(), rate=(5.0, 1.0)), "two rising ones"),
        (lambda: laplace(SMALL, 1, rng(), rate=float("nan")), "rate is nan"),
        (lambda: laplace(SMALL, 1, rng(), still=["z"]), "unknown factor 'z'"),
        (lambda: laplace(space({"s": 3}, categorical=["s"]), 1, rng()), "no factor of s is left to move"),
        (lambda: one_factor(np.zeros((3, 3)), 1, rng()), "cannot draw from a ndarray"),
        (lambda: Listed(SMALL, np.zeros((0, 3), dtype=int)), "there are none"),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(UnknotError, match=message):
        call()
