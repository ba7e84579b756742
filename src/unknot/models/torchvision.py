"""The one place that imports torchvision and timm, whatever pair of torch and torchvision is installed."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from unknot.errors import UnknotError

_OPERATORS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)
_declared: list[Any] = []  # an operator lives as long as the library that declares it


def import_torchvision() -> Any:
    """torchvision, also when it was built for CUDA and torch was not.

    Such a torchvision cannot load its compiled operators, and fails to import because it describes two of them to
    torch all the same. Nothing here calls them, so declaring their signatures is enough. A pair that fits is
    imported as it is.
    """
    try:
        return import_module("torchvision")
    except RuntimeError as error:
        if "torchvision::" not in str(error) or _declared:
            raise
    library: Any = import_module("torch.library").Library("torchvision", "DEF")
    for operator in _OPERATORS:
        library.define(operator)
    _declared.append(library)
    return import_module("torchvision")


def import_timm() -> Any:
    """Timm, or the error that names the extra."""
    try:
        import_torchvision()
        return import_module("timm")
    except ImportError as error:
        raise UnknotError(
            f"timm: cannot be imported ({error}); it is an extra: pip install unknot[timm]."
        ) from None


def mend_torchvision() -> None:
    """Let libraries that import torchvision where it is installed, as torchmetrics does, import it too."""
    if find_spec("torchvision") is not None:
        import_torchvision()
