"""Files of latents: every documented format, and every way they can be wrong."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import save_file

from unknot import Representation, UnknotError, from_table, read_representation
from unknot.errors import UnknotWarning
from unknot.representation import mean_kl
from unknot.tables.latent_files import read_safetensors

LATENTS = np.arange(12, dtype=np.float32).reshape(6, 2)
FACTORS = np.array([[0, 1], [1, 0], [0, 0], [1, 1], [2, 0], [2, 1]])


def test_npz_round_trip_keeps_everything(tmp_path: Path) -> None:
    full = Representation(LATENTS, FACTORS, ("shape", "x"), LATENTS[:2], FACTORS[:2], np.array([0.5, 2.0]))
    read = read_representation(full.write(tmp_path / "new" / "r.npz"))
    for name in ("latents", "factors", "latents_test", "factors_test", "kl"):
        np.testing.assert_array_equal(getattr(read, name), getattr(full, name))
    assert read.factor_names == ("shape", "x")
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["r.npz"]


def test_log_variances_and_source_are_kept_and_flattened_with_the_latents(tmp_path: Path) -> None:
    full = Representation(LATENTS, logvars=-LATENTS, source={"encoder": {"kind": "run"}, "seed": 0})
    read = read_representation(full.write(tmp_path / "r.npz"))
    np.testing.assert_array_equal(read.logvars, -LATENTS)
    assert read.source == full.source
    slots = Representation(LATENTS.reshape(2, 3, 2), logvars=LATENTS.reshape(2, 3, 2)).flattened()
    np.testing.assert_array_equal(slots.logvars, slots.latents)
    with pytest.raises(UnknotError, match=r"logvars has shape \(5, 2\), latents \(6, 2\)"):
        Representation(LATENTS, logvars=LATENTS[:5])
    for source in ("not JSON", "[" * 100_000 + "]" * 100_000):
        np.savez(tmp_path / "odd.npz", latents=LATENTS, source=source)
        assert read_representation(tmp_path / "odd.npz").source == {}


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"factors": FACTORS[:5]}, "latents has 6 rows, factors has 5"),
        ({"latents": LATENTS[:, 0]}, r"latents has shape \(6,\)"),
        ({"kl": np.ones(3)}, r"kl has shape \(3,\); expected 2"),
        ({"latents_test": LATENTS, "factors_test": FACTORS[:5]}, "latents_test has 6 rows, factors_test has 5"),
        ({"latents_test": LATENTS[:, :1]}, r"latents_test \(6, 1\)"),
        ({"latents_test": np.array(1.0), "factors_test": FACTORS}, r"latents_test \(\); all but"),
    ],
)
def test_shapes_that_do_not_fit_are_refused_before_writing_and_when_read(
    tmp_path: Path, arrays: dict[str, np.ndarray], message: str
) -> None:
    whole = {"latents": LATENTS, "factors": FACTORS} | arrays
    with pytest.raises(UnknotError, match=message):
        Representation(**whole)
    np.savez(tmp_path / "r.npz", **whole)
    with pytest.raises(UnknotError, match=r"r\.npz.*" + message):
        read_representation(tmp_path / "r.npz")


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ({"kinds": 3}, "kinds is 3; expected names, each with a word"),
        ({"words": {"a": 1}}, "words is {'a': 1}; expected names, each with a list"),
        ({"logvars": 1}, r"logvars has shape \(\), latents \(6, 2\)"),
        ({"kl": [[1], [2, 3]]}, "kl is no array of numbers"),
        ({"groups": {}}, "0 groups for 6 rows"),
        ({"groups": [[1, 2]] * 6}, "groups hold list<item: int64>; expected a name or a number for each row"),
    ],
)
def test_fields_of_wrong_types_are_refused(field: dict[str, Any], message: str) -> None:
    with pytest.raises(UnknotError, match=f"representation: {message}"):
        Representation(LATENTS, FACTORS, **field)


@pytest.mark.parametrize("name", ["r.npz", "r.safetensors", "r.parquet"])
def test_kinds_of_factors_are_kept_in_files(name: str, tmp_path: Path) -> None:
    kept = Representation(LATENTS, FACTORS, ("a", "b"), kinds={"b": "circular", "a": "categorical"})
    assert read_representation(kept.write(tmp_path / name)).kinds == kept.kinds
    assert kept.with_factors(["b"]).kinds == {"b": "circular"}
    with pytest.raises(UnknotError, match="unknown kind of factor 'round'"):
        Representation(LATENTS, FACTORS, ("a", "b"), kinds={"a": "round"})  # type: ignore[dict-item]
    with pytest.raises(UnknotError, match="unknown factor 'c'"):
        kept.with_kinds({"c": "ordinal"})


def test_a_parquet_table_keeps_words_gaps_and_kinds(tmp_path: Path) -> None:
    labels = {"species": ["owl", None, "ant", "owl", "ant", "owl"], "angle": [0, 90, 180, 270, 0, 90]}
    kept = Representation(LATENTS, labels, kinds={"angle": "circular"})
    path = kept.write(tmp_path / "r.parquet")
    read = read_representation(path)
    np.testing.assert_array_equal(read.latents, kept.latents)
    np.testing.assert_array_equal(read.factors, kept.factors)
    assert (read.factor_names, read.words, read.kinds) == (kept.factor_names, kept.words, kept.kinds)
    assert json.loads(pq.read_schema(path).metadata[b"unknot"]) == {
        "kinds": {"angle": "circular"},
        "words": {"species": ["ant", "owl"]},
    }
    assert from_table(pq.read_table(path), factors="angle").kinds == {"angle": "circular"}
    np.save(tmp_path / "z.npy", LATENTS)
    angles = pa.table({"angle": labels["angle"]}).replace_schema_metadata(pq.read_schema(path).metadata)
    pq.write_table(angles, tmp_path / "y.parquet")
    assert read_representation(tmp_path / "z.npy", tmp_path / "y.parquet").kinds == {"angle": "circular"}
    for wrong, what in (({"latents": np.zeros((6, 2, 2))}, "slots"), ({"groups": [1] * 6}, "groups")):
        with pytest.raises(UnknotError, match=rf"r\.parquet: a table holds latents .* not {what}"):
            replace(kept, **wrong).write(path)


@pytest.mark.parametrize("written", ["{", "3", '{"kinds": 3}', '{"kinds": {"a": "round"}}', "[" * 100_000])
def test_kinds_in_a_table_that_are_none_are_refused(written: str, tmp_path: Path) -> None:
    table = pa.table({"latent_0": [0.0, 1.0], "factor_a": [0, 1]}).replace_schema_metadata({"unknot": written})
    pq.write_table(table, tmp_path / "r.parquet")
    with pytest.raises(UnknotError, match=r"r\.parquet: its metadata 'unknot' is .*expected JSON such as"):
        read_representation(tmp_path / "r.parquet")


SIZES = Representation(
    np.arange(8.0).reshape(4, 2),
    np.array([0, 1, 3, 3]),
    ("size",),
    words={"size": ("s", "m", "l", "xl")},
    kinds={"size": "ordinal"},
    source={"encoder": "mine"},
)


def test_codes_words_and_source_come_back_from_files_and_tables_as_they_were(tmp_path: Path) -> None:
    archive, parquet = SIZES.write(tmp_path / "r.npz"), SIZES.write(tmp_path / "r.parquet")
    for read in (
        read_representation(archive),
        read_representation(parquet),
        from_table(archive, latents="latents", factors="size"),
        from_table(pq.read_table(parquet)),
    ):
        assert read.factors.tolist() == SIZES.factors.tolist()
        assert (read.words, read.kinds, read.source) == (SIZES.words, SIZES.kinds, SIZES.source)
    gaps = from_table(archive, latents="latents", factors="size", missing=["m"]).factors
    np.testing.assert_array_equal(gaps, [[0], [np.nan], [3], [3]])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["x", "y", "x "], "two classes of factor 'size' are called 'x'"),
        (["x", " "], "class 1 of factor 'size' has an empty word"),
    ],
)
def test_words_that_do_not_tell_classes_apart_are_refused(words: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(UnknotError, match=message):
        replace(SIZES, words={"size": words})
    table = pa.table({"latent_0": [0.0], "factor_size": ["x"]})
    table = table.replace_schema_metadata({"unknot": json.dumps({"words": {"size": words}})})
    pq.write_table(table, tmp_path / "r.parquet")
    with pytest.raises(UnknotError, match=rf"r\.parquet: {message}"):
        read_representation(tmp_path / "r.parquet")


def test_kinds_in_a_table_are_of_its_factors() -> None:
    def read(name: str) -> Representation:
        table = pa.table({"latent_0": [0.0, 1.0], "factor_c": [0, 1]})
        return from_table(table.replace_schema_metadata({"unknot": json.dumps({"kinds": {name: "circular"}})}))

    assert read("c").kinds == read("factor_c").kinds == {"c": "circular"}
    for name in ("nope", "latent_0"):
        with pytest.raises(UnknotError, match=f"unknown factor in the metadata of table '{name}'"):
            read(name)


def test_constant_is_no_kind_of_a_representation_and_dropped_from_older_archives(tmp_path: Path) -> None:
    with pytest.raises(UnknotError, match="unknown kind of factor 'constant'"):
        SIZES.with_kinds({"size": "constant"})
    np.savez(tmp_path / "r.npz", latents=LATENTS, factors=FACTORS, kinds='{"factor_0": "constant"}')
    assert read_representation(tmp_path / "r.npz").kinds == {}


def test_kinds_in_an_archive_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "r.npz", latents=LATENTS, factors=FACTORS, kinds="a=circular")
    with pytest.raises(UnknotError, match=r"r\.npz: kinds is 'a=circular'; expected JSON such as"):
        read_representation(tmp_path / "r.npz")


def test_the_kl_of_log_variances_without_bounds_is_infinite_in_silence() -> None:
    logvars = np.array([[0.0, 1e4], [0.0, -1e308]])
    assert np.isinf(mean_kl(np.zeros((2, 2)), logvars)).tolist() == [False, True]


def test_the_kl_of_slots_is_one_number_per_latent_of_each_slot_or_of_all() -> None:
    slots = np.zeros((4, 3, 2))
    assert Representation(slots, kl=np.ones((3, 2))).flattened().kl.shape == (6,)
    assert Representation(slots, kl=np.array([1.0, 2.0])).flattened().kl.tolist() == [1, 2, 1, 2, 1, 2]


def test_two_files_of_other_lengths_are_named(tmp_path: Path) -> None:
    np.save(tmp_path / "z.npy", LATENTS)
    np.save(tmp_path / "y.npy", FACTORS[:5])
    with pytest.raises(UnknotError, match=r"z\.npy, .*y\.npy: .*6 rows, factors has 5"):
        read_representation(tmp_path / "z.npy", tmp_path / "y.npy")


def test_npz_without_names_gets_numbered_ones(tmp_path: Path) -> None:
    np.savez(tmp_path / "r.npz", latents=LATENTS, factors=FACTORS)
    assert read_representation(tmp_path / "r.npz").factor_names == ("factor_0", "factor_1")


def test_one_factor_may_be_a_vector(tmp_path: Path) -> None:
    np.savez(tmp_path / "r.npz", latents=LATENTS, factors=FACTORS[:, 0])
    assert read_representation(tmp_path / "r.npz").factors.shape == (6, 1)


def test_safetensors_carry_names_in_their_header(tmp_path: Path) -> None:
    path = tmp_path / "r.safetensors"
    save_file({"latents": LATENTS, "factors": FACTORS}, path, metadata={"factor_names": json.dumps(["a", "b"])})
    read = read_representation(path)
    assert read.factor_names == ("a", "b")
    np.testing.assert_array_equal(read.latents, LATENTS)


@pytest.mark.parametrize("name", ["scipy.npz", "z.npz", "z.safetensors"])
def test_labels_may_stand_beside_an_archive_of_latents(tmp_path: Path, name: str) -> None:
    import scipy.sparse

    path, labels = tmp_path / name, tmp_path / "labels.csv"
    match name:
        case "scipy.npz":
            scipy.sparse.save_npz(path, scipy.sparse.csr_array(LATENTS))
        case "z.npz":
            np.savez(path, latents=LATENTS)
        case _:
            save_file({"latents": LATENTS}, path)
    pd.DataFrame({"shape": FACTORS[:, 0], "word": ["a", "b"] * 3}).to_csv(labels, index=False)
    read = read_representation(path, labels)
    assert read.factor_names == ("shape", "word") and read.latents.shape == LATENTS.shape
    np.savez(tmp_path / "y.npz", factors=FACTORS, factor_names=["shape", "x"])
    assert read_representation(path, tmp_path / "y.npz").factor_names == ("shape", "x")
    np.savez(tmp_path / "named.npz", y=FACTORS)
    with pytest.raises(UnknotError, match=r"named.npz: has no array 'factors'; it holds y. Rename"):
        read_representation(path, tmp_path / "named.npz")
    with pytest.raises(UnknotError, match=r"y.txt: labels beside another file are .npy, .npz, .csv, .parquet\."):
        read_representation(path, tmp_path / "y.txt")


@pytest.mark.parametrize("name", ["z.npz", "z.safetensors"])
def test_what_an_archive_has_besides_latents_is_not_lost_beside_a_table(tmp_path: Path, name: str) -> None:
    path, labels = tmp_path / name, tmp_path / "labels.csv"
    arrays = {"latents": LATENTS, "factors": FACTORS, "latents_test": LATENTS, "groups": np.arange(6) // 2}
    if name == "z.npz":
        np.savez(path, **arrays)
    else:
        save_file(arrays, path)
    pd.DataFrame({"shape": FACTORS[:, 0]}).to_csv(labels, index=False)
    with pytest.raises(UnknotError, match=r"z\.\w+: has factors, latents_test, groups as well"):
        read_representation(path, labels)


def test_latents_of_safetensors_stay_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "r.safetensors"
    save_file(
        {"factors": FACTORS, "latents": LATENTS, "latents_test": LATENTS[:0], "factors_test": FACTORS[:0]}, path
    )
    read = read_safetensors(path)
    assert isinstance(read["latents"], np.memmap)
    np.testing.assert_array_equal(read["latents"], LATENTS)
    assert read["latents_test"].shape == (0, 2) and not isinstance(read["factors"], np.memmap)


def test_brain_floats_of_safetensors_are_read_in_single_precision(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file as save_tensors

    path, halves = tmp_path / "r.safetensors", torch.tensor(LATENTS).to(torch.bfloat16)
    save_tensors({"factors": torch.tensor(FACTORS), "latents": halves}, path)
    read = read_representation(path)
    assert read.latents.dtype == np.float32
    np.testing.assert_array_equal(read.latents, halves.float().numpy())


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_one_table_has_latent_and_factor_columns(tmp_path: Path, suffix: str) -> None:
    frame = pd.DataFrame({"latent_0": LATENTS[:, 0], "factor_shape": FACTORS[:, 0], "latent_1": LATENTS[:, 1]})
    path = tmp_path / f"r.{suffix}"
    frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
    read = read_representation(path)
    np.testing.assert_array_equal(read.latents, LATENTS)
    assert read.factor_names == ("shape",)
    assert read.factors.dtype == np.int64


@pytest.mark.parametrize("suffix", ["npy", "csv", "parquet"])
def test_two_files_hold_latents_and_factors_apart(tmp_path: Path, suffix: str) -> None:
    paths = [tmp_path / f"{name}.{suffix}" for name in ("z", "y")]
    for path, values, columns in zip(paths, (LATENTS, FACTORS), (["a", "b"], ["shape", "x"]), strict=True):
        if suffix == "npy":
            np.save(path, values)
        else:
            frame = pd.DataFrame(values, columns=columns)
            frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
    read = read_representation(*paths)
    np.testing.assert_array_equal(read.latents, LATENTS)
    np.testing.assert_array_equal(read.factors, FACTORS)
    assert read.factor_names == (("factor_0", "factor_1") if suffix == "npy" else ("shape", "x"))


def test_of_a_table_of_both_only_the_latents_are_latents_beside_a_file_of_factors(tmp_path: Path) -> None:
    both = pd.DataFrame({"latent_0": LATENTS[:, 0], "factor_shape": FACTORS[:, 0], "latent_1": LATENTS[:, 1]})
    both.to_csv(tmp_path / "both.csv", index=False)
    np.save(tmp_path / "y.npy", FACTORS)
    with pytest.warns(UnknotWarning, match="both.csv: only its columns latent_.* left out: factor_shape"):
        read = read_representation(tmp_path / "both.csv", tmp_path / "y.npy")
    np.testing.assert_array_equal(read.latents, LATENTS)
    np.save(tmp_path / "z.npy", LATENTS)
    with pytest.warns(UnknotWarning, match="left out: latent_0, latent_1"):
        read = read_representation(tmp_path / "z.npy", tmp_path / "both.csv")
    assert read.factor_names == ("factor_shape",)


def test_a_csv_without_header_loses_no_row(tmp_path: Path) -> None:
    np.savetxt(tmp_path / "z.csv", LATENTS + 0.5, delimiter=",")
    np.savetxt(tmp_path / "y.csv", FACTORS + 3, delimiter=",", fmt="%d")
    read = read_representation(tmp_path / "z.csv", tmp_path / "y.csv")
    np.testing.assert_array_equal(read.latents, LATENTS + 0.5)
    np.testing.assert_array_equal(read.factors, FACTORS + 3)
    assert read.factor_names == ("factor_0", "factor_1")
    with pytest.raises(UnknotError, match="first line is all numbers"):
        read_representation(tmp_path / "z.csv")


def test_the_columns_that_pandas_counts_are_a_header(tmp_path: Path) -> None:
    pd.DataFrame(LATENTS).to_csv(tmp_path / "z.csv", index=False)
    pd.DataFrame(FACTORS).to_csv(tmp_path / "y.csv", index=False)
    read = read_representation(tmp_path / "z.csv", tmp_path / "y.csv")
    np.testing.assert_array_equal(read.latents, LATENTS)
    (tmp_path / "y.csv").write_text("0\n1\n0\n1\n0\n1\n")
    with pytest.raises(
        UnknotError, match=r"6 rows, factors has 5.* first line of .*y\.csv, 0, was taken for a header"
    ):
        read_representation(tmp_path / "z.csv", tmp_path / "y.csv")


def test_slots_are_flattened_only_when_asked() -> None:
    slots = Representation(np.arange(24.0).reshape(4, 3, 2), np.zeros((4, 1), int), (), np.zeros((2, 3, 2)))
    assert slots.flattened().latents.shape == (4, 6)
    assert slots.flattened().latents_test.shape == (2, 6)


def test_factors_are_chosen_by_name() -> None:
    full = Representation(LATENTS, FACTORS, ("shape", "x"), LATENTS, FACTORS)
    np.testing.assert_array_equal(full.with_factors(["x"]).factors, FACTORS[:, 1:])
    with pytest.raises(UnknotError, match="did you mean 'shape'"):
        full.with_factors(["shap"])


def _bad(tmp_path: Path, case: str) -> Path:
    path = tmp_path / "bad.npz"
    match case:
        case "missing":
            return tmp_path / "nowhere.npz"
        case "folder":
            return tmp_path
        case "no latents":
            np.savez(path, z=LATENTS)
        case "pickle":
            np.savez(path, latents=np.array([{"a": 1}], dtype=object))
        case "truncated":
            np.savez(path, latents=np.zeros((100, 100)))
            path.write_bytes(path.read_bytes()[:5000])
        case "text":
            path.write_text("hello")
        case "suffix":
            path = tmp_path / "bad.mat"
            path.write_text("hello")
        case "damaged":
            np.savez_compressed(path, latents=np.random.default_rng(0).normal(size=(100, 10)))
            content = bytearray(path.read_bytes())
            content[200:260] = b"x" * 60
            path.write_bytes(content)
        case "names":
            np.savez(path, latents=LATENTS, factors=FACTORS, factor_names=np.array(["a"]))
        case "names twice":
            np.savez(path, latents=LATENTS, factors=FACTORS, factor_names=np.array(["a", "a"]))
        case "a number":
            np.savez(path, latents=LATENTS, factors=np.array(3))
        case "safetensors names":
            path = tmp_path / "bad.safetensors"
            save_file({"latents": LATENTS, "factors": FACTORS}, path, metadata={"factor_names": "a,b"})
        case "csv columns":
            path = tmp_path / "bad.csv"
            path.write_text("latent_0,y\n1,2\n")
        case "csv semicolons":
            path = tmp_path / "bad.csv"
            path.write_text("latent_0;factor_y\n1,5;2\n")
        case "csv long field":
            path = tmp_path / "bad.csv"
            path.write_text(f"latent_0,factor_y\n{'1' * 200_000},1\n")
        case "csv spaces":
            path = tmp_path / "bad.csv"
            np.savetxt(path, LATENTS)
        case "csv header only":
            path = tmp_path / "bad.csv"
            path.write_text("latent_0,factor_y\n")
        case "csv words":
            path = tmp_path / "bad.csv"
            path.write_text("latent_0,factor_y\nred,1\n")
        case "safetensors":
            path = tmp_path / "bad.safetensors"
            path.write_bytes(b"\x08\x00\x00\x00\x00\x00\x00\x00notjson!")
        case "npy":
            path = tmp_path / "bad.npy"
            path.write_bytes(b"nothing")
    return path


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("missing", "no such file"),
        ("folder", "is a folder"),
        ("no latents", "no array 'latents'; it holds z"),
        ("pickle", "pickle"),
        ("truncated", "cannot be read as an .npz archive"),
        ("text", "cannot be read as an .npz archive"),
        ("suffix", "'.mat' file is not a representation"),
        ("damaged", "damaged"),
        ("names", "1 factor names for 2 factors"),
        ("names twice", "a occur twice"),
        ("a number", r"factors has shape \(\)"),
        ("safetensors names", "expected a JSON list"),
        ("csv columns", "'y' is neither"),
        ("csv semicolons", "is separated by ';'"),
        ("csv spaces", "is separated by spaces"),
        ("csv header only", "has no rows"),
        ("csv long field", "latents hold large_string; expected columns of numbers"),
        ("csv words", "latents hold large_string; expected columns of numbers"),
        ("safetensors", "cannot be read as a safetensors file"),
        ("npy", "cannot be read as the array 'bad'"),
    ],
)
def test_a_bad_file_is_refused_with_its_name_and_the_reason(tmp_path: Path, case: str, message: str) -> None:
    path = _bad(tmp_path, case)
    with pytest.raises(UnknotError, match=message) as caught:
        read_representation(path)
    assert str(path) in str(caught.value)


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    class Unwritable:
        def __array__(self, *_: object, **__: object) -> np.ndarray:
            raise OSError("no space left")

    broken = Representation(LATENTS)
    object.__setattr__(broken, "kl", Unwritable())
    with pytest.raises(UnknotError, match="cannot be written"):
        broken.write(tmp_path / "r.npz")
    assert list(tmp_path.iterdir()) == []


def test_names_of_factors_that_are_an_array_of_numbers_are_refused() -> None:
    with pytest.raises(UnknotError, match="2 factor names for 1 factors"):
        Representation(np.ones((60, 3)), {1: np.arange(60)}, np.ones((2, 2)))  # type: ignore[arg-type]
