"""Masks of slots from the pixels of the image: whose colour a pixel has, and whose the pixels around it are."""

import math

import torch
from torch import Tensor
from torch.nn import functional

SHADE = 0.1  # standard deviation of the colours, in images of [-1, 1], of pixels that belong together
SPREAD = 3 / 64  # standard deviation of their places, as a share of the image
REACH = 5 / 64  # how far a pixel looks, as a share of the image
ROUNDS = 6


def posterior(masks: Tensor, pictures: Tensor, images: Tensor, sigma: float) -> Tensor:
    """Log masks (n, k, h, w), but for a constant: a drawn mask times the density of the pixel around what is drawn.

    Args:
        masks: (n, k, h, w), as drawn.
        pictures: (n, k, c, h, w), what each slot draws.
        images: (n, c, h, w), as large.
        sigma: standard deviation of a pixel; 0 leaves masks as they are drawn.
    """
    if not sigma:
        return masks.log()
    return masks.log() - (pictures - images[:, None]).pow(2).sum(2) / (2 * sigma**2)


def smoothed(logits: Tensor, images: Tensor, strength: float) -> Tensor:
    """Masks (n, k, h, w) in which near pixels of like colour have the same slot: a mean field in six rounds.

    mask = softmax over slots of (logit + strength * mean over near pixels of (likeness * mask))
    likeness = exp(-|difference of colours|^2 / (2 * 0.1^2)), near pixels weighted by a bell of 3 pixels in 64

    So a border runs along an edge of the image where there is one, also between objects of one colour, which differ in
    shade. After Kraehenbuehl and Koltun 2011, Efficient Inference in Fully Connected CRFs, arXiv:1210.5644, with a disc
    in the place of all pixels.

    Args:
        logits: (n, k, h, w), log masks; -inf for slots that have no pixel.
        images: (n, c, h, w) in [-1, 1].
        strength: how far neighbours count; 0 gives the softmax of the logits.

    >>> edge = torch.tensor([-0.5, -0.5, -0.5, 0.5, 0.5, 0.5]).expand(1, 1, 6, 6)
    >>> one_too_far = torch.tensor([2.0, 2.0, 2.0, 0.5, -2.0, -2.0]).expand(6, 6)
    >>> logits = torch.stack([one_too_far, -one_too_far])[None]
    >>> smoothed(logits, edge, 0)[0].argmax(0)[0].tolist(), smoothed(logits, edge, 10)[0].argmax(0)[0].tolist()
    ([0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 1])
    """
    masks = logits.softmax(1)
    if not strength:
        return masks
    height, width = logits.shape[2:]
    reach, spread = max(1, round(REACH * height)), SPREAD * height
    line = range(-reach, reach + 1)
    near = [(y, x) for y in line for x in line if 0 < y * y + x * x <= reach * reach]
    bell = [math.exp(-(y * y + x * x) / (2 * spread**2)) for y, x in near]

    def moved(padded: Tensor, place: tuple[int, int]) -> Tensor:
        top, left = reach + place[0], reach + place[1]
        return padded[:, :, top : top + height, left : left + width]

    framed = functional.pad(images, (reach,) * 4, value=math.inf)  # nothing out there is like anything
    apart = [(moved(framed, place) - images).pow(2).sum(1, keepdim=True) for place in near]
    weights = [part / sum(bell) * torch.exp(-far / (2 * SHADE**2)) for part, far in zip(bell, apart, strict=True)]
    for _ in range(ROUNDS):
        padded = functional.pad(masks, (reach,) * 4)
        told = torch.zeros_like(masks)
        for place, weight in zip(near, weights, strict=True):
            told.addcmul_(weight, moved(padded, place))
        masks = (logits + strength * told).softmax(1)
    return masks
