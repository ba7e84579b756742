"""Words of the command line as values of a task's options."""

from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from unknot.tasks.options import members

Value = Any


def word_type(annotation: Any) -> tuple[Any, bool]:
    """What typer reads for an option: a type, and whether the option may be repeated."""
    kinds = [kind for kind in members(annotation) if kind is not NoneType]
    if any(get_origin(kind) is Sequence for kind in kinds):
        return str, True
    if bool in kinds:  # what else it may be is for Python
        return bool, False
    return (kinds[0] if len(kinds) == 1 and kinds[0] in (int, float) else str), False


def read_words(words: Sequence[str], annotation: Any, *, joined: bool) -> Value:
    """The value of an option from what was typed for it.

    Args:
        words: one for each time it was given.
        annotation: its type.
        joined: whether values stand in one word, with commas in between.

    >>> read_words(["all"], int | Literal["all"], joined=False), read_words(["12"], int | Literal["all"], joined=False)
    ('all', 12)
    >>> read_words(["x=4,y=4"], Mapping[str, int] | None, joined=True)
    {'x': 4, 'y': 4}
    >>> read_words(["1000,2000"], Sequence[int], joined=True)
    [1000, 2000]
    """
    kinds = [kind for kind in members(annotation) if kind is not NoneType]
    several = [word.strip() for text in words for word in text.split(",")] if joined else list(words)
    inside = {get_origin(kind): get_args(kind) for kind in kinds}
    if Sequence in inside:
        return [read_word(word, inside[Sequence][0]) for word in several]
    if Mapping in inside:
        pairs = [word.partition("=") for word in several]
        return {name.strip(): read_word(value.strip(), inside[Mapping][1]) for name, _, value in pairs}
    return read_word(words[-1], annotation)


def read_word(text: str, annotation: Any) -> Value:
    """One word as the first of the types that it can be; else itself, which the task refuses in its own words."""
    for kind in members(annotation):
        kind = get_args(kind)[0] if get_origin(kind) is Annotated else kind
        choices = get_args(kind) if get_origin(kind) is Literal else ()
        for choice in choices:
            if text == str(choice):
                return choice
        if kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                continue
    return text
