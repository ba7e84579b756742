"""Anything that predicts factors, or that can with a readout: a function, a network, a run, a file of latents."""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unknot.encoders.encoder import Encoder, writable
from unknot.encoders.source import WITH_WEIGHTS, Source
from unknot.errors import UnknotError, UnknotWarning, extras
from unknot.factors import FactorSpace
from unknot.reading.arrays import as_array
from unknot.representation import Representation
from unknot.runs.run import Run
from unknot.runs.spec import RunSpec
from unknot.tasks.generalisation.options import WHO, Scale
from unknot.tasks.pool import all_rows
from unknot.worlds.world import Images, World, needs_rng

FAR = 3.0  # predictions of [0, 1] that are mostly beyond this are probably class numbers


@dataclass(frozen=True)
class Predictor:
    """A function of images, and how factors come out of it.

    Attributes:
        encoder: gives predictions (n, n_factors) in [0, 1], checked; or latents.
        world: whose images it is shown.
        needs_readout: whether it gives latents, from which factors are still to be read.
        trained_in: the split a run was trained inside, "" for all of its world, None where nobody knows.
    """

    encoder: Encoder
    world: World
    needs_readout: bool
    trained_in: str | None = None

    @property
    def own_split(self) -> str:
        """The split it is tested on where none is named; empty if only its owner can say."""
        return self.trained_in or ("all" if self.needs_readout or self.trained_in is not None else "")


def find_predictor(source: Source, readout: bool | None = None, scale: Scale = "unit") -> Predictor:
    """What predicts the factors of a source's world.

    Args:
        source: a run of a supervised network predicts by itself, other runs, `timm:` and `hf:` networks and files of
            latents need a readout; a function, a torch module or `package.module:function` is taken at its word: it
            predicts.
        readout: overrules that; True for a function that gives latents.
        scale: of predictions: "unit" for [0, 1], "classes" for class numbers.
    """
    if source.representation is not None:
        return _rows_of(source, source.representation, readout is not False, scale)
    world, run = source.world, source.run
    must_have_factors(world)
    if run is None:
        encoder = source.encoder
        reads = encoder.record["kind"] in WITH_WEIGHTS if readout is None else readout
    else:
        reads = needs_readout(run.spec, readout, str(run.folder))
        encoder = source.encoder if reads else _network(source, run)
    encoder = encoder if reads else checked(encoder, world.factors, scale)
    return Predictor(encoder, world, reads, None if run is None else run.spec.split)


def _rows_of(source: Source, representation: Representation, reads: bool, scale: Scale) -> Predictor:
    """The rows of a representation as images, and what turns these into latents: they are."""
    if not source.world_name:
        raise UnknotError(
            f"{WHO}: which world do the latents come from? Name it, such as dsprites_rendered: it says which classes "
            "each factor has, and which of them each split keeps for testing.",
            field="world",
        )
    factors = source.known_factors or source.world.factors
    record = {"kind": "file", "name": source.label, "fingerprint": source.fingerprint}
    encoder = Encoder(source.label, lambda images: images[:, 0, 0], record)
    world = CodedWorld(representation, factors, source.world_name)
    return Predictor(encoder if reads else checked(encoder, factors, scale), world, reads)


def must_have_factors(world: World) -> None:
    """An error if a world has no factors."""
    if world.factors.names == ("image",):
        raise UnknotError(
            f"{WHO}: {world.name} has no factors to predict; choose a world that has.", field="world"
        )


def needs_readout(spec: RunSpec, readout: bool | None, who: str) -> bool:
    """Whether factors have to be read from the latents of a run, or are predicted by it."""
    with extras(f"{who}: a run"):
        from unknot.models import find
    if find(spec.model).predicts:
        return readout is True
    if readout is False:
        raise UnknotError(
            f"{who}: {spec.model} learns latents and predicts no factors; it needs the readout.", field="readout"
        )
    return True


def must_share_factors(who: str, spec: RunSpec, home: World, world: World) -> None:
    """An error if a network trained on one world predicts factors that another does not have."""
    theirs, ours = (tuple(zip(w.factors.names, w.factors.shape, strict=True)) for w in (home, world))
    if theirs != ours:
        raise UnknotError(
            f"{who}: predicts the factors of {spec.world}; those of {world.name} are others. Choose the world it was "
            "trained on, or one with the same factors.",
            field="world",
        )


def _network(source: Source, run: Run) -> Encoder:
    """A run of a supervised network as a function from images to factors."""
    import torch

    from unknot.runs.batches import as_tensor

    must_share_factors(str(run.folder), run.spec, source.home, source.world)
    encoder, model, device = source.encoder, source.model, source.device

    def predict(images: Images) -> Any:
        with torch.inference_mode():
            return model.predict(as_tensor(writable(images), run.spec.image_size).to(device)).float().cpu()

    return replace(encoder, encode=predict)


def checked(encoder: Encoder, space: FactorSpace, scale: Scale) -> Encoder:
    """The same function, its predictions (n, n_factors) checked (shape, numbers, scale) and brought to [0, 1]."""
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


class CodedWorld:
    """The rows of a representation as a world whose images are latents, (n, 1, 1, d).

    Several rows of a combination are several images of it, of which one is drawn; test rows are rows like the others.
    """

    def __init__(self, representation: Representation, factors: FactorSpace, name: str) -> None:
        latents, labels = all_rows(WHO, representation, "; they say which rows are for training.")
        if representation.factor_names != factors.names:
            raise UnknotError(
                f"{WHO}: the representation has factors {', '.join(representation.factor_names)}; {name} has "
                f"{', '.join(factors.names)}. Name the world it comes from.",
                field="world",
            )
        self.key, self.name, self.factors = "", name, factors  # images of no world of the catalogue
        self.rows = factors.check(labels, WHO)
        points = factors.indices(self.rows)
        order = np.argsort(points, kind="stable")
        self._points, self._latents = points[order], latents[order]
        self.stochastic = bool((np.diff(self._points) == 0).any())
        self.image_shape = (1, 1, latents.shape[1])

    def images(self, classes: ArrayLike, *, rng: np.random.Generator | None = None) -> NDArray[Any]:
        """The latents of a row of each combination, in the shape of images."""
        wanted = self.factors.indices(self.factors.check(classes, self.name))
        at = np.searchsorted(self._points, wanted)
        if self.stochastic:
            copies = np.searchsorted(self._points, wanted, side="right") - at
            at = at + needs_rng(self.name, rng).integers(0, copies)
        return self._latents[at][:, None, None]
