"""From votes of pixels for the middle of their object to objects: pixels whose votes meet are one object.

After Cheng et al. 2020, Panoptic-DeepLab, arXiv:1911.10194, with votes themselves in the place of a map of centres.
"""

import numpy as np
from numpy.typing import NDArray

REACH = 6 / 64  # of the image: votes within it are for the same object
LEAST = 6 / 64**2  # of the image: fewer votes are no object of their own
MOST = 12  # objects of an image
PAIRS = 4096  # votes that are compared with each other, at most: every so manieth of more
UNIT = 1 / 8  # of the image: what the network tells offsets in


def grouped(objects: NDArray[np.bool_], offsets: NDArray[np.floating]) -> NDArray[np.int64]:
    """The object of each pixel, (h, w), from 1; 0 for the ground.

    The place where votes are densest is an object, and those within reach are its own; then the densest of the others,
    until fewer than a few are left. Each pixel belongs to the object that is nearest to its vote.

    Args:
        objects: (h, w), which pixels are of objects.
        offsets: (2, h, w), rows and columns from each pixel to the middle of its object.

    >>> left = np.arange(64) < 20
    >>> objects = np.broadcast_to(left | (np.arange(64) > 40), (64, 64))
    >>> columns = np.where(left, 10, 50) - np.arange(64)
    >>> rows = 30 - np.arange(64)
    >>> offsets = np.stack([np.broadcast_to(rows[:, None], (64, 64)), np.broadcast_to(columns, (64, 64))])
    >>> grouped(objects, offsets)[5, [0, 19, 30, 63]].tolist()
    [2, 2, 0, 1]
    """
    owners, side = np.zeros(objects.shape, dtype=np.int64), len(objects)
    rows, columns = np.nonzero(objects)
    if not len(rows):
        return owners
    votes = np.stack([rows + offsets[0][objects], columns + offsets[1][objects]], axis=1).astype(np.float32)
    reach = (REACH * side) ** 2
    step = -(-len(votes) // PAIRS)
    some = votes[::step]
    squares = (some * some).sum(1)
    apart = (squares[:, None] + squares - 2 * some @ some.T).clip(0)  # squared distances of votes
    np.fill_diagonal(apart, 0)
    nearness = np.exp(-2 * apart / reach)
    density = nearness.sum(1)
    left = np.ones(len(some), dtype=bool)
    found: list[NDArray[np.floating]] = []
    while left.any() and len(found) < MOST:
        top = int(np.where(left, density, -1).argmax())
        near = left & (apart[top] < reach)
        left &= ~near
        if found and near.sum() * step < LEAST * objects.size:
            continue
        middle = nearness[top] @ some / density[top]
        found.append(middle)
        left &= ((some - middle) ** 2).sum(1) >= reach
    distances = ((votes[:, None] - np.stack(found)) ** 2).sum(2)
    owners[objects] = distances.argmin(1) + 1
    return owners
