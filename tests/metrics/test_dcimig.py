import math

import numpy as np
import pytest

from unknot.metrics.dcimig import dcimig
from unknot.metrics.kernels.information import factor_entropy, width_information


def test_a_case_worked_by_hand():
    # Two bits; z0 = the first, z1 = both at once (gap 0): one of two bits is known exclusively.
    factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    latents = np.stack([factors[:, 0], factors @ [2, 1]], axis=1).astype(float)
    score = dcimig(latents, factors)
    assert score.value == pytest.approx(0.5)
    assert score.parts["per_latent"] == pytest.approx([math.log(2), 0])
    assert score.parts["per_factor"] == pytest.approx([1, 0])


@pytest.mark.parametrize("case", ["sncnk", "perfect", "rotated", "noise", "m1", "m2", "theorem31_n4k3"])
def test_dcimig_reproduces_stored_values(golden, case):
    arrays, values = golden(case)
    score = dcimig(arrays["latents"], arrays["factors"])
    assert score.value == pytest.approx(values["ubi_dcimig_b20"], rel=1e-6, abs=1e-9)


def test_dcimig_agrees_with_a_slow_version():
    rng = np.random.default_rng(0)
    sizes = np.array([3, 5, 2])
    factors = rng.integers(0, sizes, size=(300, 3))
    latents = factors @ rng.normal(size=(3, 6)) + rng.normal(size=(300, 6))
    best = {}
    for row in width_information(latents, factors, sizes, 9).tolist():
        j = row.index(max(row))
        gap = max(row) - sorted(row)[-2]
        best[j] = max(best.get(j, 0.0), gap)
    expected = sum(best.values()) / factor_entropy(factors, sizes).sum()
    assert dcimig(latents, factors, bins=9).value == pytest.approx(expected)


def test_repeating_every_latent_keeps_the_score(golden):
    arrays, _ = golden("rotated")
    once = dcimig(arrays["latents"], arrays["factors"]).value
    assert dcimig(np.hstack([arrays["latents"]] * 2), arrays["factors"]).value == pytest.approx(once)


def test_dead_latents_and_one_factor_have_documented_values():
    y = np.array([0, 0, 1, 1])
    assert dcimig(np.zeros((4, 2)), np.stack([y, [0, 1, 0, 1]], axis=1)).value == 0
    score = dcimig(y[:, None] * 1.0, y)
    assert score.value == pytest.approx(1)
    assert "one factor" in score.parts["notes"][0]
