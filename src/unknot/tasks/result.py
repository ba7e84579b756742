"""What a downstream task found out, as plain values that a table, a page or a study can show."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from unknot import __version__
from unknot.errors import UnknotError
from unknot.files import written_whole

Cell = str | int | float | bool | None
Table = list[dict[str, Cell]]


@dataclass(frozen=True)
class TaskResult:
    """What one task says of one representation.

    Attributes:
        task: its name, such as "combinations".
        source: whose representation: a run, a file, an encoder.
        world: where its images come from; empty if nobody knows.
        values: headline numbers by name; each becomes a column of a study.
        tables: name -> tidy rows, which figures are drawn from.
        settings: everything that decided the numbers, seed included.
        notes: what was left out or assumed, baselines in words.
        lower_is_better: names of the values of which less is better.
        seconds: how long it took.
        version: of the package.
    """

    task: str
    source: str
    world: str
    values: Mapping[str, float]
    tables: Mapping[str, Table] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()
    lower_is_better: Sequence[str] = ()
    seconds: float = 0.0
    version: str = __version__

    def write(self, path: Path | str) -> Path:
        """Write one JSON file; a number that does not exist is null."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(path) as beside:
            beside.write_text(self.as_json() + "\n", encoding="utf-8")
        return path

    def as_json(self) -> str:
        """What `write` writes."""
        return json.dumps(_plain(asdict(self)), indent=1, ensure_ascii=False, allow_nan=False)


def read_result(path: Path | str) -> TaskResult:
    """The result in a JSON file.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     made = TaskResult("fairness", "my run", "dsprites_rendered", {"unfairness": 0.25})
    ...     read_result(made.write(f"{folder}/fairness.json")).values
    {'unfairness': 0.25}
    """
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UnknotError(f"{path}: no such file.") from None
    except (OSError, ValueError) as error:
        raise UnknotError(f"{path}: is no result of a task; it cannot be read as JSON ({error}).") from None
    missing = [name for name in ("task", "values") if not isinstance(record, dict) or name not in record]
    if missing:
        raise UnknotError(
            f"{path}: is no result of a task; it has no '{missing[0]}'. Results are written by unknot task."
        )
    try:
        record["values"] = {name: math.nan if v is None else float(v) for name, v in record["values"].items()}
        return TaskResult(**record)
    except (ValueError, TypeError, AttributeError) as error:
        raise UnknotError(f"{path}: is no result of a task ({error}); they are written by unknot task.") from None


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, Path) else value
