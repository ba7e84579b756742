"""The one kind of error a caller can mend, what is noted beside a result, and how both are worded.

Every message says who complains, what was wrong with which value, what was expected, and what to do.
The command line prints it without a traceback and exits with code 2. Sentences are for people: code that has to know
what an error or a note is about reads its fields.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from typing import Any, Self

# What has to be installed for a package that is not always there: pip install "unknot[torch]".
EXTRAS = {
    "gymnasium": "gym",
    "h5py": "files",
    "huggingface_hub": "hf",
    "jinja2": "report",
    "keras": "keras",
    "lightgbm": "lightgbm",
    "pytorch_lightning": "lightning",
    "ray": "ray",
    "safetensors": "files",
    "tensorboard": "tensorboard",
    "timm": "timm",
    "torch": "torch",
    "torchmetrics": "torchmetrics",
    "torchvision": "timm",
    "transformers": "hf",
}
LONGEST = 200  # characters of a value in a message
Path = tuple[str | int, ...]  # of a field inside what the caller passed: ("tasks", "fairness", "rows")


class UnknotError(ValueError):
    """A mistake in what the caller passed: a name, a file, a value, a shape.

    Args:
        message: the whole sentence; left out, it is made of the fields.
        who: complains.
        field: of what was passed, a name or a path.
        value: what it was.
        expected: instead.
        hint: what to do.

    >>> UnknotError(who="fairness", field="rows", value=3, expected="at least 10, or all")
    UnknotError('fairness: rows is 3; expected at least 10, or all.')
    """

    def __init__(
        self,
        message: str = "",
        *,
        who: str = "",
        field: str | Path = (),
        value: Any = None,
        expected: str = "",
        hint: str = "",
    ) -> None:
        self.who, self.value, self.expected, self.hint = who, value, expected, hint
        self.field: Path = (field,) if isinstance(field, str) else tuple(field)
        if not message:
            name = ".".join(map(str, self.field))
            message = (
                f"{who}: " * bool(who)
                + f"{name} is {shown(value)}; expected {expected}."
                + f" {hint}" * bool(hint)
            )
        super().__init__(message)

    def within(self, *outer: str | int) -> Self:
        """The same error, its field seen from further out."""
        self.field = (*outer, *self.field)
        return self


def shown(value: Any) -> str:
    """A value as messages show it: shortened, whatever it is.

    >>> shown("x" * 1000)[-8:], shown(10**5000)
    ('xxxxx...', 'an object of type int')
    """
    try:
        text = repr(value)
    except Exception:  # anybody's class may fail to show itself
        return f"an object of type {type(value).__name__}"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def why(error: BaseException, line: int = 0) -> str:
    r"""One line of what another library says of an error, its kind if it says nothing.

    >>> why(RuntimeError(" no room\nin this house")), why(RuntimeError("no room\nhere"), -1), why(MemoryError())
    ('no room', 'here', 'MemoryError')
    """
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[line].strip()


class UnknotWarning(UserWarning):
    """Something was left out or assumed; the result says what."""


@dataclass(frozen=True)
class Note:
    """What was left out or assumed of a result.

    Attributes:
        kind: tells notes that code looks for from the others, such as "seen"; empty for those it does not.
        about: a part of the result, such as a split; empty for all of it.
        text: the sentence.
    """

    kind: str
    about: str
    text: str

    def __str__(self) -> str:
        return f"{self.about}: {self.text}" if self.about else self.text


def sentences(notes: Iterable[Note | str]) -> list[str]:
    """Notes as people read them: what is noted of several parts is said once.

    >>> sentences([Note("", "random", "few images."), Note("", "composition", "few images."), "All in all."])
    ['random, composition: few images.', 'All in all.']
    """
    parts: dict[str, dict[str, None]] = {}
    for note in notes:
        text, about = (note.text, note.about) if isinstance(note, Note) else (note, "")
        parts.setdefault(text, {}).update({about: None} if about else {})
    return [str(Note("", ", ".join(about), text)) for text, about in parts.items()]


def unknown(kind: str, name: str, known: Iterable[str], *, field: str | Path = ()) -> UnknotError:
    """The error for a name that is not in a registry, with the nearest one that is.

    >>> unknown("metric", "migs", ["dci", "mig", "sap"])
    UnknotError("unknown metric 'migs'; did you mean 'mig'? Known: dci, mig, sap.")
    """
    choices, name = sorted(known), name if isinstance(name, str) else shown(name)
    nearest = get_close_matches(name[:LONGEST], choices, n=1, cutoff=0.5)
    hint = f"; did you mean '{nearest[0]}'?" if nearest else "."
    text = f"unknown {kind} '{name[:LONGEST]}'{hint} Known: {', '.join(choices)}."
    return UnknotError(text, field=field, value=name, expected=", ".join(choices))


def check_known(kind: str, name: str, known: Iterable[str]) -> None:
    """Refuse a name that is none of those known."""
    choices = tuple(known)
    if name not in choices:
        raise unknown(kind, name, choices)


@contextmanager
def extras(who: str) -> Iterator[None]:
    """Where a package that is an extra is missing, say so, and how to get it."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        raise _missing(who, package) from None


def must_have(who: str, *packages: str) -> None:
    """Refuse, before any work is done, what will need a package that is not installed."""
    for package in packages:
        if find_spec(package) is None:
            raise _missing(who, package)


def _missing(who: str, package: str) -> UnknotError:
    words = f'"unknot[{EXTRAS[package]}]"' if package in EXTRAS else package
    return UnknotError(f"{who} needs {package}, which is not installed; pip install {words}.")
