import numpy as np

from unknot.statistics.places import in_words, places


def test_those_that_resamples_cannot_tell_apart_share_their_places() -> None:
    rng = np.random.default_rng(0)
    draws = np.array([3.0, 1.0, 1.02, 0.0])[:, None] + 0.1 * rng.normal(size=(4, 500))
    assert places(draws) == [(1, 1), (2, 3), (2, 3), (4, 4)]
    assert [in_words(place) for place in places(draws)] == ["1", "2-3", "2-3", "4"]


def test_one_without_scores_may_be_anywhere() -> None:
    draws = np.array([[2.0, 2.0], [np.nan, np.nan], [1.0, 1.0]])
    assert places(draws) == [(1, 2), (1, 3), (2, 3)]
