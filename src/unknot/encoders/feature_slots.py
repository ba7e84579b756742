"""Slots over the features of any frozen encoder, as in DINOSAUR: features are computed once, and no pixel after that.

The encoder gives a code for every place of an image, (n, t, d), such as the tokens of a transformer (`pool="slots"`);
or, with a grid, one code for each of many windows of an image, so that encoders of whole images serve too.
"""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.encoders.encoder import AS_USUAL, Encoder, Opening, Shape, writable
from unknot.encoders.points import checked_codes, draw_points
from unknot.encoders.source import Source
from unknot.errors import UnknotError, extras
from unknot.files import read_json, write_json, written_whole
from unknot.processes.threads import threads_of_torch
from unknot.processes.trust import read_from
from unknot.progress import Progress, silent
from unknot.reading.arguments import check_fields
from unknot.reading.guard import must_fit, parsing
from unknot.runs.workspace import ARRAYS, Workspace
from unknot.worlds.scenes.objects_world import MaskedWorld
from unknot.worlds.world import Images, World

WHO = "feature_slots"
RECORD, WEIGHTS = "feature_slots.json", "feature_slots.safetensors"
AT_ONCE = 64  # images whose features are computed together
WINDOWS = 256  # pictures that the encoder sees at a time
WARM_UP = 0.05  # of the steps, over which the learning rate rises; then it falls to 0 along a cosine
CLIP = 1.0
MOST = 65_536  # slots, numbers in a slot, units of a layer, images of a step, places


@dataclass(frozen=True)
class FeatureSlotOptions:
    """How slots over features are trained.

    Attributes:
        slots: how many.
        slot_size: numbers in a slot.
        iterations: of attention.
        hidden: units of the decoder's layers.
        n: images whose features are computed.
        steps: of Adam.
        batch_size: images of a step.
        lr: the highest learning rate.
        grid: encode so many windows along each side of an image; 0 takes the places that the encoder has.
        seed: decides images, weights and batches.
    """

    slots: int = 7
    slot_size: int = 64
    iterations: int = 3
    hidden: int = 256
    n: int = 5_000
    steps: int = 5_000
    batch_size: int = 64
    lr: float = 4e-4
    grid: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(WHO, self)
        for name, value in asdict(self).items():
            if name not in ("grid", "seed") and not 0 < value < math.inf:
                raise UnknotError(who=WHO, field=name, value=value, expected="a number above 0")
        for name in ("slots", "slot_size", "iterations", "hidden", "batch_size"):
            if (value := asdict(self)[name]) > MOST:
                raise UnknotError(who=WHO, field=name, value=value, expected=f"{MOST:,} at most")
        if self.seed >= 2**63:
            raise UnknotError(who=WHO, field="seed", value=self.seed, expected="a number below 2^63")
        if not 0 <= self.grid <= 64:
            raise UnknotError(who=WHO, field="grid", value=self.grid, expected="0 to 64 windows along a side")


class SlotEncoder:
    """Slots (n, k, d) of images, by an encoder that is frozen and slots that were trained on its features.

    It is a function of images, and so an encoder for every task.
    """

    def __init__(self, encoder: Encoder, network: Any, options: FeatureSlotOptions, losses: list[float]) -> None:
        self.encoder, self.network, self.options, self.losses = encoder, network, options, losses
        self.name = f"slots of {encoder.name}"

    def __call__(self, images: Images) -> NDArray[np.float32]:
        """The slots (n, k, d) of images (n, h, w, c)."""
        slots: NDArray[np.float32] = self._in_batches(images, lambda slots: slots)
        return slots

    def masks(self, images: Images) -> NDArray[np.float32]:
        """How far each pixel belongs to each slot, (n, k, h, w), drawn at the places of features and enlarged."""
        from torch.nn.functional import interpolate

        def enlarged(slots: Any) -> Any:
            shares = self.network.decoded(slots)[1]
            side = math.isqrt(shares.shape[2])
            return interpolate(
                shares.unflatten(2, (side, side)), images.shape[1:3], mode="bilinear", align_corners=False
            )

        masks: NDArray[np.float32] = self._in_batches(images, enlarged)
        return masks

    def segmentation(self, world: World, *, n: int = 320, seed: int = 0) -> dict[str, float]:
        """FG-ARI and ARI of its masks on n images of a world that knows its objects."""
        from unknot.metrics.segmentation import ari, fg_ari

        if not isinstance(world, MaskedWorld):
            raise UnknotError(
                who=WHO, field="world", value=world.name, expected="a world with true masks of its objects"
            )
        classes = draw_points(world, None, "train", n, seed)
        true, masks = world.masks(classes), self.masks(world.images(classes, rng=np.random.default_rng([seed, 3])))
        return {"fg_ari": fg_ari(true, masks).value, "ari": ari(true, masks).value}

    def _in_batches(self, images: Images, function: Callable[[Any], Any]) -> NDArray[Any]:
        import torch

        if not len(images):
            raise UnknotError(who=WHO, field="images", value="empty", expected="one image or more")
        parts = []
        with torch.inference_mode():
            for start in range(0, len(images), AT_ONCE):
                some = writable(images[start : start + AT_ONCE])
                features = torch.from_numpy(place_features(self.encoder, some, self.options.grid))
                pixels = torch.from_numpy(some).movedim(-1, 1) / 255
                parts.append(function(self.network.represent(features, pixels)).float().numpy())
        return np.concatenate(parts)


def train_feature_slots(
    encoder: Any,
    world: Any = None,
    folder: Path | str | None = None,
    *,
    options: FeatureSlotOptions | None = None,
    opening: Opening = AS_USUAL,
    progress: Progress = silent,
) -> SlotEncoder:
    """Train slots on the features of an encoder, which is asked once for every image and never again.

    Args:
        encoder: the folder of a run, package.module:function, timm:NAME, hf:NAME (with `pool="slots"`), or a function.
        world: images; left out, those the run was trained on.
        folder: keeps features, weights and record; `slots:FOLDER` is an encoder then.
        options: how it is trained.
        opening: how encoder and world are opened.
        progress: told how far it is.
    """
    with extras(f"{WHO}: slots"):
        import torch

        from unknot.models.feature_slots import FeatureSlots
    how = options or FeatureSlotOptions()
    source = Source.of(encoder, world, opening, who=WHO)
    classes = draw_points(source.world, None, "train", how.n, how.seed)
    key = [source.record, source.fingerprint, source.world_name, len(classes), how.seed, how.grid]
    workspace = Workspace(folder)
    kept = workspace.kept("features", key, lambda: _features(source, classes, how, progress), ARRAYS)
    features = torch.from_numpy(kept["features"])
    generator = torch.Generator().manual_seed(how.seed)
    with threads_of_torch(1), torch.random.fork_rng(devices=[]):
        torch.manual_seed(how.seed)
        network = FeatureSlots(
            features.mean((0, 1)),
            features.std((0, 1)),
            features.shape[1],
            slots=how.slots,
            slot_size=how.slot_size,
            iterations=how.iterations,
            hidden=how.hidden,
        )
        losses = _fit(network, features, how, generator, progress)
    result = SlotEncoder(source.encoder, network.eval(), how, losses)
    if folder is not None:
        _write(result, Path(folder), source, features.shape)
    return result


def open_feature_slots(folder: Path | str, shape: Shape, opening: Opening = AS_USUAL) -> Encoder:
    """The encoder that `train_feature_slots` left in a folder, for images of a shape."""
    with extras(f"{folder}: slots"):
        from safetensors.torch import load_file

        from unknot.models.feature_slots import FeatureSlots
    opening.must_leave_codes()
    folder = Path(folder).expanduser()
    record = read_json(folder / RECORD)
    if not record or not (folder / WEIGHTS).is_file():
        raise UnknotError(
            f"{folder}: holds no slots over features; `unknot slots ENCODER -o {folder}` trains them."
        )
    with parsing(folder, "slots over features", "Train them again."):
        which, places, losses = record["encoder"], record["places"], record["losses"]
        how = FeatureSlotOptions(**record["options"])
        frozen = Opening(
            opening.device, opening.data, record["pool"], record["image_size"], record.get("layer", "")
        )
        if not 0 < places <= MOST or math.isqrt(places) ** 2 != places:
            raise ValueError(f"{places} places are no square")
        must_fit(folder / WEIGHTS, (folder / WEIGHTS).stat().st_size)
        weights = load_file(folder / WEIGHTS)
        sizes = {name: asdict(how)[name] for name in ("slots", "slot_size", "iterations", "hidden")}
        network = FeatureSlots(weights["mean"], weights["spread"], places, **sizes)
        network.load_state_dict(weights)
        about = {"kind": "feature_slots", "name": which, "weights": record["weights"], "options": asdict(how)}
    if not which:
        raise UnknotError(
            f"{folder}: its encoder was a function without a name; train it with package.module:function."
        )
    read_from(folder / RECORD, [which])
    encoder = Source(which, None, frozen, who=WHO).encoder_of(shape)
    return Encoder(f"slots:{folder.name}", SlotEncoder(encoder, network.eval(), how, losses), about)


def place_features(encoder: Encoder, images: Images, grid: int) -> NDArray[np.float32]:
    """Features (n, t, d) of the places of images; t is a square number."""
    at_once, parts = max(1, WINDOWS // max(1, grid * grid)), []
    for start in range(0, len(images), at_once):
        some = images[start : start + at_once]
        seen = windows(some, grid) if grid else some
        parts += [checked_codes(encoder, seen[i : i + WINDOWS].copy())[0] for i in range(0, len(seen), WINDOWS)]
    codes = np.concatenate(parts)
    if grid:
        codes = codes.reshape(len(images), grid * grid, -1)
    if codes.ndim != 3:
        raise UnknotError(
            f"{WHO}: encoder '{encoder.name}' gives one code for an image; say grid=8 to encode windows of it, or "
            "pool='slots' for the tokens of a timm or hf network.",
            field="grid",
        )
    if math.isqrt(codes.shape[1]) ** 2 != codes.shape[1]:
        raise UnknotError(
            f"{WHO}: encoder '{encoder.name}' gives {codes.shape[1]} places; expected a square number of them."
        )
    return np.ascontiguousarray(codes, dtype=np.float32)


def windows(images: Images, grid: int) -> Images:
    """(n grid^2, h, w, c): around each of grid x grid places, a window of twice its size, enlarged to a whole image.

    >>> windows(np.arange(16, dtype=np.uint8).reshape(1, 4, 4, 1), 2)[3, :, :, 0].tolist()[3]
    [12, 13, 14, 15]
    """
    n, height, width, channels = images.shape
    cut = np.empty((n, grid, grid, height, width, channels), dtype=images.dtype)
    rows, columns = (_window_indices(side, grid) for side in (height, width))
    for i in range(grid):
        for j in range(grid):
            cut[:, i, j] = images[:, rows[i][:, None], columns[j][None]]
    return cut.reshape(-1, height, width, channels)


def _window_indices(side: int, grid: int) -> NDArray[np.int64]:
    """(grid, side) which pixels along a side each window is drawn from; windows stay inside."""
    size = min(2 * side / grid, side)
    start = np.clip((np.arange(grid) + 0.5) * side / grid - size / 2, 0, side - size)
    indices: NDArray[np.int64] = (start[:, None] + (np.arange(side) + 0.5) / side * size).astype(np.int64)
    return indices


def _features(
    source: Source, classes: Any, how: FeatureSlotOptions, progress: Progress
) -> dict[str, NDArray[Any]]:
    parts, rng = [], np.random.default_rng([how.seed, 1])
    with threads_of_torch(1):
        for start in range(0, len(classes), AT_ONCE):
            images = writable(source.world.images(classes[start : start + AT_ONCE], rng=rng))
            parts.append(place_features(source.encoder, images, how.grid))
            progress("encoding", min(start + AT_ONCE, len(classes)), len(classes))
    return {"features": np.concatenate(parts)}


def _fit(network: Any, features: Any, how: FeatureSlotOptions, generator: Any, progress: Progress) -> list[float]:
    """Adam with a warm-up and a cosine; the mean loss of each hundredth of the steps."""
    import torch

    optimiser = torch.optim.Adam(network.parameters(), lr=how.lr)
    every, seen, losses = max(1, how.steps // 100), [], []
    for step in range(how.steps):
        share = step / how.steps
        rate = min(1.0, (step + 1) / max(1, WARM_UP * how.steps)) * (1 + math.cos(math.pi * share)) / 2
        optimiser.param_groups[0]["lr"] = how.lr * rate
        rows = torch.randint(len(features), (how.batch_size,), generator=generator)
        noise = torch.randn(how.batch_size, how.slots, how.slot_size, generator=generator)
        optimiser.zero_grad()
        loss = network.loss(features[rows], noise)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), CLIP)
        optimiser.step()
        seen.append(loss.detach())
        if (step + 1) % every == 0 or step + 1 == how.steps:
            losses.append(float(torch.stack(seen).mean()))
            seen = []
            if not math.isfinite(losses[-1]):
                raise UnknotError(f"{WHO}: diverged at step {step + 1}; try a lower learning rate than {how.lr}.")
            progress("training slots", step + 1, how.steps, loss=losses[-1])
    return losses


def _write(slots: SlotEncoder, folder: Path, source: Source, shape: Any) -> None:
    from safetensors.torch import save_file

    from unknot.files import file_hash

    with written_whole(folder / WEIGHTS) as beside:
        save_file(slots.network.state_dict(), str(beside))
    which = source.run.folder if source.run is not None else source.which
    record = {
        "encoder": str(which) if isinstance(which, str | Path) else "",
        "pool": source.opening.pool,
        "image_size": source.opening.image_size,
        "layer": source.opening.layer,
        "world": source.world_name,
        "options": asdict(slots.options),
        "places": int(shape[1]),
        "losses": slots.losses,
        "weights": file_hash(folder / WEIGHTS),
    }
    write_json(folder / RECORD, record)
