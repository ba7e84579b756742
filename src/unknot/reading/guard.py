"""Files from strangers: what stops a parser is one kind of error, and no file takes more memory than it may.

Every reader goes through `parsing`, which turns whatever a parser raises into an `UnknotError` that names the file.
What would be taken into memory is first asked for with `must_fit`: a file of some megabytes may unfold to terabytes.
"""

import json
import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from pickle import UnpicklingError
from typing import Any
from zipfile import ZipFile, is_zipfile

from unknot.errors import UnknotError

MAX_BYTES = 2 << 30  # that one file may take of the memory, unless the user says otherwise
VARIABLE = "UNKNOT_MAX_BYTES"
AGAIN = "It may be cut short or damaged; download or save it again."
KEEP = "Keep tensors alone, as torch.save(network.state_dict(), FILE) does."
_allowed: ContextVar[int | None] = ContextVar("max_bytes", default=None)
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


@contextmanager
def parsing(path: Path | str, what: str, hint: str = AGAIN) -> Iterator[None]:
    """Whatever goes wrong inside is said of a file.

    Args:
        path: of the file.
        what: it should be, such as "an .npz archive".
        hint: what to do about it.
    """
    try:
        yield
    except UnknotError:
        raise
    except FileNotFoundError:
        raise UnknotError(f"{path}: no such file.") from None
    except RecursionError:
        raise UnknotError(f"{path}: cannot be read as {what}; it is nested too deeply.") from None
    except MemoryError:
        raise UnknotError(f"{path}: cannot be read as {what}; it needs more memory than there is.") from None
    except Exception as error:  # parsers of other people's formats raise whatever comes to them
        reason = error.strerror if isinstance(error, OSError) and error.strerror else " ".join(str(error).split())
        if isinstance(error, UnpicklingError):  # torch tells at length how to run the code in it
            found = re.search(r"GLOBAL (\S+)", reason)
            reason = reason.partition("WeightsUnpickler error: ")[2].partition(" Check the doc")[0] or reason
            if found is not None:
                reason = f"besides tensors it holds {found[1]}, and opening that may run code"
                hint = KEEP if hint == AGAIN else hint
        reason = reason[:300] or type(error).__name__
        raise UnknotError(f"{path}: cannot be read as {what} ({reason}). {hint}") from error


def must_be_of_torch(path: Path) -> None:
    """An error, inside `parsing`, if a file is none of torch, which would say no more than a number of it."""
    with path.open("rb") as file:
        if not file.read(2).startswith((b"PK", b"\x80")):  # an archive or, before torch 1.6, a pickle
            raise ValueError("torch.save writes none that begins like it")
    if is_zipfile(path):
        with ZipFile(path) as archive:
            if any(name.endswith("/constants.pkl") for name in archive.namelist()):
                raise UnknotError(f"{path}: is a program of TorchScript, and opening that may run code. {KEEP}")


def must_fit(path: Path | str, n_bytes: float) -> None:
    """Refuse a file that claims more memory than it may have."""
    if n_bytes > (most := max_bytes()):
        enough = in_words(n_bytes * 1.05).replace(" ", "")
        raise UnknotError(
            f"{path}: would take {in_words(n_bytes)} of memory, and a file may take at most {in_words(most)}. If that "
            f"is meant, allow more: unknot --max-bytes {enough} ..., or {VARIABLE}={enough}."
        )


@contextmanager
def allowing(max_bytes: int | str | None) -> Iterator[None]:
    """Let files take so much memory while the block lasts; None leaves that as it is."""
    token = _allowed.set(_allowed.get() if max_bytes is None else parse_bytes(str(max_bytes), "max_bytes"))
    try:
        yield
    finally:
        _allowed.reset(token)


def max_bytes() -> int:
    """How much memory a file may take: what the caller allows, or UNKNOT_MAX_BYTES, or 2 GiB."""
    if (allowed := _allowed.get()) is not None:
        return allowed
    return parse_bytes(os.environ[VARIABLE], VARIABLE) if os.environ.get(VARIABLE) else MAX_BYTES


def parse_bytes(text: str, who: str) -> int:
    """A number of bytes as people write it.

    >>> parse_bytes("12 GB", "--max-bytes"), parse_bytes("4096", "--max-bytes")
    (12000000000, 4096)
    """
    match = re.fullmatch(r"\s*(\d{1,15}(?:\.\d*)?(?:[eE]\+?\d{1,2})?)\s*([KMGT]?)i?B?\s*", text, re.IGNORECASE)
    if match is None or not (size := float(match[1]) * _UNITS[match[2].upper()]):
        raise UnknotError(f"{who}: '{text}' is no size; expected a number of bytes such as 8GB.")
    return int(min(size, 2**62))


def in_words(n_bytes: float) -> str:
    """A number of bytes in words.

    >>> in_words(12_884_901_888), in_words(900)
    ('12.9 GB', '900 B')
    """
    power = min(4, int(math.log10(max(n_bytes, 1)) // 3))
    return f"{n_bytes / 1000**power:.{1 if power else 0}f} {'KMGT'[power - 1] if power else ''}B"


def load_json(path: Path | str, what: str = "JSON", *, hint: str = AGAIN) -> Any:
    """The value in a JSON file."""
    path = Path(path)
    with parsing(path, what, hint):
        must_fit(path, path.stat().st_size * 8)  # objects take more room than the text they are written in
        return json.loads(path.read_bytes().decode("utf-8-sig"))
