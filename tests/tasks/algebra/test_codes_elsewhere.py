"""Codes made elsewhere: role -> array, an .npz, a folder of .npy."""

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.tasks.algebra.quadruples import CorpusTuples
from unknot.tasks.algebra.task import algebra
from unknot.worlds.scenes.corpus import ROLES

from .conftest import blocks


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
