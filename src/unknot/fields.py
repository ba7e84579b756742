"""Fields and arguments: which types their values have, and what that is in words."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

WORDS = {float: "a number", str: "a word", bool: "true or false"}


def in_words(field: "FieldInfo") -> str:
    """What the values of a field are.

    >>> from annotated_types import Ge
    >>> from pydantic.fields import FieldInfo
    >>> in_words(FieldInfo(annotation=Annotated[int, Ge(1)] | Literal["all"]))
    'a whole number from 1 up or all'
    """
    return _words(members(field.annotation), field.metadata)


def words_of(annotation: Any) -> str:
    """What the values of an annotation are.

    >>> words_of(float | Literal["cv"])
    'a number or cv'
    >>> words_of(Mapping[str, Any]), words_of(ArithmeticError)
    ('names, each with a value', 'an ArithmeticError')
    """
    return _words(members(annotation), ())


def members(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, or the one type."""
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)


def _words(kinds: Sequence[Any], bounds: Sequence[Any]) -> str:
    words: list[str] = []
    for kind in kinds:
        origin, inside = get_origin(kind), get_args(kind)
        if origin is Annotated:
            limits = [limit for field in inside[1:] for limit in getattr(field, "metadata", [field])]
            words.append(_words(members(inside[0]), limits))
        elif origin is Literal:
            words += map(str, inside)
        elif origin in (Sequence, Iterable):
            each = _words(members(inside[0]), ())
            words.append(f"a list, each {each}" if each else "a list")
        elif origin is Mapping:
            words.append(f"names, each with {_words(members(inside[1]), ()) or 'a value'}")
        elif kind is int:
            words.append("a whole number" + _bounds(bounds))
        elif kind in WORDS:
            words.append(WORDS[kind] + (_bounds(bounds) if kind is float else ""))
        elif kind is Path:
            words = [word for word in words if word != WORDS[str]] + ["a path"]
        elif isinstance(kind, type) and kind not in (NoneType, Any):
            words.append(f"{'an' if kind.__name__[0] in 'AEIO' else 'a'} {kind.__name__}")
    return " or ".join(dict.fromkeys(words))


def _bounds(bounds: Sequence[Any]) -> str:
    from annotated_types import Ge, Gt, Le, Lt

    words = {Ge: "from {} up", Gt: "above {}", Le: "up to {}", Lt: "below {}"}
    limits = {type(b): words[type(b)].format(astuple(b)[0]) for b in bounds if type(b) in words}
    if Ge in limits and Le in limits:
        limits[Ge] = limits[Ge].removesuffix(" up")
    return "".join(f" {text}" for text in limits.values())
