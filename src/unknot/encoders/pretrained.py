"""Encoders from published networks: `timm:NAME` and `hf:NAME`.

Images are resized only for a network that takes one size alone, or when asked; grey ones are repeated to three
channels; then the mean and standard deviation the weights were trained with are applied. The network runs in float32
and evaluation mode. Its last feature map, or that of a layer, becomes latents by a pooling that is written into the
file (`unknot.encoders.layers`). The default is `own` for timm and `mean` for hf, whose poolers many checkpoints lack.
"""

import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from unknot.encoders.encoder import Encoder, Opening, Shape, writable
from unknot.encoders.layers import known_pool, output_of, pooled
from unknot.errors import UnknotError, UnknotWarning, why
from unknot.files import file_hash
from unknot.models.hub import hub_or_cache
from unknot.models.torchvision import import_timm, import_torchvision
from unknot.reading import npz
from unknot.reading.guard import must_fit, parsing
from unknot.worlds.world import Images

UNTRAINED = "untrained"


def timm_encoder(name: str, shape: Shape, opening: Opening) -> Encoder:
    """A network of timm as an encoder.

    Args:
        name: such as `resnet50.tv_in1k` (published weights, which timm fetches once and keeps), or with
            `@weights.safetensors` (a local file; `.npz` for networks of Google's), or with `@untrained`.
        shape: of the images.
        opening: where to run it, how to pool (`own` if left out), and what size images are resized to.
    """
    timm = import_timm()
    pool, image_size = known_pool(opening.pool, opening.layer, "own"), opening.image_size
    architecture, _, weights = name.partition("@")
    if not timm.is_model(architecture):
        raise _unknown_timm(architecture, timm)
    network = _timm_network(timm, architecture, weights)
    setting = network.pretrained_cfg
    if setting["fixed_input_size"]:
        wanted = setting["input_size"][1]
        if image_size not in (None, wanted):
            raise UnknotError(
                f"timm:{architecture}: takes images of {wanted} pixels alone, not {image_size}; leave image_size out."
            )
        image_size = wanted
    channels_last = vars(network).get("output_fmt") == "NHWC"
    prefix = vars(network).get("num_prefix_tokens", 0)

    who = f"timm:{architecture}"

    def forward(images: Any) -> Any:
        if opening.layer:
            features = output_of(who, network, opening.layer, lambda: network(images))
        else:
            features = network.forward_features(images)
        if pool == "own":
            return network.forward_head(features, pre_logits=True).flatten(1)
        return pooled(who, features, pool, prefix, channels_last=channels_last)

    record = {"kind": "timm", "name": architecture, "weights": _weights_record(weights, setting), "pool": pool}
    if weights:  # else it would be taken for the published network
        record["title"] = f"timm:{architecture}@{Path(weights).name}"
    record |= opening.of_layer
    return _encoder(network, forward, record, shape, opening.device, image_size, setting["mean"], setting["std"])


def hf_encoder(name: str, shape: Shape, opening: Opening) -> Encoder:
    """An image network of transformers as an encoder; of networks for images and text, the image part.

    Only safetensors are read, and no code that comes with a checkpoint is run.

    Args:
        name: on the hub (fetched once and kept by transformers), or a local folder.
        shape: of the images.
        opening: where to run it, how to pool (`mean` if left out), and what size images are resized to (the
            checkpoint's own if left out).
    """
    pool = known_pool(opening.pool, opening.layer, "mean")
    network, missing = _hf_network(name)
    # A pooler that is not asked is no loss.
    lacking = [key for key in missing if pool == "own" or "pooler" not in key]
    if lacking:
        raise UnknotError(
            f"hf:{name}: the checkpoint has no weights for {lacking[0]} ({len(lacking)} in all)"
            + (
                "; use pool mean or class."
                if all("pooler" in key for key in lacking)
                else ", so it cannot be used."
            )
        )
    config = network.config.to_dict()
    mean, std = _hf_statistics(name)
    size = opening.image_size or config.get("image_size")
    size = size if isinstance(size, int) or size is None else int(size[0])
    patch = config.get("patch_size")

    def forward(images: Any) -> Any:
        if opening.layer:
            features = output_of(f"hf:{name}", network, opening.layer, lambda: network(pixel_values=images))
        else:
            output = network(pixel_values=images)
            if pool == "own":
                summary = output.get("pooler_output")
                if summary is None:
                    raise UnknotError(f"hf:{name}: has no pooler; use pool mean, class or slots.")
                return summary.flatten(1)
            features = output.last_hidden_state
        n_patches = (images.shape[-1] // patch) ** 2 if isinstance(patch, int) else features.shape[1]
        return pooled(f"hf:{name}", features, pool, max(features.shape[1] - n_patches, 0))

    file = Path(name).expanduser() / "model.safetensors"
    weights = file_hash(file) if file.is_file() else str(vars(network.config).get("_commit_hash") or "")
    record = {"kind": "hf", "name": name, "weights": weights, "pool": pool, **opening.of_layer}
    return _encoder(network, forward, record, shape, opening.device, size, mean, std)


def _encoder(
    network: Any,
    forward: Callable[[Any], Any],
    record: dict[str, Any],
    shape: Shape,
    device: str,
    image_size: int | None,
    mean: Sequence[float],
    std: Sequence[float],
) -> Encoder:
    import torch

    from unknot.runs.batches import as_tensor
    from unknot.runs.training import find_device

    name = record.get("title", f"{record['kind']}:{record['name']}")
    if shape[2] not in (1, 3):
        raise UnknotError(f"{name}: images have {shape[2]} channels; expected 3, or 1, which is repeated.")
    where = find_device(device)
    network.to(where).eval()
    shift, scale = (torch.tensor(values, device=where).view(1, -1, 1, 1) for values in (mean, std))

    def encode(images: Images) -> Any:
        with torch.inference_mode():
            pixels = as_tensor(writable(images), image_size).to(where)
            return forward((pixels.expand(-1, 3, -1, -1) - shift) / scale).float()

    seen = {"image_size": image_size or shape[0], "mean": list(mean), "std": list(std), "grey": shape[2] == 1}
    return Encoder(name, encode, {**record, "preprocessing": seen})


def _unknown_timm(name: str, timm: Any) -> UnknotError:
    near = get_close_matches(name.partition(".")[0], timm.list_models(), n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(repr(n) for n in near)}?" if near else "timm.list_models() lists them."
    return UnknotError(f"unknown timm network '{name}'; {hint}")


def _timm_network(timm: Any, name: str, weights: str) -> Any:
    import torch

    if weights:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            network = _created(timm, name, pretrained=False)
        if weights != UNTRAINED:
            _load(name, network, Path(weights).expanduser())
        return network
    try:
        with hub_or_cache():
            return _created(timm, name, pretrained=True)
    except UnknotError:
        raise
    except Exception as error:  # of many kinds: no network, no such file, a refused pickle
        raise UnknotError(
            f"timm:{name}: its weights could not be fetched ({type(error).__name__}). Give a local file, "
            f"timm:{name}@weights.safetensors, or use timm:{name}@{UNTRAINED}."
        ) from error


def _created(timm: Any, name: str, *, pretrained: bool) -> Any:
    try:
        return timm.create_model(name, pretrained=pretrained, num_classes=0)
    except RuntimeError as error:
        if "Invalid pretrained tag" not in str(error) and "No pretrained weights" not in str(error):
            raise
        known = timm.list_pretrained(name.partition(".")[0] + "*")
        raise UnknotError(f"timm: no weights of '{name}' are published; there are {', '.join(known)}.") from None


def _load(name: str, network: Any, path: Path) -> None:
    """Fill a network from a file; a file that lacks some of its weights is refused."""
    from safetensors.torch import load_file

    if not path.is_file():
        raise UnknotError(f"timm:{name}@{path}: there is no such file of weights.")
    if path.suffix == ".npz" and hasattr(network, "load_pretrained"):
        must_fit(path, sum(member.n_bytes for member in npz.members(path).values()))
        with parsing(path, f"weights for {name}"):
            network.load_pretrained(str(path))
        return
    if path.suffix != ".safetensors":
        raise UnknotError(f"{path}: is not a .safetensors file; convert it with safetensors.torch.save_file.")
    must_fit(path, path.stat().st_size)
    try:
        missing, left = network.load_state_dict(load_file(path), strict=False)
    except Exception as error:
        raise UnknotError(f"{path}: does not fit {name} ({why(error, -1)})") from None
    heads = network.pretrained_cfg.get("classifier") or ()
    heads = (heads,) if isinstance(heads, str) else tuple(heads)
    wrong = [*missing, *(key for key in left if not key.startswith(tuple(f"{head}." for head in heads)))]
    if wrong:
        raise UnknotError(
            f"{path}: does not fit {name}: {len(missing)} weights are missing and {len(wrong) - len(missing)} are "
            f"strange to it, such as {wrong[0]}. Is it the file of another network?"
        )


def _weights_record(weights: str, setting: dict[str, Any]) -> str:
    """The tag of published weights, such as tv_in1k; or the digest of a file."""
    if weights in ("", UNTRAINED):
        return weights or str(setting.get("tag") or "published")
    return file_hash(Path(weights).expanduser())


def _hf_network(name: str) -> tuple[Any, Sequence[str]]:
    import torch

    try:
        from transformers import AutoModel
        from transformers.utils import logging
    except ImportError as error:
        raise UnknotError(
            f"hf:{name}: transformers cannot be imported ({error}); it is an extra: pip install unknot[hf]."
        ) from None
    try:
        import_torchvision()  # some networks want it, and would not say why it does not load
    except ImportError:
        pass
    bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()  # it would run into ours
    try:
        with _source_of(name):
            network, report = AutoModel.from_pretrained(
                name, dtype=torch.float32, use_safetensors=True, trust_remote_code=False, output_loading_info=True
            )
    except Exception as error:  # of many kinds: no network, no such name, no safetensors
        raise UnknotError(
            f"hf:{name}: cannot be loaded ({type(error).__name__}: {why(error)}). Is the name right, "
            "or the folder complete (config.json, model.safetensors, preprocessor_config.json)?"
        ) from error
    finally:
        if bars:
            logging.enable_progress_bar()
    return dict(network.named_children()).get("vision_model", network), list(report["missing_keys"])


def _source_of(name: str) -> AbstractContextManager[None]:
    """Where a checkpoint comes from: a folder here, or the hub."""
    return nullcontext() if Path(name).is_dir() else hub_or_cache()


def _hf_statistics(name: str) -> tuple[Sequence[float], Sequence[float]]:
    from transformers.image_processing_base import ImageProcessingMixin

    try:
        with _source_of(name):
            settings, _ = ImageProcessingMixin.get_image_processor_dict(name)
        mean, std = (_of_channels(settings[key]) for key in ("image_mean", "image_std"))
        if not all(std):
            raise ValueError
        return mean, std
    except (OSError, KeyError, TypeError, ValueError):
        warnings.warn(
            f"hf:{name}: has no preprocessor_config.json with a mean and a standard deviation of three channels; "
            "images are given in [0, 1] as they are.",
            UnknotWarning,
            stacklevel=2,
        )
        return (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)


def _of_channels(value: Any) -> list[float]:
    """A number for each of three channels, of three or of one that is that of all.

    >>> _of_channels([0.5]), _of_channels(0.5), _of_channels((0, 0.5, 1))
    ([0.5, 0.5, 0.5], [0.5, 0.5, 0.5], [0.0, 0.5, 1.0])
    """
    values = [float(each) for each in (value if isinstance(value, Sequence) else [value])]
    if len(values) not in (1, 3):
        raise ValueError(f"{len(values)} channels")
    return values * (3 // len(values))
