"""What a table says of its factors and latents beside its columns: JSON in the metadata of Arrow's schema."""

import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, get_args

from unknot.errors import UnknotError, unknown
from unknot.factors import Kind

if TYPE_CHECKING:
    import pyarrow as pa

KEY = b"unknot"
FACTOR = "factor_"  # how columns of factors are called that need not be chosen
KINDS: tuple[Kind, ...] = tuple(
    kind for kind in get_args(Kind) if kind != "constant"
)  # of factors that are scored


@dataclass(frozen=True)
class About:
    """What a file says that its columns do not.

    Attributes:
        kinds: factor -> its kind.
        words: factor -> what its classes 0, 1, ... are called, those too that no row has.
        source: how the latents were made.
    """

    kinds: Mapping[str, Kind] = field(default_factory=dict)
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    source: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, who: str, schema: "pa.Schema") -> "About":
        """What the schema of a table has."""
        written = (schema.metadata or {}).get(KEY, b"{}")
        about: Any = None
        with suppress(ValueError, RecursionError):
            about = json.loads(written)
        names = ("kinds", "words", "source")
        parts: list[Any] = [about.get(name, {}) for name in names] if isinstance(about, dict) else [None]
        if all(isinstance(part, dict) for part in parts):
            kinds, words, source = parts
            lists = all(isinstance(own, list) for own in words.values())
            if lists and all(kind in KINDS for kind in kinds.values()):
                return cls(kinds, distinct_words(who, words, words), source)
        raise UnknotError(
            f"{who}: its metadata 'unknot' is {written!r:.80}; expected JSON such as "
            f'{{"kinds": {{"colour": "categorical"}}, "words": {{"colour": ["red", "blue"]}}}}, with kinds out of '
            f"{', '.join(KINDS)}."
        )

    @property
    def metadata(self) -> dict[bytes, str]:
        """As the schema of a table has it."""
        parts = {name: dict(part) for name, part in vars(self).items() if part}
        return {KEY: json.dumps(parts)} if parts else {}

    def by_column(self, who: str, columns: Collection[str]) -> "About":
        """The same with names of columns in the place of those of factors; kinds of no column are refused."""
        names = {name: _column(name, columns) for name in (*self.kinds, *self.words)}
        for name in self.kinds:
            if not names[name]:
                raise unknown(f"factor in the metadata of {who}", name, sorted(columns), field="kinds")
        kinds = {names[name]: kind for name, kind in self.kinds.items()}
        return replace(
            self, kinds=kinds, words={names[name]: own for name, own in self.words.items() if names[name]}
        )


def _column(name: str, columns: Collection[str]) -> str:
    """The column that a factor is in, with the prefix or without; a word of a column of lists is `column=word`."""
    both = (FACTOR + name, name)
    return next((each for each in both if each in columns or each.partition("=")[0] in columns), "")


def distinct_words(
    who: str, words: Mapping[str, Sequence[Any]], names: Collection[str]
) -> dict[str, tuple[str, ...]]:
    """Words of the classes of the factors named, each of which must be there and be told from the others."""
    stripped = {name: tuple(str(word).strip() for word in own) for name, own in words.items() if name in names}
    for name, own in stripped.items():
        if "" in own:
            raise UnknotError(f"{who}: class {own.index('')} of factor '{name}' has an empty word; give it one.")
        if len(set(own)) < len(own):
            twice = next(word for word in own if own.count(word) > 1)
            raise UnknotError(
                f"{who}: two classes of factor '{name}' are called '{twice}'; give each its own word."
            )
    return stripped
