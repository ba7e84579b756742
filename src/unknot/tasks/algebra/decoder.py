"""What only a run can give to object algebra: pictures of codes, visible slots, and masks of objects."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unknot.metrics.segmentation import ari, covering, fg_ari, mbo
from unknot.tasks.algebra.quadruples import CorpusTuples
from unknot.worlds.scenes.corpus import MASKED

if TYPE_CHECKING:
    import torch

    from unknot.models.model import Model

BATCH = 32  # images, or sets of slots, that are decoded at a time


class Decoder:
    """A model of ours, in evaluation mode, for what can be drawn from its codes.

    Images are resized to `image_size`, if any, before it sees them.
    """

    def __init__(self, model: "Model", image_size: int | None, where: "torch.device") -> None:
        self.model, self.image_size, self.where = model, image_size, where

    def images(self, codes: NDArray[Any]) -> NDArray[np.uint8]:
        """(n, h, w, c) images of codes."""
        parts = self._of_codes(self.model.decode, codes)
        images: NDArray[np.uint8] = (parts.clip(0, 1) * 255).round().astype(np.uint8).transpose(0, 2, 3, 1)
        return images

    def visible(self, slots: NDArray[Any]) -> NDArray[np.bool_]:
        """(n, k) which slots are the largest somewhere in their image."""

        def owners(batch: Any) -> Any:
            masks = self.model.slots_decoded(batch).masks
            winner = masks.argmax(1).flatten(1)
            seen = winner.new_zeros(masks.shape[:2])
            return seen.scatter_(1, winner, 1)

        seen: NDArray[np.bool_] = self._of_codes(owners, slots) > 0
        return seen

    def slots(self, slots: NDArray[Any]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """What each slot draws, (n, k, h, w, c) in [0, 1], and its share of every pixel, (n, k, h, w)."""
        import torch

        with torch.inference_mode():
            drawn = self.model.slots_decoded(torch.from_numpy(slots.astype(np.float32)).to(self.where))
        pictures = drawn.pictures.float().clamp(0, 1).movedim(2, -1)
        return pictures.cpu().numpy(), drawn.masks.float().cpu().numpy()

    def segments(self, images: NDArray[np.uint8]) -> NDArray[np.int64]:
        """(n, h, w) which slot owns each pixel, at the size the model sees."""
        from unknot.runs.batches import as_tensor

        def owners(batch: NDArray[np.uint8]) -> Any:
            return self.model.masks(as_tensor(batch.copy(), self.image_size).to(self.where)).argmax(1)

        return _in_batches(owners, images)

    def _of_codes(self, function: Any, codes: NDArray[Any]) -> NDArray[Any]:
        from torch import from_numpy

        def called(batch: NDArray[Any]) -> Any:
            return function(from_numpy(np.ascontiguousarray(batch, dtype=np.float32)).to(self.where)).float()

        return _in_batches(called, codes)


def _in_batches(function: Any, rows: NDArray[Any]) -> NDArray[Any]:
    """What a function to tensors makes of rows, some at a time."""
    import torch

    with torch.inference_mode():
        return np.concatenate([function(rows[i : i + BATCH]).cpu().numpy() for i in range(0, len(rows), BATCH)])


def segmentation(decoder: Decoder, tuples: CorpusTuples, n: int) -> dict[str, float]:
    """ARI, FG-ARI, mean best overlap and covering of a model's masks, over about n images of A, B, C, D."""
    corpus = tuples.corpus
    rows = np.arange(min(len(corpus), max(1, n // len(MASKED))))
    images = np.concatenate([tuples.images(rows, role) for role in MASKED])
    truth = np.concatenate([corpus.masks[rows, i] for i in range(len(MASKED))])
    guess = decoder.segments(images)
    height, width = guess.shape[1:]
    # The middle of each of the model's pixels, which is how numbers of segments can be made smaller.
    y = ((np.arange(height) + 0.5) * truth.shape[1] / height).astype(int)
    x = ((np.arange(width) + 0.5) * truth.shape[2] / width).astype(int)
    truth = truth[:, y][:, :, x]
    measures = {"ari": ari, "fg_ari": fg_ari, "mbo": mbo, "covering": covering}
    return {name: measure(truth, guess).value for name, measure in measures.items()}
