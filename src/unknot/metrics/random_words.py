"""Random words that many draws of rows share: those of one seed are drawn once."""

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST = 2**21  # words that are kept for the next who draws them: 8 MB


def random_words(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.uint32]:
    """What `rng.integers` gives of 32 bits, not to be changed; drawn once for generators in the same state.

    A metric that is called on part after part of the rows starts from the same seed, and so comes to the same state.
    """
    state = rng.bit_generator.state
    if state["bit_generator"] != "PCG64" or math.prod(shape) > MOST:
        return rng.integers(0, 2**32, size=shape, dtype=np.uint32)
    at = state["state"]["state"], state["state"]["inc"], state["has_uint32"], state["uinteger"]
    words, after = _kept(at, shape)
    rng.bit_generator.state = after
    return words


@lru_cache(maxsize=1)
def _kept(at: tuple[int, int, int, int], shape: tuple[int, int]) -> tuple[NDArray[np.uint32], Mapping[str, Any]]:
    """Words from a state of PCG64 on, and the state after them."""
    source = np.random.PCG64()
    state, inc, has_half, half = at
    source.state = {
        "bit_generator": "PCG64",
        "state": {"state": state, "inc": inc},
        "has_uint32": has_half,
        "uinteger": half,
    }
    words = np.random.Generator(source).integers(0, 2**32, size=shape, dtype=np.uint32)
    words.flags.writeable = False
    return words, source.state
