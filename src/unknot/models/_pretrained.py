"""Published weights from a local file, or from timm, into a network of ours."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from unknot.errors import UnknotError
from unknot.files import file_hash
from unknot.models.hub import hub_or_cache
from unknot.models.model import Setting
from unknot.reading import npz
from unknot.reading.guard import must_be_of_torch, must_fit, parsing

FROM_TIMM = "timm"
TRANSFER: dict[str, float | int | str] = {"weights": FROM_TIMM, "lr": 1e-4, "steps": 50_000, "batch_size": 64}
SUFFIXES = (".npz", ".safetensors", ".pth", ".pt")


def check_published(model: str, setting: Setting, weights: str, suffixes: Sequence[str]) -> None:
    """An error if `weights` can be no file of weights (whether it is there is asked later), or images do not fit."""
    if weights not in ("", FROM_TIMM) and Path(weights).suffix not in suffixes:
        raise UnknotError(
            f"{model}: weights is '{weights}'; expected a file ({', '.join(suffixes)}), or '{FROM_TIMM}' for the "
            "published weights by way of timm.",
            field="weights",
        )
    if setting.pixels < 32:
        raise UnknotError(
            f"{model}: images of {setting.pixels} pixels; expected at least 32. Set image_size.",
            field="image_size",
        )
    if weights and setting.channels not in (1, 3):
        raise UnknotError(
            f"{model}: published weights are for colour or grey images, not {setting.channels} channels.",
            field="weights",
        )


def read_tensors(weights: str) -> dict[str, Tensor]:
    """All tensors of a file, by the names they have there."""
    path = Path(weights).expanduser()
    if not path.is_file():
        raise UnknotError(f"{weights}: there is no such file of weights.")
    with parsing(weights, "a file of weights"):
        must_fit(weights, path.stat().st_size)
        if path.suffix == ".npz":
            arrays = npz.load(path, npz.members(path))
            content: Any = {name: torch.from_numpy(array) for name, array in arrays.items()}
        elif path.suffix == ".safetensors":
            from safetensors.torch import load_file

            content = load_file(path)
        else:
            must_be_of_torch(path)
            content = torch.load(path, map_location="cpu", weights_only=True)
            content = content.get("state_dict", content) if isinstance(content, Mapping) else content
        named = content if isinstance(content, Mapping) else {}
        tensors = {name: value for name, value in named.items() if isinstance(value, Tensor)}
        if not tensors:
            what = "no tensors" if isinstance(content, Mapping) else f"a {type(content).__name__}"
            raise UnknotError(f"{weights}: holds {what}; expected a state_dict, tensors by name.")
        return tensors


def timm_tensors(model: str, name: str) -> dict[str, Tensor]:
    """The published weights of a network of timm, which fetches them once and keeps them."""
    from unknot.models.torchvision import import_timm

    timm = import_timm()
    try:
        with hub_or_cache():
            network: Any = timm.create_model(name, pretrained=True)
    except Exception as error:  # of many kinds: no network, no such file
        raise UnknotError(
            f"{model}: the weights of timm's {name} could not be fetched ({type(error).__name__}); give a local file "
            "instead: weights=FILE."
        ) from error
    return dict(network.state_dict())


def identity(weights: str) -> str:
    """What tells these weights from others: a digest of the file, or "timm"."""
    return weights if weights == FROM_TIMM else file_hash(Path(weights).expanduser(), 12)


@torch.no_grad()
def fill(
    network: nn.Module,
    tensors: Mapping[str, Tensor],
    *,
    model: str,
    weights: str,
    names: Mapping[str, str],
    heads: Sequence[str],
) -> None:
    """Copy tensors into a network; a file of another architecture is refused, and nothing is changed by it.

    Args:
        network: to fill, all of it.
        tensors: by the names of the file, laid out as torch does.
        model: for messages.
        weights: the file, for messages.
        names: of the network's tensors in the file, where they differ.
        heads: beginnings of the names of tensors that are left out: the classifier.
    """
    wanted = {names.get(name, name): tensor for name, tensor in network.state_dict(keep_vars=True).items()}
    for name, tensor in wanted.items():
        if name not in tensors:
            if name.endswith("num_batches_tracked"):  # files older than that counter
                continue
            raise UnknotError(_misfit(model, weights, name, tensor.shape, "is not in the file"))
        if tensors[name].shape != tensor.shape:
            raise UnknotError(
                _misfit(model, weights, name, tensor.shape, f"has shape {_sizes(tensors[name].shape)}")
            )
    strange = [name for name in tensors if name not in wanted and not name.startswith(tuple(heads))]
    if strange:
        raise UnknotError(
            f"{weights}: does not fit {model}: the tensor {strange[0]} ({_sizes(tensors[strange[0]].shape)}) has no "
            "place in it. Is it the file of another network?"
        )
    for name, tensor in wanted.items():
        if name in tensors:
            tensor.copy_(tensors[name])


def _misfit(model: str, weights: str, name: str, shape: Sequence[int], what: str) -> str:
    return (
        f"{weights}: does not fit {model}: the first tensor that differs is {name}, which {what}; expected "
        f"{_sizes(shape)}. Is it the file of another network?"
    )


def _sizes(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape)) or "a number"


def named(**parts: nn.Module) -> nn.Sequential:
    """The parts one after the other, under the names that published files give them."""
    return nn.Sequential(OrderedDict(parts))


class Normalised(nn.Module):
    """Images as published weights want them: grey ones repeated to three channels, then shifted and scaled.

    Images of other than one or three channels pass as they are.
    """

    def __init__(self, channels: int, mean: Sequence[float], std: Sequence[float]) -> None:
        super().__init__()
        self.apply_to, self.channels = channels in (1, 3), 3 if channels == 1 else channels
        self.register_buffer("mean", torch.tensor(mean).view(1, -1, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(std).view(1, -1, 1, 1), persistent=False)

    def forward(self, images: Tensor) -> Tensor:
        """The images (b, 3, h, w), shifted and scaled; those of other channels as they are."""
        mean: Tensor = self.mean  # type: ignore[assignment]
        std: Tensor = self.std  # type: ignore[assignment]
        return (images - mean) / std if self.apply_to else images
