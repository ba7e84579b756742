import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.metrics.score import Score
from unknot.metrics.snc import snc
from unknot.metrics.subset import subset

WHOLE = Score(0.6, {"per_factor": np.array([0.9, 0.5, np.nan, 0.4]), "factor_names": ["shape", "x", "y", "size"]})


def test_mean_and_product_of_two_factors_by_hand():
    score = subset(WHOLE, ["size", "shape"])
    assert score.value == score.parts["mean"] == pytest.approx(0.65)
    assert score.parts["product"] == pytest.approx(0.36)
    assert subset(WHOLE, ["size", "shape"], product=True).value == pytest.approx(0.36)
    np.testing.assert_array_equal(score.parts["per_factor"], [0.4, 0.9])


def test_columns_may_be_given_by_number():
    assert subset(WHOLE, [3, 0]).value == pytest.approx(0.65)


def test_all_factors_give_the_score_itself():
    y = np.random.default_rng(0).integers(0, 3, size=(600, 3))
    whole = snc(y + np.random.default_rng(1).normal(scale=0.5, size=y.shape), y)
    assert subset(whole, range(3)).value == pytest.approx(whole.value)


def test_a_factor_without_a_value_is_left_out_and_named():
    score = subset(WHOLE, ["y", "x"])
    assert score.value == 0.5
    assert score.parts["notes"] == ["factor 'y' has no value and was left out."]
    assert np.isnan(subset(WHOLE, ["y"]).value)


@pytest.mark.parametrize(
    ("factors", "match"),
    [(["shap"], "did you mean 'shape'"), ([4], "column 4 does not exist"), ([], "no factor"), (["x", 1], "twice")],
)
def test_wrong_factors_are_refused(factors, match):
    with pytest.raises(UnknotError, match=match):
        subset(WHOLE, factors)


def test_a_score_without_values_per_factor_is_refused():
    with pytest.raises(UnknotError, match="no value per factor; its parts are per_latent"):
        subset(Score(0.1, {"per_latent": [0.1]}), [0])
