"""Anything array-like as an array of numpy."""

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError


@runtime_checkable
class TorchTensor(Protocol):
    """A tensor of torch, which is known without importing torch."""

    def detach(self) -> Any:
        """The tensor without its history."""


def as_array(values: Any, who: str = "array", what: str = "it") -> NDArray[Any]:
    """Numpy array of anything array-like: torch tensors on any device, pandas tables, nested lists.

    Args:
        values: any of these. A masked array that hides entries is refused: what it hides would be counted.
        who: complains.
        what: the values are.

    >>> as_array(np.ma.masked_array([1, 2], [False, True]), "mig", "factors")
    Traceback (most recent call last):
    unknot.errors.UnknotError: mig: factors is a masked array that hides 1 of 2 entries; drop the rows they are in.
    """
    if isinstance(values, np.ma.MaskedArray) and (hidden := int(np.ma.getmaskarray(values).sum())):
        raise UnknotError(
            f"{who}: {what} is a masked array that hides {hidden} of {values.size} entries; drop the rows they are in."
        )
    try:
        if isinstance(values, TorchTensor):
            tensor = values.detach().cpu()
            values = (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy()
        return np.asarray(values)
    except Exception as error:  # numpy asks the object itself, which may answer with anything
        raise UnknotError(
            f"{who}: {what} is no array of numbers ({' '.join(str(error).split())[:200]})."
        ) from None
