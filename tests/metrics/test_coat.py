"""COAT by hand, by loops from the formulas, and what must not change it."""

import math

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.metrics.coat import bootstrap_interval, coat, generator_of
from unknot.metrics.slots import align

ROLES = ("A", "B", "C", "D")


def codes(n=64, d=5, noise=0.3, seed=0, slots=0):
    """Codes that compose up to noise, and a negative with another added part."""
    rng = np.random.default_rng(seed)
    shape = (n, slots, d) if slots else (n, d)
    a, c, added, other = rng.normal(size=(4, *shape))
    z = {"A": a, "B": a + added, "C": c, "D": c + added, "other": c + other}
    return {role: code + noise * rng.normal(size=shape) for role, code in z.items()}


def angle(u, v):
    return math.acos(np.clip(u @ v / (np.linalg.norm(u) * np.linalg.norm(v)), -1, 1))


def test_two_tuples_worked_by_hand():
    z = {
        "A": [[0.0, 0.0], [0.0, 0.0]],
        "B": [[1.0, 0.0], [0.0, 1.0]],
        "C": [[0.0, 0.0], [0.0, 0.0]],
        "D": [[1.0, 1.0], [0.0, 2.0]],
    }
    found = coat(z, minibatch=2)
    # L2: 1 and 1. Chance of tuple 0: (|(1,0)-(1,1)|^2 + |(1,0)-(0,2)|^2) / 2 = (1 + 5) / 2; of 1: (1 + 1) / 2.
    order = sorted(zip(found.l2.parts["losses"], found.l2.parts["ratios"], strict=True), key=lambda pair: pair[1])
    assert found.l2.parts["losses"].tolist() == [1.0, 1.0]
    assert [ratio for _, ratio in order] == pytest.approx([0.0, 1 - 1 / 3])
    assert found.l2.value == pytest.approx(1 / 3)
    # acos: 45 degrees and 0. Chance of v_0 = (1,1) against u = (1,0), (0,1): 45; of v_1 = (0,2): 90 and 0.
    assert found.acos.parts["ratios"] == pytest.approx([0.0, 1.0])
    # With the paper's formula: u_0 against D_0 and D_1: 45 and 90; u_1: 45 and 0.
    paper = coat(z, minibatch=2, chance="shuffle_d")
    assert paper.acos.parts["ratios"] == pytest.approx([1 - 45 / 67.5, 1.0])
    # Without the tuple itself chance is 5 and 1, and plain norms are 1 / ((1 + sqrt 5) / 2) and 1 / 1.
    assert coat(z, minibatch=2, include_self=False).l2.parts["ratios"] == pytest.approx([0.8, 0.0])
    plain = coat(z, minibatch=2, norm="l2").l2.parts["ratios"]
    assert plain == pytest.approx([1 - 2 / (1 + math.sqrt(5)), 0.0])


@pytest.mark.parametrize("norm", ["squared", "l2"])
@pytest.mark.parametrize("chance", ["shuffle_ab", "shuffle_d"])
@pytest.mark.parametrize("include_self", [True, False])
def test_vectors_score_as_loops_over_the_formulas(norm, chance, include_self):
    z = codes(n=24)
    found = coat(z, minibatch=8, norm=norm, chance=chance, include_self=include_self, rng=3)
    order = generator_of(3).permutation(24)
    a, b, c, d = (z[role] for role in ROLES)

    def length(x):
        return x @ x if norm == "squared" else math.sqrt(x @ x)

    distances, angles = [], []
    for start in range(0, 24, 8):
        rows = order[start : start + 8]
        for i in rows:
            others = [j for j in rows if include_self or j != i]
            expected = np.mean([length(b[i] - a[i] + c[i] - d[j]) for j in others])
            distances.append(1 - length(b[i] - a[i] + c[i] - d[i]) / expected)
            if chance == "shuffle_ab":
                turned = np.mean([angle(d[i] - c[i], b[j] - a[j]) for j in others])
            else:
                turned = np.mean([angle(b[i] - a[i], d[j] - c[i]) for j in others])
            angles.append(1 - angle(b[i] - a[i], d[i] - c[i]) / turned)
    assert found.l2.value == pytest.approx(np.mean(distances))
    assert found.acos.value == pytest.approx(np.mean(angles))
    assert found.l2.parts["error"] == pytest.approx(np.std(distances, ddof=1) / math.sqrt(24))


@pytest.mark.parametrize("chance", ["shuffle_d", "shuffle_ab"])
def test_slots_score_as_loops_over_the_formulas(chance):
    z = codes(n=6, d=3, slots=3)
    found = coat(z, minibatch=6, chance=chance)
    a, b, c, d = align(*(z[role] for role in ROLES))

    def pairs(one, other):
        rows, columns, taken = [0, 1, 2], [0, 1, 2], {}
        while rows:
            p, q = min(
                ((p, q) for p in rows for q in columns), key=lambda pq: ((one[pq[0]] - other[pq[1]]) ** 2).sum()
            )
            taken[p] = q
            rows.remove(p)
            columns.remove(q)
        return [taken[p] for p in range(3)]

    distances, angles = [], []
    for i in range(6):
        expected, turned = [], []
        for j in range(6):
            wanted = b[i] - a[i] + c[i]
            matched = d[j][pairs(wanted, d[j])]
            expected.append(((wanted - matched) ** 2).sum())
            if chance == "shuffle_d":
                turned.append(angle((b[i] - a[i]).ravel(), (matched - c[i]).ravel()))
            else:
                u, v = b[j] - a[j], d[i] - c[i]
                turned.append(angle(u[pairs(v, u)].ravel(), v.ravel()))
        distances.append(1 - ((b[i] - a[i] + c[i] - d[i]) ** 2).sum() / np.mean(expected))
        angles.append(1 - angle((b[i] - a[i]).ravel(), (d[i] - c[i]).ravel()) / np.mean(turned))
    assert found.l2.parts["ratios"] == pytest.approx(distances)
    assert found.acos.parts["ratios"] == pytest.approx(angles)


def test_the_default_chance_is_that_of_the_published_code():
    z, s = codes(), codes(slots=3)
    assert coat(z).acos.value == coat(z, chance="shuffle_ab").acos.value != coat(z, chance="shuffle_d").acos.value
    assert coat(s).acos.value == coat(s, chance="shuffle_d").acos.value


@pytest.mark.parametrize("slots", [0, 4])
def test_translation_and_scale_of_codes_change_nothing(slots):
    z = codes(slots=slots)
    found, moved = coat(z), coat({role: 3 * code + 7 for role, code in z.items()})
    for one, other in zip(found, moved, strict=True):
        assert other.value == pytest.approx(one.value, rel=1e-9)
        assert other.parts["negatives"]["other"].p_hat == one.parts["negatives"]["other"].p_hat


def test_rotation_of_codes_changes_nothing_and_stretching_one_axis_does():
    z = codes()
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(5, 5)))[0]
    turned = coat({role: code @ turn for role, code in z.items()})
    assert turned.l2.value == pytest.approx(coat(z).l2.value)
    stretched = coat({role: code * [100, 1, 1, 1, 1] for role, code in z.items()})
    assert abs(stretched.l2.value - coat(z).l2.value) > 1e-3


def test_the_order_of_slots_changes_nothing():
    z, rng = codes(slots=5), np.random.default_rng(1)
    mixed = {role: np.array([one[rng.permutation(5)] for one in code]) for role, code in z.items()}
    for one, other in zip(coat(z), coat(mixed), strict=True):
        assert other.value == pytest.approx(one.value)


def test_a_code_that_adds_up_scores_one_and_its_projection_one_to_rounding():
    z = codes(noise=0)
    exact = {role: np.round(code, 1) for role, code in z.items()}
    exact["B"], exact["D"] = exact["A"] + 4, exact["C"] + 4
    exact["D"] = exact["C"] + (exact["B"] - exact["A"])
    assert coat(exact).l2.value > 1 - 1e-15
    projection = np.random.default_rng(2).normal(size=(5, 9))
    found = coat({role: code @ projection for role, code in z.items()})
    assert found.l2.value == pytest.approx(1, abs=1e-12)
    assert found.acos.value == pytest.approx(1, abs=1e-12)
    assert found.l2.parts["passed"] and found.acos.parts["passed"]


def test_random_codes_score_about_zero_and_fail():
    rng = np.random.default_rng(0)
    z = {role: rng.normal(size=(640, 20)) for role in (*ROLES, "other")}
    found = coat(z)
    assert abs(found.l2.value) < 0.03 and abs(found.acos.value) < 0.03
    assert found.l2.parts["negatives"]["other"].p_hat == pytest.approx(0.5, abs=0.06)
    assert not found.l2.parts["passed"]


def test_success_is_strict_so_a_negative_equal_to_d_never_succeeds():
    z = codes()
    z["other"] = z["D"].copy()
    for score in coat(z):
        assert score.parts["negatives"]["other"].p_hat == 0
        assert score.parts["passed"] is False


def test_the_share_of_successes_is_counted_tuple_by_tuple():
    z = codes(noise=1.5)
    found = coat(z).l2.parts
    rest = z["B"] - z["A"] + z["C"]
    wins = ((rest - z["other"]) ** 2).sum(1) > ((rest - z["D"]) ** 2).sum(1)
    np.testing.assert_array_equal(found["success"]["other"], wins)
    assert found["negatives"]["other"].p_hat == wins.mean() < 1


def test_one_failing_negative_fails_the_loss():
    z = codes(n=128, noise=0.1)
    assert coat(z).l2.parts["passed"]
    assert not coat(z | {"same": z["D"]}).l2.parts["passed"]


def test_a_constant_code_is_marked_as_collapsed_and_fails():
    z = {role: np.full((64, 3), 2.5) for role in (*ROLES, "other")}
    for score in coat(z):
        assert math.isnan(score.value)
        assert score.parts["collapsed"] and score.parts["passed"] is False
        assert score.parts["negatives"]["other"].p_hat == 0
        assert "collapsed" in score.parts["notes"][0]


def test_rounding_around_a_constant_single_precision_code_is_collapsed_too():
    rng = np.random.default_rng(0)
    z = {role: (1 + 1e-7 * rng.normal(size=(64, 3))).astype(np.float32) for role in ROLES}
    assert coat(z).l2.parts["collapsed"] and coat(z).acos.parts["collapsed"]
    assert not coat({role: code.astype(np.float64) for role, code in z.items()}).l2.parts["collapsed"]


def test_a_tuple_without_direction_is_left_out_of_acos_and_no_success():
    z = codes()
    z["B"][3] = z["A"][3]
    z["D"][5] = z["C"][5]
    found = coat(z)
    assert found.acos.parts["n_invalid"] == 2 and found.acos.parts["n_scored"] == 62
    assert np.isnan(found.acos.parts["ratios"][[3, 5]]).all()
    assert not found.acos.parts["success"]["other"][[3, 5]].any()
    assert found.acos.parts["negatives"]["other"].n == 64
    assert found.l2.parts["n_invalid"] == 0
    assert "2 of 64 tuples" in found.acos.parts["notes"][0]


def test_a_negative_that_undoes_the_addition_counts_as_a_right_angle():
    z = codes(noise=0)
    z["drop"] = z["C"].copy()
    found = coat(z).acos.parts
    assert found["n_same_as_c"] == {"drop": 64}
    assert found["negatives"]["drop"].p_hat == 1
    z["D"] = z["C"] - (z["B"] - z["A"])  # 180 degrees, worse than no direction at all
    assert coat(z).acos.parts["negatives"]["drop"].p_hat == 0


def test_angles_near_zero_keep_their_digits():
    z = codes(noise=0)
    turned = np.array([[math.cos(1e-9), math.sin(1e-9)]])
    z = {
        "A": np.zeros((2, 2)),
        "B": np.array([[1.0, 0.0]] * 2),
        "C": np.zeros((2, 2)),
        "D": np.repeat(turned, 2, 0),
    }
    assert coat(z, minibatch=2).acos.parts["losses"] == pytest.approx([1e-9] * 2, rel=1e-6)


def test_an_incomplete_minibatch_is_left_out_of_the_score_and_kept_in_the_test():
    z = codes(n=100)
    found = coat(z).l2.parts
    assert found["n_scored"] == 64 and np.isnan(found["ratios"]).sum() == 36
    assert found["negatives"]["other"].n == 100
    assert any("36 tuples" in note for note in found["notes"])


def test_fewer_tuples_than_a_minibatch_are_refused_with_the_way_out():
    with pytest.raises(UnknotError, match=r"40 tuples are fewer than a minibatch of 64.*minibatch=40"):
        coat(codes(n=40))
    assert coat(codes(n=40), minibatch=40).l2.parts["n_scored"] == 40


def test_without_negatives_pass_or_fail_is_unknown():
    z = codes()
    del z["other"]
    found = coat(z).l2.parts
    assert found["passed"] is None and "no negatives" in found["notes"][0]


def test_nan_names_the_role_and_the_tuple():
    z = codes()
    z["C"][17, 2] = np.nan
    with pytest.raises(UnknotError, match="C in tuple 17 is not finite"):
        coat(z)


def test_codes_for_another_number_of_tuples_or_of_another_width_are_refused():
    z = codes()
    with pytest.raises(UnknotError, match=r"codes of D have shape \(63, 5\), those of A \(64, 5\)"):
        coat(z | {"D": z["D"][:63]})
    with pytest.raises(UnknotError, match="no codes for B, D"):
        coat({"A": z["A"], "C": z["C"]})
    with pytest.raises(UnknotError, match="unknown norm of coat 'l1'"):
        coat(z, norm="l1")
    with pytest.raises(UnknotError, match="groups has shape"):
        coat(z, groups=[0, 1])


def test_codes_may_be_tensors_and_lazy_rows():
    torch = pytest.importorskip("torch")
    z = codes()

    class Rows:
        def __init__(self, code):
            self.code, self.shape, self.dtype = code, code.shape, code.dtype

        def __getitem__(self, rows):
            return self.code[rows]

    usual = coat(z).l2.value
    assert coat({role: torch.from_numpy(code) for role, code in z.items()}).l2.value == usual
    assert coat({role: Rows(code) for role, code in z.items()}).l2.value == usual


def test_the_same_seed_gives_the_same_result_and_inputs_stay():
    z = codes(n=128)
    before = {role: code.copy() for role, code in z.items()}
    one, other = coat(z, rng=5), coat(z, rng=5)
    assert one.l2.value == other.l2.value and one.l2.parts["interval"] == other.l2.parts["interval"]
    assert coat(z, rng=6).l2.value != one.l2.value
    assert all(np.array_equal(before[role], z[role]) for role in z)


def test_the_bootstrap_interval_has_the_width_of_the_standard_error():
    values = np.random.default_rng(0).normal(size=900)
    low, high = bootstrap_interval(values, np.arange(900), 4000, np.random.default_rng(1))
    assert high - low == pytest.approx(2 * 1.96 * values.std() / 30, rel=0.06)
    assert low < values.mean() < high


def test_tuples_of_one_scene_are_drawn_together_so_copies_add_no_certainty():
    values = np.random.default_rng(0).normal(size=100)
    alone = bootstrap_interval(values, np.arange(100), 2000, np.random.default_rng(1))
    copied = bootstrap_interval(np.repeat(values, 9), np.repeat(np.arange(100), 9), 2000, np.random.default_rng(1))
    assert copied == pytest.approx(alone, abs=1e-12)
    z = codes()
    wide = coat(z, groups=np.arange(64) // 16).l2.parts["interval"]
    assert wide != coat(z).l2.parts["interval"]


def test_too_many_slots_to_match_are_refused():
    with pytest.raises(UnknotError, match="49 slots for each image"):
        coat(codes(n=64, d=2, slots=49))


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_minibatches_do_not_undo_the_shuffle_of_a_corpus_of_the_same_seed(seed):
    # A corpus puts its k-th tuple at position permutation[k] of the plain seed, four tuples of a scene in a row.
    for plain in ([seed, 0], seed):
        scene = np.empty(1600, dtype=int)
        scene[np.random.default_rng(plain).permutation(1600)] = np.arange(1600) // 4
        order = generator_of(seed).permutation(1600)
        together = [len(set(scene[order[i : i + 64]])) for i in range(0, 1600, 64)]
        assert np.mean(together) > 58  # of 64; filled scene by scene there would be 16
