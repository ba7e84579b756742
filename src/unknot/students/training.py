"""How a student is trained: batches of pasted scenes, Adam, a cosine."""

import math

import numpy as np
import torch
from torch import Tensor, nn

from unknot.errors import UnknotError
from unknot.progress import Progress
from unknot.students.network import VoteNet, vote_losses
from unknot.students.pasting import Pasted

WHO = "student"
WARM_UP = 0.05  # of the steps, over which the learning rate rises; then it falls to 0 along a cosine
CLIP, DECAY = 1.0, 1e-4
CONTRAST, BRIGHTNESS, NOISE = 0.15, 0.1, 0.02  # how far images are changed, in [-1, 1]


def fitted(
    network: VoteNet, pasted: Pasted, *, steps: int, batch_size: int, lr: float, seed: int, progress: Progress
) -> list[float]:
    """Train a network; the mean loss of each hundredth of the steps.

    Scenes are mirrored or not, their channels exchanged, their contrast and brightness changed, and noise is added.
    """
    network.train()
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimiser = torch.optim.AdamW(network.parameters(), lr=lr, weight_decay=DECAY)
    rng, generator = np.random.default_rng([seed, 8]), torch.Generator().manual_seed(seed)
    every, seen, losses = max(1, steps // 100), [], []
    for step in range(steps):
        rate = min(1.0, (step + 1) / max(1, WARM_UP * steps)) * (1 + math.cos(math.pi * step / steps)) / 2
        optimiser.param_groups[0]["lr"] = lr * rate
        images, owners, centres = _batch(pasted, batch_size, rng)
        images = _changed(images, generator).contiguous(memory_format=torch.channels_last)
        with torch.autocast("cpu", torch.bfloat16):
            out = network(images)
        which, where = vote_losses(out.float(), owners, centres)
        optimiser.zero_grad(set_to_none=True)
        loss = which + where
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(network.parameters(), CLIP)
        optimiser.step()
        seen.append(float(loss.detach()))
        if (step + 1) % every == 0 or step + 1 == steps:
            losses.append(float(np.mean(seen)))
            seen = []
            if not math.isfinite(losses[-1]):
                raise UnknotError(
                    f"{WHO}: diverged at step {step + 1}; try a lower learning rate than {lr}.", field="lr"
                )
            progress("training the student", step + 1, steps, loss=losses[-1])
    network.eval()
    return losses


def _batch(pasted: Pasted, size: int, rng: np.random.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Images in [-1, 1], the object of each pixel and centres; half of the scenes are mirrored."""
    rows = rng.integers(len(pasted.images), size=size)
    images, owners, centres = pasted.images[rows], pasted.owners[rows], pasted.centres[rows]
    mirrored = rng.random(size) < 0.5
    images[mirrored], owners[mirrored] = images[mirrored, :, ::-1], owners[mirrored, :, ::-1]
    centres[mirrored, :, 1] = owners.shape[2] - 1 - centres[mirrored, :, 1]
    images = images[..., rng.permutation(images.shape[3])]
    return signed(images), torch.from_numpy(owners.astype(np.int64)), torch.from_numpy(centres)


def signed(images: np.ndarray) -> Tensor:
    """Images uint8 (n, h, w, c) as the network sees them, (n, c, h, w) in [-1, 1]."""
    return torch.from_numpy(np.ascontiguousarray(images)).movedim(-1, 1).float() / 127.5 - 1


def _changed(images: Tensor, generator: torch.Generator) -> Tensor:
    def uniform(most: float) -> Tensor:
        return (2 * torch.rand(len(images), 1, 1, 1, generator=generator) - 1) * most

    noise = torch.randn(images.shape, generator=generator) * NOISE
    return images * (1 + uniform(CONTRAST)) + uniform(BRIGHTNESS) + noise
