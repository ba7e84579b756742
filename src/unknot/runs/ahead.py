"""Batches for the training loop, on its device: those of ray-traced worlds are drawn while the step before is trained.

Drawing leaves Python's lock alone, so a thread is enough. A batch is a function of seed and step, so it is the same
whoever draws it and when.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import torch
from torch import Tensor

from unknot.models.model import Batch
from unknot.runs.batches import Feed
from unknot.worlds.rendered.traced_world import TracedWorld
from unknot.worlds.scenes.scenes_rendered import ScenesRendered

TRACED = (TracedWorld, ScenesRendered)  # worlds whose images cost more than handing them over


class Ahead:
    """The batches of a feed, in the order of steps.

    Args:
        feed: draws them.
        device: where they are wanted.
        steps: of the run; none is drawn after the last.
    """

    def __init__(self, feed: Feed, device: torch.device, steps: int) -> None:
        self.feed, self.device, self.steps = feed, device, steps
        self._thread = ThreadPoolExecutor(1, "batches") if isinstance(feed.world, TRACED) else None
        self._next: tuple[int, Future[Batch]] | None = None

    def batch(self, step: int) -> Batch:
        """The batch of a step; drawing that of the next one begins."""
        if self._thread is None:
            return moved(self._drawn(step), self.device)
        ahead, self._next = self._next, None
        batch = ahead[1].result() if ahead is not None and ahead[0] == step else self._drawn(step)
        if step + 1 < self.steps:
            self._next = step + 1, self._thread.submit(self._drawn, step + 1)
        return moved(batch, self.device)

    def close(self) -> None:
        """Draw no more; a batch that is being drawn is waited for. The next one asked for is drawn in time."""
        if self._thread is not None:
            self._thread.shutdown(cancel_futures=True)
        self._thread = self._next = None

    def _drawn(self, step: int) -> Batch:
        batch = self.feed.batch(step)
        return _each(batch, Tensor.pin_memory) if self.device.type == "cuda" else batch


def moved(batch: Batch, device: torch.device) -> Batch:
    """A batch where the model is; from pinned memory this does not wait."""
    if device.type == "cpu":
        return batch
    return _each(batch, lambda tensor: tensor.to(device, non_blocking=True))


def _each(batch: Batch, change: Callable[[Tensor], Tensor]) -> Batch:
    return Batch(**{name: change(tensor) for name, tensor in vars(batch).items() if tensor is not None})
