"""Columns of one table or two: which are latents, which are factors, and how rows find each other."""

import warnings
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from unknot import Representation, UnknotError, from_table, read_representation
from unknot.errors import UnknotWarning

Z = np.arange(8, dtype=np.float32).reshape(4, 2)
KINDS = ["owl", "ant", None, "owl"]
CELLS = pd.DataFrame(
    {
        "id": ["a", "b", "c", "d"],
        "z0": Z[:, 0],
        "z1": Z[:, 1],
        "kind": KINDS,
        "age": [1.5, 2.5, 3.5, np.nan],
        "donor": ["p", "p", "q", "q"],
    }
)
WANTED = [[1, 1.5], [0, 2.5], [np.nan, 3.5], [1, np.nan]]


def check(representation: Representation) -> None:
    np.testing.assert_array_equal(representation.latents, Z)
    np.testing.assert_array_equal(representation.factors, WANTED)
    assert representation.factor_names == ("kind", "age")
    assert representation.words == {"kind": ("ant", "owl")}
    assert representation.groups.tolist() == [0, 0, 1, 1]


def vectors() -> pd.DataFrame:
    return CELLS.drop(columns=["z0", "z1"]).assign(embedding=list(Z))


def of_polars() -> Any:
    return pytest.importorskip("polars").from_pandas(vectors())


def of_hugging_face() -> Any:
    return pytest.importorskip("datasets").Dataset.from_pandas(vectors())


class Annotated:
    """What AnnData has."""

    obs = CELLS.drop(columns=["z0", "z1"]).set_index("id")
    obsm = {"X_scvi": Z}  # noqa: RUF012
    X = scipy.sparse.csr_matrix(np.eye(4))


@pytest.mark.parametrize(
    ("source", "latents"),
    [
        (lambda: CELLS, "z*"),
        (lambda: CELLS, ["z0", "z1"]),
        (vectors, "embedding"),
        (vectors, ()),
        (of_polars, ()),
        (of_hugging_face, "embedding"),
        (Annotated, "X_scvi"),
        (lambda: {"z": Z, "kind": KINDS, "age": CELLS["age"], "donor": CELLS["donor"]}, "z"),
    ],
)
def test_the_columns_of_a_table_of_any_library_are_chosen_by_name(source: Any, latents: Any) -> None:
    check(from_table(source(), latents=latents, factors=["kind", "age"], groups="donor"))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_and_those_of_a_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"cells.{suffix}"
    CELLS.to_csv(path, index=False) if suffix == "csv" else CELLS.to_parquet(path)
    check(from_table(path, latents="z?", factors=["kind", "age"], groups="donor"))


def test_a_parquet_file_with_one_column_of_vectors_needs_no_name_for_it(tmp_path: Path) -> None:
    vectors().to_parquet(tmp_path / "cells.parquet")
    check(from_table(tmp_path / "cells.parquet", factors="kind,age".split(","), groups="donor"))


def test_two_tables_are_joined_by_a_column_whatever_their_order(tmp_path: Path) -> None:
    labels = CELLS[["id", "kind", "age", "donor"]].iloc[::-1]
    labels.to_csv(tmp_path / "labels.csv", index=False)
    codes = CELLS[["id", "z0", "z1"]]
    check(
        from_table(
            codes, tmp_path / "labels.csv", latents="z*", factors=["kind", "age"], groups="donor", join="id"
        )
    )


def test_rows_without_a_partner_are_left_out_with_a_warning() -> None:
    with pytest.warns(UnknotWarning, match="2 of 4 rows have no id in table"):
        joined = from_table(CELLS[["id", "z0", "z1"]], CELLS[1:3], latents="z*", factors="age", join="id")
    np.testing.assert_array_equal(joined.latents, Z[1:3])
    assert joined.factors.ravel().tolist() == [2.5, 3.5]


def test_an_array_in_a_file_goes_with_a_table_of_words(tmp_path: Path) -> None:
    np.save(tmp_path / "z.npy", Z)
    CELLS.to_csv(tmp_path / "labels.csv", index=False)
    both = tmp_path / "z.npy", tmp_path / "labels.csv"
    check(from_table(*both, factors=["kind", "age"], groups="donor"))
    CELLS[["kind", "age"]].to_csv(tmp_path / "labels.csv", index=False)
    assert read_representation(*both).words == {"kind": ("ant", "owl")}


def test_columns_called_latent_and_factor_need_not_be_chosen_even_as_words(tmp_path: Path) -> None:
    table = pd.DataFrame({"latent_0": Z[:, 0], "latent_1": Z[:, 1], "factor_kind": KINDS})
    table.to_csv(tmp_path / "r.csv", index=False)
    read = read_representation(tmp_path / "r.csv")
    assert read.factor_names == ("kind",)
    assert read.words == {"kind": ("ant", "owl")}
    assert from_table(table, factors="kind").factor_names == ("kind",)


def test_values_that_stand_for_nothing_and_measurements_are_named() -> None:
    table = pd.DataFrame({"z": Z[:, 0], "kind": ["owl", "?", "ant", "?"], "year": [2001, 2002, 2003, -1]})
    read = from_table(
        table, latents="z", factors=["kind", "year"], missing=["?", -1], kinds={"year": "continuous"}
    )
    np.testing.assert_array_equal(read.factors, [[1, 2001], [np.nan, 2002], [0, 2003], [np.nan, np.nan]])
    assert read.kinds == {"year": "continuous"}


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({}, "no latent_ column is there. Name the latents: --latents"),
        ({"latents": "z*"}, "'id' is neither. Name the factors, such as --factors id; there are id, kind, age"),
        ({"latents": "q*", "factors": "kind"}, r"no column is called 'q\*'; there are id, z0, z1, kind"),
        ({"latents": "z*", "factors": "knd"}, "unknown column of table 'knd'; did you mean 'kind'"),
        ({"latents": "z*", "factors": "kind", "groups": "patient"}, "unknown column of table 'patient'"),
        ({"latents": "kind", "factors": "age"}, "latents hold .*string; expected columns of numbers"),
        ({"latents": "z*", "factors": "kind", "kinds": {"age": "ordinal"}}, "unknown factor 'age'"),
        ({"latents": "z*", "factors": "age", "kinds": {"age": "round"}}, "unknown kind of factor 'round'"),
        ({"latents": "z*", "factors": "age", "kinds": ["age"]}, "kinds is .*; expected names, each with a word"),
    ],
)
def test_columns_that_are_not_there_or_not_named_are_asked_for(choice: dict[str, Any], message: str) -> None:
    with pytest.raises(UnknotError, match=message):
        from_table(CELLS, **choice)


def test_tables_that_do_not_go_together_are_refused() -> None:
    codes = CELLS[["id", "z0"]]
    with pytest.raises(UnknotError, match=r"4 rows, table has 3; .*--join NAME"):
        from_table(codes, CELLS[:3], latents="z*", factors="kind")
    with pytest.raises(UnknotError, match="'a' stands twice in its column id"):
        from_table(codes, pd.concat([CELLS, CELLS]), latents="z*", factors="kind", join="id")
    with pytest.raises(UnknotError, match="no id of table, such as 'a', is in table, whose are such as '1'"):
        from_table(codes, pd.DataFrame({"id": [1], "kind": ["owl"]}), latents="z*", factors="kind", join="id")
    with pytest.raises(UnknotError, match="int has no named columns"):
        from_table(3)


def test_an_h5ad_file_is_read_by_its_published_layout(tmp_path: Path) -> None:
    path = tmp_path / "cells.h5ad"
    with h5py.File(path, "w") as file:
        obs = file.create_group("obs")
        obs.attrs.update({"_index": "_index", "column-order": ["kind", "age", "donor", "healthy"]})
        obs["_index"] = ["a", "b", "c", "d"]
        kind = obs.create_group("kind")
        kind.attrs["encoding-type"] = "categorical"
        kind["codes"], kind["categories"] = np.array([1, 0, -1, 1], dtype=np.int8), ["ant", "owl"]
        obs["age"], obs["donor"] = CELLS["age"].to_numpy(), ["p", "p", "q", "q"]
        healthy = obs.create_group("healthy")
        healthy.attrs["encoding-type"] = "nullable-boolean"
        healthy["values"], healthy["mask"] = [True, False, True, True], [False, False, True, False]
        file.create_dataset("obsm/X_scvi", data=Z)
        counts = file.create_group("X")
        matrix = scipy.sparse.csr_matrix(np.eye(4, 5))
        counts.attrs.update({"encoding-type": "csr_matrix", "shape": matrix.shape})
        for part in ("data", "indices", "indptr"):
            counts[part] = getattr(matrix, part)
    check(from_table(path, latents="X_scvi", factors=["kind", "age"], groups="donor"))
    sparse = from_table(path, latents="X", factors=["healthy"])
    np.testing.assert_array_equal(sparse.latents.toarray(), np.eye(4, 5))
    np.testing.assert_array_equal(sparse.factors.ravel(), [1, 0, np.nan, 1])


def test_what_anndata_writes_is_read(tmp_path: Path) -> None:
    old = pd.option_context("future.infer_string", False)  # anndata 0.12 does not write pandas' new words
    with warnings.catch_warnings(action="ignore"), old:
        import anndata

        words = CELLS.drop(columns=["z0", "z1"]).astype({"id": object, "kind": object, "donor": object})
        obs = words.set_index("id").astype({"kind": "category", "donor": "category"})
        cells = anndata.AnnData(X=scipy.sparse.csr_matrix(np.eye(4)), obs=obs, obsm={"X_scvi": Z})
        anndata.settings.allow_write_nullable_strings = True
        cells.write_h5ad(tmp_path / "cells.h5ad")
    for source in (cells, tmp_path / "cells.h5ad"):
        check(from_table(source, latents="X_scvi", factors=["kind", "age"], groups="donor"))


def test_datasets_of_an_hdf5_file_are_columns(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "r.h5", "w") as file:
        file["codes/z"], file["factor_kind"] = Z, ["owl", "ant", "", "owl"]
    read = read_representation(tmp_path / "r.h5")
    np.testing.assert_array_equal(read.latents, Z)
    assert read.words == {"kind": ("ant", "owl")}
    (tmp_path / "bad.h5").write_bytes(b"no HDF5")
    with pytest.raises(UnknotError, match=r"bad\.h5: cannot be read as an HDF5 file"):
        read_representation(tmp_path / "bad.h5")


def archive(path: Path, **more: Any) -> Path:
    """Four rows of two factors, one of words with `?` among them, the other with -1 where it is unknown."""
    words = np.array([["owl", "7"], ["?", "-1"], ["ant", "9"], ["owl", "9"]])
    factors = pd.DataFrame({"kind": words[:, 0], "age": words[:, 1].astype(int)})
    read = Representation(Z, factors, kinds={"kind": "categorical"}, kl=np.ones(2), logvars=-Z, **more)
    return read.write(path / "latents.npz")


UNKNOWN = [[2, 7], [np.nan, np.nan], [1, 9], [2, 9]]  # classes keep their numbers


def test_values_that_stand_for_nothing_leave_the_groups_of_an_archive_and_all_else_of_it(tmp_path: Path) -> None:
    path = archive(tmp_path, groups=[3, 3, 5, 5], source={"model": "mine"})
    read = from_table(path, missing=["?", "-1"])
    np.testing.assert_array_equal(read.factors, UNKNOWN)
    assert read.factor_names == ("kind", "age") and read.words == {"kind": ("?", "ant", "owl")}
    assert read.groups.tolist() == [3, 3, 5, 5] and read.source == {"model": "mine"}
    assert read.kinds == {"kind": "categorical"} and read.kl.tolist() == [1, 1]
    np.testing.assert_array_equal(read.logvars, -Z)


def test_values_that_stand_for_nothing_are_unknown_in_held_out_rows_too(tmp_path: Path) -> None:
    held_out = pd.DataFrame({"kind": ["?", "owl"], "age": [8, -1]})
    path = archive(tmp_path, latents_test=Z[:2], factors_test=held_out)
    read = from_table(path, missing=["?", "-1"])
    np.testing.assert_array_equal(read.latents_test, Z[:2])
    np.testing.assert_array_equal(read.factors_test, [[np.nan, 8], [2, np.nan]])
    ages = from_table(path, factors="age", missing=["-1"])
    assert ages.factor_names == ("age",) and ages.factors_test.shape == (2, 1)
    labels = pd.DataFrame({"age": [1, 2, 3, 4]})
    with pytest.raises(UnknotError, match=r"has held-out rows \(latents_test\), for which table has no labels"):
        from_table(path, labels, factors="age")


def test_factors_that_an_archive_does_not_name_keep_their_numbers(tmp_path: Path) -> None:
    path = Representation(Z, np.array([[0, 1], [1, -1], [2, 1], [0, 0]])).write(tmp_path / "latents.npz")
    assert from_table(path, missing=["-1"]).factor_names == ("factor_0", "factor_1")


def test_rows_of_an_archive_without_labels_lose_their_groups_with_them(tmp_path: Path) -> None:
    ids = np.array([10, 11, 12, 13])
    path = Representation(Z, ids, ("id",), groups=[3, 3, 5, 5], logvars=-Z).write(tmp_path / "latents.npz")
    labels = pd.DataFrame({"id": [13, 12, 10], "age": [1, 2, 3]})
    with pytest.warns(UnknotWarning, match="1 of 4 rows have no id"):
        read = from_table(path, labels, factors="age", join="id")
    assert read.factors.ravel().tolist() == [3, 2, 1] and read.groups.tolist() == [3, 5, 5]
    np.testing.assert_array_equal(read.logvars, -Z[[0, 2, 3]])
