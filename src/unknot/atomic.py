"""Files that appear complete or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from unknot.errors import UnknotError


@contextmanager
def written_whole(path: Path | str) -> Iterator[Path]:
    """Give a name beside `path` to write to; it becomes `path` only when the block ends well."""
    path = Path(path)
    beside = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield beside
        beside.replace(path)
    except OSError as error:
        raise UnknotError(f"{path}: cannot be written ({error.strerror or error}).") from error
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
