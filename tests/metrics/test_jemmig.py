import math

import numpy as np
import pytest

from unknot.metrics.jemmig import jemmig
from unknot.metrics.mig import mig

LOG2 = math.log(2)


def test_a_case_worked_by_hand():
    # A bit y and a latent that holds y and another bit: H(z, y) = 2 bits, I = 1 bit, B = 4 bins.
    y = np.array([0, 0, 1, 1])
    other = np.array([0, 1, 0, 1])
    latents = np.stack([2 * y + other, other], axis=1).astype(float)
    score = jemmig(latents, y, bins=4)
    assert score.value == pytest.approx(1 - (2 - 1 + 0) * LOG2 / (LOG2 + math.log(4)))
    assert score.parts["joint_entropy"][:, 0] == pytest.approx([2 * LOG2, 2 * LOG2])


def test_a_latent_that_carries_more_than_its_factor_costs_jemmig_but_not_mig():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 3, size=(600, 2))
    clean = factors * 1.0
    crowded = clean + np.round(rng.uniform(-0.4, 0.4, size=(600, 2)), 1)
    assert mig(crowded, factors).value == pytest.approx(mig(clean, factors).value, abs=0.03)
    assert jemmig(crowded, factors).value < jemmig(clean, factors).value - 0.2


@pytest.mark.parametrize("case", ["sncnk", "perfect", "rotated", "noise", "m1", "m2", "theorem31_n4k3"])
def test_jemmig_reproduces_stored_values(golden, case):
    arrays, values = golden(case)
    score = jemmig(arrays["latents"], arrays["factors"])
    assert score.value == pytest.approx(values["ubi_jemmig_b20"], rel=1e-6)


def test_jemmig_agrees_with_a_slow_version():
    from sklearn.metrics import mutual_info_score

    rng = np.random.default_rng(1)
    factors = rng.integers(0, [4, 3], size=(300, 2))
    latents = factors @ rng.normal(size=(2, 3)) + rng.normal(size=(300, 3))
    codes = [np.digitize(z, np.histogram(z, 8)[1][:-1]) for z in latents.T]
    total = 0.0
    for y in factors.T:
        ranked = sorted(((mutual_info_score(c, y), i) for i, c in enumerate(codes)), reverse=True)
        pair = codes[ranked[0][1]] * 100 + y
        h_joint, h = mutual_info_score(pair, pair), mutual_info_score(y, y)
        total += 1 - (h_joint - ranked[0][0] + ranked[1][0]) / (h + math.log(8))
    assert jemmig(latents, factors, bins=8).value == pytest.approx(total / 2)


def test_one_latent_and_dead_latents_have_documented_values():
    y = np.array([0, 0, 1, 1])
    score = jemmig(y[:, None] * 1.0, y)
    assert score.value == pytest.approx(1)
    assert "one latent" in score.parts["notes"][0]
    floor = 1 - LOG2 / (LOG2 + math.log(20))
    assert jemmig(np.zeros((4, 2)), y).value == pytest.approx(floor)
