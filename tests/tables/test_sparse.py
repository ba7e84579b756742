"""Sparse latents in files: what is written is read, and what is damaged is refused."""

from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.sparse
from safetensors.numpy import save_file

from unknot import Representation, UnknotError, from_table, read_representation

DENSE = np.array([[0.0, 1.5, 0.0], [2.0, 0.0, 0.0]], dtype=np.float32)


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_an_npz_of_scipy_is_a_file_of_latents(tmp_path: Path, form: str) -> None:
    scipy.sparse.save_npz(tmp_path / "z.npz", scipy.sparse.csr_array(DENSE).asformat(form))
    latents = read_representation(tmp_path / "z.npz").latents
    assert latents.format == "csr"
    np.testing.assert_array_equal(latents.toarray(), DENSE)


def test_a_representation_with_sparse_latents_and_words_is_read_as_it_was_written(tmp_path: Path) -> None:
    sparse = scipy.sparse.csr_array(DENSE)
    written = Representation(sparse, ["owl", None], ("kind",), groups=["p", "q"]).write(tmp_path / "r.npz")
    read = read_representation(written)
    np.testing.assert_array_equal(read.latents.toarray(), DENSE)
    np.testing.assert_array_equal(read.factors, [[0], [np.nan]])
    assert read.words == {"kind": ("owl",)}
    assert read.groups.tolist() == [0, 1]


def test_safetensors_hold_the_four_arrays_of_a_sparse_matrix(tmp_path: Path) -> None:
    rows = scipy.sparse.csr_array(DENSE)
    parts = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "shape": np.array(rows.shape)}
    save_file({f"latents.{name}": part for name, part in parts.items()}, tmp_path / "z.safetensors")
    np.testing.assert_array_equal(read_representation(tmp_path / "z.safetensors").latents.toarray(), DENSE)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indices": np.array([7, 0])}, "is no sparse matrix"),
        ({"indptr": np.array([0, 1])}, "is no sparse matrix"),
        ({"shape": None}, "a sparse matrix without 'shape'"),
        ({"data": np.array([np.nan, 1.0])}, "1 NaN or infinite entries"),
        ({"indices": np.array([1.0, 0.0])}, "indices of type float64"),
        ({"shape": np.array([2, 10**12])}, "would take 8.0 TB of memory"),
    ],
)
def test_a_damaged_sparse_matrix_is_refused(tmp_path: Path, change: dict[str, object], message: str) -> None:
    rows = scipy.sparse.csr_array(DENSE)
    parts = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "shape": np.array(rows.shape)}
    parts = {f"latents.{name}": part for name, part in {**parts, **change}.items() if part is not None}
    np.savez(tmp_path / "r.npz", **parts)
    with pytest.raises(UnknotError, match=message):
        read_representation(tmp_path / "r.npz")


@pytest.mark.parametrize("form", ["csc", "coo"])
def test_a_file_of_scipy_that_claims_rows_without_end_is_refused_before_they_are_made(
    tmp_path: Path, form: str
) -> None:
    scipy.sparse.save_npz(tmp_path / "z.npz", scipy.sparse.csr_array(DENSE).asformat(form))
    arrays = dict(np.load(tmp_path / "z.npz"))
    np.savez(tmp_path / "z.npz", **{**arrays, "shape": np.array([10**12, 3])})
    with pytest.raises(UnknotError, match=r"z\.npz: would take 8\.0 TB of memory"):
        read_representation(tmp_path / "z.npz")


def test_a_file_of_scipy_of_no_form_is_refused(tmp_path: Path) -> None:
    scipy.sparse.save_npz(tmp_path / "z.npz", scipy.sparse.csr_array(DENSE))
    arrays = dict(np.load(tmp_path / "z.npz"))
    np.savez(tmp_path / "z.npz", **{**arrays, "format": np.array([])})
    with pytest.raises(UnknotError, match=r"z\.npz: a sparse matrix without ''"):
        read_representation(tmp_path / "z.npz")


@pytest.mark.parametrize(
    ("change", "message"),
    [({"indices": [0, 10**9]}, "indices must be < 3"), ({"shape": (10**12, 2)}, "would take 8.0 TB")],
)
def test_a_sparse_matrix_of_anndata_is_not_followed_out_of_its_rows(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    parts: dict[str, object] = {
        "data": [1.0, 2.0],
        "indices": [0, 1],
        "indptr": [0, 1, 2],
        "shape": (3, 2),
        **change,
    }
    with h5py.File(tmp_path / "cells.h5ad", "w") as file:
        file.create_group("obs").attrs["_index"] = "name"
        file["obs/name"] = ["a", "b", "c"]
        matrix = file.create_group("X")
        matrix.attrs.update({"encoding-type": "csc_matrix", "shape": parts.pop("shape")})
        for name, part in parts.items():
            matrix[name] = part
    with pytest.raises(UnknotError, match=rf"cells\.h5ad: X: .*{message}"):
        from_table(tmp_path / "cells.h5ad", latents="X", factors="name")
