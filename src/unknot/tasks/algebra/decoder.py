"""What only a run can give to object algebra: visible slots, masks of objects, and pictures of sums of codes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unknot.metrics.segmentation import ari, covering, fg_ari, mbo
from unknot.metrics.slots import align
from unknot.tasks.algebra.quadruples import CorpusTuples, Tuples
from unknot.tasks.algebra.tuple_codes import pixel_negative
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


def sums(codes: Mapping[str, NDArray[Any]], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """z_B - z_A + z_C of some tuples, slots in matching order."""
    a, b, c, d = (np.asarray(codes[role][rows], dtype=np.float64) for role in MASKED)
    if a.ndim == 3:
        a, b, c, _ = align(a, b, c, d)
    total: NDArray[np.float64] = b - a + c
    return total


def drawn_columns(
    decoder: Decoder, codes: Mapping[str, NDArray[Any]], rows: NDArray[np.int64]
) -> dict[str, NDArray[np.uint8]]:
    """Pictures of what the decoder makes of the code of D and of the sum that should be it."""
    return {
        "decoded z(D)": decoder.images(codes["D"][rows]),
        "decoded z(B) - z(A) + z(C)": decoder.images(sums(codes, rows)),
    }


def shown_columns(tuples: Tuples, rows: NDArray[np.int64]) -> dict[str, NDArray[np.uint8]]:
    """The images of some tuples, and the sum of their pixels."""
    columns = {role: tuples.images(rows, role) for role in MASKED}
    return columns | {"B - A + C in pixels": pixel_negative(tuples, rows).clip(0, 255).astype(np.uint8)}
