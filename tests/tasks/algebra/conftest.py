"""Encoders and corpora that the tests of object algebra share."""

import numpy as np
import pytest

from unknot.worlds.scenes.corpus import Corpus
from unknot.worlds.scenes.making import make_corpus
from unknot.worlds.scenes.toy_corpus import toy_corpus

CALLS = []


def blocks(images):
    """A linear code: means of 4 x 4 pixels."""
    CALLS.append(images.dtype)
    n, height, width, channels = images.shape
    return images.reshape(n, height // 4, 4, width // 4, 4, channels).mean((2, 4)).reshape(n, -1)


def halves(images):
    """Two slots: the left and the right half."""
    return np.stack([images[:, :, :16].mean((1, 2)), images[:, :, 16:].mean((1, 2))], axis=1)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Corpus:
    return toy_corpus(tmp_path_factory.mktemp("toy"), n=64, size=32)


@pytest.fixture(scope="module")
def traced(tmp_path_factory) -> Corpus:
    return make_corpus(tmp_path_factory.mktemp("traced"), n=16, size=32, variant="clear")


def row(result, name, table="scores", **more):
    rows = [r for r in result.tables[table] if r["representation"] == name and more.items() <= r.items()]
    assert len(rows) == 1
    return rows[0]
