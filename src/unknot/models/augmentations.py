"""Changes to training images that leave their labels as they are.

    noise       Gaussian, of standard deviation 0.05
    blur        Gaussian, of a standard deviation up to 1.5 pixels
    brightness  times 0.7 to 1.3
    contrast    distances from the mean times 0.7 to 1.3
    colour      each channel times 0.7 to 1.3
    flip        left and right swapped, half of the time
    shift       up to 6 % of the width in both directions
    rotation    up to 15 degrees
    scale       0.85 to 1.15 times as large
    shear       rows pushed sideways by up to 0.2 of their height above the middle
    erase       a square of a quarter of the width set to the mean

Several are joined by "+", such as "noise+shift", and applied in that order. The draws of each image are its own. Where
a factor is a position, an angle or a colour, moving or recolouring the image makes its label wrong by that much,
which is what such an experiment is about.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from unknot.errors import unknown

Draw = Callable[..., Tensor]  # draw(low, high): one number for each image, (b, 1, 1, 1)


def check_augmentation(model: str, text: str) -> None:
    """An error if one of the names is not known."""
    for name in _names(text):
        if name not in AUGMENTATIONS:
            raise unknown(f"augmentation of {model}", name, ("none", *AUGMENTATIONS), field="augmentation")


def augment(images: Tensor, text: str, generator: torch.Generator) -> Tensor:
    """Images (b, c, h, w) in [0, 1] changed as the text says; the generator decides how much.

    >>> images = torch.rand(4, 3, 32, 32)
    >>> augment(images, "none", torch.Generator()) is images
    True
    >>> augment(images, "noise+shift", torch.Generator().manual_seed(0)).shape
    torch.Size([4, 3, 32, 32])
    """

    def draw(low: float, high: float, *, channels: int = 1) -> Tensor:
        share = torch.rand((len(images), channels, 1, 1), generator=generator, device=generator.device)
        return low + (high - low) * share.to(images.device)

    for name in _names(text):
        if name == "noise":  # one number for each pixel, not for each image
            noise = torch.randn(images.shape, generator=generator, device=generator.device)
            images = (images + 0.05 * noise.to(images.device)).clamp(0, 1)
        else:
            images = AUGMENTATIONS[name](images, draw).clamp(0, 1)
    return images


def _names(text: str) -> list[str]:
    return [] if text == "none" else [name.strip() for name in text.split("+")]


def _blur(images: Tensor, draw: Draw) -> Tensor:
    at = torch.arange(-4, 5, device=images.device)
    kernel = torch.exp(-0.5 * (at / draw(0.1, 1.5).view(-1, 1)).pow(2))
    kernel = kernel / kernel.sum(1, keepdim=True)
    b, c, h, w = images.shape
    # Every image has a kernel of its own: images become the groups of one convolution, channels its batch.
    rows = functional.pad(images.transpose(0, 1), (4, 4, 4, 4), mode="replicate")
    rows = functional.conv2d(rows, kernel.view(b, 1, 1, 9), groups=b)
    return functional.conv2d(rows, kernel.view(b, 1, 9, 1), groups=b).transpose(0, 1).reshape(b, c, h, w)


def _contrast(images: Tensor, draw: Draw) -> Tensor:
    mean = images.mean((1, 2, 3), keepdim=True)
    return mean + draw(0.7, 1.3) * (images - mean)


def _flip(images: Tensor, draw: Draw) -> Tensor:
    return torch.where(draw(0, 1) < 0.5, images.flip(3), images)


def _rotation(images: Tensor, draw: Draw) -> Tensor:
    angle = draw(-math.pi / 12, math.pi / 12).flatten()
    return _moved(images, angle.cos(), angle.sin(), torch.zeros_like(angle), torch.zeros_like(angle))


def _shift(images: Tensor, draw: Draw) -> Tensor:
    x, y = draw(-0.12, 0.12).flatten(), draw(-0.12, 0.12).flatten()  # of half the width
    return _moved(images, torch.ones_like(x), torch.zeros_like(x), x, y)


def _scale(images: Tensor, draw: Draw) -> Tensor:
    size = draw(0.85, 1.15).flatten()
    return _moved(images, 1 / size, torch.zeros_like(size), torch.zeros_like(size), torch.zeros_like(size))


def _shear(images: Tensor, draw: Draw) -> Tensor:
    slope = draw(-0.2, 0.2).flatten()
    one, zero = torch.ones_like(slope), torch.zeros_like(slope)
    return _warped(images, torch.stack([torch.stack([one, slope, zero], 1), torch.stack([zero, one, zero], 1)], 1))


def _moved(images: Tensor, cosine: Tensor, sine: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Images turned, scaled and shifted."""
    theta = torch.stack([torch.stack([cosine, -sine, x], 1), torch.stack([sine, cosine, y], 1)], 1)
    return _warped(images, theta)


def _warped(images: Tensor, theta: Tensor) -> Tensor:
    """Images under affine maps (b, 2, 3); what comes in at the border repeats it."""
    grid = functional.affine_grid(theta, list(images.shape), align_corners=False)
    return functional.grid_sample(images, grid, padding_mode="border", align_corners=False)


def _erase(images: Tensor, draw: Draw) -> Tensor:
    height, width = images.shape[2:]
    side = max(1, width // 4)
    top, left = (draw(0, size - side).round() for size in (height, width))
    row = torch.arange(height, device=images.device).view(1, 1, -1, 1)
    column = torch.arange(width, device=images.device).view(1, 1, 1, -1)
    inside = (row >= top) & (row < top + side) & (column >= left) & (column < left + side)
    return torch.where(inside, images.mean((2, 3), keepdim=True), images)


AUGMENTATIONS: dict[str, Callable[[Tensor, Draw], Tensor]] = {
    "noise": lambda images, draw: images,  # see `augment`
    "blur": _blur,
    "brightness": lambda images, draw: images * draw(0.7, 1.3),
    "contrast": _contrast,
    "colour": lambda images, draw: images * draw(0.7, 1.3, channels=images.shape[1]),
    "flip": _flip,
    "shift": _shift,
    "rotation": _rotation,
    "scale": _scale,
    "shear": _shear,
    "erase": _erase,
}
