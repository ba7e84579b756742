"""The options of a study's tasks, checked against its runs before any of them is trained."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unknot.errors import UnknotError
from unknot.factors import FactorSpace
from unknot.runs.spec import RunSpec
from unknot.studies.spec import StudySpec, Values
from unknot.worlds import WORLDS
from unknot.worlds.world import Images, World

Opener = Callable[[str, Values], World | None]  # None where the files of a world are not here


@dataclass(frozen=True)
class Absent:
    """A world of the catalogue whose files are not here: its factors are known, its images are not."""

    key: str
    name: str
    factors: FactorSpace
    image_shape: tuple[int, int, int] = (0, 0, 0)
    rows: None = None
    stochastic: bool = False

    def images(self, classes: ArrayLike, *, rng: np.random.Generator | None = None) -> Images:
        """An error."""
        raise UnknotError(f"{self.name}: its files are not here.")


def check_tasks(study: StudySpec, specs: Iterable[RunSpec], opener: Opener) -> None:
    """Refuse values that a task would refuse, with their line: types, choices, names of factors, files.

    Args:
        study: the file.
        specs: of all runs; those alike in what tasks depend on are checked once.
        opener: opens a world.
    """
    from unknot.tasks import TASKS
    from unknot.tasks.options import Untrained

    alike = {(s.world, s.split, s.model, s.image_size): s for s in specs}
    for name, values in study.tasks.items():
        task = TASKS[name]
        plain = {option: value for option, value in values.items() if option != "world"}
        try:
            options = task.options(**plain)
            for spec in alike.values():
                key = values.get("world") or spec.world
                home = _world(spec.world, opener, ("worlds",))
                world = _world(key, opener, ("tasks", name, "world"))
                if home is not None and world is not None:
                    run = Untrained(spec, home, world, key)
                    run.must_see(world.image_shape)
                    task.check(run, options)
        except UnknotError as error:
            raise _with_line(study, name, values, error) from None


def _world(name: str, opener: Opener, where: tuple[str, ...]) -> World | None:
    """The world, what is known of it without its files, or None for somebody's own that is not here."""
    known = Absent(name, WORLDS[name].title, WORLDS[name].factors) if name in WORLDS else None
    return opener(name, Values((name,), where)) or known


def _with_line(study: StudySpec, task: str, values: Mapping[str, Any], error: UnknotError) -> UnknotError:
    """The error with the line of the option that it is about, or of the task."""
    named = [part for part in error.field[:1] if part in values]
    return study.source.fault(("tasks", task, *named), error)
