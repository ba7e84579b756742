"""Images of a rendered world in a file, small and drawn once, for parts that train many runs on them."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

AT_ONCE = 500


def drawn(
    path: Path, world: Any, classes: NDArray[Any], pixels: int, rng: np.random.Generator | None = None
) -> Path:
    """The file of a world's images of these classes, averaged to so many pixels; made if it is not here."""
    from unknot.runs.batches import as_tensor

    if path.is_file():
        return path
    images = np.empty((len(classes), pixels, pixels, world.image_shape[-1]), np.uint8)
    for at in range(0, len(classes), AT_ONCE):
        small = as_tensor(world.images(classes[at : at + AT_ONCE], rng=rng), pixels)
        images[at : at + AT_ONCE] = (255 * small).round().byte().permute(0, 2, 3, 1).numpy()
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".part.npz")
    names, kinds = list(world.factors.names), [factor.kind for factor in world.factors]
    np.savez(beside, images=images, factors=classes, factor_names=names, factor_kinds=kinds)
    beside.replace(path)
    return path
