"""What can be known of a task's options before there is a trained run to put to it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from unknot.encoders.encoder import must_fit
from unknot.errors import UnknotError, unknown
from unknot.runs.spec import RunSpec
from unknot.tasks import find_task
from unknot.worlds.world import World

GIVEN = ("device", "data", "folder", "threads", "watch", "say")  # what whoever has the run decides
NOT_FOR_RUNS = ("pool", "image_size", "setting")  # of other encoders, or no plain value
WORDS = {int: "a whole number", float: "a number", str: "a word", bool: "true or false", Path: "a path"}


@dataclass(frozen=True)
class Untrained:
    """A run that will be put to a task.

    Attributes:
        spec: what it will be.
        home: the world it will be trained on.
        world: the one of the task.
        key: the name of that.
    """

    spec: RunSpec
    home: World
    world: World
    key: str

    def must_see(self, shape: tuple[int, int, int]) -> None:
        """An error if the run cannot see images of this shape; no error where the files of a world are not here."""
        if all(self.home.image_shape) and all(shape):
            must_fit(self.spec.title, self.spec, self.home.image_shape, shape)


def option_names(task: str) -> list[str]:
    """The options of a task for runs.

    >>> option_names("fairness")
    ['world', 'targets', 'sensitive', 'rows', 'points', 'rounds', 'seed']
    """
    return [
        name for name in list(signature(find_task(task)).parameters)[1:] if name not in (*GIVEN, *NOT_FOR_RUNS)
    ]


def check_type(task: str, option: str, value: Any) -> None:
    """Refuse a plain value that is none of an option, such as a word for a number, or a choice there is not.

    >>> check_type("reasoning", "alternatives", "hrd")
    Traceback (most recent call last):
    unknot.errors.UnknotError: unknown alternatives of reasoning 'hrd'; did you mean 'hard'? Known: balanced, easy, \
hard.
    """
    kinds = _kinds(signature(find_task(task)).parameters[option].annotation)
    if any(_fits(kind, value) for kind in kinds):
        return
    choices = [choice for kind in kinds if get_origin(kind) is Literal for choice in get_args(kind)]
    if (
        isinstance(value, str)
        and choices
        and all(get_origin(kind) is Literal for kind in kinds if kind is not NoneType)
    ):
        raise unknown(f"{option} of {task}", value, map(str, choices))
    raise UnknotError(f"{task}: {option} is {value!r}; expected {_words(kinds)}.")


def check_options(task: str, options: Mapping[str, Any], run: Untrained) -> None:
    """Refuse what the task would refuse once the run is trained: by the function `check` of its module."""
    run.must_see(run.world.image_shape)
    parameters = list(signature(find_task(task)).parameters.values())[1:]
    full = {one.name: options.get(one.name, one.default) for one in parameters}
    import_module(f"unknot.tasks.{task}.task").check(run, **full)


def _kinds(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, or the one type."""
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)


def _fits(kind: Any, value: Any) -> bool:
    """Whether a value that a file can hold is of a kind."""
    origin, inside = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return any(_fits(one, value) for one in inside)
    if origin is Literal:
        return any(value == one and type(value) is type(one) for one in inside)
    if origin is Sequence:
        return isinstance(value, list | tuple) and all(_fits(inside[0], one) for one in value)
    if origin is Mapping:
        return isinstance(value, dict) and all(
            _fits(inside[0], k) and _fits(inside[1], v) for k, v in value.items()
        )
    if kind in (int, float):
        return isinstance(value, int if kind is int else int | float) and not isinstance(value, bool)
    return kind in (str, bool, NoneType) and isinstance(value, kind)


def _words(kinds: Sequence[Any]) -> str:
    said: list[str] = []
    for kind in kinds:
        inside = get_args(kind)
        if get_origin(kind) is Literal:
            said += map(str, inside)
        elif get_origin(kind) is Sequence:
            said.append(f"a list, each {_words(_kinds(inside[0]))}")
        elif get_origin(kind) is Mapping:
            said.append(f"names, each with {_words(_kinds(inside[1]))}")
        elif kind in WORDS and not (kind is str and Path in kinds):
            said.append(WORDS[kind])
    return " or ".join(said)
