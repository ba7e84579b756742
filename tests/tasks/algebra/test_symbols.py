"""What is in the scenes of a corpus as numbers."""

import math

import numpy as np
import pytest

from unknot.tasks.algebra.symbols import attributes, symbolic_codes
from unknot.tasks.algebra.task import algebra
from unknot.worlds.scenes.corpus import ROLES


def test_symbolic_slots_in_random_order_lose_nothing(corpus):
    rng, codes = np.random.default_rng(0), {}
    for role in ROLES:
        objects, present, background = attributes(corpus.tuples, role)
        n, _, f = objects.shape
        slots = np.zeros((n, 7, f + background.shape[1]))
        for i in range(n):
            shown, where = np.flatnonzero(present[i]), rng.permutation(7)
            slots[i, where[: len(shown)], :f] = objects[i, shown]
            slots[i, where[len(shown)], f:] = background[i]
        codes[role] = slots
    result = algebra(codes, corpus, pictures=0)
    assert result.values["l2_coat"] == pytest.approx(1, abs=1e-9)
    assert result.values["acos_coat"] == pytest.approx(1, abs=1e-6)


def test_attributes_say_what_the_scene_says(corpus):
    objects, present, background = attributes(corpus.tuples, "B")
    scene = corpus.tuples[3]["scenes"]["B"]
    assert np.flatnonzero(present[3]).tolist() == scene["indices"]
    thing = scene["objects"][0]
    numbers = objects[3, scene["indices"][0]]
    assert numbers[:2].tolist() == [float(thing["size"] == "large"), float(thing["size"] == "small")]
    assert numbers[-4:].tolist() == pytest.approx(
        [*thing["3d_coords"][:2], math.cos(thing["rotation"]), math.sin(thing["rotation"])]
    )
    assert background[3].sum() == 1
    assert symbolic_codes(corpus.tuples)["A"].shape == (64, 8 * 19 + 6)
    assert symbolic_codes(corpus.tuples, without="color")["A"].shape == (64, 8 * 11 + 6)
