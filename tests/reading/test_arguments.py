"""Arguments of wrong types, refused where they come in."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.reading.arguments import check_fields, checked

Rng = int | np.random.Generator


@checked
def example(
    anything: Any,
    *,
    bins: int = 20,
    alpha: float | Literal["cv"] = 0.1,
    exact: bool = True,
    names: Sequence[str] = (),
    sizes: Mapping[str, int] | None = None,
    rng: Rng = 0,
    file: Path | str | None = None,
    make: Callable[..., Any] = len,
) -> str:
    """Every kind of annotation."""
    return f"{bins} {alpha}"


@pytest.mark.parametrize(
    "named",
    [
        {"bins": np.int64(3), "alpha": 1, "exact": np.bool_(False), "rng": np.random.default_rng(0)},
        {"alpha": np.float32(0.5), "names": ["a"], "sizes": {"a": 1}, "file": Path("x"), "make": print},
        {"alpha": "cv", "names": np.array(["a", "b"]), "rng": 10**30},
    ],
)
def test_what_the_annotations_say_passes(named: dict[str, Any]) -> None:
    assert example(object(), **named)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("bins", 2.5),
        ("bins", True),
        ("bins", "20"),
        ("bins", None),
        ("bins", 10**11),
        ("alpha", float("nan")),
        ("alpha", np.zeros(2)),
        ("exact", 1),
        ("names", "abc"),
        ("names", [1]),
        ("names", 5),
        ("sizes", {"a": "b"}),
        ("sizes", []),
        ("rng", "seed"),
        ("rng", -1),
        ("file", 5),
        ("file", "\ud800"),
        ("file", "n" * 300),
        ("make", 5),
    ],
)
def test_a_wrong_type_is_named_with_what_was_expected(name: str, value: Any) -> None:
    with pytest.raises(UnknotError, match=f"^example: {name} is .*; expected ") as error:
        example(0, **{name: value})
    assert error.value.field == (name,)


def test_fields_of_a_record_are_held_to_their_annotations() -> None:
    @dataclass
    class Record:
        name: str
        size: int

        def __post_init__(self) -> None:
            check_fields("record", self)

    assert Record("a", 3).size == 3
    with pytest.raises(UnknotError, match="record: size is 'x'; expected a whole number"):
        Record("a", "x")  # type: ignore[arg-type]


def test_a_long_value_is_shortened() -> None:
    with pytest.raises(UnknotError) as error:
        example(0, bins="x" * 10_000)
    assert len(str(error.value)) < 300


@pytest.mark.parametrize("names", [np.array([]), np.array(["mig", "mcc"])])
def test_an_array_in_the_place_of_a_list_is_one(names: np.ndarray) -> None:
    @checked
    def chosen(names: Sequence[str] | str | None = None) -> str:
        return "-".join(names) if names else "none"

    assert chosen(names=names) == chosen(names) == ("-".join(names) or "none")
