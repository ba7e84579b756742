"""The images behind the rows of a representation: those its record says, or those of a world that fits it."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from unknot.encoders.points import drawn_rows, encoded_images
from unknot.encoders.source import Source
from unknot.errors import UnknotError
from unknot.factors import FactorSpace, Indices
from unknot.representation import Representation
from unknot.worlds.array_world import ArrayWorld
from unknot.worlds.catalogue import conventions, open_world
from unknot.worlds.splits.named import named_split
from unknot.worlds.world import Images, World

RowImages = Callable[[Indices], Images]  # numbers of rows -> their images


def row_images(
    representation: Representation, world: str | Path | None = None, *, data: Path | None = None
) -> tuple[RowImages, FactorSpace] | None:
    """What draws the images of rows, and the factors of their world; None where nobody knows the world.

    Args:
        representation: whose rows they are.
        world: where the images are; left out, where the representation says it comes from. Its images are those that
            were encoded, by the record; else one for each row, in their order; else those with the factors of each row.
        data: folder of data files.
    """
    source = Source.of(representation, world, who="explore")
    if not source.world_name:
        return None
    opened = open_world(source.chosen_world or source.world_name, data=data)
    if opened.image_shape[2] not in (1, 3):
        raise UnknotError(
            f"explore: images of {opened.name} have {opened.image_shape[2]} channels; only 1 and 3 can be shown."
        )
    images = (
        _recorded(representation, opened) or _in_order(representation, opened) or _fitting(representation, opened)
    )
    if images is None:
        raise UnknotError(
            f"explore: nothing says which images of {opened.name} the {representation.latents.shape[0]:,} rows are; "
            f"expected one image for each row, or its factors, {', '.join(opened.factors.names)}, as classes.",
            field="world",
        )
    return images, opened.factors


def _recorded(representation: Representation, world: World) -> RowImages | None:
    """The images that `unknot.encode` drew, if its record leads to the rows that are there."""
    record = representation.source
    rows, seed, split = record.get("rows"), record.get("seed"), record.get("split")
    if type(seed) is not int or seed < 0 or not isinstance(split, str):
        return None
    if not ((type(rows) is int and rows > 0) or rows == "all"):
        return None
    halves = named_split(split, world.factors, conventions(world.key).rule) if split else None
    images, points, classes = drawn_rows(world, halves, "train", rows, seed)
    if len(classes) != representation.latents.shape[0]:
        return None
    if representation.factors is not None and not np.array_equal(
        world.factors.measured(classes), representation.factors
    ):
        return None
    return lambda numbers: encoded_images(images, points, numbers, [seed, 0])


def _in_order(representation: Representation, world: World) -> RowImages | None:
    if not isinstance(world, ArrayWorld) or world.pictures.shape[0] != representation.latents.shape[0]:
        return None
    alone = world.one_by_one()
    return lambda numbers: alone.images(numbers[:, None])


def _fitting(representation: Representation, world: World) -> RowImages | None:
    if representation.factor_names != world.factors.names:
        return None
    classes = world.factors.check(representation.factors, "explore")
    rng = np.random.default_rng(0) if world.stochastic else None
    return lambda numbers: world.images(classes[numbers], rng=rng)
