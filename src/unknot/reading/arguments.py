"""Arguments of public functions, held to their annotations: one of a wrong type is an error that names it."""

import inspect
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import fields
from functools import wraps
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

import numpy as np

from unknot.errors import UnknotError
from unknot.fields import members, words_of

F = TypeVar("F", bound=Callable[..., Any])
MOST = 10**9  # of anything that is counted; more is a slip of the hand, and would run or allocate without end
LONGEST_NAME, LONGEST_PATH = 255, 4095  # bytes of a file's name, and with all its folders, that systems take
UNCOUNTED = {"seed", "rng"}  # whole numbers that count nothing


def checked(function: F) -> F:
    """Let a function refuse arguments that are not what its annotations say."""
    parameters = inspect.signature(function).parameters
    who = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
    annotations = {
        name: parameter.annotation
        for name, parameter in parameters.items()
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD and parameter.annotation is not parameter.empty
    }

    lists = {
        name for name, each in annotations.items() if any(get_origin(kind) is Sequence for kind in members(each))
    }

    @wraps(function)
    def call(*positional: Any, **named: Any) -> Any:
        for name, value in (*zip(parameters, positional, strict=False), *named.items()):
            if name in annotations:
                must_be(who, name, value, annotations[name])
        named = {name: _listed(value) if name in lists else value for name, value in named.items()}
        pairs = zip(parameters, positional, strict=False)
        first = [_listed(value) if name in lists else value for name, value in pairs]
        return function(*first, *positional[len(first) :], **named)

    return call  # type: ignore[return-value]


def _listed(value: Any) -> Any:
    """A list in the place of an array, which no `if` can be asked about."""
    return value.tolist() if isinstance(value, np.ndarray) and value.ndim == 1 else value


def check_fields(who: str, record: Any) -> None:
    """Refuse fields of a dataclass that are not what its annotations say."""
    for each in fields(record):
        must_be(who, each.name, getattr(record, each.name), each.type)


def must_be(who: str, name: str, value: Any, annotation: Any) -> None:
    """Refuse a value that is none of an annotation's."""
    kinds = members(annotation)
    if not any(_is(value, kind) for kind in kinds) or (isinstance(value, Real) and value != value):
        raise UnknotError(who=who, field=name, value=value, expected=words_of(annotation) or "another type")
    if Path in kinds and isinstance(value, str | PathLike):
        must_be_a_path(who, value, name)
    if name in UNCOUNTED and isinstance(value, Integral) and value < 0:  # which no generator of numpy takes
        raise UnknotError(who=who, field=name, value=value, expected="a whole number from 0 up")
    counts = isinstance(value, Integral) and int in kinds and name not in UNCOUNTED
    if counts and abs(int(value)) > MOST:
        raise UnknotError(who=who, field=name, value=value, expected=f"a number up to {MOST:,}")


def must_be_a_path(who: str, value: str | PathLike[str], name: str = "path") -> None:
    """Refuse a name that no file can have, before a disk is asked for it."""
    try:
        path = Path(value).expanduser()
        longest = max((len(os.fsencode(part)) for part in path.parts), default=0)
    except (UnicodeError, RuntimeError):  # the latter of a home that nobody has
        longest, path = 0, Path("\0")
    if "\0" in str(path):
        raise UnknotError(who=who, field=name, value=value, expected="a name that a file can have")
    if longest > LONGEST_NAME or len(os.fsencode(path)) > LONGEST_PATH:
        expected = f"names of {LONGEST_NAME} bytes at most, {LONGEST_PATH} with their folders"
        raise UnknotError(who=who, field=name, value=value, expected=expected)


_KINDS: dict[Any, Callable[[Any], bool]] = {
    Any: lambda value: True,
    NoneType: lambda value: value is None,
    bool: lambda value: isinstance(value, bool | np.bool_),
    int: lambda value: isinstance(value, Integral) and not isinstance(value, bool),
    float: lambda value: isinstance(value, Real) and not isinstance(value, bool),
    str: lambda value: isinstance(value, str),
    Path: lambda value: isinstance(value, str | PathLike),
}


def _is(value: Any, kind: Any) -> bool:
    """Whether a value is of a kind; what an annotation does not say is left to those who use the value."""
    if kind in _KINDS:
        return _KINDS[kind](value)
    origin, inside = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _each([value], inside[0])
    if origin is Literal:
        # A wrong word is left to the function, which knows what the words are for and names the nearest.
        return value in inside if isinstance(value, Integral) else isinstance(value, str)
    if origin in (Sequence, Iterable):
        if isinstance(value, str | bytes) or (isinstance(value, np.ndarray) and value.ndim == 0):
            return False
        if not isinstance(value, Collection):  # one that is used up by looking at it
            return origin is Iterable and isinstance(value, Iterable)
        return (origin is Iterable or not isinstance(value, Mapping | Set)) and _each(value, *inside[:1])
    if origin in (list, tuple):
        return isinstance(value, origin) and _each(value, *inside[:1])
    if origin in (Mapping, dict):
        return isinstance(value, Mapping) and _each(value, inside[0]) and _each(value.values(), inside[1])
    if origin is Callable:
        return callable(value)
    try:
        return not isinstance(kind, type) or isinstance(value, kind)
    except TypeError:  # a protocol that cannot be asked
        return True


def _each(values: Iterable[Any], annotation: Any = Any) -> bool:
    return all(any(_is(value, kind) for kind in members(annotation)) for value in values)
