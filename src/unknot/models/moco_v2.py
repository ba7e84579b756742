"""MoCo v2: two views of an image should have the same code, and no other image's."""

import math
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from unknot.errors import UnknotError, unknown
from unknot.models._augment import AUGMENTATIONS, view
from unknot.models.model import (
    Batch,
    Model,
    Player,
    Preset,
    Setting,
    Terms,
    above_zero,
    at_least_one,
    not_negative,
)
from unknot.models.networks import Encoder


class MoCoV2(Model):
    """A code that tells an image from all others in a queue of recent ones, whatever view of it is seen.

    loss = - log exp(q.k / t) / (exp(q.k / t) + sum over the queue of exp(q.k_i / t))

    q is the normalised projection of one view; k that of another, by a second network whose weights follow those of
    the first slowly, w_key = m w_key + (1 - m) w. After every step the keys of its images replace the oldest ones of
    the queue. The queue, its cursor and the second network are part of the weights on disk, so a resumed run goes on
    exactly. The learning rate follows half a cosine over the run.

    The representation is the encoder's output, `latents` numbers, before the projection. The published views erase
    colour, size and place; `views="reduced"` keeps them.

    Args:
        setting: what to build for; the architecture of Xie et al. 2022 is "coat128" with 256 latents.
        queue: keys that are kept; a multiple of the batch.
        momentum: m.
        temperature: t.
        projection: numbers in q and k.
        views: "moco_v2" or "reduced".
        weight_decay: of SGD, whose momentum is 0.9.

    Departs from the paper: the queue is 4,096 long by default, not 65,536, for worlds of a few ten thousand images;
    batches are not shuffled between devices, since no network here has batch norm.
    Reference: Chen et al. 2020, Improved Baselines with Momentum Contrastive Learning, arXiv:2003.04297.
    """

    presets: ClassVar[dict[str, Preset]] = {
        "xie2022": Preset(
            "defaults of MoCo v2's public code, with the network of Xie et al. 2022; 200 epochs of 23,000 images",
            fixed={
                "queue": 65_536,
                "architecture": "coat128",
                "latents": 256,
                "image_size": 128,
                "lr": 0.03,
                "batch_size": 256,
                "steps": 18_000,
            },
        )
    }
    queue: Tensor
    cursor: Tensor

    def __init__(
        self,
        setting: Setting,
        *,
        queue: int = 4096,
        momentum: float = 0.999,
        temperature: float = 0.2,
        projection: int = 128,
        views: str = "moco_v2",
        weight_decay: float = 1e-4,
    ) -> None:
        super().__init__()
        size = at_least_one("moco_v2", queue=queue)
        width = at_least_one("moco_v2", projection=projection)
        if not 0 <= momentum <= 1:
            raise UnknotError(f"moco_v2: momentum is {momentum}; expected a number from 0 to 1.", field="momentum")
        if views not in AUGMENTATIONS:
            raise unknown("views of moco_v2", views, AUGMENTATIONS, field="views")
        self.momentum, self.views, self.steps = momentum, AUGMENTATIONS[views], setting.steps
        self.temperature = above_zero("moco_v2", temperature=temperature)
        self.weight_decay = not_negative("moco_v2", weight_decay=weight_decay)
        self.encoder, self.projector = Encoder(setting, deterministic=True), _projector(setting.latents, width)
        self.key_encoder = Encoder(setting, deterministic=True).requires_grad_(False)
        self.key_projector = _projector(setting.latents, width).requires_grad_(False)
        self.register_buffer("queue", functional.normalize(torch.randn(size, width), dim=1))
        self.register_buffer("cursor", torch.zeros((), dtype=torch.int64))
        self._keys: Tensor | None = None  # of the step that is under way

    def players(self) -> tuple[Player, ...]:
        """SGD with momentum, along half a cosine."""
        player = Player(
            "model",
            (self.encoder, self.projector),
            self.loss,
            optimiser="sgd",
            momentum=0.9,
            weight_decay=self.weight_decay,
            schedule=lambda step: 0.5 * (1 + math.cos(math.pi * step / self.steps)),
        )
        return (player,)

    @torch.no_grad()
    def after_initialise(self) -> None:
        """The second network starts as the first."""
        self._follow(0.0)

    def loss(self, batch: Batch, step: int, generator: torch.Generator) -> Terms:
        """The cross-entropy of finding the other view of an image among the keys of other images."""
        if len(self.queue) % len(batch.images):
            raise UnknotError(
                f"moco_v2: queue is {len(self.queue)} with batches of {len(batch.images)}; expected a multiple. "
                "Change queue or batch_size."
            )
        queries = self.projected(view(batch.images, self.views, generator))
        with torch.no_grad():
            others = self.key_encoder(view(batch.images, self.views, generator)).mean
            self._keys = functional.normalize(self.key_projector(others).float(), dim=1)
        return {"info_nce": info_nce(queries, self._keys, self.queue, self.temperature)}

    def projected(self, images: Tensor) -> Tensor:
        """The normalised projections (b, p) of images."""
        return functional.normalize(self.projector(self.encoder(images).mean).float(), dim=1)

    @torch.no_grad()
    def after_step(self) -> None:
        """Let the second network follow, and put the keys of the step into the queue."""
        self._follow(self.momentum)
        if self._keys is None:
            return
        oldest = (self.cursor + torch.arange(len(self._keys), device=self.cursor.device)) % len(self.queue)
        self.queue[oldest] = self._keys
        self.cursor.copy_((self.cursor + len(self._keys)) % len(self.queue))
        self._keys = None

    def represent(self, images: Tensor) -> Tensor:
        """The encoder's output (n, latents)."""
        code: Tensor = self.encoder(images).mean
        return code

    def _follow(self, momentum: float) -> None:
        pairs = ((self.encoder, self.key_encoder), (self.projector, self.key_projector))
        for leader, follower in pairs:
            for ahead, behind in zip(leader.parameters(), follower.parameters(), strict=True):
                behind.mul_(momentum).add_(ahead, alpha=1 - momentum)


def info_nce(queries: Tensor, keys: Tensor, queue: Tensor, temperature: float) -> Tensor:
    """Mean over rows of -log of the softmax of the own key against those of the queue.

    >>> q, k = torch.eye(2), torch.eye(2)
    >>> info_nce(q, k, torch.zeros(1, 2), 1.0)  # log(1 + 1/e)
    tensor(0.3133)
    """
    own = (queries * keys).sum(1, keepdim=True)
    logits = torch.cat([own, queries @ queue.T], dim=1).float() / temperature
    return functional.cross_entropy(logits, torch.zeros(len(logits), dtype=torch.int64, device=logits.device))


def _projector(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, inputs), nn.ReLU(), nn.Linear(inputs, outputs))
