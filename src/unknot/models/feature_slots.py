"""DINOSAUR: slots that explain the features of a frozen encoder together, instead of pixels."""

import math

import torch
from torch import Tensor, nn

from unknot.models._slot_grouping import Grouping, noise_of
from unknot.models._slot_networks import waves


class FeatureSlots(nn.Module):
    """Slot attention over features (n, t, w) of t places, and an MLP that draws features and a mask for each slot.

    loss = mean over places and features of (feature - sum_k mask_k feature_k)^2

    Features are standardised and brought to the size of slots by a linear map, to which one of their place is added, a
    LayerNorm and an MLP; attention refines slots that start as mu + exp(log_sigma) noise. Each slot is spread over all
    places, a linear map of the place is added, and an MLP of three hidden layers turns it into a feature and a logit;
    masks are softmaxes over slots.

    Args:
        mean: (w,) of the features.
        spread: (w,) their standard deviations.
        places: t, a square number.
        slots: how many.
        slot_size: numbers in a slot.
        iterations: of attention.
        hidden: units of the decoder's layers; the paper has 1,024 and more.

    Departs from the paper: attention is told places too, since features of windows do not know theirs; places are known
    by sines and cosines, where the paper learns a vector for each.
    Reference: Seitzer et al. 2023, Bridging the Gap to Real-World Object-Centric Learning, arXiv:2209.14860.
    """

    mean: Tensor
    spread: Tensor
    where: Tensor

    def __init__(
        self,
        mean: Tensor,
        spread: Tensor,
        places: int,
        *,
        slots: int,
        slot_size: int,
        iterations: int,
        hidden: int,
    ) -> None:
        super().__init__()
        width = len(mean)
        self.slots, self.slot_size, self.iterations = slots, slot_size, iterations
        self.register_buffer("mean", mean.float())
        self.register_buffer("spread", spread.float().clamp_min(1e-6))
        where = waves(math.isqrt(places)).flatten(0, 1)
        self.register_buffer("where", where, persistent=False)
        self.feature, self.place = nn.Linear(width, slot_size), nn.Linear(where.shape[1], slot_size)
        self.inputs = nn.Sequential(
            nn.LayerNorm(slot_size), nn.Linear(slot_size, slot_size), nn.ReLU(), nn.Linear(slot_size, slot_size)
        )
        self.grouping = Grouping(slot_size, slot_size, hidden=4 * slot_size)
        self.mu, self.log_sigma = (nn.Parameter(0.1 * torch.randn(slot_size)) for _ in range(2))
        self.drawn_place = nn.Linear(where.shape[1], slot_size)
        layers: list[nn.Module] = []
        for i in range(3):
            layers += [nn.Linear(hidden if i else slot_size, hidden), nn.ReLU()]
        self.decoder = nn.Sequential(*layers, nn.Linear(hidden, width + 1))

    def forward(self, features: Tensor, noise: Tensor) -> Tensor:
        """The slots (n, k, d) of features (n, t, w), from the noise (n, k, d) they start from."""
        inputs = self.inputs(self.feature((features - self.mean) / self.spread) + self.place(self.where))
        slots: Tensor = self.grouping(inputs, self.mu + self.log_sigma.exp() * noise, self.iterations)
        return slots

    def represent(self, features: Tensor, images: Tensor) -> Tensor:
        """The slots (n, k, d) of features; their noise depends on the images (n, c, h, w) in [0, 1] alone."""
        slots: Tensor = self(features, noise_of(images, self.slots, self.slot_size))
        return slots

    def decoded(self, slots: Tensor) -> tuple[Tensor, Tensor]:
        """What each slot draws, standardised features (n, k, t, w), and its share of every place, (n, k, t)."""
        out = self.decoder(slots[:, :, None] + self.drawn_place(self.where))
        return out[..., :-1], out[..., -1].softmax(1)

    def loss(self, features: Tensor, noise: Tensor) -> Tensor:
        """The squared error of the features that slots draw together."""
        drawn, masks = self.decoded(self(features, noise))
        error: Tensor = ((drawn * masks[..., None]).sum(1) - (features - self.mean) / self.spread).pow(2).mean()
        return error
