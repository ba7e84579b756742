"""How long the tasks of a study will take: as in finished runs, else from a short trial where a task has one."""

from pathlib import Path

from unknot.studies.store import Store
from unknot.tasks import TASKS, read_result

MOST = 20  # finished results whose times are read


def task_seconds(store: Store, *, data: Path | None = None) -> tuple[float, list[str]]:
    """Seconds of the tasks that are left, on one processor, and what they rest on, in words."""
    total, basis = 0.0, []
    undone = {run.id: store.undone(run) for run in store.runs}
    for name, values in store.plan.study.tasks.items():
        left = [run for run in store.runs if name in undone[run.id]]
        done = [run for run in store.runs if name not in undone[run.id]][:MOST]
        if not left:
            continue
        if done:
            times = [read_result(store.task_files(run)[name]).seconds for run in done]
            total += len(left) * sum(times) / len(times)
            basis.append(f"{name} as timed in finished runs")
            continue
        task = TASKS[name]
        worlds = {values.get("world") or run.spec.world for run in left} - set(store.plan.missing)
        if task.estimate is None or not worlds:
            basis.append(f"{name} is not counted")
            continue
        options = task.options(**{option: value for option, value in values.items() if option != "world"})
        seconds = {world: task.estimate(world, options, data) for world in sorted(worlds)}
        total += sum(seconds.get(values.get("world") or run.spec.world, 0.0) for run in left)
        basis.append(f"{name} at the speed of a short trial")
    return total, basis
