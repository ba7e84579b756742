"""How well the masks of a trained run fit the true objects of a world: of its own, or of another."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch

from unknot.errors import UnknotError
from unknot.reading.arguments import checked
from unknot.runs.batches import Feed
from unknot.runs.curve import Row
from unknot.runs.meters import AT_ONCE, SegmentationMeter, has_masks
from unknot.runs.run import Run
from unknot.runs.training import load_model
from unknot.runs.training_world import open_training_world
from unknot.worlds.catalogue import open_world
from unknot.worlds.world import KeylessWorld

WHO = "segmentation"


def prepared(
    run: Run, world: str | Path | KeylessWorld | None, *, n: int = 320, seed: int = 0, data: Path | None = None
) -> Callable[[], Row]:
    """What measures the masks of a run when it is called; what cannot be measured is refused at once."""
    home = open_training_world(run, data=data)
    here = home if world is None else open_world(world, data=data)
    if not has_masks(here):
        raise UnknotError(
            who=WHO,
            field="world",
            value=here.name,
            expected="a world with true masks of its objects",
            hint="Scenes, multi-object sprites and published multi-object files have them.",
        )
    model = load_model(run, data=data, world=home)
    if not model.masks_objects:
        raise UnknotError(who=WHO, field="run", value=run.spec.model, expected="a model that masks objects")
    if n < 1 or here.image_shape[2] != home.image_shape[2]:
        raise UnknotError(
            f"{WHO}: n is {n}, images of {here.name} have {here.image_shape[2]} channels; expected at least one image, "
            f"and {home.image_shape[2]} channels, as the run has seen."
        )
    size = run.spec.image_size or (None if here.image_shape == home.image_shape else home.image_shape[0])
    meter = SegmentationMeter(Feed(here, AT_ONCE, seed, image_size=size), n=n)
    return partial(meter.row, model, torch.device("cpu"))


@checked
def segmentation(
    run: Run,
    world: str | Path | KeylessWorld | None = None,
    *,
    n: int = 320,
    seed: int = 0,
    data: Path | None = None,
) -> Row:
    """`fg_ari` and `ari` of a run on n images of a world; images of another size are brought to the run's.

    Args:
        run: finished, of a model that masks objects.
        world: with true masks; left out, the one it was trained on.
        n: how many images.
        seed: decides which.
        data: folder of published files.
    """
    return prepared(run, world, n=n, seed=seed, data=data)()
