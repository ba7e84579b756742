"""Transformers of scikit-learn as encoders, and what is not opened."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.decomposition import NMF, PCA, FastICA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import unknot
from unknot.encoders.transformers import as_rows, read_transformer
from unknot.errors import UnknotError
from unknot.worlds import open_world
from unknot.worlds.world import sample

WORLD = "dsprites_rendered"


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    world = open_world(WORLD)
    return as_rows(world.images(sample(world, 60, np.random.default_rng(0))))


@pytest.mark.parametrize(
    "transformer",
    [
        PCA(3),
        FastICA(3, whiten="unit-variance", max_iter=1000, tol=0.05, random_state=0),
        NMF(3, max_iter=2000, tol=0.01),
        make_pipeline(StandardScaler(), PCA(3)),
    ],
    ids=lambda transformer: type(transformer).__name__,
)
def test_a_fitted_transformer_is_an_encoder(transformer, rows: np.ndarray) -> None:
    codes = unknot.encode(transformer.fit(rows), WORLD, rows=20)
    assert codes.latents.shape == (20, 3)
    assert codes.source["encoder"]["kind"] == "transformer"


def test_one_that_is_not_fitted_says_so() -> None:
    with pytest.raises(UnknotError, match=r"'PCA': failed on images .*NotFittedError"):
        unknot.encode(PCA(3), WORLD, rows=20)


def test_a_pipeline_is_kept_with_skops(rows: np.ndarray, tmp_path: Path) -> None:
    io = pytest.importorskip("skops.io")
    pipeline = make_pipeline(StandardScaler(), PCA(3)).fit(rows)
    io.dump(pipeline, tmp_path / "pipeline.skops")
    codes = unknot.encode(str(tmp_path / "pipeline.skops"), WORLD, rows=20)
    assert np.array_equal(codes.latents, unknot.encode(pipeline, WORLD, rows=20).latents)
    assert codes.source["encoder"]["name"] == "Pipeline(StandardScaler, PCA)"
    io.dump({"a": Path("x")}, tmp_path / "strange.skops")
    with pytest.raises(UnknotError, match="could run any code"):
        read_transformer(tmp_path / "strange.skops")


def test_pickles_are_not_opened(tmp_path: Path) -> None:
    with pytest.raises(UnknotError, match=r"is a pickle, and opening one runs the code in it"):
        unknot.encode(str(tmp_path / "pipeline.joblib"), WORLD)
    with pytest.raises(UnknotError, match="no such file"):
        unknot.encode(str(tmp_path / "pipeline.skops"), WORLD)
