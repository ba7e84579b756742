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
    """A model of ours, for what can be drawn from its codes.

    Args:
        model: in evaluation mode.
        image_size: that images are resized to before it sees them, if any.
        where: the device it is on.
    """

    def __init__(self, model: "Model", image_size: int | None, where: "torch.device") -> None:
        self.model, self.image_size, self.where = model, image_size, where

    @property
    def draws(self) -> bool:
        """Whether codes can be turned into images."""
        return self.model.decodes

    @property
    def draws_slots(self) -> bool:
        """Whether slots can be turned into masks."""
        return self.model.decodes_slots

    @property
    def masks_objects(self) -> bool:
        """Whether images can be turned into masks."""
        return self.model.masks_objects

    def images(self, codes: NDArray[Any]) -> NDArray[np.uint8]:
        """(n, h, w, c) images of codes."""
        parts = self._called(self.model.decode, codes)
        images: NDArray[np.uint8] = (parts.clip(0, 1) * 255).round().astype(np.uint8).transpose(0, 2, 3, 1)
        return images

    def visible(self, slots: NDArray[Any]) -> NDArray[np.bool_]:
        """(n, k) which slots are the largest somewhere in their image."""

        def owners(batch: Any) -> Any:
            masks = self.model.slots_decoded(batch).masks
            winner = masks.argmax(1).flatten(1)
            seen = winner.new_zeros(masks.shape[:2])
            return seen.scatter_(1, winner, 1)

        seen: NDArray[np.bool_] = self._called(owners, slots) > 0
        return seen

    def segments(self, images: NDArray[np.uint8]) -> NDArray[np.int64]:
        """(n, h, w) which slot owns each pixel, at the size the model sees."""
        import torch

        from unknot.runs.batches import as_tensor

        owners = []
        with torch.inference_mode():
            for start in range(0, len(images), BATCH):
                tensor = as_tensor(images[start : start + BATCH].copy(), self.image_size).to(self.where)
                owners.append(self.model.masks(tensor).argmax(1).cpu().numpy())
        return np.concatenate(owners)

    def _called(self, function: Any, codes: NDArray[Any]) -> NDArray[Any]:
        import torch

        parts = []
        with torch.inference_mode():
            for start in range(0, len(codes), BATCH):
                batch = np.ascontiguousarray(codes[start : start + BATCH], dtype=np.float32)
                parts.append(function(torch.from_numpy(batch).to(self.where)).float().cpu().numpy())
        return np.concatenate(parts)


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
