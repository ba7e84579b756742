"""COAT: does adding an object add the same thing to the code, whatever else is in the picture?"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, get_args, runtime_checkable

import numpy as np

from unknot.errors import UnknotError, check_known
from unknot.metrics.arrays import Bools, Floats, Ints
from unknot.metrics.coat_losses import NOTHING, Chance, Norm, aligned, by_chance, losses
from unknot.metrics.inputs import Rng
from unknot.metrics.proportion import proportion_test
from unknot.metrics.score import Score
from unknot.reading.arrays import TorchTensor, as_array

MAIN = ("A", "B", "C", "D")
MINIBATCH = 64
ALPHA = 0.005
MOST_SLOTS = 32
STREAM = 0xC0A7
COARSE = 1e-6  # differences below this share of a float32 code are its rounding


class Coat(NamedTuple):
    """The two scores, each with its own pass or fail.

    `parts` of each: `passed` (None without negatives), `negatives` (name -> `Proportion`), `interval` (95 %, bootstrap
    over tuples), `error` (standard deviation / sqrt(n)), `collapsed`, `n_tuples`, `n_scored`, `n_invalid`, `ratios`
    (1 - loss / chance of each tuple, NaN where it was not scored), `losses`, `success` (name -> bool of each tuple),
    `n_same_as_c` (negatives whose code is that of C) and `notes`.
    """

    l2: Score
    acos: Score


def coat(
    codes: Mapping[str, Any],
    *,
    norm: Norm = "squared",
    chance: Chance | None = None,
    include_self: bool = True,
    minibatch: int = MINIBATCH,
    alpha: float = ALPHA,
    resamples: int = 1000,
    groups: Any = None,
    rng: Rng = 0,
    watch: Callable[[int, int], None] | None = None,
) -> Coat:
    """How well z_B - z_A + z_C = z_D holds, corrected for chance, and whether wrong answers D' do worse.

    B is A with objects added, D is C with the same objects added.

    L2_i = |z_B - z_A + z_C - z_D|^2,  acos_i = angle(z_B - z_A, z_D - z_C)
    COAT = mean_i [ 1 - loss_i / E_j loss_ij ]        at most 1, 1 is best, 0 is chance, below 0 is worse

    The expectation runs over the tuples j of a minibatch, i among them. For L2 the D of tuple j takes the place of
    D_i. For acos "shuffle_d" does the same; "shuffle_ab" pairs z_D - z_C of tuple i with z_B - z_A of tuple j, as
    the published code does for vectors.

    Every further role is a negative, a wrong D'. A tuple is a success if the loss with D' is larger; ties are not.
    The share of successes is tested against one half (z test, one-sided); a loss passes if all negatives reject.

    Slots (n, k, d) are matched greedily, four images at a time, anew for each negative; see `metrics.slots`.

    Edge cases: a tuple whose z_B - z_A or z_D - z_C vanishes has no angle; it is left out of the mean and is no
    success. A negative equal to C (the added object dropped again) has no angle either and counts as a right angle,
    no direction in common; otherwise a perfect code would fail. Codes that are all alike have no score (NaN,
    `collapsed`) and fail. An incomplete last minibatch is left out of the score, not of the test.
    Departs from the paper: the square, which the published code takes and the paper does not write (`norm="l2"` takes
    it away); the stable formula of the angle.
    Reference: Xie et al. 2022, COAT: Measuring Object Compositionality in Emergent Representations, ICML.

    Args:
        codes: role -> (n, d) vectors or (n, k, d) slots, one row for each tuple; "A", "B", "C", "D", then negatives.
            Anything with a shape that gives rows for an array of indices will do, so that large codes can stay on
            disk.
        norm: "squared" or "l2".
        chance: "shuffle_ab" or "shuffle_d"; left out, the first for vectors and the second for slots.
        include_self: whether the expectation includes the tuple itself.
        minibatch: tuples in the expectation.
        alpha: of the test.
        resamples: of the bootstrap.
        groups: (n,) the main scene each tuple was cut from; the bootstrap then draws scenes, whose tuples are alike.
        rng: decides which tuples share a minibatch, and the bootstrap.
        watch: called with the tuples done and the tuples in all.

    >>> rng = np.random.default_rng(0)
    >>> a, c, added, other = rng.normal(size=(4, 64, 5))
    >>> scores = coat({"A": a, "B": a + added, "C": c, "D": c + added, "other": c + other})
    >>> scores.l2.value > 1 - 1e-12, scores.l2.parts["negatives"]["other"].p_hat, scores.acos.parts["passed"]
    (True, 1.0, True)
    """
    n, slotted = check_codes(codes, norm, chance, minibatch, alpha)
    how: Chance = chance or ("shuffle_d" if slotted else "shuffle_ab")
    generator = generator_of(rng)
    order = generator.permutation(n)
    scored = order[: n - n % minibatch]
    clusters = np.arange(n) if groups is None else _groups(groups, n)
    compared = _compare(codes, order, minibatch, norm, how, include_self, watch)
    scores = []
    for i, loss in enumerate(("l2", "acos")):
        about = {
            "losses": compared.losses[i],
            "success": compared.success[i],
            "negatives": {
                name: proportion_test(int(won.sum()), n, alpha=alpha) for name, won in compared.success[i].items()
            },
            "n_same_as_c": compared.same_as_c if loss == "acos" else {},
            "minibatch": minibatch,
            "chance": how if loss == "acos" else "shuffle_d",
            "alpha": alpha,
        }
        scores.append(_score(compared.ratios[i], scored, about, clusters, resamples, generator))
    return Coat(*scores)


def generator_of(rng: Rng) -> np.random.Generator:
    """Random numbers of a seed that are COAT's own.

    Corpora shuffle their tuples by a plain seed. The same seed used plainly here would undo that shuffle, and fill
    minibatches with tuples of the same few scenes.
    """
    return rng if isinstance(rng, np.random.Generator) else np.random.default_rng([rng, STREAM])


class _Compared(NamedTuple):
    """What the tuples gave, first for L2 and then for acos."""

    losses: tuple[Floats, Floats]
    ratios: tuple[Floats, Floats]
    success: tuple[dict[str, Bools], dict[str, Bools]]
    same_as_c: dict[str, int]


def _compare(
    codes: Mapping[str, Any],
    order: Ints,
    minibatch: int,
    norm: Norm,
    chance: Chance,
    include_self: bool,
    watch: Callable[[int, int], None] | None,
) -> _Compared:
    """Losses, chance and negatives, one minibatch in memory at a time."""
    n, negatives = len(order), [role for role in codes if role not in MAIN]
    resolution = NOTHING if _array(codes["A"]).dtype.itemsize >= 8 else COARSE
    loss, ratio = np.full((2, n), np.nan), np.full((2, n), np.nan)
    success = tuple({name: np.zeros(n, dtype=np.bool_) for name in negatives} for _ in range(2))
    same_as_c: dict[str, int] = {}
    for start in range(0, n, minibatch):
        rows = order[start : start + minibatch]
        a, b, c, d = _rows(codes, MAIN, rows)
        tuples = aligned((a, b, c, d))
        actual = losses(tuples, norm)
        loss[:, rows] = actual.distance, actual.angle
        if len(rows) == minibatch:
            *expected, apart = by_chance(tuples, actual, norm, chance, include_self)
            kept = (apart > resolution * actual.longest) & (np.array(expected) > 0)  # false for NaN too
            ratio[:, rows] = 1 - np.divide(loss[:, rows], expected, out=np.full(kept.shape, np.nan), where=kept)
        for name in negatives:
            (wrong,) = _rows(codes, (name,), rows)
            other = losses(aligned((a, b, c, wrong)), norm)
            vanished = np.isnan(other.angle) & np.isfinite(actual.angle)
            if vanished.any():
                same_as_c[name] = same_as_c.get(name, 0) + int(vanished.sum())
            success[0][name][rows] = other.distance > actual.distance
            success[1][name][rows] = np.where(vanished, np.pi / 2, other.angle) > actual.angle
        if watch is not None:
            watch(start + len(rows), n)
    return _Compared((loss[0], loss[1]), (ratio[0], ratio[1]), (success[0], success[1]), same_as_c)


def _score(
    ratios: Floats, scored: Ints, parts: dict[str, Any], clusters: Ints, resamples: int, rng: np.random.Generator
) -> Score:
    """One of the two scores from the ratios of all tuples."""
    kept = scored[np.isfinite(ratios[scored])]
    collapsed = len(kept) == 0
    n_invalid = len(scored) - len(kept)
    negatives = parts["negatives"]
    notes = []
    if collapsed:
        notes.append("collapsed: the codes of all images are alike, so there is nothing to measure.")
    elif n_invalid:
        notes.append(f"{n_invalid} of {len(scored)} tuples have no direction of change; they are left out.")
    if len(scored) < len(ratios):
        notes.append(f"{len(ratios) - len(scored)} tuples of an incomplete minibatch are not in the score.")
    if not negatives:
        notes.append("no negatives: whether wrong answers do worse is not known.")
    values = ratios[kept]
    parts |= {
        "passed": (not collapsed and all(test.passed for test in negatives.values())) if negatives else None,
        "collapsed": collapsed,
        "error": float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan,
        "interval": bootstrap_interval(values, clusters[kept], resamples, rng),
        "n_tuples": len(ratios),
        "n_scored": len(kept),
        "n_invalid": n_invalid,
        "ratios": ratios,
        "notes": notes,
    }
    return Score(float(values.mean()) if len(values) else np.nan, parts)


def bootstrap_interval(
    values: Floats, clusters: Ints, resamples: int, rng: np.random.Generator
) -> tuple[float, float]:
    """The 95 % interval of the mean when whole clusters are drawn with replacement."""
    if not len(values):
        return np.nan, np.nan
    _, code = np.unique(clusters, return_inverse=True)
    sums, counts = np.bincount(code, weights=values), np.bincount(code)
    drawn = rng.multinomial(len(sums), np.full(len(sums), 1 / len(sums)), size=resamples)
    low, high = np.quantile((drawn @ sums) / (drawn @ counts), [0.025, 0.975])
    return float(low), float(high)


def check_codes(
    codes: Mapping[str, Any], norm: str, chance: str | None, minibatch: int, alpha: float
) -> tuple[int, bool]:
    """The number of tuples, and whether codes are slots; anything that `coat` cannot do with them is an error."""
    check_known("norm of coat", norm, get_args(Norm))
    if chance is not None:
        check_known("chance of coat", chance, get_args(Chance))
    if not 0 < alpha < 1:
        raise UnknotError(f"coat: alpha is {alpha}; expected a probability.")
    missing = [role for role in MAIN if role not in codes]
    if missing:
        raise UnknotError(f"coat: no codes for {', '.join(missing)}; there are {', '.join(codes) or 'none'}.")
    shapes = {role: tuple(_array(code).shape) for role, code in codes.items()}
    first = shapes["A"]
    if len(first) not in (2, 3) or 0 in first[1:]:
        raise UnknotError(f"coat: codes of A have shape {first}; expected (n, d), or (n, k, d) for slots.")
    if len(first) == 3 and first[1] > MOST_SLOTS:
        raise UnknotError(
            f"coat: {first[1]} slots for each image; matching four images costs their fourth power, so {MOST_SLOTS} is "
            "the most. Pool positions into one code (pool mean, for networks), or flatten slots that keep their order."
        )
    for role, shape in shapes.items():
        if shape != first:
            raise UnknotError(
                f"coat: codes of {role} have shape {shape}, those of A {first}; every role needs one code of the same "
                "size for each tuple."
            )
    if minibatch < 2:
        raise UnknotError(f"coat: minibatch is {minibatch}; chance needs at least two tuples.")
    if first[0] < minibatch:
        raise UnknotError(
            f"coat: {first[0]} tuples are fewer than a minibatch of {minibatch}, over which chance is averaged; give "
            f"more tuples, or minibatch={max(first[0], 2)} (--minibatch), which makes chance a rougher estimate."
        )
    return first[0], len(first) == 3


@runtime_checkable
class _Shaped(Protocol):
    """An array, in memory or on disk."""

    shape: tuple[int, ...]


def _array(code: Any) -> Any:
    """A code as something that can be indexed; arrays on disk stay there."""
    return code if isinstance(code, _Shaped) and not isinstance(code, TorchTensor) else as_array(code)


def _rows(codes: Mapping[str, Any], roles: tuple[str, ...], rows: Ints) -> list[Floats]:
    """Some rows of some roles in double precision, checked."""
    arrays = []
    for role in roles:
        code = np.asarray(_array(codes[role])[rows])
        if code.dtype.kind not in "fiub":
            raise UnknotError(f"coat: codes of {role} are {code.dtype}; expected numbers.")
        double = np.ascontiguousarray(code, dtype=np.float64)
        if not np.isfinite(double).all():
            bad = rows[~np.isfinite(double.reshape(len(double), -1)).all(axis=1)]
            raise UnknotError(
                f"coat: the code of {role} in tuple {bad[0]} is not finite; a model that diverged cannot be scored."
            )
        arrays.append(double)
    return arrays


def _groups(groups: Any, n: int) -> Ints:
    array = np.asarray(groups)
    if array.shape != (n,):
        raise UnknotError(f"coat: groups has shape {array.shape}; expected one for each of {n} tuples.")
    return np.unique(array, return_inverse=True)[1].reshape(-1).astype(np.int64)
