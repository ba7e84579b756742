"""Which objects of a scene make a tuple A, B, C, D, how strongly they hide each other, and the hard negatives of D.

A main scene's objects are parted into three sets: A = P1, B = P1 + P2, C = P3, D = P3 + P2, so that B - A + C = D in
any code that adds up over objects. Each negative is D with one thing wrong.

Reference: Xie et al. 2022, COAT: Measuring Object Compositionality in Emergent Representations. Names are the
paper's; its published code calls A what the paper calls B.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.worlds.scenes.scene import ATTRIBUTES, BACKGROUNDS, SIZES, Scene, scene_json

# Number of objects -> sizes of P1, P2, P3. Bases have 3 or 4 objects, 1 or 2 are added.
PARTS: dict[int, tuple[tuple[int, int, int], ...]] = {
    7: ((3, 1, 3),),
    8: ((3, 1, 4), (3, 2, 3), (4, 1, 3)),
}
COLORED = tuple(name for name in BACKGROUNDS if name != "white")


@dataclass(frozen=True)
class Parts:
    """Indices into the main scene's objects."""

    base: tuple[int, ...]  # P1: what A shows
    added: tuple[int, ...]  # P2: what B has more than A, and D more than C
    other: tuple[int, ...]  # P3: what C shows

    def roles(self) -> dict[str, tuple[int, ...]]:
        """What A, B, C, D show, in the main scene's order."""
        return {
            "A": self.base,
            "B": tuple(sorted(self.base + self.added)),
            "C": self.other,
            "D": tuple(sorted(self.other + self.added)),
        }


@cache
def candidates(n: int) -> tuple[Parts, ...]:
    """Every way to part n objects (7 or 8).

    >>> len(candidates(7)), len(candidates(8))
    (140, 1120)
    """
    if n not in PARTS:
        raise UnknotError(f"tuples: a main scene has 7 or 8 objects, not {n}.")
    ways = []
    for first, second, _ in PARTS[n]:
        for base in combinations(range(n), first):
            rest = [i for i in range(n) if i not in base]
            for added in combinations(rest, second):
                ways.append(Parts(base, added, tuple(i for i in rest if i not in added)))
    return tuple(ways)


def occlusion_scores(histogram: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """For every candidate, the pixels in which the algebra of silhouettes breaks: sum |m_B - m_A + m_C - m_D|.

    m_X is 1 where image X shows any object. That sum counts the pixels covered by an added object and by exactly one of
    the two bases, so it follows from how many pixels each set of objects covers together.

    Args:
        histogram: (2^n,) pixels by coverage: bit i of the index says that object i alone would cover the pixel.
        n: objects.
    """
    scores: NDArray[np.int64] = _broken(n) @ histogram
    return scores


@cache
def _broken(n: int) -> NDArray[np.int64]:
    """(candidates, 2^n) 1 where pixels with that coverage break the algebra."""
    codes = np.arange(2**n)
    rows = []
    for parts in candidates(n):
        base, added, other = (
            codes & sum(1 << i for i in part) != 0 for part in (parts.base, parts.added, parts.other)
        )
        rows.append(added & (base ^ other))
    return np.array(rows, dtype=np.int64)


def role_scenes(main: Scene, parts: Parts, background: str) -> dict[str, Scene]:
    """Scenes of A, B (on `background`) and C, D (on white), with the main scene's camera and lamps."""
    return {
        role: replace(
            main,
            objects=tuple(main.objects[i] for i in indices),
            background=background if role in "AB" else "white",
        )
        for role, indices in parts.roles().items()
    }


@dataclass(frozen=True)
class Edit:
    """One negative: the scene, which main-scene object each of its objects is, and what was changed."""

    scene: Scene
    indices: tuple[int, ...]
    change: dict[str, Any]


def edits(
    main: Scene, parts: Parts, negative: str, rng: np.random.Generator, *, published: bool
) -> Iterator[Edit]:
    """Ways to get D wrong in one respect, in random order; take the first that can be seen.

    drop leaves out any object of D but the last. object puts one of A's, at its own place, for one of D's. color,
    material, shape and size change that attribute of one object, which keeps place and yaw.

    Args:
        main: scene with all objects.
        parts: which of them A, B, C, D show.
        negative: drop, object, color, material, shape or size.
        rng: decides the order.
        published: the i-th of shape, colour, material, size edits object i of D, as in the published code; else the
            object is drawn, and one that would grow into a neighbour is left out.
    """
    indices = parts.roles()["D"]
    scene = role_scenes(main, parts, "white")["D"]
    if negative == "drop":
        for k in rng.permutation(len(indices) - 1):
            kept = [i for i in range(len(indices)) if i != k]
            objects = tuple(scene.objects[i] for i in kept)
            yield Edit(replace(scene, objects=objects), tuple(indices[i] for i in kept), {"object": indices[k]})
    elif negative == "object":
        pairs = [(k, i) for k in range(len(indices)) for i in parts.base]
        for k, i in (pairs[p] for p in rng.permutation(len(pairs))):
            now = (*indices[:k], i, *indices[k + 1 :])
            objects = tuple(main.objects[j] for j in now)
            yield Edit(replace(scene, objects=objects), now, {"object": indices[k], "by": i})
    else:
        where = [list(ATTRIBUTES).index(negative)] if published else range(len(indices))
        choices = [
            (k, value)
            for k in where
            for value in ATTRIBUTES[negative]
            if value != getattr(scene.objects[k], negative)
        ]
        for k, value in (choices[p] for p in rng.permutation(len(choices))):
            if negative == "size" and not published and _would_touch(scene, k, SIZES[value]):
                continue
            before = scene.objects[k]
            changed = replace(before, **{negative: value})
            objects = (*scene.objects[:k], changed, *scene.objects[k + 1 :])
            change = {"object": indices[k], "from": getattr(before, negative), "to": value}
            yield Edit(replace(scene, objects=objects), indices, change)


def _would_touch(scene: Scene, k: int, radius: float) -> bool:
    thing = scene.objects[k]
    return any(
        np.hypot(thing.x - other.x, thing.y - other.y) < radius + other.radius
        for i, other in enumerate(scene.objects)
        if i != k
    )


def tuple_record(
    shown: dict[str, tuple[Scene, tuple[int, ...]]], parts: Parts, changes: dict[str, Any], score: int
) -> dict[str, Any]:
    """What tuples.json says of one tuple; relations between objects are left out, since they follow from places."""
    scenes = {}
    for role, (scene, indices) in shown.items():
        record = scene_json(scene, indices=list(indices))
        scenes[role] = {key: record[key] for key in ("indices", "objects", "background", "camera", "lights")}
    return {"scenes": scenes, "added": list(parts.added), "edits": changes, "score": score}
