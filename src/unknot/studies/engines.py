"""Who does the steps of a study: `local` (processes on this machine) or `ray` (this machine, or many)."""

from dataclasses import dataclass
from typing import Protocol

from unknot.errors import UnknotError, unknown
from unknot.studies.steps import Step

ENGINES = ("local", "ray")

MOST_JOBS = 10_000


@dataclass(frozen=True)
class Outcome:
    """How a step ended.

    Attributes:
        step: which.
        error: one line that says why it failed; empty if it did not.
        log: what it said, for a file.
        seconds: how long it took.
    """

    step: Step
    error: str = ""
    log: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Advance:
    """How far a step is."""

    step: Step
    done: int
    total: int


class Engine(Protocol):
    """Does steps, several at a time, in any order. A step's result is files, so all engines leave the same."""

    workers: int

    def has_room(self) -> bool:
        """Whether another step can be submitted now."""

    def submit(self, step: Step) -> None:
        """Begin a step, soon."""

    def wait(self, timeout: float) -> list[Outcome | Advance]:
        """What happened; waits for something to happen, at most so many seconds."""

    def close(self, *, stop: bool = False) -> None:
        """Let go of all processes; with `stop`, steps under way are asked to save their state and end first."""


def open_engine(
    name: str = "local", *, jobs: int | None = None, address: str = "", num_cpus: float = 1, num_gpus: float = 0
) -> Engine:
    """An engine by its name.

    Args:
        name: "local" or "ray".
        jobs: steps at a time; one for each core if left out (for a Ray cluster: as many as it has room for).
        address: of a Ray cluster to join, such as auto or ray://head:10001; a local one is started if left out.
        num_cpus: of each step, for Ray.
        num_gpus: of each step that trains or encodes, for Ray.
    """
    if name not in ENGINES:
        raise unknown("engine", name, ENGINES)
    if jobs is not None and not 1 <= jobs <= MOST_JOBS:
        raise UnknotError(f"study: jobs is {jobs}; expected at least one process, and at most {MOST_JOBS:,}.")
    if address and name != "ray":
        raise UnknotError(f"study: an address ('{address}') is for the engine ray; add --engine ray.")
    if num_gpus and name != "ray":
        raise UnknotError(
            f"study: gpus ({num_gpus:g} a step) is for the engine ray; add --engine ray, or say --device cuda, which "
            "all steps share."
        )
    if num_cpus < 0 or num_gpus < 0:
        raise UnknotError(f"study: a step cannot take {min(num_cpus, num_gpus)} processors.")
    if name == "local":
        from unknot.studies.local import LocalEngine

        return LocalEngine(jobs)
    from unknot.studies.ray_engine import RayEngine

    return RayEngine(jobs, address, num_cpus, num_gpus)
