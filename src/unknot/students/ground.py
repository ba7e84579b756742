"""What a scene would look like without its objects: a smooth surface of colours."""

import numpy as np
from numpy.typing import NDArray

DEGREE = 3
SHADOW = 0.02  # how far below the surface a pixel of the ground may lie before it is taken for a shadow
ROUNDS = 4

Colours = NDArray[np.float32]  # (h, w, c) in [0, 1]


def fitted_ground(image: Colours, objects: NDArray[np.bool_]) -> Colours:
    """The ground (h, w, c) of an image, also where objects stand: a cubic in the place, by least squares.

    Pixels of objects and those beside them are left out; so are, round by round, pixels darker than the surface.

    Args:
        image: (h, w, c) in [0, 1].
        objects: (h, w), which pixels are of objects.
    """
    from scipy import ndimage

    terms = _terms(*objects.shape)
    pixels = image.reshape(-1, image.shape[2]).astype(np.float64)
    kept = ~ndimage.binary_dilation(objects).ravel()
    surface = np.broadcast_to(pixels.mean(0), pixels.shape)
    for _ in range(ROUNDS):
        if kept.sum() < terms.shape[1]:
            break
        surface = terms @ np.linalg.lstsq(terms[kept], pixels[kept], rcond=None)[0]
        kept &= (pixels - surface).mean(1) > -SHADOW
    return surface.reshape(image.shape).clip(0, 1).astype(np.float32)


def _terms(height: int, width: int) -> NDArray[np.float64]:
    """Products of powers of y and x up to the degree, (h w, terms)."""
    y, x = np.meshgrid(np.linspace(-1, 1, height), np.linspace(-1, 1, width), indexing="ij")
    powers = [(x**i * y**j).ravel() for i in range(DEGREE + 1) for j in range(DEGREE + 1 - i)]
    return np.stack(powers, axis=1)
