import math
from collections import Counter

import numpy as np
import pytest

from unknot.errors import UnknotError, UnknotWarning
from unknot.metrics import METRICS, identity, parse_identity
from unknot.metrics.mig import mig

CASES = ["sncnk", "perfect", "rotated", "noise", "m1", "m2", "theorem31_n4k3"]


def toy(right):
    """The toy models of Mahon et al., Table 1, as an exact table: z2 is the shape in `right` of ten rows."""
    rows = [
        ((c if c == s else coin, s if r < right else 1 - s), (c, s))
        for c in (0, 1)
        for s in (0, 1)
        for coin in (0, 1)
        for r in range(10)
    ]
    latents, factors = zip(*rows, strict=True)
    return np.array(latents, dtype=np.float64), np.array(factors)


def slow_mig(latents, factors, bins):
    """The definition with loops and dictionaries."""
    n, d = latents.shape
    gaps = []
    for j in range(factors.shape[1]):
        y = factors[:, j].tolist()
        of_y = Counter(y)
        h = -math.fsum(m / n * math.log(m / n) for m in of_y.values())
        informations = []
        for i in range(d):
            low, high = latents[:, i].min(), latents[:, i].max()
            b = [sum(low + (high - low) / bins * e <= v for e in range(bins)) for v in latents[:, i]]
            of_b, pairs = Counter(b), Counter(zip(b, y, strict=True))
            informations.append(
                math.fsum(m / n * math.log(m * n / (of_b[x] * of_y[v])) for (x, v), m in pairs.items())
            )
        first, second = sorted(informations)[-1:-3:-1]
        gaps.append((first - second) / h)
    return sum(gaps) / len(gaps)


def test_mig_of_the_first_toy_model_is_18_87():
    latents, factors = toy(5)
    assert 100 * mig(latents, factors).value == pytest.approx(18.87, abs=0.005)


def test_mig_of_the_second_toy_model_is_12_94_and_not_the_printed_11_9():
    latents, factors = toy(7)
    assert 100 * mig(latents, factors).value == pytest.approx(12.94, abs=0.005)


def test_a_case_worked_by_hand():
    # z0 = y tells one bit of y, z1 is wrong in one row of four: H(y) = log 2, I(z1; y) = H(1/4) - H(1/2) / 2.
    factors = np.array([0, 0, 1, 1])[:, None]
    latents = np.array([[0, 0], [0, 0], [1, 0], [1, 1]], dtype=float)
    second = -(3 / 4 * math.log(3 / 4) + 1 / 4 * math.log(1 / 4)) - math.log(2) / 2
    score = mig(latents, factors)
    assert score.value == pytest.approx((math.log(2) - second) / math.log(2))
    assert score.parts["best_latent"].tolist() == [0]
    assert score.parts["mutual_information"][:, 0] == pytest.approx([math.log(2), second])


def test_mig_agrees_with_a_slow_version():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, [3, 5], size=(200, 2))
    latents = factors @ rng.normal(size=(2, 3)) + rng.normal(size=(200, 3))
    assert mig(latents, factors, bins=7).value == pytest.approx(slow_mig(latents, factors, 7), abs=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_mig_reproduces_stored_values(golden, case):
    arrays, values = golden(case)
    score = mig(arrays["latents"], arrays["factors"])
    assert score.value == pytest.approx(values["mig"], rel=1e-6, abs=1e-9)
    assert score.parts["per_factor"] == pytest.approx(values["_mig_per_factor"], rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("bins", [10, 20])
def test_the_code_normaliser_reproduces_the_values_of_zaidi_et_al(golden, case, bins):
    arrays, values = golden(case)
    score = mig(arrays["latents"], arrays["factors"], bins=bins, normaliser="code")
    assert score.value == pytest.approx(values[f"ubi_mig_b{bins}"], rel=1e-6, abs=1e-9)


def test_mig_is_zero_when_every_latent_is_repeated(golden):
    arrays, _ = golden("perfect")
    assert mig(np.hstack([arrays["latents"], -arrays["latents"]]), arrays["factors"]).value == pytest.approx(
        0, abs=1e-9
    )


def test_one_latent_has_no_runner_up_and_the_score_says_so():
    factors = np.array([0, 1, 2, 3])[:, None]
    score = mig(factors * 1.0, factors)
    assert score.value == pytest.approx(1)
    assert "one latent" in score.parts["notes"][0]


def test_constant_factors_are_left_out_of_the_mean():
    factors = np.array([[0, 7, 0], [1, 7, 0], [0, 7, 1], [1, 7, 1]])
    with pytest.warns(UnknotWarning, match="constant"):
        score = mig(factors[:, [0, 2]] * 1.0, factors)
    assert score.value == pytest.approx(1)
    assert np.isnan(score.parts["per_factor"]).tolist() == [False, True, False]
    assert score.parts["mutual_information"].shape == (2, 3)
    assert score.parts["skipped"] == {"1": "constant"}


def test_dead_latents_leave_the_score_alone():
    latents, factors = toy(7)
    with_dead = np.insert(latents, 1, 5.0, axis=1)
    assert mig(with_dead, factors).value == mig(latents, factors).value
    assert mig(np.zeros((80, 3)), factors).value == 0
    assert mig(np.zeros((80, 3)), factors, normaliser="code").value == 0


def test_bias_correction_lowers_the_information_of_noise():
    rng = np.random.default_rng(1)
    latents, factors = rng.normal(size=(500, 3)), rng.integers(0, 10, size=(500, 2))
    raw, corrected = (mig(latents, factors, bias_correction=b).parts["mutual_information"] for b in (False, True))
    assert corrected.mean() < raw.mean() / 4


def test_an_unknown_normaliser_is_named():
    with pytest.raises(UnknotError, match="did you mean 'factor'"):
        mig(np.zeros((3, 1)), np.arange(3), normaliser="factors")


def test_zero_plus_ten_is_a_name_and_sees_what_equal_width_does_not():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 4, size=(4_000, 1))
    fires = rng.random(4_000) < 0.05
    strength = rng.exponential(size=4_000) ** 3  # so that one outlier empties nearly all bins of equal width
    latents = np.stack([np.where(factors[:, 0] == 2, strength, 0.0), np.where(fires, strength, 0.0)], axis=1)
    name, options = parse_identity("mig[zero+10]", METRICS)
    score = METRICS[name](latents, factors, **options)
    assert identity(METRICS[name], **options) == "mig[zero+10]"
    assert score.value > mig(latents, factors).value + 0.1
    share = np.mean(factors[:, 0] == 2)
    expected = -share * np.log(share) - (1 - share) * np.log(1 - share)  # whether it fires tells value 2 apart
    assert score.parts["mutual_information"][0, 0] == pytest.approx(expected, abs=0.01)


def test_wide_codes_have_the_information_of_narrow_ones():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 4, size=(500, 2))
    latents = rng.normal(size=(500, 130)) + factors[:, :1]
    wide = mig(latents, factors, normaliser="code", bias_correction=True)
    narrow = mig(latents[:, :90], factors, normaliser="code", bias_correction=True)
    np.testing.assert_allclose(
        wide.parts["mutual_information"][:90], narrow.parts["mutual_information"], atol=1e-12
    )


def test_with_neighbours_measurements_stay_as_they_are_and_the_name_says_so():
    rng = np.random.default_rng(0)
    age, kind = rng.normal(size=2000), rng.integers(0, 3, size=2000)
    correlation = 0.9
    latents = np.stack(
        [correlation * age + np.sqrt(1 - correlation**2) * rng.normal(size=2000), kind * 1.0], axis=1
    )
    score = mig(latents, {"age": age, "kind": kind}, neighbours=3)
    # what is jointly normal shares its R^2; the other latent knows nothing of it
    assert score.parts["per_factor"] == pytest.approx([correlation**2, 1.0], abs=0.03)
    assert np.isnan(score.parts["entropy"][0]) and score.parts["entropy"][1] == pytest.approx(np.log(3), abs=0.01)
    assert "nearest neighbours" in score.parts["notes"][0]
    assert identity(METRICS["mig"], neighbours=3) == "mig[neighbours=3]"
    assert parse_identity("mig[neighbours=3]", METRICS) == ("mig", {"neighbours": 3})
    assert identity(METRICS["mig"]) == "mig[bins=20]"


def test_with_neighbours_noise_scores_about_nothing():
    rng = np.random.default_rng(0)
    latents, factors = rng.normal(size=(3000, 5)), rng.normal(size=(3000, 3))
    assert mig(latents, factors, neighbours=3).value < 0.03


@pytest.mark.parametrize("options", [{"neighbours": 0}, {"normaliser": "code"}, {"bias_correction": True}])
def test_neighbours_do_not_go_with_what_is_for_bins(options):
    with pytest.raises(UnknotError, match="neighbours is"):
        mig(np.eye(6), np.arange(6) % 2, **{"neighbours": 3, **options})
