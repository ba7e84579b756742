"""Files that appear complete or not at all, JSON in them, and hashes that tell contents apart."""

import hashlib
import json
import math
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from unknot.errors import UnknotError
from unknot.reading.guard import load_json

LONGEST = 200  # bytes of a file's name that leave room for those of the one beside it, 255 in all


@contextmanager
def written_whole(path: Path | str) -> Iterator[Path]:
    """Give a name to write to; its content becomes that of `path` only when the block ends well.

    A regular file is written beside and renamed, by every writer under a name of its own, once its content is on the
    disk: a process killed, or a machine switched off, leaves the file as it was before or as it is after, never a part
    of it. Its mode and owner stay. A link stays a link, and what it points to is written. A device or a pipe stays what
    it is, and is given the content at the end.
    """
    path = Path(path)
    try:
        place = path.resolve() if path.is_symlink() else path
        if place.exists() and not place.is_file():
            with _poured_into(place) as beside:
                yield beside
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        short = place.name if len(os.fsencode(place.name)) <= LONGEST else json_hash(place.name)
        # Not by the number of the process, which those of two machines with one disk may share.
        beside = place.with_name(f".{short}.{secrets.token_hex(4)}.part")
        try:
            yield beside
            _flush(beside)
            _take_after(beside, place)
            beside.replace(place)
        finally:
            with suppress(OSError):
                beside.unlink(missing_ok=True)
    except OSError as error:
        raise UnknotError(f"{path}: cannot be written ({error.strerror or error}).") from error


@contextmanager
def _poured_into(place: Path) -> Iterator[Path]:
    """A file whose content goes into a device or a pipe when the block ends well."""
    if place.is_dir():
        raise UnknotError(f"{place}: is a folder; name a file.")
    with tempfile.TemporaryDirectory(prefix="unknot-") as folder:
        beside = Path(folder) / (place.name or "output")
        yield beside
        with beside.open("rb") as content, place.open("wb") as target:
            shutil.copyfileobj(content, target)


def _take_after(beside: Path, place: Path) -> None:
    """Give a new file the mode and the owner of the one it replaces, where there is one."""
    with suppress(FileNotFoundError):
        before = place.stat()
        beside.chmod(stat.S_IMODE(before.st_mode))
        with suppress(OSError, AttributeError):  # only the owner may, and not every system has owners
            os.chown(beside, before.st_uid, before.st_gid)


def cache_folder() -> Path:
    """Where downloads, and runs of the zoo, are kept when no other folder is named."""
    if os.environ.get("XDG_CACHE_HOME"):
        return Path(os.environ["XDG_CACHE_HOME"]) / "unknot"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "unknot"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "unknot"
    return Path.home() / ".cache" / "unknot"


def remove_parts(folder: Path) -> None:
    """Remove what processes killed while writing left in a folder that nobody else writes to now."""
    for part in folder.glob(".*.part"):
        with suppress(OSError):
            part.unlink()


def must_be_ours(folder: Path, kind: str, marks: Collection[str]) -> None:
    """Refuse a folder for output that holds other things; the root of a disk always does.

    Args:
        folder: need not exist.
        kind: what it is to hold, for messages: "study".
        marks: patterns of names; a folder in which one of them is found is ours.
    """
    if folder.exists() and not folder.is_dir():
        raise UnknotError(f"{folder}: is a file; the {kind} needs a folder of its own. Choose another.")
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    root = folder.resolve() == folder.resolve().parent
    if root or (names and not any(fnmatch(name, mark) for name in names for mark in marks)):
        raise UnknotError(
            f"{folder}: holds no {kind}, but other files ({', '.join(names[:3])}); choose another folder."
        )


def write_json(path: Path | str, value: Any) -> Path:
    """Write a value as JSON, whole or not at all; numbers that JSON does not have are written as `plain` says."""
    path = Path(path)
    with written_whole(path) as beside:
        beside.write_text(as_json(value), encoding="utf-8")
    return path


def write_parquet(path: Path | str, table: Any) -> None:
    """Write a table of pandas, whole or not at all; Arrow itself opens no name that is no text."""
    with written_whole(path) as beside, beside.open("wb") as file:
        table.to_parquet(file, index=False)


def as_json(value: Any) -> str:
    """What `write_json` writes."""
    text = json.dumps(plain(value), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    # Names may hold characters that UTF-8 has not, or that a terminal obeys; JSON has a way to write them.
    return re.sub(
        "[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text
    )


def read_json(path: Path | str) -> dict[str, Any]:
    """The record in a JSON file; empty if there is none, or none that can be read."""
    try:
        record = load_json(path)
    except UnknotError:
        return {}
    return record if isinstance(record, dict) else {}


def plain(value: Any) -> Any:
    """A value in JSON's own types: NaN becomes None, an infinite number "inf" or "-inf", arrays lists.

    >>> import numpy as np
    >>> plain({"score": np.float64("nan"), "shape": (2, np.int64(3))})
    {'score': None, 'shape': [2, 3]}
    """
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, str | int | float | bool | None):
        return value
    return plain(value.tolist()) if hasattr(value, "tolist") else str(value)


def json_hash(value: Any, length: int = 12) -> str:
    """The first hexadecimal digits of the SHA-256 of a value as JSON, whatever the order of its keys.

    >>> json_hash({"a": 1, "b": 2}) == json_hash({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:length]


def file_hash(path: Path | str, length: int = 32) -> str:
    """The first hexadecimal digits of the SHA-256 of a file."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:length]


def array_hash(*arrays: Any, length: int = 16) -> str:
    """The first hexadecimal digits of the SHA-256 of what arrays hold, one after the other."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(array.tobytes())
    return digest.hexdigest()[:length]


def _flush(path: Path) -> None:
    """Wait until a file's content is on the disk, where the system can tell."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
