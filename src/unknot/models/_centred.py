"""Networks that look at one object in a frame of its own, and draw it there: where it is and how large are measured.

The frame is laid by the first two moments of what differs from the picture's border, so nothing of it is trained.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from unknot.models.model import Setting

PLACE, POSE = 2, 3  # latents that move, x and y; and with the one that zooms, the size
REACH = 2.0  # half a frame, in spreads of the object
SPREAD = 0.2  # of an object of middling size, where half a picture is 1
UNITS = (
    0.3,
    0.3,
    0.25,
)  # of x, y (half a picture is 1) and the logarithm of the size, so that measures are near N(0, 1)
TINY = 1e-6  # of what an empty picture lacks


class CentredEncoder(nn.Module):
    """A picture's object in its own frame through a body; beside what comes out stand x, y and size, as measured.

    Args:
        body: takes the frame's pixels and the three measures.
        side: of the frame, in pixels.
    """

    def __init__(self, body: nn.Module, side: int) -> None:
        super().__init__()
        self.body, self.side = body, side

    def forward(self, images: Tensor) -> Tensor:
        """The body's units and the measures (b, units + 3) of images (b, c, h, w)."""
        x, y, spread = measured(images)
        pose = torch.stack([x, y, (spread / SPREAD).log()], 1) / x.new_tensor(UNITS)
        seen = moved(images, REACH * spread, x, y, self.side).flatten(1)
        return torch.cat([self.body(torch.cat([seen, pose], 1)), pose], 1)


class CentredDecoder(nn.Module):
    """A picture drawn in the frame of its object, on a plain ground, then moved and zoomed.

    The first two latents move and do nothing else, the third zooms, each by a factor and an offset of its own; what is
    drawn depends on the third, since a small object has softer edges, and on all others. That builds in the two axes of
    the picture and the size: scores of these three latents owe much to it.

    Args:
        setting: what to build for.
        body: takes the latents but two, and draws the frame's pixels and the ground.
        side: of the frame, in pixels.
        ground: output that the ground starts from.
    """

    def __init__(self, setting: Setting, body: nn.Module, side: int, ground: float) -> None:
        super().__init__()
        self.body, self.pixels = body, setting.pixels
        self.shape = (setting.channels, side, side)
        self.units, self.offset = nn.Parameter(torch.tensor(UNITS)), nn.Parameter(torch.zeros(POSE))
        self.ground = nn.Parameter(torch.full((setting.channels,), ground))

    def forward(self, latents: Tensor) -> Tensor:
        """Output (b, c, h, w) before any squashing."""
        x, y, size = (latents[:, :POSE] * self.units + self.offset).float().unbind(1)
        channels = self.shape[0]
        drawn = self.body(latents[:, PLACE:]).float()
        object_, ground = drawn[:, channels:].unflatten(1, self.shape), drawn[:, :channels] + self.ground
        zoom = 1 / (REACH * SPREAD * size.clamp(-1, 1).exp())  # from a third of the middling size to three times
        out: Tensor = moved(object_, zoom, -x * zoom, -y * zoom, self.pixels) + ground[:, :, None, None]
        return out


def measured(images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Where the object of each image is, x and y in [-1, 1], and its spread: the root of its mean squared distance.

    Every pixel counts by how much it differs from the mean of the picture's border, which an object should not touch.

    >>> image = torch.zeros(1, 1, 8, 8)
    >>> image[0, 0, 1:3, 4:6] = 1
    >>> [round(float(number), 3) for number in measured(image)]
    [0.25, -0.5, 0.177]
    """
    height, width = images.shape[-2:]
    sides = [images[..., 0, :], images[..., -1, :], images[..., 0], images[..., -1]]
    border = torch.cat(sides, -1).mean(-1)[..., None, None]
    mass = (images - border).abs().sum(1) + TINY / (height * width)
    down, across = mass.sum(2), mass.sum(1)
    total = down.sum(1, keepdim=True)
    (x, xx), (y, yy) = (_moments(sums / total) for sums in (across, down))
    return x, y, (xx + yy).clamp_min(TINY).sqrt()


def _moments(shares: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance (b,) of where the shares (b, n) are, in [-1, 1]."""
    n = shares.shape[1]
    places = (2 * torch.arange(n, device=shares.device) + 1) / n - 1
    mean = shares @ places
    return mean, (shares * (places - mean[:, None]).square()).sum(1)


def moved(images: Tensor, zoom: Tensor, x: Tensor, y: Tensor, side: int) -> Tensor:
    """Images of `side` pixels whose point p shows what was at zoom p + (x, y), in [-1, 1]; zeros beyond the edges."""
    zero = torch.zeros_like(zoom)
    theta = torch.stack([torch.stack([zoom, zero, x], 1), torch.stack([zero, zoom, y], 1)], 1)
    grid = functional.affine_grid(theta, [len(images), 1, side, side], align_corners=False)
    return functional.grid_sample(images, grid, padding_mode="zeros", align_corners=False)
