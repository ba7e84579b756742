"""Fitted scikit-learn transformers as encoders: PCA, FastICA, NMF, or a `Pipeline` of several.

A transformer is given one row for each image: its pixels in [0, 1], float32, in the order (h, w, c). In Python the
object itself is an encoder, on the command line `package.module:object`, or a file that `skops.io.dump` wrote. Pickles
and joblib files are not read: whoever opens one runs its code.
"""

from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.worlds.world import Images

SKOPS = ".skops"
PICKLED = (".joblib", ".pkl", ".pickle")


@runtime_checkable
class Transformer(Protocol):
    """What scikit-learn calls a transformer."""

    def fit(self, X: Any, y: Any = None) -> Any:
        """Learn from rows."""

    def transform(self, X: Any) -> Any:
        """The codes of rows."""


def as_rows(images: Images) -> NDArray[np.float32]:
    """Images as a transformer sees them, also while it is fitted: (n, h w c) in [0, 1].

    >>> as_rows(np.full((2, 8, 8, 1), 255, np.uint8)).shape
    (2, 64)
    """
    rows: NDArray[np.float32] = np.divide(images.reshape(len(images), -1), 255, dtype=np.float32)
    return rows


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
    if not isinstance(transformer, Transformer):
        raise UnknotError(
            f"{path}: holds a {type(transformer).__name__}, which has no transform; expected a transformer."
        )
    return transformer


def title(transformer: Transformer) -> str:
    """What results call it: its class, and those of its steps."""
    steps = [type(step).__name__ for _, step in vars(transformer).get("steps", ())]
    return f"{type(transformer).__name__}({', '.join(steps)})" if steps else type(transformer).__name__
