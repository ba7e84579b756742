"""Options of commands are the fields of a class: name, type, default and help are written once.

The class is a dataclass of the command's own (`option`, `argument`, `takes`), or a pydantic class that Python users
and studies know as well: the options of a task, the spec of a run. `parameters_of` and `typed` read both.
"""

import inspect
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

import typer
from typer.core import TyperCommand
from typer.main import get_command

from unknot.fields import members

T = TypeVar("T")
Parameters = dict[str, inspect.Parameter]

POOL = "Of networks: own, mean, class or slots."
LAYER = "Of a network, as its named_modules call it; the last one if left out."
DEVICE = "cpu, cuda or mps."
DATA = "Folder of data files."
JSON = "Write all numbers to this file; - for standard output."
LATENTS = "Columns of a table that are latents, such as embedding or z*."
FACTORS = "Only these factors, by name, such as scale,shape."
GROUPS = "Column: rows of one group, such as a patient, are held out together."
JOIN = "Column by which two tables are joined."
GAPS = "Values that stand for an unknown label, such as ?,-1."
LOG = "Also to a tracker: tensorboard:DIR, mlflow:DIR, wandb:PROJECT or trackio:PROJECT."
CSV = "Write the table to this file; - for standard output."


@dataclass(frozen=True)
class Option:
    """A field of a class as an option of a command, or as an argument.

    Attributes:
        name: of the field.
        kind: the type of its values.
        default: its value if nothing is typed; `Parameter.empty` if something must be.
        help: a sentence.
        flags: what it is called instead of its name; one that ends in a comma may have several values in one word, with
            commas in between.
        argument: whether it is an argument.
    """

    name: str
    kind: Any
    default: Any
    help: str = ""
    flags: Sequence[str] = ()
    argument: bool = False

    def parameter(self, help: str) -> inspect.Parameter:
        """The parameter of a function that typer makes a command of."""
        kind, default = self.kind, None if self.default in ("", ()) else self.default
        about: Any = typer.Argument(help=help)
        if not self.argument:
            kind, flags = self._read_as, [flag.rstrip(",") for flag in self.flags]
            flags = flags or [f"--{self.name.replace('_', '-')}"]
            if kind is bool and default is True and "/" not in flags[0]:
                flags[0] += f"/--no-{flags[0].removeprefix('--')}"
            if kind == list[str] and isinstance(default, tuple):
                default = list(map(str, default))
            kind, about = kind | None, typer.Option(*flags, help=help, metavar="<str>" if self._joined else None)
        keyword = inspect.Parameter.KEYWORD_ONLY
        return inspect.Parameter(self.name, keyword, default=default, annotation=Annotated[kind, about])

    def read(self, value: Any) -> Any:
        """The value of what was typed; None if nothing was."""
        if self.argument or not isinstance(value, str | list):
            return value
        return read_words(value, self.kind, joined=self._joined) if value else None

    @property
    def _read_as(self) -> Any:
        """What typer reads: a number, a path, a switch, a word or several."""
        kinds = [kind for kind in members(self.kind) if kind is not NoneType]
        if bool in kinds:  # what else it may be is for Python
            return bool
        if any(get_origin(kind) in (Sequence, Mapping) for kind in kinds):
            return list[str]  # however often it is given
        return kinds[0] if len(kinds) == 1 and kinds[0] in (int, float, Path) else str

    @property
    def _joined(self) -> bool:
        return bool(self.flags) and self.flags[0].endswith(",")


def option(default: Any, help: str, *flags: str) -> Any:
    """A field that is an option of a command; see `Option`."""
    return field(default=default, metadata={"help": help, "flags": flags})


def argument(help: str, default: Any = MISSING) -> Any:
    """A field that is an argument of a command."""
    return field(default=default, metadata={"help": help, "argument": True})


def _each(options: Any) -> Iterator[Option]:
    """The fields of a dataclass or a pydantic class."""
    none = inspect.Parameter.empty
    if is_dataclass(options):
        for each in fields(options):
            yield Option(each.name, each.type, none if each.default is MISSING else each.default, **each.metadata)
        return
    for name, each in options.model_fields.items():
        flag = (each.json_schema_extra or {}).get("flag")
        default = none if each.is_required() else each.default
        yield Option(name, each.annotation, default, each.description or "", [flag] if flag else [])


def parameters_of(
    options: Any, names: Collection[str] | None = None, help: Callable[[str], str] = str
) -> Parameters:
    """The fields of a class, or those of some names, as parameters of a command; `help` may word their help anew."""
    chosen = [each for each in _each(options) if names is None or each.name in names]
    return {each.name: each.parameter(help(each.help)) for each in chosen}


def typed(options: Any, values: dict[str, Any]) -> dict[str, Any]:
    """Take what was typed for the fields of a class out of all values; what was not is left to its default."""
    read = {each.name: each.read(values.pop(each.name)) for each in _each(options) if each.name in values}
    return {name: value for name, value in read.items() if value is not None}


def takes(options: Callable[..., T]) -> Callable[[Callable[[T], Any]], Callable[..., Any]]:
    """Make a command of a function of one dataclass, whose fields are its options and arguments."""

    def decorated(function: Callable[[T], Any]) -> Callable[..., Any]:
        def command(**values: Any) -> Any:
            return function(options(**typed(options, values)))

        command.__name__, command.__doc__ = function.__name__, function.__doc__
        return _with_parameters(command, parameters_of(options))

    return decorated


def _with_parameters(command: Callable[..., Any], parameters: Parameters) -> Callable[..., Any]:
    """A function of keywords as typer reads it."""
    command.__signature__ = inspect.Signature(list(parameters.values()))  # type: ignore[attr-defined]
    command.__annotations__ = {name: parameter.annotation for name, parameter in parameters.items()}
    return command


def made_command(
    name: str, function: Callable[..., Any], parameters: Parameters, help: str, *, any_option: bool = False
) -> Any:
    """A command put together at run time; with any option, unknown ones are left to its arguments or context."""
    settings = {"ignore_unknown_options": True, "allow_extra_args": True} if any_option else {}
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command(name, help=help, context_settings=settings)(_with_parameters(function, parameters))
    return get_command(app)


class WhenAsked(TyperCommand):
    """A command that its function makes when it is asked for, since what it is made of takes long to import."""

    def make_context(self, *words: Any, **more: Any) -> Any:
        """That of the command which is made."""
        make: Callable[[], TyperCommand] = self.callback  # type: ignore[assignment]
        return make().make_context(*words, **more)


def read_words(typed: str | Sequence[str], kind: Any, *, joined: bool) -> Any:
    """The value of an option from what was typed for it.

    Args:
        typed: a word, or one for each time the option was given.
        kind: the type of its values.
        joined: whether values stand in one word, with commas in between, but for those inside brackets.

    >>> read_words("all", int | Literal["all"], joined=False), read_words("12", int | Literal["all"], joined=False)
    ('all', 12)
    >>> read_words("x=4,y=4", Mapping[str, int] | None, joined=True)
    {'x': 4, 'y': 4}
    >>> read_words("1000,2000", Sequence[int], joined=True), read_words("dci,mig[bins=20]", Sequence[str], joined=True)
    ([1000, 2000], ['dci', 'mig[bins=20]'])
    """
    words = [typed] if isinstance(typed, str) else list(typed)
    if joined:
        words = [word.strip() for text in words for word in re.split(r",(?![^\[]*\])", text) if word.strip()]
    inside = {get_origin(member): get_args(member) for member in members(kind)}
    if Sequence in inside:
        return [_read_word(word, inside[Sequence][0]) for word in words]
    if Mapping in inside:
        pairs = [word.partition("=") for word in words]
        return {name.strip(): _read_word(value.strip(), inside[Mapping][1]) for name, _, value in pairs}
    return _read_word(words[-1], kind)


def _read_word(text: str, kind: Any) -> Any:
    """One word as the first of the types that it can be; else itself, which is refused where it is used."""
    for member in members(kind):
        member = get_args(member)[0] if get_origin(member) is Annotated else member
        for choice in get_args(member) if get_origin(member) is Literal else ():
            if text == str(choice):
                return choice
        if member in (int, float):
            with suppress(ValueError):
                return member(text)
    return text
