"""Steps as tasks of Ray: on this machine, or on all machines of a cluster that see the study's folder.

Ray places a step where its processors are free, and gives it to another machine if the one it was on is lost. What
was trained until then is in the run's last checkpoint, so the step goes on from there.
"""

import os
import re
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from unknot.errors import UnknotError
from unknot.studies.engines import Advance, Outcome
from unknot.studies.local import one_line
from unknot.studies.steps import Step, perform

IN_FLIGHT = 1000  # steps handed over at a time: an autoscaler sees the demand, and Ctrl-C has little to take back
_COLOURS = re.compile("\x1b\\[[0-9;]*m")
LOST = 3  # times Ray itself begins a step again whose process or machine died


class RayEngine:
    """Steps as Ray tasks."""

    name = "ray"

    def __init__(
        self, jobs: int | None = None, address: str = "", num_cpus: float = 1, num_gpus: float = 0
    ) -> None:
        try:
            ray: Any = import_module("ray")
        except ImportError:
            raise UnknotError("study: the engine ray needs an extra: pip install unknot[ray].") from None
        self._ray = ray
        self._ours = not ray.is_initialized()
        if self._ours:
            _join(ray, address, jobs)
        here = ray.cluster_resources()
        if num_gpus and not here.get("GPU"):
            self.close()
            raise UnknotError(f"study: a step asks for {num_gpus} GPU(s), and the Ray cluster has none.")
        self.workers = max(1, int(here.get("CPU", 1) // num_cpus)) if num_cpus else IN_FLIGHT
        self._most = jobs or IN_FLIGHT
        self._num_cpus, self._num_gpus = num_cpus, num_gpus
        self._task = ray.remote(_perform)
        self._under_way: dict[Any, tuple[Step, float]] = {}

    def has_room(self) -> bool:
        """Whether more steps may be handed over."""
        return len(self._under_way) < self._most

    def submit(self, step: Step) -> None:
        """Hand a step to Ray."""
        gpus = self._num_gpus if step.kind in ("train", "encode") else 0
        task = self._task.options(
            name=f"{step.kind} {step.id}", num_cpus=self._num_cpus, num_gpus=gpus, max_retries=LOST
        )
        self._under_way[task.remote(step)] = (step, time.perf_counter())

    def wait(self, timeout: float) -> list[Outcome | Advance]:
        """The steps that ended."""
        if not self._under_way:
            return []
        ready, _ = self._ray.wait(list(self._under_way), num_returns=1, timeout=timeout)
        return [self._outcome(reference) for reference in ready]

    def close(self, *, stop: bool = False) -> None:
        """Take back what is under way, and leave the cluster."""
        under_way = getattr(self, "_under_way", {})
        for reference in under_way if stop else ():
            self._ray.cancel(reference)  # as Ctrl-C in its process: training writes a checkpoint
        if stop and under_way:
            self._ray.wait(list(under_way), num_returns=len(under_way), timeout=30)
        under_way.clear()
        if self._ours:
            self._ray.shutdown()

    def _outcome(self, reference: Any) -> Outcome:
        step, since = self._under_way.pop(reference)
        try:
            self._ray.get(reference)
            error, log = "", ""
        except self._ray.exceptions.RayTaskError as failed:
            error, log = one_line(failed.cause), _COLOURS.sub("", str(failed))
        except self._ray.exceptions.RayError as lost:
            error, log = f"its process or machine was lost ({type(lost).__name__})", str(lost)
        return Outcome(step, error, log, time.perf_counter() - since)


def _perform(step: Step) -> dict[str, Any]:
    if not Path(step.folder).is_dir():
        raise UnknotError(
            f"{step.folder}: is not on this machine ({os.uname().nodename}); all machines of a cluster must see the "
            "study's folder under the same path."
        )
    return perform(step)


def _join(ray: Any, address: str, jobs: int | None) -> None:
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        if address:
            ray.init(address=address, **quiet)
        else:
            # "local": a cluster that happens to run on this machine is not joined unasked.
            ray.init(address="local", num_cpus=jobs or os.cpu_count(), include_dashboard=False, **quiet)
    except (ConnectionError, ValueError, RuntimeError) as error:
        where = f"the Ray cluster at '{address}' cannot be joined" if address else "Ray cannot be started"
        raise UnknotError(f"study: {where} ({one_line(error)}).") from None
