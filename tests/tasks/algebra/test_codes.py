"""Codes of tuples: encoded in chunks, kept, told apart."""

import numpy as np
import pytest

from unknot.runs import training
from unknot.tasks.algebra.quadruples import CorpusTuples, pixel_negative
from unknot.tasks.algebra.task import algebra
from unknot.worlds.scenes.making import make_corpus

from .conftest import CALLS, blocks


def test_a_module_sees_the_sum_of_pixels_uncut(corpus):
    torch = pytest.importorskip("torch")
    seen = []

    class Mean(torch.nn.Module):
        def forward(self, images):
            seen.append((float(images.min()), float(images.max())))
            return images.flatten(1)[:, ::97]

    result = algebra(Mean(), corpus, pictures=0)
    assert min(low for low, _ in seen) < 0 and max(high for _, high in seen) > 1
    assert not any("cut off" in note for note in result.notes)
    wrong = pixel_negative(CorpusTuples(corpus), np.arange(64)) / 255
    assert max(high for _, high in seen) == pytest.approx(wrong.max(), rel=1e-6)


def test_codes_are_kept_in_chunks_and_an_interrupted_call_goes_on(corpus, tmp_path):
    def stopped(images):
        if len(CALLS) == 1 + 2 * 11:  # the fingerprint, then ten roles and the pixel negative of two chunks
            raise KeyboardInterrupt
        return blocks(images)

    stopped.__module__, stopped.__qualname__ = blocks.__module__, blocks.__qualname__
    CALLS.clear()
    with pytest.raises(KeyboardInterrupt):
        algebra(stopped, corpus, folder=tmp_path, pictures=0)
    chunks = sorted(tmp_path.glob("codes/parts/*.npz"))
    assert len(chunks) == 2
    chunks[1].write_bytes(b"cut off")
    CALLS.clear()
    again = algebra(blocks, corpus, folder=tmp_path, pictures=0)
    assert len(CALLS) == 1 + 3 * 11
    whole = algebra(blocks, corpus, pictures=0)
    assert again.values == whole.values
    assert again.tables["scores"] == whole.tables["scores"]


def test_functions_of_one_name_are_told_apart_by_their_codes(corpus, tmp_path):
    single = algebra(lambda images: blocks(images), corpus, folder=tmp_path, pictures=0)
    double = algebra(lambda images: 2 * blocks(images), corpus, folder=tmp_path, pictures=0)
    assert single.source == double.source
    assert double.values["tre"] == pytest.approx(2 * single.values["tre"], rel=1e-3)


def test_a_model_is_loaded_once(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    from unknot.runs.spec import RunSpec

    corpora = [make_corpus(tmp_path / name, n=4, size=16, variant=name) for name in ("occluded", "clear")]
    spec = RunSpec(world="shapes3d_rendered", latents=3, image_size=32, steps=1, batch_size=2)
    run = training.train(spec, tmp_path)
    loads, load = [], training.load_model

    def counted(*arguments, **named):
        loads.append(arguments)
        return load(*arguments, **named)

    monkeypatch.setattr(training, "load_model", counted)
    result = algebra(run.folder, corpora[0], clear=corpora[1], minibatch=4)
    assert "l2_coat_clear" in result.values and len(loads) == 1
