"""Slot attention itself: inputs that compete for slots, slots that are refined by what they won."""

import math
import zlib

import torch
from torch import Tensor, nn

EPSILON = 1e-8  # added to attention, so that a slot which wins nothing still has a mean
LAYER_NORM = 1e-3  # of the reference framework; torch's own is 1e-5


class Grouping(nn.Module):
    """Iterative attention of k slots over n inputs.

    attention = softmax over slots of (key . query / sqrt(size))             (b, n, k)
    update    = mean of values, weighted by attention normalised over inputs  (b, k, size)
    slots     = GRU(update, slots);  slots = slots + MLP(LayerNorm(slots))

    Exchanging slots at the start exchanges them at the end; exchanging inputs changes nothing.

    Args:
        inputs: width of the inputs.
        size: width of a slot.
        hidden: units of the MLP.
        epsilon: of LayerNorm.

    Reference: Locatello et al. 2020, Object-Centric Learning with Slot Attention, arXiv:2006.15055, algorithm 1.
    """

    def __init__(self, inputs: int, size: int, hidden: int, *, epsilon: float = LAYER_NORM) -> None:
        super().__init__()
        self.norm_inputs = nn.LayerNorm(inputs, eps=epsilon)
        self.norm_slots = nn.LayerNorm(size, eps=epsilon)
        self.norm_mlp = nn.LayerNorm(size, eps=epsilon)
        self.query = nn.Linear(size, size, bias=False)
        self.key = nn.Linear(inputs, size, bias=False)
        self.value = nn.Linear(inputs, size, bias=False)
        self.cell = nn.GRUCell(size, size)
        self.mlp = nn.Sequential(nn.Linear(size, hidden), nn.ReLU(), nn.Linear(hidden, size))

    def forward(
        self, inputs: Tensor, slots: Tensor, iterations: int, *, implicit: bool = False, through: bool = False
    ) -> Tensor:
        """Slots (b, k, size) after some iterations over inputs (b, n, width).

        Args:
            inputs: what is grouped.
            slots: where they start.
            iterations: how often they are refined.
            implicit: let the gradient through the last iteration alone, taking the ones before for a solver that has
                arrived at a fixed point (Chang et al. 2022, arXiv:2207.00787).
            through: let it through the last iteration and on to where slots started, as if the ones between had changed
                nothing (Jia et al. 2023, Improving Object-centric Learning with Query Optimization, arXiv:2210.08990).
        """
        keys, values = self.projected(inputs)
        start = slots
        for iteration in range(iterations):
            last = iteration == iterations - 1
            if last and through:
                slots = slots.detach() + start - start.detach()
            elif last and implicit:
                slots = slots.detach()
            slots = self.step(keys, values, slots)
        return slots

    def projected(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """The keys and the values (b, n, size) of inputs."""
        normed = self.norm_inputs(inputs)
        return self.key(normed), self.value(normed)

    def step(self, keys: Tensor, values: Tensor, slots: Tensor, kept: Tensor | None = None) -> Tensor:
        """One iteration; only slots that are kept (b, k), if it is told which, win inputs."""
        weights = self.attention(keys, slots, kept)
        weights = weights / weights.sum(dim=1, keepdim=True)
        update = weights.transpose(1, 2) @ values.float()
        moved = self.cell(update.flatten(0, 1), slots.flatten(0, 1)).view_as(slots)
        changed: Tensor = moved + self.mlp(self.norm_mlp(moved)).float()
        return changed

    def attention(self, keys: Tensor, slots: Tensor, kept: Tensor | None = None) -> Tensor:
        """How far each input belongs to each slot, (b, n, k); sums to one over slots, but for an epsilon each."""
        query = self.query(self.norm_slots(slots)) * slots.shape[-1] ** -0.5
        # inputs last: a softmax over a short last axis is slow
        logits: Tensor = (query @ keys.transpose(1, 2)).float()
        if kept is not None:
            logits = logits.masked_fill(~kept[:, :, None], -math.inf)
        return (logits.softmax(dim=1) + EPSILON).transpose(1, 2)


def positions(size: int) -> Tensor:
    """The place of every pixel: y, x, 1 - y and 1 - x from 0 to 1, (4, size, size)."""
    line = torch.linspace(0, 1, size)
    y, x = torch.meshgrid(line, line, indexing="ij")
    return torch.stack([y, x, 1 - y, 1 - x])


def noise_of(images: Tensor, slots: int, size: int, *, shared: bool = False) -> Tensor:
    """Standard normal (n, slots, size) that depends on each image alone, so that its code is always the same.

    Args:
        images: (n, c, h, w) in [0, 1].
        slots: of each image.
        size: of a slot.
        shared: the same noise for all images. It lines up the slots of similar images, which a test of slots that
            are sets must not be given unasked.
    """
    levels = (images.detach().float().clamp(0, 1) * 255).round().to(torch.uint8).cpu().numpy()
    seeds = [0 if shared else zlib.crc32(image.tobytes()) for image in levels]
    drawn = [torch.randn(slots, size, generator=torch.Generator().manual_seed(seed)) for seed in seeds]
    return torch.stack(drawn).to(images.device)
