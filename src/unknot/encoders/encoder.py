"""Encoders by name: anyone's function, a timm or a Hugging Face network. Runs are those of `Source`.

| name | is |
|---|---|
| a folder | a run of `unknot train` |
| `zoo:NAME` | a run that ships with Unknot |
| `package.module:name` | uint8 images (n, h, w, c) to latents (n, d), slots (n, k, d), or (means, log-variances) |
| `FILE.skops` | a fitted transformer or pipeline of scikit-learn |
| `timm:NAME`, `timm:NAME@FILE` | a network of timm with its published weights, or with those of a local file |
| `timm:NAME@untrained` | the same network before training, the baseline of transfer |
| `hf:NAME` | an image network of transformers, by its name on the hub or by a local folder |

In Python a function itself is an encoder too; so is a `torch.nn.Module`, which is given float32 (n, c, h, w) in
[0, 1] and is read in evaluation mode, and a fitted transformer or pipeline of scikit-learn, which is given float32
(n, h * w * c) in [0, 1]. A name may also be that of such an object, or of a class that is built without arguments.
Functions of JAX, Keras or anything else are functions: what they return is read as an array.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from unknot.encoders.layers import known_pool, output_of, pooled
from unknot.encoders.transformers import PICKLED, SKOPS, read_transformer
from unknot.errors import UnknotError
from unknot.examples import located
from unknot.processes.trust import imported
from unknot.reading.arguments import check_fields
from unknot.runs.run import Run
from unknot.runs.spec import RunSpec
from unknot.worlds.world import Images

FILES = (".npz", ".safetensors", ".parquet", ".csv")  # that a word is taken for, even if it is not there
WEIGHTS = (".pt", ".pth", ".bin", ".ckpt")  # of a network that is not in the file
Shape = tuple[int, int, int]


@runtime_checkable
class TorchModule(Protocol):
    """A `torch.nn.Module`, which is known without importing torch."""

    def state_dict(self) -> Any:
        """Its weights by name."""

    def forward(self, images: Any) -> Any:
        """What it makes of images."""


@runtime_checkable
class Transformer(Protocol):
    """A transformer or pipeline of scikit-learn."""

    def fit(self, X: Any, y: Any = None) -> Any:
        """Learn from rows."""

    def transform(self, X: Any) -> Any:
        """The codes of rows."""


@dataclass(frozen=True)
class Opening:
    """How encoders and worlds are opened.

    Attributes:
        device: of runs and networks: "cpu", "cuda" or "mps".
        data: folder of data files.
        pool: how the positions of a network become one code, see `unknot.encoders.layers`.
        image_size: that images are resized to for timm and hf networks.
        layer: of a network, as its `named_modules` call it, whose output is the code; the last one if left out.
    """

    device: str = "cpu"
    data: Path | None = None
    pool: str = ""
    image_size: int | None = None
    layer: str = ""

    def __post_init__(self) -> None:
        check_fields("encode", self)

    @property
    def of_layer(self) -> dict[str, str]:
        """What a record says of the layer; nothing of the last one."""
        return {"layer": self.layer} if self.layer else {}

    def must_leave_images(self) -> None:
        """An error if images are to be resized for an encoder that sees them as they are."""
        if self.image_size:
            text = "encode: image_size is for timm and hf networks; other encoders see images as they are."
            raise UnknotError(text, field="image_size")

    def must_leave_codes(self) -> None:
        """An error if a layer or a pooling is asked of what is no network with layers."""
        for option in ("pool", "layer"):
            if vars(self)[option]:
                text = (
                    f"encode: {option} is for timm and hf networks and modules of torch; other encoders have none."
                )
                raise UnknotError(text, field=option)


AS_USUAL = Opening()


@dataclass(frozen=True)
class Encoder:
    """A function from images to latents, and what a file of its latents says about it.

    Attributes:
        name: for messages.
        encode: uint8 images (n, h, w, c) to latents (n, d), slots (n, k, d), or (means, log-variances).
        record: plain values: kind, name, weights, pooling, preprocessing; a title where the name does not say it all.
        module: anyone's own module of torch, where it is that.
    """

    name: str
    encode: Callable[[Images], Any]
    record: Mapping[str, Any]
    module: Any = None


def find_encoder(which: Any, shape: Shape, opening: Opening = AS_USUAL) -> Encoder:
    """The encoder of a function, a module or a name, ready for images of a shape (height, width, channels).

    >>> find_encoder("brightness", (64, 64, 1))
    Traceback (most recent call last):
    unknot.errors.UnknotError: unknown encoder 'brightness'; expected the folder of a run, zoo:NAME, \
package.module:function, timm:NAME, hf:NAME or the file of a pipeline (.skops).
    """
    kind, _, name = which.partition(":") if isinstance(which, str) else ("", "", "")
    if kind in ("timm", "hf"):
        from unknot.encoders.pretrained import hf_encoder, timm_encoder

        make = timm_encoder if kind == "timm" else hf_encoder
        return make(name, shape, opening)
    opening.must_leave_images()
    if kind == "slots":
        from unknot.encoders.feature_slots import open_feature_slots

        return open_feature_slots(name, shape, opening)
    if isinstance(which, str | Path) and Path(which).suffix in (SKOPS, *PICKLED):
        which = read_transformer(Path(which).expanduser())
    if isinstance(which, str):
        if not name:
            raise UnknotError(
                f"unknown encoder '{which}'; expected the folder of a run, zoo:NAME, package.module:function, "
                "timm:NAME, hf:NAME or the file of a pipeline (.skops)."
            )
        which = imported(which, "encoder")
    if isinstance(which, type):
        which = _built(which)
    if isinstance(which, TorchModule) and not _of_keras(which):
        return _module_encoder(which, opening)
    opening.must_leave_codes()
    if isinstance(which, Transformer):
        return _transformer_encoder(which)
    if not callable(which):
        raise UnknotError(f"encoder: {which!r} is no function from images to latents, and no run.")
    return Encoder(_label(which), which, {"kind": "function", "name": _label(which)})


def as_path(which: Any) -> Path | None:
    """The file or folder that was handed over; an error if it can only be one, by its looks, and nothing is there.

    >>> as_path("timm:resnet18@weights.safetensors"), as_path("brightness")
    (None, None)
    >>> as_path("runs/nope")
    Traceback (most recent call last):
    unknot.errors.UnknotError: runs/nope: no such file or folder.
    """
    if not isinstance(which, str | Path) or Path(which).suffix in (SKOPS, *PICKLED):
        return None
    place = located(which)
    if place.is_file() and place.suffix in WEIGHTS:
        raise UnknotError(
            f"{which}: holds weights, which are no network; name a function that builds it and reads them, by "
            "torch.load(FILE, weights_only=True): package.module:function."
        )
    if place.exists():
        return place
    by_name = isinstance(which, str) and ":" in os.path.splitdrive(which)[1]
    looks = isinstance(which, Path) or "/" in which or os.sep in which or which.endswith((*FILES, *WEIGHTS))
    if looks and not by_name:
        raise UnknotError(f"{which}: no such file or folder.")
    return None


def run_record(run: Run) -> dict[str, Any]:
    """What a file of latents says about the run that made them; other weights give another record."""
    return {"kind": "run", "id": run.spec.id, "title": run.spec.title, "weights": run.weights_hash}


def writable(images: Images) -> Images:
    """The images in memory torch may take over; those of a memory map are copied."""
    return images if images.flags.writeable else images.copy()


def model_encode(model: Any, image_size: int | None, where: Any) -> Callable[[Images], Any]:
    """What turns images into codes of a model of ours, which is in evaluation mode and on the device `where`."""
    import torch

    from unknot.models.codes import represent
    from unknot.runs.batches import as_tensor

    def encode(images: Images) -> NDArray[np.float32] | tuple[NDArray[np.float32], NDArray[np.float32]]:
        with torch.inference_mode():
            q = represent(model, as_tensor(writable(images), image_size).to(where), batch_size=len(images))
        mean: NDArray[np.float32] = q.mean.cpu().numpy()
        return mean if q.logvar is None else (mean, q.logvar.cpu().numpy())

    return encode


def must_fit(who: str, spec: RunSpec, trained: Shape, shape: Shape) -> None:
    """An error if a run trained on images of one shape cannot see those of another."""
    resized = spec.image_size is not None
    if shape[2] != trained[2] or (shape[:2] != trained[:2] and not resized):
        theirs, ours = (f"{h} x {w} x {c}" for h, w, c in (shape, trained))
        raise UnknotError(
            f"{who}: was trained on images of {ours} ({spec.world}); those of the world are {theirs}. "
            "Choose a world with images of the same shape, or a run trained with image_size, which resizes all images."
        )


def _module_encoder(module: Any, opening: Opening) -> Encoder:
    import torch

    from unknot.runs.batches import as_tensor
    from unknot.runs.training import find_device

    name, where = type(module).__name__, find_device(opening.device)
    module = module.to(where)
    pool = known_pool(opening.pool, opening.layer, "")

    def encode(images: Images) -> Any:
        training = module.training
        module.eval()
        try:
            with torch.inference_mode():
                pixels = as_tensor(writable(images)).to(where)
                if opening.layer:
                    features = output_of(name, module, opening.layer, lambda: module(pixels))
                else:
                    features = module(pixels)
                return pooled(name, features, pool) if pool else features
        finally:
            module.train(training)

    record = {"kind": "module", "name": _label(type(module)), **opening.of_layer}
    return Encoder(name, encode, record | ({"pool": pool} if pool else {}), module)


def _of_keras(which: Any) -> bool:
    """Whether it is a model of Keras, which sees images as they are, its weights being of torch or not."""
    return any(kind.__module__.partition(".")[0] == "keras" for kind in type(which).__mro__)


def _built(kind: type) -> Any:
    """An object of a class that was named in place of one."""
    try:
        return kind()
    except Exception as error:  # anybody's own code
        raise UnknotError(
            f"encoder: {_label(kind)} is a class that cannot be built without arguments ({error}); name a "
            "function that builds it and encodes images, or an object of it."
        ) from error


def _transformer_encoder(transformer: Transformer) -> Encoder:
    def encode(images: Images) -> Any:
        try:
            return transformer.transform(images.reshape(len(images), -1) / np.float32(255))
        except (ValueError, AttributeError) as error:  # not fitted, or to rows of another width
            raise UnknotError(
                f"encoder: {type(transformer).__name__} cannot transform rows of {images[0].size} pixels ({error}); "
                "fit it to such rows, float32 in [0, 1], first."
            ) from error

    return Encoder(type(transformer).__name__, encode, {"kind": "transformer", "name": _label(type(transformer))})


def _label(function: Any) -> str:
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{getattr(function, '__module__', '')}:{name}"
