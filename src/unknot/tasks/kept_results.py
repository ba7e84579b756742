"""Results of tasks in a run's folder, each under a name that its settings decide."""

from pathlib import Path

from unknot.errors import UnknotError
from unknot.files import json_hash
from unknot.reading.versions import release
from unknot.runs.run import Run
from unknot.tasks import TASKS
from unknot.tasks.result import TaskResult, read_result

WHOSE = ("encoder", "model", "fingerprint")  # settings that name the run: in its folder they tell no results apart


def keep_result(run: Run, result: TaskResult) -> Path:
    """Write a result to the folder of the run it is of; one of the same settings is replaced."""
    return result.write(run.result_of(result.task, _key(result), by_hand=True))


def kept_results(run: Run) -> tuple[dict[Path, TaskResult], list[str]]:
    """File -> result, by task and then by version of Unknot; and what is wrong with files that hold none.

    Of several with the same settings, that of the newest version, or the one made by hand: times of files are not
    looked at, since clocks jump and copies have times of their own.
    """
    read: list[tuple[Path, TaskResult]] = []
    faults = []
    for path in (*run.results(), *run.results(by_hand=True)):
        try:
            result = read_result(path)
            if result.task not in TASKS or not isinstance(result.settings, dict):
                raise UnknotError(f"{path}: is no result of a task; they are written by unknot task.")
        except UnknotError as error:
            faults.append(str(error))
        else:
            read.append((path, result))
    order = list(TASKS)
    read.sort(key=lambda pair: (order.index(pair[1].task), release(pair[1].version)))
    newest = {(result.task, _key(result)): (path, result) for path, result in read}
    return dict(newest.values()), faults


def _key(result: TaskResult) -> str:
    """A short hash of everything that decided the numbers but the run."""
    settings = {name: value for name, value in result.settings.items() if name not in WHOSE}
    return json_hash([result.world, settings])
