import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.factors import space
from unknot.representation import Representation
from unknot.tasks.generalisation.predictors import CodedWorld

GRID = space({"shape": 3, "scale": 5, "x": 6}, categorical=["shape"])


def test_several_rows_of_a_combination_are_several_images_of_it() -> None:
    classes = np.repeat(GRID.classes(np.arange(GRID.size)), 3, axis=0)
    latents = GRID.scaled(classes) + 0.1 * np.random.default_rng(0).normal(size=classes.shape)
    world = CodedWorld(Representation(latents, classes, GRID.names), GRID, "painted")
    assert world.stochastic and len(world.rows) == 3 * GRID.size
    rng = np.random.default_rng(0)
    drawn = np.stack([world.images(GRID.classes([7]), rng=rng)[0, 0, 0] for _ in range(60)])
    assert len(np.unique(drawn, axis=0)) == 3
    with pytest.raises(UnknotError, match="pass rng"):
        world.images(GRID.classes([7]))
