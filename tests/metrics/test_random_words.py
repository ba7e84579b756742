"""Words that are kept are those a generator would draw, and leave it where it would be."""

import numpy as np
import pytest

from unknot.metrics.random_words import random_words


@pytest.mark.parametrize("before", [0, 1, 7])
@pytest.mark.parametrize("source", [np.random.PCG64, np.random.MT19937])
def test_words_and_what_follows_are_those_of_the_generator(
    before: int, source: type[np.random.PCG64 | np.random.MT19937]
) -> None:
    for _ in range(2):  # drawn, then kept
        ours, theirs = (np.random.Generator(source(3)) for _ in range(2))
        for rng in (ours, theirs):
            rng.integers(0, 5, size=before, dtype=np.uint32)  # an odd number leaves half a word over
        words = random_words(ours, (4, 3))
        assert np.array_equal(words, theirs.integers(0, 2**32, size=(4, 3), dtype=np.uint32))
        assert ours.integers(1000, size=5).tolist() == theirs.integers(1000, size=5).tolist()
