"""Where data files are looked for, and what is said when one is missing."""

import os
from pathlib import Path

from unknot.errors import UnknotError
from unknot.files import cache_folder
from unknot.worlds.entry import Entry


def data_folders(data: Path | str | None = None) -> tuple[Path, ...]:
    """The folders searched, in order: the one named, `UNKNOT_DATA`, the user's cache folder."""
    folders = [data, os.environ.get("UNKNOT_DATA"), cache_folder()]
    return tuple(dict.fromkeys(Path(folder).expanduser() for folder in folders if folder))


def find_file(name: str, data: Path | str | None = None) -> Path | None:
    """A file by its published name, from the first folder that has it."""
    for folder in data_folders(data):
        if (folder / name).is_file():
            return folder / name
    return None


def find_files(entry: Entry, data: Path | str | None = None) -> tuple[Path, ...]:
    """The files a world is read from, or nothing if they are not all there.

    A file named as `data` is taken as it is, whatever its name, for worlds that are read from one file.
    """
    if entry.find is not None:
        return entry.find(data)
    if data is not None and Path(data).is_file() and len(entry.files) == 1:
        return (Path(data),)
    folder = Path(data).parent if data is not None and Path(data).is_file() else data
    for choice in entry.choices:
        paths = [path for file in choice if (path := find_file(file.name, folder))]
        if paths and len(paths) == len(choice):
            return tuple(paths)
    return ()


def require_files(key: str, entry: Entry, data: Path | str | None = None) -> tuple[Path, ...]:
    """The files a world is read from, or the error that says where they were looked for and how to get them.

    A stand-in is named, and never taken in silence.
    """
    paths = find_files(entry, data)
    if paths:
        return paths
    if data is not None and not Path(data).expanduser().exists():
        raise UnknotError(f"{key}: the data folder {data} does not exist.")
    names = [file.name for file in entry.files]
    lacking = [file for file in names if find_file(file, data) is None] or names
    folders = ", ".join(str(folder) for folder in data_folders(data))
    it, listed = ("it", lacking[0]) if len(lacking) == 1 else ("them", f"{len(lacking)} files ({lacking[0]}, ...)")
    stand_in = f", or use the rendered stand-in '{entry.stand_in}'" if entry.stand_in else ""
    raise UnknotError(
        f"{key}: {listed} not found in {folders}. Get {it} with `unknot data download {key}`,"
        f"{'' if stand_in else ' or'} name the folder that has {it} (--data or UNKNOT_DATA){stand_in}."
    )


def bytes_in_words(n: int) -> str:
    """A number of bytes as people say it.

    >>> bytes_in_words(28_024_106)
    '28.0 MB'
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n >= size:
            return f"{n / size:.1f} {unit}"
    return f"{n} bytes"
