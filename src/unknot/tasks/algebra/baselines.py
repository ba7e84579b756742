"""Codes that every encoder is shown beside: pixels, slots from the true masks, and what is in the scenes as numbers."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.tasks.algebra.quadruples import CorpusTuples, Tuples
from unknot.worlds.scenes.corpus import MASKED, ROLES, Corpus
from unknot.worlds.scenes.scene import ATTRIBUTES, FLOORS

F64 = NDArray[np.float64]
MOST = 8  # objects of a main scene
ORDER = ("size", "shape", "color", "material")
SLOTS = 7  # an image shows five objects at most; with the background, one slot stays blank at least
LABELS = 9  # of a main scene: the background and up to eight objects
CHUNK = 64  # tuples
PLACE = 4  # x, y, cosine and sine of the yaw


class Pixels:
    """Images of one role as codes (n, h w c), read when they are asked for: whole corpora do not fit into memory."""

    dtype = np.dtype(np.uint8)

    def __init__(self, tuples: Tuples, role: str) -> None:
        self.tuples, self.role = tuples, role
        self.shape = len(tuples), math.prod(tuples.image_shape)

    def __getitem__(self, rows: NDArray[np.int64]) -> NDArray[np.uint8]:
        return self.tuples.images(rows, self.role).reshape(len(rows), -1)


def pixel_codes(tuples: Tuples) -> dict[str, Any]:
    """Images themselves as codes; without the pixel negative, which they satisfy by construction."""
    return {role: Pixels(tuples, role) for role in tuples.roles}


def baselines(tuples: Tuples, *, seed: int, full: bool) -> dict[str, Callable[[], Mapping[str, Any]]]:
    """Name -> codes of what every encoder is shown beside; if `full`, also those that say the same of every corpus.

    The seed is that of the projection.
    """
    rows: dict[str, Callable[[], Mapping[str, Any]]] = {"pixels": lambda: pixel_codes(tuples)}
    if not isinstance(tuples, CorpusTuples):
        return rows
    from unknot.worlds.scenes.making import VARIANTS

    corpus = tuples.corpus

    def projected() -> Mapping[str, Any]:
        codes = symbolic_codes(corpus.tuples)
        width = codes["A"].shape[1]
        matrix = np.random.default_rng([seed, 1]).normal(size=(width, width)) / math.sqrt(width)
        return {role: code @ matrix for role, code in codes.items()}

    if corpus.info.get("variant") in VARIANTS:  # masks of negatives, which it does not keep, can be drawn again
        rows["slots from true masks"] = lambda: mask_slots(corpus)
    if full and corpus.has_scenes:
        rows["symbolic attributes"] = lambda: symbolic_codes(corpus.tuples)
        rows["random projection of symbolic attributes"] = projected
        rows["symbolic attributes without colour"] = lambda: symbolic_codes(corpus.tuples, without="color")
    if full:
        rows["constant code"] = lambda: {role: np.ones((len(tuples), 1)) for role in tuples.roles}
    return rows


def mask_slots(corpus: Corpus) -> dict[str, F64]:
    """Role -> (n, 7, 17) slots: moments of the pixels of each object and of the background.

    One small encoder, the same for every segment: colour, brightness, place, size and shape of its pixels (see
    `moments`). Slots without an object are zeros, and so is the slot of one that is hidden altogether. Objects come in
    the order of their number, so that one object lies in different slots of A and B, which matching has to mend.
    """
    return {
        role: np.concatenate([_role_slots(corpus, role, start) for start in range(0, len(corpus), CHUNK)])
        for role in ROLES
    }


def _role_slots(corpus: Corpus, role: str, start: int) -> F64:
    from unknot.tasks.algebra.moments import N_MOMENTS, segment_moments

    rows = slice(start, start + CHUNK)
    images = np.ascontiguousarray(corpus.images[rows, ROLES.index(role)])
    if role in MASKED:
        masks = np.ascontiguousarray(corpus.masks[rows, MASKED.index(role)])
    else:
        masks = _masks(corpus.tuples[rows], role, images.shape[1], images.shape[2])
    moments = np.empty((len(images), LABELS, N_MOMENTS))
    segment_moments(images, masks, moments)
    # Segments that are there first, in the order of their number.
    order = np.argsort(moments[:, :, 0] == 0, axis=1, kind="stable")[:, :SLOTS, None]
    return np.take_along_axis(moments, order, axis=1)


def _masks(tuples: Sequence[Mapping[str, Any]], role: str, height: int, width: int) -> NDArray[np.uint8]:
    from unknot.worlds.scenes.render import scene_masks
    from unknot.worlds.scenes.scene import read_scene

    records = [record["scenes"][role] for record in tuples]
    scenes = [read_scene(record) for record in records]
    labels = [[i + 1 for i in record["indices"]] for record in records]
    return scene_masks(scenes, height if height == width else (height, width), labels=labels)


def symbolic_codes(tuples: Sequence[Mapping[str, Any]], *, without: str = "") -> dict[str, F64]:
    """Role -> (n, d): a block for each object of the main scene, zeros where it is absent, and the background one-hot.

    `without` is an attribute that the code does not know, such as "color".
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


def object_properties(tuples: Sequence[Mapping[str, Any]]) -> tuple[dict[str, NDArray[Any]], NDArray[np.bool_]]:
    """Property -> (4 n, 8) of the objects of all A, then of all B, C and D; and which of the eight are there.

    Words are size, shape, colour and material, numbers the place on the floor.
    """
    scenes = [record["scenes"][role] for role in MASKED for record in tuples]
    shape = len(scenes), MOST
    properties: dict[str, NDArray[Any]] = {name: np.full(shape, "", dtype="U16") for name in ORDER}
    properties |= {name: np.zeros(shape) for name in ("x", "y")}
    present = np.zeros(shape, dtype=np.bool_)
    for i, scene in enumerate(scenes):
        for j, thing in enumerate(scene["objects"]):
            present[i, j] = True
            for name in ORDER:
                properties[name][i, j] = thing[name]
            properties["x"][i, j], properties["y"][i, j], _ = thing["3d_coords"]
    return properties, present


def _numbers(thing: Mapping[str, Any], known: Sequence[str]) -> list[float]:
    one_hot = [float(thing[name] == value) for name in known for value in ATTRIBUTES[name]]
    x, y, _ = thing["3d_coords"]
    return [*one_hot, x, y, math.cos(thing["rotation"]), math.sin(thing["rotation"])]
