"""The student's network: a U-Net from an image to votes, and what it learns from."""

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from unknot.students.votes import UNIT

WIDTHS = (32, 48, 64, 96)  # channels at a half, a quarter, an eighth and a sixteenth of the image's size
FINE, PASSED, LAST = 8, 16, 16  # channels at its full size
GROUPS = 8  # of GroupNorm
TYPICAL = 30 / 64**2  # of the image: pixels of larger objects count less than those of smaller ones


class Block(nn.Module):
    """Features and what two convolutions add to them."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(GROUPS, channels)
        self.first, self.second = (nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2))

    def forward(self, features: Tensor) -> Tensor:
        """Features (n, c, h, w)."""
        out: Tensor = features + self.second(functional.relu(self.first(functional.relu(self.norm(features)))))
        return out


class VoteNet(nn.Module):
    """Images (n, c, h, w) in [-1, 1] to (n, 3, h, w): a logit of being an object's pixel, and where its middle lies.

    The network works at half the size, where four pixels are one with their colours side by side and its place beside
    them, and smaller; one layer looks at the image as it is.

    Args:
        channels: of images.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.stem = nn.Conv2d(4 * channels + 2, WIDTHS[0], 3, padding=1)
        self.shrink = nn.ModuleList(nn.Conv2d(wide, narrow, 3, 2, 1) for wide, narrow in pairwise(WIDTHS))
        self.down, self.up = (nn.ModuleList(map(Block, widths)) for widths in (WIDTHS, WIDTHS[:-1]))
        self.lift = nn.ModuleList(nn.Conv2d(narrow, wide, 1) for wide, narrow in pairwise(WIDTHS))
        self.fine, self.passed = nn.Conv2d(channels, FINE, 3, padding=1), nn.Conv2d(WIDTHS[0], 4 * PASSED, 1)
        self.out = nn.Sequential(
            nn.ReLU(), nn.Conv2d(FINE + PASSED, LAST, 3, padding=1), nn.ReLU(), nn.Conv2d(LAST, 3, 1)
        )

    def forward(self, images: Tensor) -> Tensor:
        """Logits, and offsets in rows and columns, in units of an eighth of the image."""
        n, _, height, width = images.shape
        lines = (torch.linspace(-1, 1, side // 2, device=images.device) for side in (height, width))
        places = torch.stack(torch.meshgrid(*lines, indexing="ij")).expand(n, -1, -1, -1)
        features = self.stem(torch.cat([functional.pixel_unshuffle(images, 2), places], 1))
        skips = [self.down[0](features)]
        for shrink, block in zip(self.shrink, self.down[1:], strict=True):
            skips.append(block(shrink(functional.relu(skips[-1]))))
        features = skips.pop()
        for lift, block in zip(reversed(self.lift), reversed(self.up), strict=True):
            features = block(skips.pop() + functional.interpolate(lift(features), scale_factor=2))
        joined = torch.cat([functional.pixel_shuffle(self.passed(features), 2), self.fine(images)], 1)
        out: Tensor = self.out(joined)
        return out.float()


def vote_losses(out: Tensor, owners: Tensor, centres: Tensor) -> tuple[Tensor, Tensor]:
    """How wrong it is about which pixels are objects', and about where their middles lie.

    The first is a cross-entropy; the second the absolute error of offsets, so that the usual answer wins over an odd
    one, in which a pixel of an object of a pixels weighs as 1 / sqrt(a).

    Args:
        out: (n, 3, h, w), what the network says.
        owners: (n, h, w), the object of each pixel, 0 for the ground.
        centres: (n, k + 1, 2), rows and columns of their middles; the first is the ground's and is not looked at.
    """
    objects, side = owners > 0, owners.shape[1]
    which = functional.binary_cross_entropy_with_logits(out[:, 0], objects.float())
    lines = (torch.arange(length, device=out.device, dtype=out.dtype) for length in owners.shape[1:])
    places = torch.stack(torch.meshgrid(*lines, indexing="ij"))
    image = torch.arange(len(owners), device=out.device)[:, None, None]
    aims = (centres[image, owners].movedim(-1, 1) - places) / (UNIT * side)
    pixels = functional.one_hot(owners, centres.shape[1]).sum((1, 2)).clamp(min=1)
    weights = objects * (TYPICAL * side * side / pixels[image, owners]).sqrt()
    wrong = ((out[:, 1:] - aims).abs().mean(1) * weights).sum() / weights.sum().clamp(min=1e-6)
    return which, wrong
