"""Anything that predicts factors, or that can with a readout: a function, a network, a run, an encoder."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from unknot.encoders.encoder import Encoder, find_encoder, run_record, writable
from unknot.errors import UnknotError, UnknotWarning, unknown
from unknot.factors import FactorSpace
from unknot.metrics.inputs import as_array
from unknot.runs.run import Run, RunSpec
from unknot.runs.training_world import home_world
from unknot.worlds.world import Images, World

Scale = Literal["unit", "classes"]
FAR = 3.0  # predictions of [0, 1] that are mostly beyond this are probably class numbers


@dataclass(frozen=True)
class Predictor:
    """A function of images, and how factors come out of it.

    Attributes:
        name: what results call it.
        encoder: gives predictions (n, n_factors) in [0, 1], checked; or latents.
        needs_readout: whether it gives latents, from which factors are still to be read.
        trained_in: the split a run was trained inside, "" for all of its world, None where nobody knows.
    """

    name: str
    encoder: Encoder
    needs_readout: bool
    trained_in: str | None = None


def find_predictor(
    which: Run | Path | str | Callable[..., Any],
    world: World,
    *,
    readout: bool | None = None,
    scale: Scale = "unit",
    device: str = "cpu",
    data: Path | None = None,
) -> Predictor:
    """The predictor of a run, a function, a network or a name.

    Args:
        which: a run of a supervised network predicts by itself, other runs and `timm:` and `hf:` networks need a
            readout; a function, a torch module or `package.module:function` is taken at its word: it predicts.
        world: whose images it will see.
        readout: overrules that; True for a function that gives latents.
        scale: of predictions: "unit" for [0, 1], "classes" for class numbers.
        device: of runs and networks.
        data: folder of data files.
    """
    if scale not in get_args(Scale):
        raise unknown("scale of predictions", scale, get_args(Scale))
    if isinstance(which, Path) or (isinstance(which, str) and Path(which).is_dir()):
        which = Run(which)
    if isinstance(which, Run):
        return _of_run(which, world, readout, scale, device, data)
    encoder = find_encoder(which, world.image_shape, device=device, data=data)
    latents = encoder.record["kind"] in ("timm", "hf") if readout is None else readout
    return Predictor(encoder.name, encoder if latents else checked(encoder, world.factors, scale), latents)


def _of_run(
    run: Run, world: World, readout: bool | None, scale: Scale, device: str, data: Path | None
) -> Predictor:
    reads = needs_readout(run.spec, readout, str(run.folder))
    home = home_world(run, data=data)
    home = world if home.name == world.name else home
    if not reads:
        network = checked(_network(run, world, device, home), world.factors, scale)
        return Predictor(_short_title(run), network, False, run.spec.split)
    encoder = find_encoder(run, world.image_shape, device=device, data=data, home=home)
    return Predictor(_short_title(run), encoder, True, run.spec.split)


def needs_readout(spec: RunSpec, readout: bool | None, who: str) -> bool:
    """Whether factors have to be read from the latents of a run, or are predicted by it."""
    try:
        from unknot.models import find
    except ImportError:
        raise UnknotError(f"{who}: a run needs torch, an extra: pip install unknot[torch].") from None
    if find(spec.model).predicts:
        return readout is True
    if readout is False:
        raise UnknotError(f"{who}: {spec.model} learns latents and predicts no factors; it needs the readout.")
    return True


def must_share_factors(who: str, spec: RunSpec, home: World, world: World) -> None:
    """An error if a network trained on one world predicts factors that another does not have."""
    theirs, ours = (tuple(zip(w.factors.names, w.factors.shape, strict=True)) for w in (home, world))
    if theirs != ours:
        raise _others(who, spec, home, world)


def _others(who: str, spec: RunSpec, home: World, world: World) -> UnknotError:
    return UnknotError(
        f"{who}: predicts the factors of {spec.world} from images of {home.image_shape}; those of {world.name} are "
        "others. Choose the world it was trained on, or one with the same factors and images."
    )


def _short_title(run: Run) -> str:
    """Model, seed, and the options that are not the model's own; the whole title is in the record."""
    from unknot.models import find, options_of

    usual = {name: parameter.default for name, parameter in options_of(find(run.spec.model)).items()}
    chosen = [f"{name} {value}" for name, value in sorted(run.spec.options.items()) if usual.get(name) != value]
    options = f" ({', '.join(chosen)})" if chosen else ""
    return f"{run.spec.model}{options}, seed {run.spec.seed}"


def _network(run: Run, world: World, device: str, home: World) -> Encoder:
    """A run of a supervised network as a function from images to factors."""
    import torch

    from unknot.runs.batches import as_tensor
    from unknot.runs.training import find_device, load_model

    must_share_factors(str(run.folder), run.spec, home, world)
    if home.image_shape != world.image_shape and run.spec.image_size is None:
        raise _others(str(run.folder), run.spec, home, world)
    place = find_device(device)
    model = load_model(run, world=home).to(place)

    def predict(images: Images) -> Any:
        with torch.inference_mode():
            return model.predict(as_tensor(writable(images), run.spec.image_size).to(place)).float().cpu()

    return Encoder(run.folder.name, predict, run_record(run))


def checked(encoder: Encoder, space: FactorSpace, scale: Scale = "unit") -> Encoder:
    """The same function with its predictions checked: shape, numbers, scale.

    Args:
        encoder: images (n, h, w, c) to predictions (n, n_factors).
        space: the factors.
        scale: of its predictions; they come out in [0, 1].
    """
    warned = False

    def predict(images: Images) -> NDArray[np.float64]:
        nonlocal warned
        predicted = _numbers(encoder, images, space)
        if scale == "classes":
            return predicted / np.maximum(space.sizes - 1, 1)
        if not warned and _like_classes(predicted, space):
            warned = True
            warnings.warn(
                f"predictions of '{encoder.name}' reach {predicted.max():.3g}; factors are scaled to [0, 1], class / "
                "(number of classes - 1). If these are class numbers, say scale='classes' (--scale classes).",
                UnknotWarning,
                stacklevel=2,
            )
        return predicted

    return replace(encoder, encode=predict)


def _numbers(encoder: Encoder, images: Images, space: FactorSpace) -> NDArray[np.float64]:
    who, n, k = f"predictor '{encoder.name}'", len(images), len(space)
    try:
        array = as_array(encoder.encode(images))
    except UnknotError:
        raise
    except Exception as error:
        raise UnknotError(
            f"{who}: failed on images of shape {images.shape} ({type(error).__name__}: {error})."
        ) from error
    if array.dtype.kind not in "fiub" or array.shape != (n, k):
        hint = " To read factors from latents, say so: readout=True (--readout)." if array.ndim == 2 else ""
        raise UnknotError(
            f"{who}: returned {array.dtype} of shape {array.shape} for {n} images; expected numbers of shape "
            f"({n}, {k}), one column each for {', '.join(space.names)}.{hint}"
        )
    predicted = array.astype(np.float64)
    bad = ~np.isfinite(predicted)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise UnknotError(
            f"{who}: predicts {predicted[row, column]} for {space.names[column]} of row {row} of a batch; look at its "
            "weights and at how it scales images."
        )
    return predicted


def _like_classes(predictions: NDArray[np.float64], space: FactorSpace) -> bool:
    """Whether predictions lie where class numbers do and not in [0, 1]."""
    large = space.sizes > 2 * FAR
    return bool(large.any()) and bool(np.all(np.median(predictions[:, large], axis=0) > FAR))
