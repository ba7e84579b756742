"""What a model in training makes of rows, without leaving a trace in it."""

import random
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from unknot.errors import UnknotError, shown
from unknot.reading.arrays import as_array


@contextmanager
def undisturbed(model: Any) -> Iterator[None]:
    """Leave random numbers, and the mode of every part of a torch module, as they are before."""
    torch = sys.modules.get("torch")  # a model of torch has imported it
    modes = {}
    if torch is not None and isinstance(model, torch.nn.Module):
        modes = {part: part.training for part in model.modules()}
        model.eval()
    state, numpy_state = random.getstate(), np.random.get_state()  # noqa: NPY002 - which is the caller's
    try:
        with nullcontext() if torch is None else torch.random.fork_rng():
            yield
    finally:
        random.setstate(state)
        np.random.set_state(numpy_state)  # noqa: NPY002
        for part, training in modes.items():
            part.training = training


def as_numpy(codes: Any) -> Any:
    """Codes (n, d) of any library; of several things the first, such as the means of means and log-variances."""
    if isinstance(codes, Mapping):
        raise UnknotError(f"monitor: the model returns {', '.join(map(str, codes))} by name; choose with encode=.")
    first = codes[0] if isinstance(codes, tuple | list) and codes else codes
    latents = as_array(first, "monitor", "latents")
    if not latents.ndim or not latents.size:
        raise UnknotError(
            f"monitor: the model returns {shown(codes)}; expected latents, a row for each input. Choose with encode=."
        )
    return latents.reshape(len(latents), -1)


def outputs(model: Any, inputs: Any) -> Any:
    """What a model returns; a torch module is given its rows where its weights are."""
    if not callable(model):
        raise UnknotError(f"monitor: {type(model).__name__} cannot be called with rows; give encode=.")
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        device = next((weight.device for weight in model.parameters()), None)
        with torch.no_grad():
            return model(torch.as_tensor(inputs).to(device=device))
    return model(inputs)
