"""Objects that stand alone, cut out of their scenes with their edges and shadows.

Where a piece of foreground belongs to one slot, is compact and touches no edge of the image, it is one object and its
outline is known, even if slots draw poor borders between objects that touch.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.students.ground import Colours, fitted_ground

OWN = 0.97  # share of its pixels that one slot has
COMPACT = 0.88  # share of its convex hull that it fills
LONG = 1.7  # its longer side, of the shorter one, at most
LEAST = 12 / 64**2  # of the image
MARGIN = 6 / 64  # of the image: how far its shadow is looked for
FADE = 3 / 64  # over which the shadow ends
LIGHTEST, DARKEST, FAINTEST = 1.0, 0.2, 0.3  # bounds of a shadow, and of how far an edge pixel is the object's

BLACK = 0.02  # a channel of the ground that is no lighter tells nothing of shadows

Mask = NDArray[np.bool_]
Place = tuple[slice, slice]


@dataclass(frozen=True, eq=False)
class CutOut:
    """An object that can be pasted into another scene.

    Attributes:
        scene: number of the image it is from.
        corner: row and column of the mask's first pixel there.
        mask: (h, w), its pixels.
        colours: (h, w, c), what it adds to a pixel; 0 outside of the mask.
        cover: (h, w), how far it hides what is behind; below 1 at its edge.
        shade: what the ground around it is multiplied by; it reaches further than the mask.
        margin: rows and columns that shade begins before the mask.
        look: mean and spread of its colours, (2c,).
    """

    scene: int
    corner: tuple[int, int]
    mask: Mask
    colours: Colours
    cover: NDArray[np.float32]
    shade: NDArray[np.float32]
    margin: tuple[int, int]
    look: NDArray[np.float32]

    @property
    def radius(self) -> float:
        """Half of its width."""
        return float(self.mask.shape[1] / 2)

    @property
    def foot(self) -> tuple[float, float]:
        """Row and column of where it stands: above its lowest point by a quarter of its width, as seen from above."""
        height, width = self.mask.shape
        return self.corner[0] + height - width / 4, self.corner[1] + width / 2

    @property
    def centre(self) -> tuple[float, float]:
        """Row and column of the mean of its pixels."""
        rows, columns = np.nonzero(self.mask)
        return self.corner[0] + float(rows.mean()), self.corner[1] + float(columns.mean())


def ground_slots(owners: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """The slot of the ground in each image of owners (n, h, w): the one that has most of the image's border.

    >>> ground_slots(np.array([[[2, 2, 2], [2, 1, 2], [2, 2, 0]]]))
    array([2])
    """
    border = np.concatenate([owners[:, 0], owners[:, -1], owners[:, :, 0], owners[:, :, -1]], axis=1)
    return np.array([np.bincount(row).argmax() for row in border], dtype=np.int64)


def lone_objects(owners: NDArray[np.integer[Any]], ground: int) -> list[tuple[Place, Mask]]:
    """Where one object stands alone, and its mask there: pieces of foreground of one slot, compact, inside the image.

    Args:
        owners: (h, w), the slot of each pixel.
        ground: the slot of the ground.
    """
    from scipy import ndimage

    foreground = owners != ground
    pieces, _ = ndimage.label(foreground, np.ones((3, 3)))
    found = []
    for number, place in enumerate(ndimage.find_objects(pieces), start=1):
        mask = pieces[place] == number
        sides = [(axis.start, axis.stop, length) for axis, length in zip(place, owners.shape, strict=True)]
        if any(start == 0 or stop == length for start, stop, length in sides):
            continue
        if mask.sum() < LEAST * owners.size or np.bincount(owners[place][mask]).max() < OWN * mask.sum():
            continue
        mask = ndimage.binary_fill_holes(mask)
        if max(mask.shape) <= LONG * min(mask.shape) and compactness(mask) >= COMPACT:
            found.append((place, mask))
    return found


def compactness(mask: Mask) -> float:
    """The share of its convex hull that a mask fills, corners of pixels counted in.

    >>> compactness(np.array([[True, True], [True, False]])).__round__(3)
    0.857
    """
    from scipy.spatial import ConvexHull

    rows, columns = np.nonzero(mask)
    corners = np.concatenate([np.stack([rows + i, columns + j], axis=1) for i in (0, 1) for j in (0, 1)])
    return float(mask.sum() / ConvexHull(np.unique(corners, axis=0)).volume)


def cut_out(image: Colours, foreground: Mask, ground: Colours, place: Place, mask: Mask, scene: int = 0) -> CutOut:
    """An object of an image, told apart from the ground at its edge, with its shadow.

    A pixel at the edge mixes object and ground: the share of the object is how far its colour has gone from that of the
    ground to that of the nearest pixel inside. The rest is taken away, so that no rim of the old ground is pasted.

    Args:
        image: (h, w, c) in [0, 1].
        foreground: (h, w), pixels of any object.
        ground: (h, w, c), the image without objects.
        place: where the mask lies.
        mask: the object's pixels there.
        scene: number of the image.
    """
    from scipy import ndimage

    seen, behind = image[place], ground[place]
    inside = ndimage.binary_erosion(mask, np.ones((3, 3)))
    if not inside.any():
        inside = mask
    nearest = ndimage.distance_transform_edt(~inside, return_distances=False, return_indices=True)
    way = seen[tuple(nearest)] - behind
    share = ((seen - behind) * way).sum(2) / np.maximum((way * way).sum(2), 1e-3)
    cover = np.where(inside, 1.0, share.clip(FAINTEST, 1)) * mask
    colours = (seen - (1 - cover[:, :, None]) * behind) * mask[:, :, None]
    shade, margin = _shadow(image, foreground, ground, place, mask)
    pixels = seen[mask]
    return CutOut(
        scene,
        (place[0].start, place[1].start),
        mask,
        colours.astype(np.float32),
        cover.astype(np.float32),
        shade.astype(np.float32),
        margin,
        np.concatenate([pixels.mean(0), pixels.std(0)]).astype(np.float32),
    )


def _shadow(
    image: Colours, foreground: Mask, ground: Colours, place: Place, mask: Mask
) -> tuple[NDArray[np.float64], tuple[int, int]]:
    """How much darker than the bare ground it is around an object, and where that patch begins before the mask."""
    from scipy import ndimage

    height, width = foreground.shape
    margin, fade = max(1, round(MARGIN * height)), FADE * height
    top, left = (max(0, axis.start - margin) for axis in place)
    patch = np.s_[top : min(height, place[0].stop + margin), left : min(width, place[1].stop + margin)]
    before = place[0].start - top, place[1].start - left
    own = np.zeros_like(foreground[patch])
    own[before[0] : before[0] + mask.shape[0], before[1] : before[1] + mask.shape[1]] = mask
    told = ground[patch] > BLACK
    ratios = np.where(told, image[patch] / np.maximum(ground[patch], BLACK), 0).sum(2) / told.sum(
        2, dtype=np.float32
    ).clip(1)
    lit = np.where(told.any(2), ratios, 1).clip(DARKEST, LIGHTEST)
    away = ndimage.distance_transform_edt(~own)
    others = foreground[patch] & ~own
    if others.any():  # where another object is as near, the shadow may be that one's
        lit = np.where(ndimage.distance_transform_edt(~others) < away + 1, 1, lit)
    shade = 1 + (lit - 1) * ((margin + 1 - away) / fade).clip(0, 1)
    return np.where(own, 1, shade), before


def cut_outs_of(
    image: Colours, owners: NDArray[np.integer[Any]], ground: int, scene: int
) -> tuple[list[CutOut], Colours]:
    """All objects that stand alone in an image, and its ground without objects."""
    foreground = owners != ground
    bare = fitted_ground(image, foreground)
    lone = lone_objects(owners, ground)
    return [cut_out(image, foreground, bare, place, mask, scene) for place, mask in lone], bare
