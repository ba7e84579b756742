"""YAML with the line of every entry, read as plain data."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unknot.errors import UnknotError, unknown
from unknot.reading.guard import must_fit, parsing

Where = tuple[str | int, ...]  # keys and positions from the top of the file down to an entry
MOST_NODES, DEEPEST = 100_000, 20  # a file of aliases to aliases, or to themselves, unfolds without end


@dataclass(frozen=True)
class YamlSource:
    """The lines on which the entries of a file stand, so that errors can say them.

    >>> source = YamlSource("study.yaml", {("models",): 3, ("models", "beta_vae"): 4})
    >>> source.fault(("models", "beta_vae", "beta"), "beta is an empty list.")
    UnknotError('study.yaml, line 4: beta is an empty list.')
    """

    file: str
    lines: Mapping[Where, int] = field(default_factory=dict)

    def fault(self, where: Where, message: object) -> UnknotError:
        """An error that names the line of an entry, or of the nearest one around it."""
        nearest = next((w for n in range(len(where), 0, -1) if (w := where[:n]) in self.lines), None)
        place = self.file if nearest is None else f"{self.file}, line {self.lines[nearest]}"
        return UnknotError(f"{place}: {message}", field=where)

    def unknown(self, where: Where, kind: str, name: str, known: Any) -> UnknotError:
        """The error for a name nobody knows, with the nearest one."""
        return self.fault(where, unknown(kind, name, known))


def read_yaml(path: Path) -> tuple[Any, YamlSource]:
    """The content of a file as plain data, and the lines of its entries."""
    import yaml

    class Loader(yaml.SafeLoader):
        """YAML 1.1 takes 1e-4 for a word, as it lacks a dot; here it is a number."""

    Loader.add_implicit_resolver(
        "tag:yaml.org,2002:float", re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+$"), list("-+0123456789")
    )
    try:
        with parsing(path, "YAML", "Expected is a text in UTF-8."):
            must_fit(path, 100 * path.stat().st_size)  # nodes take more room than the text they are written in
            loader = Loader(path.read_text(encoding="utf-8"))
            node = loader.get_single_node()
            lines = dict(_lines(node, path)) if node is not None else {}
            data = None if node is None else loader.construct_document(node)
    except UnknotError as error:
        cause = error.__cause__
        if not isinstance(cause, yaml.MarkedYAMLError) or cause.problem_mark is None:
            raise
        line = cause.problem_mark.line + 1
        raise UnknotError(f"{path}, line {line}: is not YAML ({cause.problem or cause}).") from None
    return data, YamlSource(str(path), lines)


def _lines(top: Any, path: Path) -> Iterator[tuple[Where, int]]:
    """(path, line) of every entry; a key given twice in one mapping is an error."""
    import yaml

    left: list[tuple[Where, Any]] = [((), top)]
    seen = 0
    while left:
        where, node = left.pop()
        seen += 1
        if seen > MOST_NODES or len(where) > DEEPEST:
            raise UnknotError(f"{path}: unfolds without end; does an alias hold itself?")
        if isinstance(node, yaml.SequenceNode):
            for i, item in enumerate(node.value):
                yield (*where, i), item.start_mark.line + 1
                left.append(((*where, i), item))
        elif isinstance(node, yaml.MappingNode):
            keys: set[str] = set()
            for key, value in node.value:
                name = str(key.value)
                if name in keys:
                    raise UnknotError(
                        f"{path}, line {key.start_mark.line + 1}: '{name}' is given twice; keep one of the two."
                    )
                keys.add(name)
                yield (*where, name), key.start_mark.line + 1
                left.append(((*where, name), value))
