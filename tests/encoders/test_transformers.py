"""Transformers of scikit-learn in files, and what is not opened."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import unknot
from unknot.encoders.transformers import read_transformer
from unknot.errors import UnknotError
from unknot.worlds import open_world
from unknot.worlds.world import sample

WORLD = "dsprites_rendered"


def test_a_pipeline_is_kept_with_skops(tmp_path: Path) -> None:
    from skops import io

    world = open_world(WORLD)
    images = world.images(sample(world, 60, np.random.default_rng(0)))
    pipeline = make_pipeline(StandardScaler(), PCA(3)).fit(images.reshape(60, -1) / np.float32(255))
    io.dump(pipeline, tmp_path / "pipeline.skops")
    codes = unknot.encode(str(tmp_path / "pipeline.skops"), WORLD, rows=20)
    assert np.array_equal(codes.latents, unknot.encode(pipeline, WORLD, rows=20).latents)
    io.dump({"a": Path("x")}, tmp_path / "strange.skops")
    with pytest.raises(UnknotError, match="could run any code"):
        read_transformer(tmp_path / "strange.skops")


def test_pickles_are_not_opened(tmp_path: Path) -> None:
    with pytest.raises(UnknotError, match=r"is a pickle, and opening one runs the code in it"):
        unknot.encode(str(tmp_path / "pipeline.joblib"), WORLD)
    with pytest.raises(UnknotError, match="no such file"):
        unknot.encode(str(tmp_path / "pipeline.skops"), WORLD)
