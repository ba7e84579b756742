"""A corpus of flat shapes seen from above: made at once, without a ray tracer, to try code on."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unknot.worlds.scenes.corpus import MASKED, ROLES, Corpus, write_corpus
from unknot.worlds.scenes.scene import ATTRIBUTES, COLORS, FLOORS, Scene, SceneObject
from unknot.worlds.scenes.tuples import COLORED, candidates, edits, role_scenes, tuple_record


def toy_corpus(folder: Path | str, *, n: int = 64, size: int = 32, seed: int = 0) -> Corpus:
    """Write and open a corpus of n tuples whose objects are flat shapes on a plain ground; later ones hide earlier.

    Cubes are squares, cylinders hexagon-like, spheres round; metal has a bright middle. All contracts of a rendered
    corpus hold but its looks: scenes, masks, negatives that differ in one thing.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     toy_corpus(folder, n=2, size=16).images.shape
    (2, 10, 16, 16, 3)
    """
    images = np.zeros((n, len(ROLES), size, size, 3), dtype=np.uint8)
    masks = np.zeros((n, len(MASKED), size, size), dtype=np.uint8)
    tuples = []
    for i in range(n):
        rng = np.random.default_rng([seed, i])
        main = _scatter(rng)
        choices = candidates(len(main.objects))
        parts = choices[rng.integers(len(choices))]
        background = COLORED[rng.integers(len(COLORED))]
        shown: dict[str, tuple[Scene, tuple[int, ...]]] = {
            role: (scene, parts.roles()[role]) for role, scene in role_scenes(main, parts, background).items()
        }
        changes = {}
        for negative in ROLES[4:]:
            edit = next(edits(main, parts, negative, rng, published=False))
            shown[negative], changes[negative] = (edit.scene, edit.indices), edit.change
        for j, role in enumerate(ROLES):
            image, mask = _paint(*shown[role], size)
            images[i, j] = image
            if j < len(MASKED):
                masks[i, j] = mask
        tuples.append(tuple_record(shown, parts, changes, 0))
    return write_corpus(folder, images, masks, tuples, seed=seed, variant="toy", settings={})


def _scatter(rng: np.random.Generator) -> Scene:
    """7 or 8 objects, one in each of nine fields, so that none is hidden whole."""
    fields = rng.permutation(9)[: rng.integers(7, 9)]
    objects = []
    for field in fields:
        x, y = (float(2 * v - 2 + rng.uniform(-0.3, 0.3)) for v in divmod(int(field), 3))
        words = {name: known[rng.integers(len(known))] for name, known in ATTRIBUTES.items()}
        objects.append(SceneObject(**words, x=x, y=y, rotation=float(rng.uniform(0, 360))))
    return Scene(tuple(objects))


def _paint(scene: Scene, indices: tuple[int, ...], size: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    image = np.full((size, size, 3), FLOORS[scene.background], dtype=np.uint8)
    mask = np.zeros((size, size), dtype=np.uint8)
    x, y = np.meshgrid(*2 * [(np.arange(size) + 0.5) / size * 6.6 - 3.3], indexing="ij")
    for thing, index in zip(scene.objects, indices, strict=True):
        dx, dy = np.abs(x - thing.x), np.abs(y - thing.y)
        away = {"cube": np.maximum(dx, dy), "sphere": np.hypot(dx, dy), "cylinder": np.maximum(dx, dx / 2 + dy)}
        inside = away[thing.shape] <= thing.radius * 1.3
        color = np.array(COLORS[thing.color], dtype=np.float64)
        image[inside] = color
        if thing.material == "metal":
            image[away[thing.shape] <= thing.radius * 0.7] = 255 - (255 - color) * 0.4
        mask[inside] = index + 1
    return image, mask
