"""What is in the scenes of a corpus as numbers: the perfect code of a tuple, and attributes of its objects."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.worlds.scenes.corpus import ROLES
from unknot.worlds.scenes.scene import ATTRIBUTES, FLOORS

F64 = NDArray[np.float64]
MOST = 8  # objects of a main scene
ORDER = ("size", "shape", "color", "material")
PLACE = 4  # x, y, cosine and sine of the yaw


def symbolic_codes(tuples: Sequence[Mapping[str, Any]], *, without: str = "") -> dict[str, F64]:
    """Role -> (n, d): a block for each object of the main scene, zeros where it is absent, and the background one-hot.

    Args:
        tuples: those of a corpus.
        without: an attribute that the code does not know, such as "color".
    """
    codes = {}
    for role in ROLES:
        objects, _, background = attributes(tuples, role, without=without)
        codes[role] = np.hstack([objects.reshape(len(objects), -1), background])
    return codes


def attributes(
    tuples: Sequence[Mapping[str, Any]], role: str, *, without: str = ""
) -> tuple[F64, NDArray[np.bool_], F64]:
    """Objects (n, 8, f) at their places in the main scene, which of them are there (n, 8), and backgrounds (n, g).

    An object is its size, shape, colour and material one-hot, then x, y, and cosine and sine of its yaw.
    """
    known = [name for name in ORDER if name != without]
    width = sum(len(ATTRIBUTES[name]) for name in known) + PLACE
    objects = np.zeros((len(tuples), MOST, width))
    present = np.zeros((len(tuples), MOST), dtype=np.bool_)
    backgrounds = np.zeros((len(tuples), len(FLOORS)))
    for i, record in enumerate(tuples):
        scene = record["scenes"][role]
        backgrounds[i, list(FLOORS).index(scene["background"])] = 1.0
        for thing, index in zip(scene["objects"], scene["indices"], strict=True):
            present[i, index] = True
            objects[i, index] = _numbers(thing, known)
    return objects, present, backgrounds


def _numbers(thing: Mapping[str, Any], known: Sequence[str]) -> list[float]:
    one_hot = [float(thing[name] == value) for name in known for value in ATTRIBUTES[name]]
    x, y, _ = thing["3d_coords"]
    return [*one_hot, x, y, math.cos(thing["rotation"]), math.sin(thing["rotation"])]
