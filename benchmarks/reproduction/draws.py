"""Results of draws, each in a file of its own beside the CPU seconds that it took, so that a run can go on.

They lie in a folder named after the code that they come from: results of other metrics or rules are not read.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def of_this_code(folder: Path) -> Path:
    """The folder of results of metrics, cards and generators as they are now."""
    import unknot
    from unknot.files import file_hash, json_hash

    package, here = Path(unknot.__file__).parent, Path(__file__).parent
    sources = [*(package / "metrics").rglob("*.py"), *(package / "scoring").rglob("*.py")]
    sources += [here / f"{name}.py" for name in ("draws", "generators", "joshi2026", "validity")]
    return folder / json_hash([file_hash(path) for path in sorted(sources)])


def kept(path: Path, work: Callable[[], dict[str, Any]]) -> None:
    """Do a draw's work in this process, unless its file is there."""
    if path.is_file():
        return
    began = time.process_time()
    results = work()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"cpu": time.process_time() - began, "results": results}))


def path_of(folder: Path, generator: str, seed: int) -> Path:
    """Where the results of a draw are."""
    return folder / f"{generator.replace(' ', '_')}-{seed}.json"


def read(folder: Path, generator: str, seed: int) -> dict[str, Any]:
    """The results of a draw."""
    results: dict[str, Any] = json.loads(path_of(folder, generator, seed).read_text())["results"]
    return results


def cpu_seconds(folder: Path) -> float:
    """Of all draws below a folder."""
    return sum(json.loads(path.read_text())["cpu"] for path in folder.rglob("*.json"))
