"""Finding room for objects on the floor, compiled: thousands of placements are tried for every scene that is kept."""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

Table = NDArray[np.float64]


# What a floor asks: its half side, the gap between bounding circles, the margin along each ground axis of the camera,
# what |x + y| may not exceed, and one of those axes; the other is perpendicular. A NamedTuple is slower to hand over.
Floor = tuple[float, float, float, float, tuple[float, float]]


@njit(cache=True)
def place(radii: Table, stream: Table, tries: int, spread: float, floor: Floor, places: Table) -> bool:
    """Write the places (n, 2) of objects with these radii; False if one found no room in so many tries.

    `stream` holds numbers in (-1, 1), two for each try. With `spread` > 0 the objects after the first are proposed
    around it, within `spread` times the floor's half side.
    """
    reach, gap, margin, corner, (right_x, right_y) = floor
    used = 0
    for i in range(len(radii)):
        failed = 0
        while True:
            if used == len(stream) or failed == tries:
                return False
            x, y = reach * stream[used, 0], reach * stream[used, 1]
            used += 1
            if i > 0 and spread > 0.0:
                x, y = places[0, 0] + spread * x, places[0, 1] + spread * y
                if max(abs(x), abs(y)) >= reach:
                    continue
            # Six decimals, so that a scene and its JSON are the same numbers.
            x, y = math.floor(x * 1e6 + 0.5) / 1e6, math.floor(y * 1e6 + 0.5) / 1e6
            fits = True
            for j in range(i):
                dx, dy = x - places[j, 0], y - places[j, 1]
                along, across = abs(dx * right_x + dy * right_y), abs(dy * right_x - dx * right_y)
                close = math.sqrt(dx * dx + dy * dy) - radii[i] - radii[j] < gap
                if close or 0.0 < along < margin or 0.0 < across < margin or abs(x + y) > corner:
                    fits = False
                    break
            if fits:
                break
            failed += 1
        places[i, 0], places[i, 1] = x, y
    return True
