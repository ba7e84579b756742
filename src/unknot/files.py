"""Files that appear complete or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from unknot.errors import UnknotError


@contextmanager
def written_whole(path: Path | str) -> Iterator[Path]:
    """Give a name beside `path` to write to; it becomes `path` only when the block ends well.

    Each process writes to a name of its own, and the content is on the disk before it takes the final name: a process
    killed, or a machine switched off, leaves the file as it was before or as it is after, never a part of it.
    """
    path = Path(path)
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield beside
        _flush(beside)
        beside.replace(path)
    except OSError as error:
        raise UnknotError(f"{path}: cannot be written ({error.strerror or error}).") from error
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def remove_parts(folder: Path) -> None:
    """Remove what processes killed while writing left in a folder that nobody else writes to now."""
    for part in folder.glob(".*.part"):
        with suppress(OSError):
            part.unlink()


def _flush(path: Path) -> None:
    """Wait until a file's content is on the disk, where the system can tell."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
