"""A folder that remembers: the only cache on disk."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.files import json_hash, write_json, written_whole
from unknot.processes.lock import HeldError, held
from unknot.reading.arguments import must_be

T = TypeVar("T")
PATIENCE = 10.0  # seconds that a process killed a moment ago may take to let go of its work


@dataclass(frozen=True)
class Form(Generic[T]):
    """How values of one type are files.

    Attributes:
        suffix: of the file's name.
        read: the value of a file; whatever it raises means that the file is damaged.
        write: a value to a file, whole or not at all.
    """

    suffix: str
    read: Callable[[Path], T]
    write: Callable[[Path, T], object]


def _read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def _write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    with written_whole(path) as beside, beside.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


JSON: Form[Any] = Form(".json", lambda path: json.loads(path.read_text(encoding="utf-8")), write_json)
ARRAYS: Form[dict[str, NDArray[Any]]] = Form(".npz", _read_arrays, _write_arrays)


class Workspace:
    """Where long work keeps what it has done, so that the same call goes on, and a second one only reads.

    Args:
        folder: made if need be; None keeps nothing.
        must_keep: whether a folder that cannot be written to is an error.
        of: what the work is, as plain values: what another version of it kept is not read.
    """

    def __init__(self, folder: Path | str | None = None, *, must_keep: bool = True, of: Any = None) -> None:
        must_be("folder for results", "folder", folder, Path | str | None)
        self.folder = None if folder is None else Path(folder)
        self.must_keep, self.of = must_keep, of

    def kept(self, name: str, key: Any, make: Callable[[], T], form: Form[T] = JSON) -> T:
        """What an earlier call made under this name and key, or what is made now and kept.

        A damaged file is made anew.

        Args:
            name: what it is, for people who look into the folder.
            key: everything that decides the value, as plain values; or what gives those, called if there is a folder.
            make: makes it.
            form: of its file.

        >>> Workspace().kept("answer", {"seed": 0}, lambda: 42)
        42
        >>> Workspace().kept("answer", lambda: 1 / 0, lambda: 42)  # nothing is kept, and nobody asks for the key
        42
        """
        path = self.path(name, key, form.suffix)
        if path is not None and path.is_file():
            with suppress(Exception):
                return form.read(path)
        value = make()
        if path is not None:
            try:
                form.write(path, value)
            except UnknotError:
                if self.must_keep:
                    raise
        return value

    def path(self, name: str, key: Any, suffix: str) -> Path | None:
        """Where something is, or will be, kept."""
        if self.folder is None:
            return None
        words, plain = re.sub(r"[^a-z0-9]+", "_", name.lower()), key() if callable(key) else key
        return self.folder / "parts" / f"{words}-{json_hash([self.of, plain])}{suffix}"

    @contextmanager
    def locked(self, name: str, key: Any) -> Iterator[None]:
        """Let only one process work on something; a killed one lets go of it."""
        path = self.path(name, key, ".lock")
        if path is None:
            yield
            return
        with ExitStack() as stack:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                stack.enter_context(held(path, patience=PATIENCE))
            except HeldError as busy:
                raise UnknotError(
                    f"{path.with_suffix('')}: {busy.holder} is at work on it; wait until it is done, or choose another "
                    f"folder.{busy.holder.hint}"
                ) from None
            except OSError as error:
                if self.must_keep:
                    raise UnknotError(f"{path}: cannot be written ({error.strerror or error}).") from error
            yield

    def within(self, name: str) -> "Workspace":
        """A folder inside."""
        folder = None if self.folder is None else self.folder / name
        return Workspace(folder, must_keep=self.must_keep, of=self.of)
