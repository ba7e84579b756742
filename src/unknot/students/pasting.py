"""Scenes put together from objects that were cut out, so that every pixel's object is known.

Objects of like colours stand beside, before and behind each other near the rows where they stood, so that size, light
and perspective fit; the one that stands lower in the image is nearer and hides the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unknot.progress import Progress, silent
from unknot.students.cut_outs import CutOut
from unknot.students.ground import Colours

LIKE = 60  # cut-outs of nearest look, among which the objects of a scene are chosen
MEAN, SPREAD = 2.0, 1.0  # how far mean and spread of colours count for the likeness of looks
BESIDE = 0.75  # of objects are put beside another one, the others near their old place
GAP = (0.9, 1.9)  # how far from it, in sums of half widths
APART = 0.85  # sums of half widths that feet are apart at least, since solid things do not share a place
FORESHORTENED = 0.55  # a step on the ground away from the camera, in steps across
FARTHEST = (4 / 64, 16 / 64)  # rows and columns that an object is moved, at most
NEARBY = (3 / 64, 6 / 64)  # the same for objects that stay near their old place
TRIES = 40
SEEN, LEAST = 0.12, 7 / 64**2  # of its own pixels, and of the image: objects with less to be seen are left out


@dataclass(frozen=True)
class Put:
    """A cut-out by its number, and how far it is moved."""

    number: int
    down: int
    right: int


@dataclass(frozen=True)
class Pasted:
    """Scenes that were put together.

    Attributes:
        images: uint8 (n, h, w, c).
        owners: uint8 (n, h, w), the object of each pixel, 0 for the ground.
        centres: (n, most + 1, 2), row and column of the middle of each whole object; that of the ground is 0.
    """

    images: NDArray[np.uint8]
    owners: NDArray[np.uint8]
    centres: NDArray[np.float32]


class Paster:
    """Puts scenes together from cut-outs.

    Args:
        cut_outs: objects.
        grounds: of each scene that they are from, (h, w, c).
        objects: fewest and most that a scene is begun with.
    """

    def __init__(
        self, cut_outs: Sequence[CutOut], grounds: Sequence[Colours], objects: tuple[int, int] = (3, 6)
    ) -> None:
        from scipy.spatial import cKDTree

        self.cut_outs, self.grounds, self.objects = cut_outs, grounds, objects
        self.feet = [cut_out.foot for cut_out in cut_outs]
        self.radii = [cut_out.radius for cut_out in cut_outs]
        looks = np.stack([cut_out.look for cut_out in cut_outs])
        weights = np.repeat([MEAN, SPREAD], looks.shape[1] // 2) / np.maximum(looks.std(0), 1e-3)
        like = cKDTree(looks * weights).query(looks * weights, k=min(LIKE, len(looks)))[1]
        self.like = like.reshape(len(looks), -1)

    def arranged(self, rng: np.random.Generator) -> tuple[int, list[Put]]:
        """The scene whose ground it is, and which objects stand where, the farthest from the camera first."""
        side = len(self.grounds[0])
        first = int(rng.integers(len(self.cut_outs)))
        wanted = int(rng.integers(self.objects[0], self.objects[1] + 1))
        stood = [Put(first, *_moved(rng, side))]
        for _ in range(TRIES):
            if len(stood) >= wanted:
                break
            number = int(rng.choice(self.like[first]))
            put = self._beside(number, stood, rng) if rng.random() < BESIDE else Put(number, *_moved(rng, side))
            if put is not None and self._fits(put, stood):
                stood.append(put)
        return self.cut_outs[first].scene, sorted(stood, key=lambda put: self.feet[put.number][0] + put.down)

    def _beside(self, number: int, stood: list[Put], rng: np.random.Generator) -> Put | None:
        """An object at a place around one that is there already, if that is not far from its old one."""
        side = len(self.grounds[0])
        other = stood[int(rng.integers(len(stood)))]
        away, angle = rng.uniform(*GAP), rng.uniform(0, 2 * np.pi)
        away *= self.radii[number] + self.radii[other.number]
        row = self.feet[other.number][0] + other.down + away * FORESHORTENED * np.sin(angle)
        column = self.feet[other.number][1] + other.right + away * np.cos(angle)
        down, right = round(row - self.feet[number][0]), round(column - self.feet[number][1])
        near = abs(down) <= FARTHEST[0] * side and abs(right) <= FARTHEST[1] * side
        return Put(number, down, right) if near else None

    def _fits(self, put: Put, stood: list[Put]) -> bool:
        """Whether an object stands in the image, and in no other one."""
        row, column = self.feet[put.number][0] + put.down, self.feet[put.number][1] + put.right
        if not 0 <= column < self.grounds[0].shape[1]:
            return False
        for other in stood:
            down = (self.feet[other.number][0] + other.down - row) / FORESHORTENED
            across = self.feet[other.number][1] + other.right - column
            if np.hypot(down, across) < APART * (self.radii[other.number] + self.radii[put.number]):
                return False
        return True

    def composed(
        self, stood: Sequence[Put], ground: Colours
    ) -> tuple[Colours, NDArray[np.uint8], NDArray[np.float32]]:
        """The image (h, w, c), the object of each pixel (h, w), and centres (k + 1, 2), of objects from back to front.

        Of each other, shadows fall on the ground alone. Objects that are hidden are left out.
        """
        kept = self._seen(stood, ground.shape[:2])
        image = ground.astype(np.float32)
        for put in kept:
            one = self.cut_outs[put.number]
            there, of = _window(one, put, one.shade.shape, one.margin, image.shape[:2])
            image[there] *= one.shade[of][:, :, None]
        owners = np.zeros(image.shape[:2], dtype=np.uint8)
        centres = np.zeros((self.objects[1] + 1, 2), dtype=np.float32)
        for number, put in enumerate(kept, start=1):
            one = self.cut_outs[put.number]
            there, of = _window(one, put, one.mask.shape, (0, 0), image.shape[:2])
            image[there] = one.colours[of] + (1 - one.cover[of])[:, :, None] * image[there]
            owners[there][one.mask[of]] = number
            centres[number] = np.add(one.centre, (put.down, put.right))
        return image.clip(0, 1), owners, centres

    def _seen(self, stood: Sequence[Put], shape: tuple[int, ...]) -> list[Put]:
        """Those objects of which enough is seen."""
        owners = np.zeros(shape, dtype=np.int64)
        for number, put in enumerate(stood, start=1):
            one = self.cut_outs[put.number]
            there, of = _window(one, put, one.mask.shape, (0, 0), shape)
            owners[there][one.mask[of]] = number
        seen = np.bincount(owners.ravel(), minlength=len(stood) + 1)[1:]
        least = [max(LEAST * owners.size, SEEN * self.cut_outs[put.number].mask.sum()) for put in stood]
        return [put for put, pixels, needed in zip(stood, seen, least, strict=True) if pixels >= needed]

    def scenes(self, n: int, seed: int, progress: Progress = silent) -> Pasted:
        """So many scenes; the seed decides each of them."""
        rng, shape = np.random.default_rng([seed, 7]), self.grounds[0].shape
        images, owners = np.empty((n, *shape), np.uint8), np.empty((n, *shape[:2]), np.uint8)
        centres = np.zeros((n, self.objects[1] + 1, 2), dtype=np.float32)
        for i in range(n):
            scene, stood = self.arranged(rng)
            image, owners[i], centres[i] = self.composed(stood, self.grounds[scene])
            images[i] = np.rint(255 * image)
            if not (i + 1) % 256 or i + 1 == n:
                progress("pasting", i + 1, n)
        return Pasted(images, owners, centres)


def _moved(rng: np.random.Generator, side: int) -> tuple[int, int]:
    """A small move, in rows and columns."""
    down, right = (round(share * side) for share in NEARBY)
    return int(rng.integers(-down, down + 1)), int(rng.integers(-right, right + 1))


def _window(
    one: CutOut, put: Put, size: tuple[int, ...], before: tuple[int, int], shape: tuple[int, ...]
) -> tuple[tuple[slice, slice], tuple[slice, slice]]:
    """Where a patch of a cut-out lies in an image, and which part of it does."""
    there, of = [], []
    for corner, move, margin, length, whole in zip(
        one.corner, (put.down, put.right), before, size, shape, strict=True
    ):
        start = corner + move - margin
        inside = slice(min(max(0, start), whole), max(0, min(whole, start + length)))
        there.append(inside)
        of.append(slice(inside.start - start, inside.stop - start))
    return (there[0], there[1]), (of[0], of[1])
