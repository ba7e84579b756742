"""Files from strangers: one kind of error, and no more memory than is allowed."""

import json
from pathlib import Path

import pytest

from unknot.errors import UnknotError
from unknot.reading.guard import allowing, load_json, max_bytes, must_fit, parse_bytes, parsing
from unknot.reading.tables import read_parquet


@pytest.mark.parametrize(
    "error", [ValueError("x"), KeyError("x"), RecursionError(), MemoryError(), OSError(5, "x")]
)
def test_whatever_stops_a_parser_is_said_of_the_file(error: Exception) -> None:
    with pytest.raises(UnknotError, match=r"^own\.x: cannot be read as a thing"), parsing("own.x", "a thing"):
        raise error


class _Anything:
    """What a pickle may hold."""


def test_weights_with_code_in_them_are_refused_without_a_word_on_how_to_run_it(tmp_path: Path) -> None:
    import torch

    torch.save({"weight": torch.zeros(2), "more": _Anything()}, tmp_path / "own.pth")
    words = (
        r"besides tensors it holds tests\.reading\.test_guard\._Anything, .* Keep tensors alone, as torch\.save"
    )
    with pytest.raises(UnknotError, match=words) as refused, parsing(tmp_path / "own.pth", "weights"):
        torch.load(tmp_path / "own.pth", weights_only=True)
    assert "damaged" not in str(refused.value) and "weights_only" not in str(refused.value)


def test_a_claim_beyond_the_limit_is_refused_with_the_way_to_raise_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnknotError, match=r"own\.npz: would take 12\.9 GB.*--max-bytes 13\.5GB"):
        must_fit("own.npz", 12 << 30)
    monkeypatch.setenv("UNKNOT_MAX_BYTES", "20 GB")
    must_fit("own.npz", 12 << 30)
    assert max_bytes() == 20_000_000_000
    with allowing("1 KB"), pytest.raises(UnknotError, match=r"at most 1\.0 KB"):
        must_fit("own.npz", 2000)


@pytest.mark.parametrize("text", ["", "0", "-1", "nan", "inf", "1e400", "many", "5 PB"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(UnknotError, match="is no size"):
        parse_bytes(text, "--max-bytes")


def test_json_that_is_nested_too_deeply_or_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    for content in (b"[" * 100_000 + b"]" * 100_000, b"\xff\xfe", b"{", b"9" * 5000):
        path.write_bytes(content)
        with pytest.raises(UnknotError, match=r"own\.json: cannot be read as JSON"):
            load_json(path)
    path.write_text(json.dumps({"a": 1}))
    assert load_json(path) == {"a": 1}


def test_a_table_of_one_long_word_in_every_row_takes_little_memory(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    words = pa.DictionaryArray.from_arrays(pa.array([0] * 20_000), pa.array(["x" * 1_000_000]))
    pq.write_table(pa.table({"latent_0": words, "n": pa.array(range(20_000))}), tmp_path / "bomb.parquet")
    table = read_parquet(tmp_path / "bomb.parquet")
    assert len(table) == 20_000
    assert table["n"].sum() == sum(range(20_000))
    with pytest.raises(UnknotError, match="latent_0 hold text"):
        read_parquet(tmp_path / "bomb.parquet", numbers=True)


def test_rows_without_end_are_refused_before_they_are_read(tmp_path: Path) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    zeros = pa.table({"latent_0": pa.array(np.zeros(10_000_000))})
    with pq.ParquetWriter(tmp_path / "bomb.parquet", zeros.schema) as writer:
        for _ in range(30):
            writer.write_table(zeros)
    with pytest.raises(UnknotError, match=r"bomb\.parquet: would take 2\.4 GB"):
        read_parquet(tmp_path / "bomb.parquet")


def test_a_table_under_a_name_that_is_no_text_is_read(tmp_path: Path) -> None:
    import pandas as pd

    path = tmp_path / "own\udcff.parquet"
    with path.open("wb") as file:
        pd.DataFrame({"a": [1, 2], "b": ["x", None]}).to_parquet(file)
    table = read_parquet(path)
    assert table["a"].tolist() == [1, 2]
    assert table["b"].tolist()[0] == "x"
