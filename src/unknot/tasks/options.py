"""The options of a task: default, bounds and help, each written once.

The command line, its help, the check of a study file, the settings of a result and the tables of the docs are made of
the same class:

    class FairnessOptions(Options):
        task = "fairness"
        rows: Rows = option(15_000, "Images encoded for the classifiers, or all.")
        points: int = option(100, "Random images that are changed.", ge=1)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Annotated, Any, ClassVar, Literal, get_args, get_origin

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from unknot.encoders.encoder import must_fit
from unknot.errors import UnknotError, unknown
from unknot.fields import in_words, members
from unknot.runs.spec import RunSpec
from unknot.worlds.world import World

Rows = Annotated[int, Field(ge=1)] | Literal["all"]
Names = Sequence[str]


def option(default: Any, help: str, *, flag: str = "", decides: bool = True, **bounds: float) -> Any:
    """One option.

    Args:
        default: its value if nothing is said.
        help: a sentence or two, for the command line and the docs.
        flag: its name on the command line where that is not its own, such as "--target" for `targets`; with a comma at
            its end, its values stand in one word, with commas in between.
        decides: whether the numbers of a result depend on it.
        bounds: `ge`, `gt`, `le` or `lt`.
    """
    extra = {"flag": flag, "decides": decides}
    return Field(default, description=help, json_schema_extra=extra, **bounds)  # type: ignore[call-overload]


class Options(BaseModel):
    """The options of one task: frozen, checked, plain values where a study's file gives them."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, arbitrary_types_allowed=True)
    task: ClassVar[str] = ""

    def __init__(self, **values: Any) -> None:
        for name in values:
            if name not in type(self).model_fields:
                raise unknown(f"option of {self.task}", name, type(self).model_fields, field=name)
        values = {name: v.item() if isinstance(v, np.generic) else v for name, v in values.items()}
        try:
            super().__init__(**values)
        except ValidationError as error:
            name = str(error.errors()[0]["loc"][0])
            raise _refused(self.task, name, type(self).model_fields[name], values[name]) from None

    def settings(self) -> dict[str, Any]:
        """The values that decide the numbers of a result."""
        return {name: getattr(self, name) for name in type(self).model_fields if _extra(self, name)["decides"]}


def flag_of(options: type[Options], name: str) -> str:
    """What an option is called on the command line; with a comma at its end if its values share one word."""
    return str(_extra(options, name)["flag"] or f"--{name.replace('_', '-')}")


def _extra(options: Options | type[Options], name: str) -> dict[str, Any]:
    kind = options if isinstance(options, type) else type(options)
    extra = kind.model_fields[name].json_schema_extra
    return extra if isinstance(extra, dict) else {"flag": "", "decides": True}


def _refused(task: str, name: str, field: FieldInfo, value: Any) -> UnknotError:
    """The error for a value that is none of an option's."""
    kinds = members(field.annotation)
    choices = [choice for kind in kinds if get_origin(kind) is Literal for choice in get_args(kind)]
    if isinstance(value, str) and choices and all(get_origin(k) is Literal or k is NoneType for k in kinds):
        return unknown(f"{name} of {task}", value, map(str, choices), field=name)
    return UnknotError(who=task, field=name, value=value, expected=in_words(field))


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
