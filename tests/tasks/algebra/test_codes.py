"""Codes of tuples: encoded in chunks, kept, told apart."""

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.runs import training
from unknot.tasks.algebra.quadruples import CorpusTuples, pixel_negative
from unknot.tasks.algebra.task import algebra
from unknot.worlds.scenes.corpus import ROLES
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


def test_codes_from_elsewhere_score_as_the_encoder_that_made_them(corpus, tmp_path):
    tuples = CorpusTuples(corpus)
    rows = np.arange(64)
    codes = {role: blocks(tuples.images(rows, role)) for role in ROLES}
    expected = algebra(blocks, corpus, pictures=0).values
    np.savez(tmp_path / "codes.npz", **codes)
    (tmp_path / "codes").mkdir()
    for role, code in codes.items():
        np.save(tmp_path / "codes" / f"{role}.npy", code)
    stacked = np.stack([codes[role] for role in ROLES], axis=1).reshape(640, -1)
    np.savez(tmp_path / "rows.npz", latents=stacked)
    for source in (codes, tmp_path / "codes.npz", str(tmp_path / "codes"), tmp_path / "rows.npz"):
        result = algebra(source, corpus, pictures=0)
        assert result.source == ("codes" if source is codes else str(source))
        assert result.values["l2_coat"] == pytest.approx(expected["l2_coat"], rel=1e-5)
        assert any("no codes of the pixel negative" in note for note in result.notes)


def test_codes_for_another_number_of_images_are_refused_with_both_numbers(corpus, tmp_path):
    np.savez(tmp_path / "rows.npz", latents=np.zeros((639, 3)))
    with pytest.raises(UnknotError, match=r"639 rows of latents; 64 tuples of 10 images need 640"):
        algebra(tmp_path / "rows.npz", corpus)
    np.savez(tmp_path / "roles.npz", **{role: np.zeros((63 if role == "C" else 64, 3)) for role in ROLES})
    with pytest.raises(UnknotError, match=r"63 codes for C; the corpus has 64 tuples"):
        algebra(tmp_path / "roles.npz", corpus)
    np.savez(tmp_path / "few.npz", A=np.zeros((64, 3)), B=np.zeros((64, 3)))
    with pytest.raises(UnknotError, match="no codes for C, D"):
        algebra(tmp_path / "few.npz", corpus)
    (tmp_path / "broken.npz").write_bytes(b"PK\x03\x04")
    with pytest.raises(UnknotError, match="cannot be read"):
        algebra(tmp_path / "broken.npz", corpus)


def test_codes_for_another_number_of_tuples_are_refused_also_in_python(corpus):
    codes = {role: np.zeros((63, 3)) for role in ROLES}
    with pytest.raises(UnknotError, match="codes: 63 codes for A; the corpus has 64 tuples"):
        algebra(codes, corpus)


def test_codes_that_are_not_finite_are_refused_with_the_tuple(corpus):
    codes = {role: np.random.default_rng(0).normal(size=(64, 3)) for role in ROLES}
    codes["drop"][7] = np.inf
    with pytest.raises(UnknotError, match="drop in tuple 7 is not finite"):
        algebra(codes, corpus)
