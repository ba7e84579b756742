"""Tables in Parquet files."""

from pathlib import Path
from typing import TYPE_CHECKING

from unknot.errors import UnknotError
from unknot.reading.guard import AGAIN, must_fit, parsing

if TYPE_CHECKING:
    import pandas as pd


def read_parquet(path: Path | str, *, numbers: bool = False, hint: str = AGAIN) -> "pd.DataFrame":
    """The table in a Parquet file.

    Args:
        path: of the file.
        numbers: whether it may hold nothing else; words are refused before they are read.
        hint: what to do about a damaged one.
    """
    import pyarrow.parquet as pq
    from pyarrow import types

    with parsing(path, "a Parquet table", hint):
        with (
            Path(path).open("rb") as stream,
            pq.ParquetFile(stream) as file,
        ):  # Arrow opens no name that is no text
            rows, schema = file.metadata.num_rows, file.schema_arrow
        kinds = (types.is_integer, types.is_floating, types.is_boolean)
        words = [field.name for field in schema if not any(is_kind(field.type) for is_kind in kinds)]
        if numbers and words:
            raise UnknotError(f"{path}: column(s) {', '.join(words)} hold text; expected numbers only.")
        must_fit(path, 8 * rows * len(schema))
        # A word that stands in every row is held once, however long it is.
        with Path(path).open("rb") as stream:
            table = pq.read_table(stream, read_dictionary=words).to_pandas()
        whole: pd.DataFrame = table.astype({name: object for name in words if table[name].dtype == "category"})
        return whole
