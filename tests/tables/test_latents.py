"""Latents of any library: the numbers are the same, in the precision they came in."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse
import torch

import unknot
from unknot import UnknotError
from unknot.errors import UnknotWarning
from unknot.reading.arrays import as_array
from unknot.tables.latents import latents_of

Z = np.array([[0.0, 1.5, 0.0], [2.0, 0.0, 0.0]], dtype=np.float32)


class Shared:
    """An array that can do nothing but share its memory."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    def __dlpack__(self, **how: object) -> object:
        return self._array.__dlpack__(**how)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()


def by_rows(tensor: torch.Tensor) -> torch.Tensor:
    with warnings.catch_warnings(action="ignore"):  # torch calls this form new
        return tensor.to_sparse_csr()


@pytest.mark.parametrize(
    "latents",
    [
        Z,
        torch.tensor(Z),
        torch.tensor(Z, requires_grad=True),
        pd.DataFrame(Z),
        pd.Series(list(Z)),
        pa.table(pd.DataFrame(Z)),
        pa.chunked_array([[Z[0].tolist()], [Z[1].tolist()]], type=pa.list_(pa.float32())),
        pa.table({"z": pa.FixedSizeListArray.from_arrays(pa.array(Z.ravel()), 3)}),
        pa.table({"z": pa.FixedShapeTensorArray.from_numpy_ndarray(Z)}),
        Shared(Z),
    ],
)
def test_dense_latents_of_any_library_are_the_same_numbers_in_their_precision(latents: object) -> None:
    array = latents_of(latents)
    np.testing.assert_array_equal(array, Z)
    assert array.dtype == np.float32


def test_an_array_a_tensor_and_a_column_of_vectors_are_not_copied() -> None:
    assert latents_of(Z) is Z
    tensor = torch.tensor(Z)
    assert np.shares_memory(latents_of(tensor), tensor.numpy())
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(Z.ravel()), 3)
    assert np.shares_memory(latents_of(pa.table({"z": vectors})), vectors.flatten().to_numpy())
    assert np.shares_memory(latents_of(Shared(Z)), Z)


def test_half_precision_stays_and_bfloat16_becomes_single() -> None:
    assert latents_of(Z.astype(np.float16)).dtype == np.float16
    assert latents_of(torch.tensor(Z, dtype=torch.float16)).dtype == np.float16
    np.testing.assert_array_equal(latents_of(torch.tensor(Z, dtype=torch.bfloat16)), Z)


@pytest.mark.parametrize(
    "latents",
    [
        scipy.sparse.csr_matrix(Z),
        scipy.sparse.csc_array(Z),
        scipy.sparse.coo_array(Z),
        scipy.sparse.dia_array(Z),
        torch.tensor(Z).to_sparse(),
        by_rows(torch.tensor(Z)),
        torch.tensor(Z, dtype=torch.bfloat16).to_sparse(),
    ],
)
def test_sparse_latents_stay_sparse_by_rows(latents: object) -> None:
    matrix = latents_of(latents)
    assert matrix.format == "csr"
    assert matrix.nnz == 2
    assert matrix.dtype == np.float32
    np.testing.assert_array_equal(matrix.toarray(), Z)
    np.testing.assert_array_equal(as_array(latents), Z)


def test_a_sparse_matrix_in_disorder_is_put_in_order_in_a_copy_with_a_note() -> None:
    disordered = scipy.sparse.csr_array(
        (np.array([1.0, 2.0, 3.0]), np.array([2, 0, 0]), np.array([0, 2, 3])), shape=(2, 3)
    )
    with pytest.warns(UnknotWarning, match="not in canonical form: put in order"):
        matrix = latents_of(disordered)
    assert matrix.indices.tolist() == [0, 2, 0]
    assert disordered.indices.tolist() == [2, 0, 0]
    twice = scipy.sparse.csr_array((np.ones(3), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 3))
    with pytest.warns(UnknotWarning, match="1 entries stood twice and were added up"):
        np.testing.assert_array_equal(latents_of(twice).toarray(), [[0, 2, 0], [1, 0, 0]])


@pytest.mark.parametrize(
    ("latents", "message"),
    [
        (
            scipy.sparse.csr_array(np.array([[np.nan, 1.0]])),
            "1 NaN or infinite entries among the 2 that are stored",
        ),
        (scipy.sparse.csr_array(np.array([[1j, 1.0]])), "holds? complex128 values; expected numbers"),
        (pa.table({"z": [[1.0, 2.0], [1.0]]}), r"different lengths \(1, 2"),
        (pa.table({"z": [[1.0, 2.0], None]}), r"latents are missing in 1 row\(s\)"),
        (pa.table({"z": [[1.0, None]]}), "latents have 1 missing entries"),
        (pa.table({"z": [["a"]]}), "latents are lists of string"),
        (pd.DataFrame({"a": [1.0], "b": ["x"]}), "latents hold .*string; expected columns of numbers"),
        (pa.table({"a": [1.0, None]}), "latents have 1 missing entries"),
    ],
)
def test_what_is_no_latent_is_refused(latents: object, message: str) -> None:
    with pytest.raises(UnknotError, match=message):
        latents_of(latents)


def test_what_would_not_fit_as_an_array_is_not_made_one() -> None:
    wide = scipy.sparse.csr_array((200_000, 65_536), dtype=np.float32)
    with pytest.raises(UnknotError, match="needs all 200000 x 65536 latents as an array of 105 GB"):
        as_array(wide)


@pytest.mark.parametrize("d", [8, 130])
def test_every_form_of_the_same_latents_has_the_same_scores(d: int) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, [3, 4], size=(300, 2))
    z = np.maximum(y @ rng.normal(size=(2, d)) + rng.normal(size=(300, d)), 0).astype(np.float16)
    forms = [z, z.astype(np.float32), z.astype(np.float64), scipy.sparse.csr_array(z.astype(np.float32))]
    cards = [unknot.score(form, y, metrics=["mig", "modularity", "sap", "effective_rank"]) for form in forms]
    for card in cards[1:]:
        assert card.values() == cards[0].values()
        np.testing.assert_array_equal(card.shares, cards[0].shares)
        assert card.plan.notes == cards[0].plan.notes
