"""Pictures in files."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from unknot.reading.guard import AGAIN, must_fit, parsing

if TYPE_CHECKING:
    from PIL.Image import Image

BYTES = 4  # of a pixel in memory, at the most


@contextmanager
def picture(path: Path, hint: str = AGAIN) -> Iterator["Image"]:
    """A picture, open while the block lasts.

    What the library would warn of is an error by its size, or does not matter.

    Args:
        path: of the file.
        hint: what to do about a damaged one.
    """
    from PIL import Image

    with parsing(path, "a picture", hint), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with Image.open(path) as file:
            must_fit(path, BYTES * file.width * file.height)
            yield file
