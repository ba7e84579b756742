"""How IODINE looks at its own reconstruction: the inputs of a refinement step, and the network that reads them."""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

CONSTANT = 0.5  # an input that never changes
SMALL = 1e-6  # beside the sum of densities in the posterior of masks


class Look(NamedTuple):
    """What a model made of images at one step, and how its loss would change.

    Attributes:
        pictures: (n, k, c, h, w) means of pixels.
        logits: (n, k, h, w) of masks.
        density: (n, k, h, w) log-density of the image under each slot.
        parameters: (n, k, 2 d) of the posterior.
        picture_gradient: of the loss of each image.
        logit_gradient: likewise.
        parameter_gradient: likewise.
    """

    pictures: Tensor
    logits: Tensor
    density: Tensor
    parameters: Tensor
    picture_gradient: Tensor
    logit_gradient: Tensor
    parameter_gradient: Tensor


def spatial_inputs(images: Tensor, look: Look) -> Tensor:
    """What a refinement step sees of every pixel, slot by slot: (n, k, 3 c + 9, h, w).

    Image, picture, mask logit, mask, posterior of the mask, two gradients, log-likelihood, log-likelihood less the one
    without the slot, y, x, and a constant. Gradients and likelihoods are normalised for each slot, and no gradient
    flows back through them.
    """
    n, k, channels, height, width = look.pictures.shape
    shape = (n, k, 1, height, width)
    density = look.density.exp()
    masks = look.logits.softmax(1)
    likelihood = (look.logits.log_softmax(1) + look.density).logsumexp(1, keepdim=True)
    lines = (torch.linspace(-1, 1, size, device=images.device) for size in (height, width))
    y, x = torch.meshgrid(*lines, indexing="ij")
    inputs = [
        images[:, None].expand(n, k, channels, height, width),
        look.pictures,
        look.logits[:, :, None],
        masks[:, :, None],
        (density / (density.sum(1, keepdim=True) + SMALL))[:, :, None],
        normed(look.picture_gradient, 3),
        normed(look.logit_gradient[:, :, None], 3),
        normed(likelihood[:, :, None], 3).expand(shape),
        normed((likelihood - without_each(look.logits, look.density))[:, :, None], 3),
        y.expand(shape),
        x.expand(shape),
        torch.full(shape, CONSTANT, device=images.device),
    ]
    return torch.cat(inputs, dim=2)


def flat_inputs(look: Look) -> Tensor:
    """What it sees of the posterior: parameters, their gradient, normalised, and a constant, (n, k, 4 d + 1)."""
    constant = torch.full_like(look.parameters[..., :1], CONSTANT)
    return torch.cat([look.parameters, normed(look.parameter_gradient, 1), constant], dim=-1)


def without_each(logits: Tensor, density: Tensor) -> Tensor:
    """The log-likelihood (n, k, h, w) of pixels if slot k were not there, and the others shared its pixels."""
    slots = range(logits.shape[1])
    if len(slots) == 1:
        return density
    likelihoods = []
    for left_out in slots:
        others = [slot for slot in slots if slot != left_out]
        likelihoods.append((logits[:, others].log_softmax(1) + density[:, others]).logsumexp(1))
    return torch.stack(likelihoods, dim=1)


def normed(values: Tensor, n_last: int) -> Tensor:
    """Values with mean 0 and variance 1 over their last dimensions, cut off from the gradient."""
    return functional.layer_norm(values.detach(), values.shape[-n_last:])


class Refinement(nn.Module):
    """Reads a look at all pixels of a slot and at its posterior, remembers, and says how to change the posterior."""

    def __init__(self, channels: int, parameters: int, width: int, hidden: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for i in range(4):
            inputs = 3 * channels + 9 if i == 0 else width
            layers += [nn.Conv2d(inputs, width, 3, stride=2, padding=1), nn.ELU()]
        self.body = nn.Sequential(
            *layers,
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(width, hidden),
            nn.ELU(),
            nn.Linear(hidden, hidden),
            nn.ELU(),
        )
        self.cell = nn.LSTMCell(hidden + 2 * parameters + 1, hidden)
        self.out = nn.Linear(hidden, parameters)

    def forward(
        self, images: Tensor, look: Look, memory: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """The change (n, k, 2 d) of the posterior's parameters, and what is remembered."""
        n, k = look.logits.shape[:2]
        features = self.body(spatial_inputs(images, look).flatten(0, 1)).float()
        state = self.cell(torch.cat([features, flat_inputs(look).flatten(0, 1)], dim=1), memory)
        return self.out(state[0]).float().unflatten(0, (n, k)), state
