"""Files of latents and factors: archives of arrays, and tables with their columns."""

import csv
import json
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError, UnknotWarning, extras
from unknot.files import written_whole
from unknot.reading import npz
from unknot.reading.arguments import must_be_a_path
from unknot.reading.arrays import is_sparse
from unknot.reading.guard import must_fit, parsing
from unknot.reading.tables import read_parquet
from unknot.reading.tensors import tensor
from unknot.tables import sparse
from unknot.tables.labels import Labels, labels_of
from unknot.tables.metadata import FACTOR, About

ARRAYS = ("latents", "factors", "latents_test", "factors_test", "kl", "logvars", "groups")
TABLES = (".csv", ".parquet")
ARCHIVES = (".npz", ".safetensors")
KEYS = (*ARRAYS, "factor_names", "words", "kinds", "source", *sparse.KEYS)
MAPPED = ("latents", "latents_test")  # stay on disk where an archive merely stores them


def must_exist(path: Path) -> None:
    """An error if a path is a folder, or nothing."""
    must_be_a_path("latents", path)
    if path.is_dir():
        raise UnknotError(f"{path}: is a folder; expected a file of latents.")
    if not path.exists():
        encoder = f" An encoder is no file: `unknot encode --encoder {path} -o latents.npz` makes one."
        raise UnknotError(f"{path}: no such file." + encoder * (":" in path.name))


def read_npz(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of an archive by their keys; latents that it merely stores stay on disk."""
    loaded = [m for key, m in npz.members(path).items() if key in KEYS and (key not in MAPPED or m.offset is None)]
    must_fit(path, sum(member.n_bytes for member in loaded))
    arrays = npz.load(path, [key for key in KEYS if key not in MAPPED])
    arrays |= {key: npz.read(path, key) for key in npz.members(path) if key in MAPPED}
    arrays = sparse.unpacked(str(path), arrays)
    if "latents" not in arrays:
        names = ", ".join(npz.members(path)) or "nothing"
        raise UnknotError(f"{path}: has no array 'latents'; it holds {names}. Rename the array of latents.")
    return arrays


def read_safetensors(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a safetensors file by their keys, and what its header says; latents stay on disk."""
    with extras(f"{path}: reading it"):
        from safetensors import safe_open
    with parsing(path, "a safetensors file"), safe_open(str(path), framework="numpy") as file:
        known = {key: file.get_slice(key) for key in file.keys() if key in KEYS}
        loaded = [each for key, each in known.items() if key not in MAPPED or each.get_dtype() == "BF16"]
        must_fit(path, sum(8.0 * np.prod(each.get_shape(), dtype=np.float64) for each in loaded))
        arrays = {key: tensor(path, file, key, mapped=key in MAPPED) for key in known}
        names, metadata = ", ".join(file.keys()), file.metadata() or {}
    arrays = sparse.unpacked(str(path), arrays)
    if "latents" not in arrays:
        raise UnknotError(f"{path}: has no tensor 'latents'; it holds {names or 'nothing'}.")
    if "factor_names" in metadata:  # safetensors hold numbers only, so names travel in the header
        arrays["factor_names"] = _names_in_header(path, metadata["factor_names"])
    return arrays | {name: np.array(metadata[name]) for name in ("source", "words", "kinds") if name in metadata}


def write_arrays(
    path: Path, arrays: Mapping[str, NDArray[Any]], names: Sequence[str], about: Mapping[str, Any]
) -> None:
    """Write an archive of numpy, or of safetensors if the path ends so, complete or not at all.

    Args:
        path: of the file.
        arrays: numbers by their keys; sparse matrices are packed.
        names: of the factors.
        about: what is kept as JSON, such as kinds of factors.
    """
    arrays, texts = sparse.packed(arrays), {name: json.dumps(text) for name, text in about.items() if text}
    if path.suffix == ".safetensors":
        with extras(f"{path}: writing it"):
            from safetensors.numpy import save_file
        whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        with written_whole(path) as beside:
            save_file(whole, beside, {"factor_names": json.dumps(names), **texts})
        return
    strings = {"factor_names": np.array(names, dtype=np.str_)}
    strings |= {name: np.array(text) for name, text in texts.items()}
    with written_whole(path) as beside, beside.open("wb") as file:
        np.savez_compressed(file, **arrays, **strings)  # type: ignore[arg-type]


def write_parquet(path: Path, arrays: Mapping[str, Any], labels: Labels | None, source: Mapping[str, Any]) -> None:
    """Write a table of latents and factors, words as words; its metadata have what a table has no column for."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    latents, others = arrays["latents"], [name for name in arrays if name not in ("latents", "factors")]
    others += ["slots"] * (latents.ndim > 2) + ["a sparse matrix"] * is_sparse(latents)
    if others:
        raise UnknotError(f"{path}: a table holds latents (n, d) and factors, not {others[0]}; write an .npz.")
    columns: dict[str, Any] = {f"latent_{i}": column for i, column in enumerate(latents.T)}
    if labels is not None:
        columns |= {FACTOR + name: column for name, column in labels.by_name().items()}
    about = About(source=source) if labels is None else About(labels.kinds, labels.words, source)
    table = pa.table(columns).replace_schema_metadata(about.metadata)
    with written_whole(path) as beside, beside.open("wb") as file:
        pq.write_table(table, file)


def _names_in_header(path: Path, written: str) -> NDArray[Any]:
    with suppress(ValueError, RecursionError):
        names = json.loads(written)
        if isinstance(names, list):
            return np.array(list(map(str, names)), dtype=np.str_)
    raise UnknotError(
        f"{path}: factor_names in the header is '{written}'; expected a JSON list such as [\"shape\"]."
    )


def read_frame(path: Path, *, words: bool = False) -> Any:
    """The table of a CSV or Parquet file; words are refused unless they are allowed."""
    import pandas as pd

    must_exist(path)
    frame = _read_csv(path) if path.suffix == ".csv" else read_parquet(path, numbers=True)
    if not len(frame):
        raise UnknotError(f"{path}: has no rows; expected one per sample.")
    text = [str(c) for c in frame.columns if not pd.api.types.is_numeric_dtype(frame[c])]
    if text and not words:
        raise UnknotError(f"{path}: column(s) {', '.join(text)} hold text; expected numbers only.")
    return frame


def _read_csv(path: Path) -> Any:
    import pandas as pd

    _refuse_other_separators(path)
    header = None if _without_header(path) else 0
    with parsing(path, "a CSV table", "Write it separated by commas, in UTF-8."):
        return pd.read_csv(path, header=header, low_memory=False)


def _first_cells(path: Path) -> list[str]:
    """The cells of the first line of a CSV that is not blank; none if there is none."""
    must_fit(path, path.stat().st_size)
    with parsing(path, "a CSV table"), path.open(encoding="utf-8-sig", errors="replace") as file:
        line = next((line for line in file if line.strip()), "")
        return next(csv.reader([line]), [])


def _without_header(path: Path) -> bool:
    """Whether a CSV begins with a row of numbers; 0, 1, 2, ... is how pandas heads columns that have no names."""
    cells = _first_cells(path)
    return bool(cells) and all(map(_is_number, cells)) and cells != counted_names(cells)


def must_name_columns(path: Path) -> None:
    """An error if a file is a CSV without a line of names."""
    if path.suffix == ".csv" and _without_header(path):
        raise UnknotError(
            f"{path}: its first line is all numbers, so nothing says which columns are latents; begin the file with a "
            "line of names, latent_... and factor_<name>, or give latents and factors as two files."
        )


def counted_names(cells: Sequence[str]) -> list[str]:
    """0, 1, 2, ... as words, one for each cell."""
    return [str(i) for i in range(len(cells))]


def _refuse_other_separators(path: Path) -> None:
    cells = _first_cells(path)
    if len(cells) != 1:
        return
    for mark, name in ((";", "';'"), ("\t", "tabs"), (" ", "spaces")):
        parts = cells[0].strip().split(mark)
        if len(parts) > 1 and (mark != " " or all(map(_is_number, filter(None, parts)))):  # a name may have spaces
            raise UnknotError(
                f"{path}: is separated by {name}; write it separated by commas, with decimal points."
            )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _only(path: Path, frame: Any, prefix: str) -> Any:
    """A table of latents and factors taken for one of the two: its columns, with a warning that names the others."""
    own = [c for c in frame.columns if str(c).startswith(prefix)]
    both = any(str(c).startswith("factor_" if prefix == "latent_" else "latent_") for c in frame.columns)
    if not own or len(own) == len(frame.columns) or not (both or prefix == "latent_"):
        return frame
    others = [str(c) for c in frame.columns if c not in own]
    text = f"{path}: only its columns {prefix}... are used; left out: {', '.join(others)}."
    warnings.warn(text, UnknotWarning, stacklevel=5)
    return frame[own]


def _columns(frame: Any) -> NDArray[Any]:
    """A table of whole numbers stays one; anything else becomes real numbers."""
    kinds = {frame[c].dtype.kind for c in frame.columns}
    whole = np.uint64 if "u" in kinds and (frame >= 0).all(axis=None) else np.int64
    array: NDArray[Any] = frame.to_numpy(dtype=whole if kinds <= set("iub") else np.float64)
    return array


def read_side(path: Path, prefix: str) -> tuple[Any, tuple[str, ...]]:
    """What one of two files holds, latents or factors by the prefix of their columns, and the names it has for them."""
    if path.suffix == ".npy":
        must_exist(path)
        return npz.read_npy(path, mapped=True), ()
    if path.suffix in TABLES:
        frame = _only(path, read_frame(path, words=prefix == "factor_"), prefix)
        if any(frame[c].dtype.kind not in "fiub" for c in frame.columns):
            return labels_of(frame, who=str(path)), ()
        # pandas numbers the columns of a file without header by whole numbers, which are not names
        named = not all(isinstance(c, int) for c in frame.columns)
        return _columns(frame), tuple(map(str, frame.columns)) if named else ()
    if path.suffix in ARCHIVES and prefix == "latent_":
        must_exist(path)
        arrays = (read_npz if path.suffix == ".npz" else read_safetensors)(path)
        if others := [name for name in ARRAYS if name in arrays and name != "latents"]:
            raise UnknotError(
                f"{path}: has {', '.join(others)} as well, which labels in another file leave no place for; give a "
                "file of latents alone, or write the labels into this one, as factors."
            )
        return arrays["latents"], ()
    if path.suffix == ".npz":
        must_exist(path)
        return _labels_in(path)
    allowed = ".npy, .npz, .csv, .parquet" + " or .safetensors" * (prefix == "latent_")
    raise UnknotError(
        f"{path}: {'latents' if prefix == 'latent_' else 'labels'} beside another file are {allowed}."
    )


def _labels_in(path: Path) -> tuple[NDArray[Any], tuple[str, ...]]:
    """The factors of an archive that has no latents, and their names."""
    arrays = npz.load(path, ("factors", "factor_names"))
    if "factors" not in arrays:
        names = ", ".join(npz.members(path)) or "nothing"
        raise UnknotError(f"{path}: has no array 'factors'; it holds {names}. Rename the array of labels.")
    return arrays["factors"], tuple(map(str, arrays.get("factor_names", ())))


def json_object(written: NDArray[Any] | None) -> dict[str, Any]:
    """What a file says of its latents or classes, if it does so in a way we can read; no score depends on it."""
    try:
        source = json.loads(str(written)) if written is not None else {}
    except (ValueError, RecursionError):
        return {}
    return source if isinstance(source, dict) else {}


def kinds_in(written: NDArray[Any] | None) -> dict[str, Any]:
    """Kinds of factors that a file has as JSON; scores depend on them, so that what cannot be read is refused.

    Constants, which older files name, have no kind: they are left out of every score.
    """
    kinds = json_object(written)
    if written is not None and not kinds and str(written).strip() != "{}":
        raise UnknotError(f'kinds is {str(written)!r:.80}; expected JSON such as {{"colour": "categorical"}}.')
    return {name: kind for name, kind in kinds.items() if kind != "constant"}
