import numpy as np
import pytest

from unknot.errors import UnknotError, UnknotWarning
from unknot.metrics.kernels.information import width_information
from unknot.metrics.modularity import modularity


def toy(right):
    rows = [
        ((c if c == s else coin, s if r < right else 1 - s), (c, s))
        for c in (0, 1)
        for s in (0, 1)
        for coin in (0, 1)
        for r in range(10)
    ]
    latents, factors = zip(*rows, strict=True)
    return np.array(latents, dtype=np.float64), np.array(factors)


def test_modularity_of_the_toy_models_is_0_and_one_half():
    assert modularity(*toy(5)).value == 0  # z1 knows both alike, z2 nothing
    score = modularity(*toy(7))
    assert score.parts["per_latent"] == pytest.approx([0, 1])
    assert score.value == pytest.approx(0.5)


@pytest.mark.parametrize("case", ["sncnk", "perfect", "rotated", "noise", "m1", "m2", "theorem31_n4k3"])
def test_modularity_reproduces_stored_values(golden, case):
    arrays, values = golden(case)
    score = modularity(arrays["latents"], arrays["factors"])
    assert score.value == pytest.approx(values["modularity"], rel=1e-6, abs=1e-9)
    if case != "m1":  # NaN in the code of Zaidi et al., where the second latent knows nothing at all
        assert score.value == pytest.approx(values["ubi_modularity_b20"], rel=1e-6, abs=1e-9)


def test_modularity_agrees_with_a_slow_version():
    rng = np.random.default_rng(0)
    sizes = np.array([3, 5, 2])
    factors = rng.integers(0, sizes, size=(300, 3))
    latents = factors @ rng.normal(size=(3, 4)) + rng.normal(size=(300, 4))
    scores = []
    for row in width_information(latents, factors, sizes, 9).tolist():
        theta = max(row)
        others = [m for j, m in enumerate(row) if j != row.index(theta)]
        scores.append(1 - sum(m**2 for m in others) / (theta**2 * 2))
    assert modularity(latents, factors, bins=9).value == pytest.approx(sum(scores) / 4)


def test_noise_scores_high_unless_min_mi_takes_it_out(golden):
    arrays, _ = golden("noise")
    assert modularity(arrays["latents"], arrays["factors"]).value > 0.5
    score = modularity(arrays["latents"], arrays["factors"], min_mi=0.01)
    assert score.value == 0
    assert "below min_mi" in score.parts["notes"][0]


def test_min_mi_leaves_informative_latents_alone(golden):
    arrays, values = golden("perfect")
    assert modularity(arrays["latents"], arrays["factors"], min_mi=0.1).value == pytest.approx(
        values["modularity"]
    )


def test_a_constant_factor_does_not_raise_the_score():
    latents, factors = toy(7)
    with pytest.warns(UnknotWarning):
        score = modularity(latents, np.insert(factors, 0, 3, axis=1))
    assert score.value == pytest.approx(0.5)
    assert score.parts["best_factor"].tolist() == [1, 2]


def test_one_factor_is_undefined_and_says_so():
    latents, factors = toy(7)
    score = modularity(latents, factors[:, 0])
    assert np.isnan(score.value)
    assert "one factor" in score.parts["notes"][0]


def test_a_negative_min_mi_is_refused():
    with pytest.raises(UnknotError, match="min_mi is -1"):
        modularity(*toy(5), min_mi=-1)
