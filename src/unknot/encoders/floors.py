"""What an encoder must beat to be worth its weights: pixels, a random projection of them, and itself untrained."""

import copy
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from unknot.encoders.encoder import model_encode
from unknot.encoders.source import Source
from unknot.worlds.world import Images

SIDE = 16  # squares that a picture is averaged over, in rows and in columns
PROJECTED = 64  # numbers of a random projection
UNTRAINED = "untrained"


@runtime_checkable
class Resets(Protocol):
    """A part of a network that can draw its weights anew, as those of torch can."""

    def reset_parameters(self) -> None:
        """Draw them."""


def raw_pixels(images: Images) -> NDArray[np.float32]:
    """Brightness of 16 x 16 squares of a picture in each channel, in [0, 1].

    >>> raw_pixels(np.full((2, 64, 64, 3), 51, np.uint8)).shape
    (2, 768)
    """
    n, height, width, _ = images.shape
    rows, columns = (np.linspace(0, size, SIDE + 1)[:-1].astype(int) for size in (height, width))
    sums = np.add.reduceat(np.add.reduceat(images.astype(np.float32), rows, axis=1), columns, axis=2)
    areas = np.outer(np.diff([*rows, height]), np.diff([*columns, width]))
    means: NDArray[np.float32] = (sums / areas[:, :, None] / 255).astype(np.float32)
    return means.reshape(n, -1)


def random_projection(images: Images) -> NDArray[np.float32]:
    """64 random directions through those pixels, always the same.

    >>> random_projection(np.zeros((2, 64, 64, 1), np.uint8)).shape
    (2, 64)
    """
    pixels = raw_pixels(images)
    directions = np.random.default_rng(0).normal(size=(pixels.shape[1], PROJECTED)) / np.sqrt(pixels.shape[1])
    projected: NDArray[np.float32] = pixels @ directions.astype(np.float32)
    return projected


def untrained_twin(source: Source) -> tuple[str, Any] | None:
    """The name of an encoder before training, and that encoder; None where nobody can say what that was."""
    if source.run is not None:
        return f"{source.label}, {UNTRAINED}", _untrained_run(source)
    if isinstance(source.which, str) and source.which.startswith("timm:"):
        twin = f"{source.which.partition('@')[0]}@{UNTRAINED}"
        return None if twin == source.which else (twin, twin)
    module = source.module
    fresh = None if module is None else _drawn_anew(module)
    return None if fresh is None else (f"{source.label}, {UNTRAINED}", fresh)


def _drawn_anew(module: Any) -> Any:
    """A copy of a module of torch with fresh weights; None if it cannot be copied, or some part drawn anew."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        try:
            fresh = copy.deepcopy(module)
            for part in fresh.modules():
                own = next(part.parameters(recurse=False), None)
                if isinstance(part, Resets):
                    part.reset_parameters()
                elif own is not None:
                    return None
        except (
            RuntimeError,
            TypeError,
        ):  # a weight that is computed, or a `reset_parameters` that wants arguments
            return None
    return fresh


def _untrained_run(source: Source) -> Callable[[Images], Any]:
    """The model of a run with the weights it began with."""
    from unknot.models.codes import channels_last
    from unknot.runs.training import build_model

    run = source.run
    if run is None:
        raise TypeError(f"{source.label} is no run")
    model, _ = build_model(run.spec, source.home)
    return model_encode(channels_last(model.eval()).to(source.device), run.spec.image_size, source.device)
