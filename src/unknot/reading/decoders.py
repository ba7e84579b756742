"""Decoders of sparse autoencoders as SAELens, dictionary_learning and others publish them, without these packages.

| file | array | shape |
|---|---|---|
| SAELens `sae_weights.safetensors`, beside `cfg.json` | `W_dec` | (latents, width) |
| dictionary_learning `ae.pt`, beside `config.json` | `decoder.weight` | (width, latents) |
| the same of its jump-ReLU and Matryoshka autoencoders | `W_dec` | (latents, width) |
| an `.npz` such as those of Gemma Scope | `W_dec` | (latents, width) |
| an `.npy` | | (latents, width) |
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.reading import npz
from unknot.reading.arguments import must_be_a_path
from unknot.reading.guard import load_json, must_be_of_torch, must_fit, parsing
from unknot.reading.tensors import tensor

IN_FOLDER = ("sae_weights.safetensors", "ae.pt")
TORCH = (".pt", ".pth", ".bin")
NAMES = {
    "W_dec": "W_enc",
    "decoder.weight": "encoder.weight",
}  # each with its encoder, whose axes are the other way
SIZES = {"cfg.json": ("d_sae", "d_in", "d_out"), "config.json": ("dict_size", "activation_dim")}  # latents, widths
ONLY_TENSORS = "Of files of torch only tensors are read, since anything else could run code: save the state_dict."


def read_decoder(path: Path | str) -> NDArray[np.float32]:
    """The decoder (latents, width) in a file, or in the folder of an autoencoder."""
    must_be_a_path("decoder", path)
    path = Path(path)
    if path.is_dir():
        files = [path / name for name in IN_FOLDER if (path / name).exists()]
        if not files:
            raise UnknotError(f"{path}: a folder without a decoder; expected {' or '.join(IN_FOLDER)} in it.")
        path = files[0]
    if not path.exists():
        raise UnknotError(f"{path}: no such file.")
    if path.suffix == ".npy":
        return checked_decoder(str(path), npz.read_npy(path))
    arrays = _arrays(path)
    name = next((name for name in NAMES if name in arrays), None)
    if name is None:
        raise UnknotError(
            f"{path}: holds no decoder; expected {' or '.join(NAMES)}, and there are {', '.join(arrays) or 'none'}."
        )
    if arrays[name].ndim != 2:
        raise UnknotError(
            f"{path}: {name} has shape {arrays[name].shape}; expected two axes. A crosscoder has a decoder for each of "
            "its layers: save that of one layer."
        )
    decoder = arrays[name] if name == "W_dec" else arrays[name].T
    encoder = arrays.get(NAMES[name])
    if encoder is not None and encoder.size and len(decoder) not in encoder.shape:
        raise UnknotError(
            f"{path}: {name} has shape {arrays[name].shape} and {NAMES[name]} {encoder.shape}; expected both to be of "
            f"the same latents, and {len(decoder)} are those of {name}."
        )
    _check_sizes(path, decoder.shape)
    return checked_decoder(str(path), decoder)


def checked_decoder(who: str, decoder: NDArray[Any]) -> NDArray[np.float32]:
    """A decoder as a finite array (latents, width) in single precision."""
    if decoder.ndim != 2 or 0 in decoder.shape or decoder.dtype.kind not in "fiub":
        raise UnknotError(
            f"{who}: a decoder of shape {decoder.shape} and type {decoder.dtype}; expected numbers (latents, width)."
        )
    with np.errstate(over="ignore"):
        single = np.ascontiguousarray(decoder, dtype=np.float32)
    bad = np.flatnonzero(~np.isfinite(single).all(axis=1))
    if len(bad):
        raise UnknotError(
            f"{who}: the decoder has NaN or infinite entries, first those of latent {bad[0]}; an autoencoder that "
            "diverged cannot be scored."
        )
    return single


def _arrays(path: Path) -> Mapping[str, NDArray[Any]]:
    """The decoder and the encoder in a file, by the names they have there; shapes alone of all others."""
    wanted = {*NAMES, *NAMES.values()}
    if path.suffix == ".npz":
        return npz.load(path, wanted) or dict.fromkeys(npz.members(path), np.empty(0))
    if path.suffix == ".safetensors":
        return _of_safetensors(path, wanted)
    if path.suffix in TORCH:
        return _of_torch(path)
    raise UnknotError(
        f"{path}: a '{path.suffix or 'nameless'}' file is no decoder; expected .safetensors, {', '.join(TORCH)}, .npz, "
        ".npy, or the folder of an autoencoder."
    )


def _of_safetensors(path: Path, wanted: set[str]) -> dict[str, NDArray[Any]]:
    try:
        from safetensors import safe_open
    except ImportError:
        raise UnknotError(f"{path}: reading safetensors needs an extra: pip install unknot[files].") from None
    must_fit(path, path.stat().st_size * 2)  # bfloat16 takes twice the room
    with parsing(path, "a safetensors file"), safe_open(str(path), framework="numpy") as file:
        names = list(file.keys())
        mine = [name for name in names if name in wanted] or names
        return {name: tensor(path, file, name) for name in mine}


def _of_torch(path: Path) -> dict[str, NDArray[Any]]:
    try:
        import torch
    except ImportError:
        raise UnknotError(f"{path}: reading files of torch needs an extra: pip install unknot[torch].") from None
    must_fit(path, path.stat().st_size * 2)
    with parsing(path, "a file of tensors", ONLY_TENSORS):
        must_be_of_torch(path)
        content = torch.load(path, map_location="cpu", weights_only=True)
        if not isinstance(content, Mapping):
            raise UnknotError(f"{path}: holds a {type(content).__name__}; expected a state_dict, tensors by name.")
        tensors = {str(name): t for name, t in content.items() if isinstance(t, torch.Tensor)}
        must_fit(path, 4 * sum(t.numel() for t in tensors.values()))  # one number may stand for all of a tensor
        return {name: _numbers(name, t) for name, t in tensors.items()}


def _numbers(name: str, tensor: Any) -> NDArray[Any]:
    """A tensor as an array in single precision; of others than plain numbers nobody knows what they mean here."""
    if str(tensor.layout) != "torch.strided" or tensor.is_quantized or tensor.is_complex() or tensor.is_meta:
        raise ValueError(f"{name} is of type {tensor.dtype}, layout {tensor.layout}, device {tensor.device}")
    array: NDArray[Any] = tensor.detach().float().numpy()
    return array


def _check_sizes(path: Path, shape: tuple[int, ...]) -> None:
    """Refuse a decoder that is not the one which the file of settings beside it speaks of."""
    for name, (latents, *widths) in SIZES.items():
        beside = path.parent / name
        about = load_json(beside, "settings of an autoencoder") if beside.exists() else {}
        about = about.get("trainer", about) if isinstance(about, dict) else {}
        about = about if isinstance(about, dict) else {}
        said = {"latents": [about.get(latents)], "width": [about.get(width) for width in widths]}
        for (what, sizes), size in zip(said.items(), shape, strict=True):
            known = [
                number for number in sizes if isinstance(number, int)
            ]  # of a transcoder two, the last is its own
            if known and size != known[-1]:
                raise UnknotError(
                    f"{path}: the decoder has {shape[0]} latents and width {shape[1]}, but {name} beside it says "
                    f"{what} {known[-1]}; put the two of one autoencoder together."
                )
