"""Slot attention: an autoencoder whose code is a set of slots that compete for the pixels of an image."""

import math
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from unknot.models._slot_choice import best_start, copies, merged
from unknot.models._slot_grouping import Grouping, noise_of
from unknot.models._slot_masks import posterior, smoothed
from unknot.models._slot_networks import slot_decoder, slot_encoder
from unknot.models._slot_options import SlotOptions
from unknot.models.model import Batch, DrawnSlots, Model, Player, Preset, Setting, Terms
from unknot.models.terms import warm_up_and_decay


class SlotAttention(Model):
    """Slots explain an image together: each draws a picture and a mask, and masks compete at every pixel.

    loss = mean over pixels of (image - sum_k mask_k picture_k)^2,   images in [-1, 1]

    Encoder: 5 x 5 convolutions, positions added, a LayerNorm and an MLP for each pixel. Slots start as
    mu + exp(log_sigma) noise, the same law for all, and are refined by attention (see `_slot_grouping`). Decoder:
    each slot is spread over a small square, positions added, and drawn by transposed convolutions that double it up
    to the size of the image; its mask is the softmax over slots of one more channel.

    Slots (n, k, d) are the representation. Their noise depends on the image alone, so that encoding is deterministic;
    `model.slots`, `model.iterations`, `model.test_starts`, `model.merge`, `model.mask_sigma` and `model.smooth` may be
    changed after training.

    | variant | options |
    |---|---|
    | reference, 128 pixels (890,308 weights) | the defaults |
    | reference for small images | `channels=32`, `broadcast` the image's size, `full_layers=3` |
    | small, for a CPU | `channels=32`, `stride=2`, `broadcast=16` (8 at 32 pixels), `full_layers=0` |
    | quick, for ray-traced scenes on a CPU (60,916 weights) | `quick`, `quick64`: a coordinate decoder, small targets |
    | the same, also for objects of one colour (72,317 weights) | `quick64_affine`: colours linear in the place |

    Args:
        setting: what to build for; `latents` and `architecture` are not used.
        slots: how many.
        slot_size: numbers in a slot.
        iterations: of attention.
        channels: of convolutions.
        stride: of the encoder's first convolution.
        broadcast: size of the square that a slot is spread over.
        full_layers: 5 x 5 layers of the decoder at the size of the image.
        activation: "relu", or "leaky_relu" as in Xie et al. 2022.
        learned: whether mu and log_sigma are learned; in the code of Xie et al. 2022 they stay as drawn.
        implicit: let the gradient through the last iteration alone.
        warm_up: steps over which the learning rate rises.
        half_life: steps over which it then halves, again and again; 0 never.
        clip: norm that gradients are cut back to; 0 leaves them.
        noise: "image", the noise of slots depends on the image; "shared", all images get the same.
        norm_epsilon: of LayerNorm: that of the reference framework, 0.001, or torch's, 1e-5.
        law_bound: mu and log_sigma are drawn between its negative and this; 0 is Glorot's for one row.
        kernels: sizes of the encoder's kernels, with commas.
        slot_decoder: "broadcast", or "mlp": an MLP from slot and place to colour and mask, which draws at any size; or
            "affine": round masks by such an MLP, and colours that are linear in the place, so that no slot draws an
            object and the ground around it. For scenes whose objects share a colour.
        straight: for "affine": steps after which an MLP may bend colours as well; it starts from nothing where the
            weights start as torch draws them.
        target: the loss compares pictures averaged to this many pixels, so that edges weigh less; 0 as they are.
        places: the loss compares so many pixels of the target, drawn anew at each step, which takes less time; 0 all.
            Not for "broadcast".
        start: "noise", or "queries": a learned start for each slot, with a straight-through gradient (Jia et al. 2023,
            arXiv:2210.08990). Slots of all images are lined up then, as by shared noise.
        test_iterations: of attention when images are encoded, if more than in training.
        test_starts: attention starts from so many draws of noise when images are encoded, and the slots that draw the
            image best are taken.
        merge: when images are encoded, slots within this half chord of an earlier one are merged with it, as COAT tells
            duplicates (0.15): one takes over what they shared, the others become copies of it and draw nothing. 0 keeps
            all. For other ways to as many slots as objects see Fan et al. 2024, arXiv:2406.09196.
        mask_sigma: the masks of images are posteriors of a mixture: a slot's mask times the density of the pixel around
            the colour the slot draws there, with this standard deviation in images of [-1, 1]. Their edges are those of
            the image, however coarse the target (Greff et al. 2017, Neural Expectation Maximization, arXiv:1708.03498).
            0 leaves masks as they are drawn.
        smooth: how far the masks of images are told by those of near pixels of like colour (see `_slot_masks`), so that
            borders run along edges of the image, also between objects of one colour; 0 not at all. Codes and what slots
            draw stay as they are.

    Reference: Locatello et al. 2020, Object-Centric Learning with Slot Attention, arXiv:2006.15055.
    """

    option_set: ClassVar[type] = SlotOptions
    later: ClassVar[tuple[str, ...]] = (
        "norm_epsilon",
        "law_bound",
        "kernels",
        "slot_decoder",
        "target",
        "start",
        "test_iterations",
        "test_starts",
        "merge",
        "places",
        "mask_sigma",
        "straight",
        "smooth",
    )
    presets: ClassVar[dict[str, Preset]] = {
        "reference": Preset(
            "Locatello et al. 2020, CLEVR6",
            fixed={"image_size": 128, "lr": 4e-4, "batch_size": 64, "steps": 500_000},
        ),
        "reference_small": Preset(
            "Locatello et al. 2020, Multi-dSprites",
            fixed={
                "slots": 6,
                "channels": 32,
                "broadcast": 64,
                "full_layers": 3,
                "image_size": 64,
                "lr": 4e-4,
                "batch_size": 64,
                "steps": 500_000,
            },
        ),
        "xie2022": Preset(
            "hydra_cfg/slot-attn.yaml of the code of Xie et al. 2022; 300 epochs of 23,000 images, as its checkpoints",
            fixed={
                "iterations": 4,
                "activation": "leaky_relu",
                "learned": False,
                "norm_epsilon": 1e-5,
                "law_bound": 0.2165,  # sqrt(6 / 128): Glorot's of a tensor (1, 1, 64)
                "init": "torch",
                "image_size": 128,
                "lr": 2e-4,
                "batch_size": 64,
                "steps": 108_000,
            },
        ),
        "quick": Preset(
            "ours, for ray-traced scenes of 32 pixels in ten minutes of one core; see docs/object_models.md",
            fixed={
                "slot_size": 48,
                "channels": 32,
                "kernels": "5,3,3",
                "stride": 2,
                "slot_decoder": "mlp",
                "target": 16,
                "test_iterations": 5,
                "warm_up": 200,
                "half_life": 0,
                "clip": 0.5,
                "init": "torch",
                "image_size": 32,
                "lr": 1e-3,
                "schedule": "cosine",
                "batch_size": 32,
                "precision": "bfloat16",
                "steps": 10_000,
            },
        ),
        "quick64": Preset(
            "ours, for ray-traced scenes of 64 pixels in ten minutes of one core; see docs/object_models.md",
            fixed={
                "slot_size": 48,
                "channels": 32,
                "kernels": "5,3,3",
                "stride": 4,
                "slot_decoder": "mlp",
                "target": 16,
                "places": 128,
                "test_iterations": 5,
                "test_starts": 4,
                "merge": 0.15,
                "mask_sigma": 0.1,
                "warm_up": 200,
                "half_life": 0,
                "clip": 0.5,
                "init": "torch",
                "image_size": 64,
                "lr": 1e-3,
                "schedule": "cosine",
                "batch_size": 32,
                "precision": "bfloat16",
                "steps": 12_000,
            },
        ),
        "quick64_affine": Preset(
            "ours, for scenes of 64 pixels, also of objects that share a colour; see docs/object_models.md",
            fixed={
                "slot_size": 48,
                "channels": 32,
                "kernels": "5,3,3",
                "stride": 4,
                "slot_decoder": "affine",
                "straight": 2_500,
                "target": 16,
                "places": 128,
                "test_iterations": 5,
                "test_starts": 4,
                "merge": 0.15,
                "mask_sigma": 0.2,
                "smooth": 80,
                "warm_up": 200,
                "half_life": 0,
                "clip": 0.5,
                "init": "torch",
                "image_size": 64,
                "lr": 1e-3,
                "schedule": "cosine",
                "batch_size": 32,
                "precision": "bfloat16",
                "steps": 8_000,
            },
        ),
    }

    def __init__(self, setting: Setting, **options: Any) -> None:
        super().__init__()
        self.options = own = SlotOptions(**options)
        self.slots, self.iterations = own.slots, own.iterations
        self.test_starts, self.merge = own.test_starts, own.merge
        self.mask_sigma, self.smooth = own.mask_sigma, own.smooth
        self.pixels, self.target = setting.pixels, own.target or setting.pixels
        self.encoder = slot_encoder(setting, own)
        self.grouping = Grouping(own.channels, own.slot_size, hidden=2 * own.slot_size, epsilon=own.norm_epsilon)
        self.decoder = slot_decoder(setting, own)
        bound = own.law_bound or math.sqrt(6 / (1 + own.slot_size))
        if own.start == "queries":
            self.queries = nn.Parameter(torch.empty(own.slots, own.slot_size).uniform_(-bound, bound))
        else:
            law = [torch.empty(own.slot_size).uniform_(-bound, bound) for _ in range(2)]
            self.mu, self.log_sigma = (nn.Parameter(values, requires_grad=own.learned) for values in law)

    def players(self) -> tuple[Player, ...]:
        """Adam, with a learning rate that rises and then halves again and again."""
        return (Player("model", (self,), self.loss, clip=self.options.clip, schedule=self.rate),)

    def rate(self, step: int) -> float:
        """What the learning rate is multiplied by."""
        return warm_up_and_decay(step, warm_up=self.options.warm_up, half_life=self.options.half_life)

    def loss(self, batch: Batch, step: int, generator: torch.Generator) -> Terms:
        """The squared error of the slots' image."""
        shape = (len(batch.images), self.slots, self.options.slot_size)
        noise = torch.randn(shape, generator=generator, device=generator.device).to(batch.images.device)
        slots = self.slots_of(batch.images, noise)
        aim = self._aim(batch.images)
        drawing: dict[str, Any] = {"straight": True} if step < self.options.straight else {}
        if self.options.places:
            every = torch.randperm(self.target**2, generator=generator, device=generator.device)
            chosen = every[: self.options.places].to(aim.device)
            aim, drawing["chosen"] = aim.flatten(2)[:, :, chosen], chosen
        pictures, logits = self.decoder(slots, self.target, **drawing)
        drawn = DrawnSlots(pictures, logits.softmax(1)).combined()
        return {"reconstruction": (drawn - aim).pow(2).mean()}

    def _aim(self, images: Tensor) -> Tensor:
        """What slots shall draw together: images in [-1, 1], averaged to the size of the target."""
        aim = _signed(images)
        return aim if self.target == self.pixels else functional.adaptive_avg_pool2d(aim, self.target)

    def slots_of(self, images: Tensor, noise: Tensor, iterations: int = 0) -> Tensor:
        """The slots (n, k, d) that images end in, from the noise they start from; queries take no notice of it."""
        return self._grouped(self.encoder(_signed(images)), noise, iterations)

    def _grouped(self, inputs: Tensor, noise: Tensor, iterations: int = 0) -> Tensor:
        """The slots (n, k, d) that attention over the encoder's features ends in."""
        queries = self.options.start == "queries"
        start = self.queries.expand_as(noise) if queries else self.mu + self.log_sigma.exp() * noise
        slots: Tensor = self.grouping(
            inputs, start, iterations or self.iterations, implicit=self.options.implicit, through=queries
        )
        return slots

    def represent(self, images: Tensor) -> Tensor:
        """The slots (n, k, d) of images."""
        own, starts = self.options, self.test_starts
        noise = noise_of(images, starts * self.slots, own.slot_size, shared=own.noise == "shared")
        inputs = self.encoder(_signed(images))
        ends = [
            self._grouped(inputs, start, max(self.iterations, own.test_iterations))
            for start in noise.chunk(starts, dim=1)
        ]
        slots = ends[0] if starts == 1 else best_start(ends, self.decoder, self._aim(images))
        return merged(self.grouping, inputs, slots, self.merge) if self.merge else slots

    def masks(self, images: Tensor) -> Tensor:
        """How far each pixel is drawn by each slot, (n, k, h, w); with `mask_sigma`, how likely it is that slot's."""
        pictures, masks = self._drawn(self.represent(images), self.pixels)
        if not self.mask_sigma and not self.smooth:
            return masks
        signed = _signed(images)
        return smoothed(posterior(masks, pictures, signed, self.mask_sigma), signed, self.smooth)

    def slots_decoded(self, slots: Tensor, size: int = 0) -> DrawnSlots:
        """What each slot draws, and where, at the size of the images or at another."""
        pictures, masks = self._drawn(slots, size or self.pixels)
        return DrawnSlots(_unsigned(pictures), masks)

    def decode(self, latents: Tensor) -> Tensor:
        """Images in [0, 1] of slots (n, k, d)."""
        return _unsigned(DrawnSlots(*self._drawn(latents, self.pixels)).combined())

    def _drawn(self, slots: Tensor, size: int) -> tuple[Tensor, Tensor]:
        """Pictures (n, k, c, h, w), not squashed, and masks (n, k, h, w); a copy of an earlier slot draws nothing."""
        pictures, logits = self.decoder(slots, size)
        return pictures, logits.masked_fill(copies(slots)[:, :, None, None], -math.inf).softmax(1)


def _signed(images: Tensor) -> Tensor:
    """Images in [0, 1] as the published networks see them, in [-1, 1]."""
    return images * 2 - 1


def _unsigned(images: Tensor) -> Tensor:
    """Images in [-1, 1], cut off at the ends, in [0, 1] again."""
    return (images.clamp(-1, 1) + 1) / 2
