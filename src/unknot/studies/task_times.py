"""How long the tasks of a study will take: as in finished runs; for reasoning, else, from a short trial."""

import time
from collections.abc import Mapping
from inspect import signature
from math import ceil
from pathlib import Path
from typing import Any

from unknot.studies.store import Store
from unknot.tasks import find_task, read_result

MOST = 20  # finished results whose times are read
STEPS = 10  # of each reasoner that are timed


def task_seconds(store: Store, *, data: Path | None = None) -> tuple[float, list[str]]:
    """Seconds of the tasks that are left, on one processor, and what they rest on, in words."""
    total, basis = 0.0, []
    undone = {run.id: store.undone(run) for run in store.runs}
    for task, options in store.plan.study.tasks.items():
        left = [run for run in store.runs if task in undone[run.id]]
        done = [run for run in store.runs if task not in undone[run.id]][:MOST]
        if not left:
            continue
        if done:
            times = [read_result(store.task_files(run)[task]).seconds for run in done]
            total += len(left) * sum(times) / len(times)
            basis.append(f"{task} as timed in finished runs")
            continue
        worlds = {options.get("world") or run.spec.world for run in left} - set(store.plan.missing)
        if task != "reasoning" or not worlds:
            basis.append(f"{task} is not counted")
            continue
        each = {world: reasoning_seconds(world, options, data=data) for world in sorted(worlds)}
        total += sum(each.get(options.get("world") or run.spec.world, 0.0) for run in left)
        basis.append("reasoning at the speed of a short trial")
    return total, basis


def reasoning_seconds(world: str, options: Mapping[str, Any], *, data: Path | None = None) -> float:
    """Seconds to teach and examine the reasoners of one run, from a few steps on codes of integers."""
    task = find_task("reasoning")
    full = {name: parameter.default for name, parameter in signature(task).parameters.items()} | dict(options)

    def took(steps: int, batches: int) -> float:
        few = {"steps": steps, "evaluate_every": steps, "evaluation_batches": batches, "at": (), "data": data}
        since = time.perf_counter()
        task(None, **{**options, "world": world, "input": "integer", **few})
        return time.perf_counter() - since

    took(1, 1)  # compiles
    least = took(1, 1)
    step = max(0.0, took(1 + STEPS, 1) - least) / STEPS
    examination = max(0.0, took(1, full["evaluation_batches"]) - least)
    n_examinations = ceil(full["steps"] / full["evaluate_every"])
    return float(full["steps"] * step + n_examinations * examination)
