"""Which latents mix factors, and which factors are held in parts."""

from typing import Any

import numpy as np
import pytest

from unknot.examples.misleading import misleading
from unknot.metrics.inputs import prepare
from unknot.scoring.factor_facts import dependence
from unknot.scoring.observed import Observed


def _observed(latents: Any, factors: Any) -> Observed:
    rows = prepare("test", latents, factors)
    return Observed(rows, np.ones(latents.shape[1], dtype=bool), dependence(rows))


@pytest.mark.parametrize(
    "name", ["independent factors", "ordered classes", "latents that differ", "informed latents"]
)
def test_a_latent_for_each_factor_is_neither_mixed_nor_split(name: str) -> None:
    observed = _observed(*misleading(name))
    assert not observed.mixed and not observed.split


def test_mixtures_are_mixed_and_digits_split_even_in_few_rows() -> None:
    assert _observed(*misleading("unmixed latents")).mixed
    assert len(_observed(*misleading("one latent for each factor")).split) == 3
    factors = np.random.default_rng(0).integers(0, 12, size=(250, 3))
    digits = np.hstack([np.stack(np.divmod(column, 4), axis=1) for column in factors.T])
    latents = digits + 0.02 * np.random.default_rng(1).normal(size=digits.shape)
    assert len(_observed(latents, factors).split) == 3


def test_a_low_score_of_a_mixture_is_no_reason_to_warn() -> None:
    from unknot import Representation
    from unknot.scoring.scoring import plan

    latents, factors = misleading("independent factors")
    mixture = latents @ np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    for code, warned in ((latents, True), (mixture, False)):
        advice = plan(Representation(code, factors), metrics=["mig", "mig_sup"]).advice
        assert ("independent factors" in {each.assumption for each in advice}) is warned
