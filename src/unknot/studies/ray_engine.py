"""Steps as tasks of Ray: on this machine, or on all machines of a cluster that see the study's folder.

Ray places a step where its processors are free, and gives it to another machine if the one it was on is lost. What
was trained until then is in the run's last checkpoint, so the step goes on from there.

Latents stay in Ray's object store, where they were encoded, for the steps that score and rank them: on the same machine
they are mapped, not copied, and elsewhere they come from that machine instead of the shared folder. The file remains
what counts: it is read if the object is gone, or says that it was made otherwise.
"""

import os
import re
import secrets
import sys
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from unknot.errors import UnknotError, UnknotWarning, extras
from unknot.processes.signals import kept_sigterm
from unknot.processes.trust import VARIABLE
from unknot.studies.engines import Advance, Outcome
from unknot.studies.local import one_line
from unknot.studies.steps import Step, perform

IN_FLIGHT = 1000  # steps handed over at a time: an autoscaler sees the demand, and Ctrl-C has little to take back
_COLOURS = re.compile("\x1b\\[[0-9;]*m")
LOST = 3  # times a step is begun again whose process or machine died
STORE = 0.5  # of the cluster's object store that latents may take; the oldest make room
FETCH = 60.0  # seconds after which the file is read instead


class RayEngine:
    """Steps as Ray tasks."""

    def __init__(
        self, jobs: int | None = None, address: str = "", num_cpus: float = 1, num_gpus: float = 0
    ) -> None:
        if not address and "ray" not in sys.modules:
            _keep_to_this_machine()
        with kept_sigterm():  # Ray would die of it without a word, and steps would not save their state
            self._open(jobs, address)
        ray = self._ray
        self._under_way: dict[Any, _Handed] = {}
        # Folder and run -> latents, bytes; the oldest first.
        self._held: dict[tuple[str, str], tuple[Any, int]] = {}
        self._stored = 0  # bytes of them
        here = ray.cluster_resources()
        if num_gpus and not here.get("GPU"):
            self.close()
            raise UnknotError(f"study: a step asks for {num_gpus} GPU(s), and the Ray cluster has none.")
        self.workers = max(1, int(here.get("CPU", 1) // num_cpus)) if num_cpus else IN_FLIGHT
        self._most = jobs or IN_FLIGHT
        self._num_cpus, self._num_gpus = num_cpus, num_gpus
        self._task = ray.remote(_perform)
        self._room = STORE * here.get("object_store_memory", 0)

    def _open(self, jobs: int | None, address: str) -> None:
        """Import Ray and join a cluster, unless this program has joined one before."""
        with extras("study: the engine"):
            self._ray: Any = import_module("ray")
        self._ours = not self._ray.is_initialized()
        if self._ours:
            _join(self._ray, address, jobs)

    def has_room(self) -> bool:
        """Whether more steps may be handed over."""
        return len(self._under_way) < self._most

    def submit(self, step: Step) -> None:
        """Hand a step to Ray."""
        self._hand_over(_Handed(step, time.perf_counter()))

    def wait(self, timeout: float) -> list[Outcome | Advance]:
        """The steps that ended."""
        if not self._under_way:
            return []
        ready, _ = self._ray.wait(list(self._under_way), num_returns=1, timeout=timeout)
        return [outcome for reference in ready if (outcome := self._outcome(reference)) is not None]

    def close(self, *, stop: bool = False) -> None:
        """Take back what is under way, and leave the cluster."""
        if stop and self._under_way:
            for reference in self._under_way:
                self._ray.cancel(reference)  # as Ctrl-C in its process: training writes a checkpoint
            self._ray.wait(list(self._under_way), num_returns=len(self._under_way), timeout=30)
        self._under_way.clear()
        self._held.clear()
        self._stored = 0
        if self._ours:
            self._ray.shutdown()

    def _hand_over(self, handed: "_Handed") -> None:
        step, encodes = handed.step, handed.step.kind == "encode"
        task = self._task.options(
            name=f"{step.kind} {step.id}",
            num_cpus=self._num_cpus,
            num_gpus=self._num_gpus if step.kind in ("train", "encode") else 0,
            num_returns=2 if encodes else 1,
            max_retries=0 if encodes else LOST,  # else Ray would encode again what is lost, and there is the file
        )
        result = task.remote(step, self._shared_with(step))
        if encodes:
            result, handed.latents = result
        self._under_way[result] = handed

    def _shared_with(self, step: Step) -> dict[str, Any]:
        """Run -> a reference to its latents, for a step that reads them."""
        read = {"score": [step.id], "rank": [id_ for id_, _ in step.values.get("members", ())]}.get(step.kind, [])
        return {id_: self._held[step.folder, id_][0] for id_ in read if (step.folder, id_) in self._held}

    def _hold(self, handed: "_Handed", size: int) -> None:
        """Keep the latents of a run in the store, as long as there is room."""
        key = (handed.step.folder, handed.step.id)
        self._stored += size - self._held.pop(key, (None, 0))[1]
        self._held[key] = (handed.latents, size)
        while self._stored > self._room:
            self._stored -= self._held.pop(next(iter(self._held)))[1]

    def _outcome(self, reference: Any) -> Outcome | None:
        """How a step ended; None if it has to be begun again."""
        handed = self._under_way.pop(reference)
        error, log = "", ""
        try:
            size = self._ray.get(reference)
            if handed.latents is not None:
                self._hold(handed, size)
        except self._ray.exceptions.RayTaskError as failed:
            error, log = one_line(failed.cause), _COLOURS.sub("", str(failed))
        except self._ray.exceptions.RayError as lost:
            if handed.step.kind == "encode" and handed.lost < LOST:
                self._hand_over(_Handed(handed.step, handed.since, handed.lost + 1))
                return None
            error, log = f"its process or machine was lost ({type(lost).__name__})", str(lost)
        return Outcome(handed.step, error, log, time.perf_counter() - handed.since)


@dataclass
class _Handed:
    """A step that Ray has."""

    step: Step
    since: float  # it was submitted
    lost: int = 0  # times that its process or machine died
    latents: Any = None  # of an encode step, a reference to what it will have made


def _perform(step: Step, held: Mapping[str, Any]) -> Any:
    """What a process of Ray does: a step; the latents of an encode step are returned, after their size."""
    if not Path(step.folder).is_dir():
        raise UnknotError(
            f"{step.folder}: is not on this machine ({os.uname().nodename}); all machines of a cluster must see the "
            "study's folder under the same path."
        )
    latents = perform(step, shared=lambda run_id: fetched(held.get(run_id)))
    if latents is None:
        return None
    return sum(array.nbytes for array in latents.arrays.values()), latents


def fetched(reference: Any) -> Any:
    """The latents a reference stands for; None if there is none, or they are lost."""
    if reference is None:
        return None
    ray: Any = import_module("ray")
    try:
        return ray.get(reference, timeout=FETCH)
    except ray.exceptions.RayError:
        return None


def _keep_to_this_machine() -> None:
    """Let Ray listen on the loopback address alone, and answer only those who know a token; it asks at its import."""
    os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # so called, but it holds for every system
    if os.environ.setdefault("RAY_AUTH_MODE", "token") == "token":
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))


def _join(ray: Any, address: str, jobs: int | None) -> None:
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        if address:
            trusted = {VARIABLE: os.environ[VARIABLE]} if VARIABLE in os.environ else {}
            ray.init(address=address, runtime_env={"env_vars": trusted} if trusted else None, **quiet)
        else:
            # "local": a cluster that happens to run on this machine is not joined unasked.
            ray.init(address="local", num_cpus=jobs or os.cpu_count(), include_dashboard=False, **quiet)
            if not ip_address(where := ray.util.get_node_ip_address()).is_loopback:
                warnings.warn(
                    f"study: Ray listens on {where}, not on this machine alone, since it was imported or set up "
                    "before; see docs/clusters.md.",
                    UnknotWarning,
                    stacklevel=2,
                )
    except Exception as error:  # a node that takes too long to start is an error without a type of its own
        where = f"the Ray cluster at '{address}' cannot be joined" if address else "Ray cannot be started"
        raise UnknotError(f"study: {where} ({one_line(error)}).") from None
