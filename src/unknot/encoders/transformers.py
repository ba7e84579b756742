"""Fitted transformers of scikit-learn in files: those of skops are read, pickles are not.

Whoever opens a pickle, or a joblib file, runs the code in it.
"""

from importlib import import_module
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from unknot.errors import UnknotError
from unknot.reading.guard import must_fit, parsing

SKOPS = ".skops"
PICKLED = (".joblib", ".pkl", ".pickle")


def read_transformer(path: Path) -> Any:
    """The transformer of a .skops file, which is refused if it holds anything but types of scikit-learn and NumPy."""
    if path.suffix in PICKLED:
        raise UnknotError(
            f"{path}: is a pickle, and opening one runs the code in it; keep the fitted object with "
            "skops.io.dump(pipeline, 'pipeline.skops')."
        )
    if not path.is_file():
        raise UnknotError(f"{path}: no such file.")
    try:
        io = import_module("skops.io")
    except ImportError as error:
        raise UnknotError(f"{path}: skops cannot be imported ({error}); pip install skops.") from None
    with parsing(path, "a .skops file"), ZipFile(path) as archive:
        must_fit(path, sum(member.file_size for member in archive.infolist()))
    try:
        strange = io.get_untrusted_types(file=path)
        transformer = None if strange else io.load(path, trusted=[])
    except Exception as error:  # of many kinds: no archive, another version, a part that is missing
        raise UnknotError(f"{path}: cannot be read ({type(error).__name__}: {error}).") from None
    if strange:
        raise UnknotError(
            f"{path}: holds {', '.join(map(str, strange))}, which could run any code; expected types of scikit-learn "
            "and NumPy alone. Load it in Python, where you trust it, and hand over the object."
        )
    return transformer
