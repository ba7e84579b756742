"""Random views of images, a whole batch at a time, from one generator."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

GREY = (0.299, 0.587, 0.114)  # of red, green and blue in brightness
BLUR_RADIUS = 6  # pixels: three of the largest deviations


@dataclass(frozen=True)
class Augmentations:
    """How far a view may be from its image.

    Attributes:
        least_area: of the crop, as a share of the image; its aspect is between 3/4 and 4/3.
        jitter: how far brightness, contrast and saturation are scaled.
        hue: how far the hue is turned, in turns.
        jitter_share: how many views are jittered.
        grey_share: how many views lose their colour.
        blur_share: how many views are blurred, by a deviation of 0.1 to 2 pixels.
        flip_share: how many views are mirrored.
    """

    least_area: float = 0.2
    jitter: float = 0.4
    hue: float = 0.1
    jitter_share: float = 0.8
    grey_share: float = 0.2
    blur_share: float = 0.5
    flip_share: float = 0.5


AUGMENTATIONS = {
    "moco_v2": Augmentations(),
    # The ones above erase colour, size and place. These leave them, but for a little.
    "reduced": Augmentations(least_area=0.8, jitter=0.1, hue=0.0, grey_share=0.0, flip_share=0.0),
}


class Draws(NamedTuple):
    """Uniform numbers for a batch of views."""

    box: Tensor  # (b, 4): area, aspect, x, y
    levels: Tensor  # (b, 5): brightness, contrast, saturation, hue, blur
    coins: Tensor  # (b, 4): jitter, grey, blur, flip


def view(images: Tensor, how: Augmentations, generator: torch.Generator) -> Tensor:
    """One random view of each image (b, c, h, w) in [0, 1].

    Departs from MoCo's own: crops are resampled bilinearly without anti-aliasing, and brightness, contrast,
    saturation and hue change in this order and not in a random one.
    """
    numbers = torch.rand((len(images), 13), generator=generator, device=generator.device).to(images.device)
    draws = Draws(numbers[:, :4], numbers[:, 4:9], numbers[:, 9:])
    views = cropped(images, draws.box, draws.coins[:, 3] < how.flip_share, how.least_area)
    views = _where(draws.coins[:, 0] < how.jitter_share, jittered(views, draws.levels, how), views)
    if images.shape[1] == 3:
        views = _where(draws.coins[:, 1] < how.grey_share, brightness(views).expand_as(views), views)
    blurry = blurred(views, 0.1 + 1.9 * draws.levels[:, 4])
    return _where(draws.coins[:, 2] < how.blur_share, blurry, views)


def cropped(images: Tensor, box: Tensor, flipped: Tensor, least_area: float) -> Tensor:
    """Crops of images, scaled up to their size; some mirrored."""
    area = least_area + (1 - least_area) * box[:, 0]
    aspect = torch.exp((2 * box[:, 1] - 1) * math.log(4 / 3))
    width = (area * aspect).sqrt().clamp(max=1)
    height = (area / aspect).sqrt().clamp(max=1)
    # In the coordinates of `grid_sample` the image is [-1, 1], and a crop of width w has its middle within 1 - w of 0.
    x, y = (1 - width) * (2 * box[:, 2] - 1), (1 - height) * (2 * box[:, 3] - 1)
    zero = torch.zeros_like(x)
    across = torch.where(flipped, -width, width)
    affine = torch.stack([torch.stack([across, zero, x], 1), torch.stack([zero, height, y], 1)], 1)
    grid = functional.affine_grid(affine, list(images.shape), align_corners=False)
    return functional.grid_sample(images, grid, padding_mode="border", align_corners=False)


def jittered(images: Tensor, levels: Tensor, how: Augmentations) -> Tensor:
    """Images with other brightness, contrast, saturation and hue."""
    factors = 1 + how.jitter * (2 * levels[:, :3] - 1)
    bright, contrast, saturation = (factor.view(-1, 1, 1, 1) for factor in factors.T)
    images = (images * bright).clamp(0, 1)
    middle = brightness(images).mean((1, 2, 3), keepdim=True)
    images = (middle + contrast * (images - middle)).clamp(0, 1)
    if images.shape[1] != 3:
        return images
    grey = brightness(images)
    images = (grey + saturation * (images - grey)).clamp(0, 1)
    return turned(images, how.hue * (2 * levels[:, 3] - 1))


def brightness(images: Tensor) -> Tensor:
    """The brightness (b, 1, h, w) of images."""
    if images.shape[1] != 3:
        return images.mean(1, keepdim=True)
    weights = images.new_tensor(GREY).view(1, 3, 1, 1)
    return (images * weights).sum(1, keepdim=True)


def turned(images: Tensor, turns: Tensor) -> Tensor:
    """RGB images with their hue turned; grey pixels stay as they are, and so do lightest and darkest channel."""
    high, low = images.amax(1), images.amin(1)
    spread = high - low
    red, green, blue = images.unbind(1)
    safe = torch.where(spread > 0, spread, torch.ones_like(spread))
    sector = torch.where(
        high == red,
        (green - blue) / safe,
        torch.where(high == green, 2 + (blue - red) / safe, 4 + (red - green) / safe),
    )
    hue = sector + 6 * turns.view(-1, 1, 1)
    # With hue h in sixths of a turn, a channel is high - spread * max(0, min(k, 4 - k, 1)), k = (n + h) mod 6.
    steps = torch.stack([(hue + n) % 6 for n in (5, 3, 1)], dim=1)
    return high[:, None] - spread[:, None] * torch.minimum(steps, 4 - steps).clamp(0, 1)


def blurred(images: Tensor, sigma: Tensor) -> Tensor:
    """Images under Gaussians of their own deviations (b,), in pixels; edges are repeated."""
    b, channels, height, width = images.shape
    offsets = torch.arange(-BLUR_RADIUS, BLUR_RADIUS + 1, device=images.device)
    kernel = (-0.5 * (offsets / sigma[:, None]).square()).softmax(1)  # (b, taps), summing to one
    kernel = kernel.repeat_interleave(channels, 0)[:, None]
    flat = images.reshape(1, b * channels, height, width)
    edge = BLUR_RADIUS
    down = functional.conv2d(
        functional.pad(flat, (0, 0, edge, edge), mode="replicate"), kernel[..., None], groups=b * channels
    )
    across = functional.conv2d(
        functional.pad(down, (edge, edge, 0, 0), mode="replicate"), kernel[:, :, None], groups=b * channels
    )
    return across.view(b, channels, height, width)


def _where(chosen: Tensor, changed: Tensor, kept: Tensor) -> Tensor:
    return torch.where(chosen.view(-1, 1, 1, 1), changed, kept)
