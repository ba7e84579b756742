"""What is said of a data file that is missing, cut short or damaged."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from unknot.errors import UnknotError


@contextmanager
def reading(path: Path, form: str, *broken: type[Exception], remedy: str = "Download it again.") -> Iterator[None]:
    """Read a file as what it should be; errors of the types in `broken` mean that it is not, and are said in words."""
    try:
        yield
    except UnknotError:
        raise
    except FileNotFoundError:
        raise UnknotError(f"{path}: no such file.") from None
    except broken as error:
        raise UnknotError(
            f"{path}: cannot be read as {form} ({error}); it may be cut short or damaged. {remedy}"
        ) from error
