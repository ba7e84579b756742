"""Results of tasks in a run's folder, each under a name that its settings decide.

Those of a study, which also removes them, are `tasks/NAME-HASH.json`; those of `unknot task NAME RUN` are
`tasks/by_hand/NAME-HASH.json`.
"""

import hashlib
import json
from pathlib import Path

from unknot.errors import UnknotError
from unknot.tasks import TASKS
from unknot.tasks.result import TaskResult, read_result

WHOSE = (
    "encoder",
    "model",
    "fingerprint",
)  # settings that name the run; in its folder they tell no two results apart


def keep_result(folder: Path | str, result: TaskResult) -> Path:
    """Write a result to the folder of the run it is of; one of the same settings is replaced."""
    return result.write(Path(folder) / "tasks" / "by_hand" / f"{result.task}-{_key(result)}.json")


def kept_results(folder: Path | str) -> tuple[dict[Path, TaskResult], list[str]]:
    """File -> result, by task and then the oldest first; and what is wrong with files that hold none.

    Of several with the same settings, the newest.
    """
    home = Path(folder) / "tasks"
    paths = [path for place in (home, home / "by_hand") for path in place.glob("*.json")]
    found: dict[tuple[str, str], tuple[Path, TaskResult]] = {}
    faults = []
    for path in sorted(paths, key=lambda path: path.stat().st_mtime_ns):
        try:
            made = read_result(path)
            if made.task not in TASKS or not isinstance(made.settings, dict):
                raise UnknotError(f"{path}: is no result of a task; they are written by unknot task.")
        except UnknotError as error:
            faults.append(str(error))
        else:
            key = made.task, _key(made)
            found.pop(key, None)
            found[key] = path, made
    order = list(TASKS)
    return dict(sorted(found.values(), key=lambda pair: order.index(pair[1].task))), faults


def _key(result: TaskResult) -> str:
    """A short hash of everything that decided the numbers but the run."""
    settings = {name: value for name, value in result.settings.items() if name not in WHOSE}
    text = json.dumps([result.world, settings], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
