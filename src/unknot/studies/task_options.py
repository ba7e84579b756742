"""The options of a study's tasks, checked against its runs before any of them is trained."""

import re
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
    from unknot.tasks.options import Untrained, check_options, check_type

    for task, options in study.tasks.items():
        for option, value in options.items():
            try:
                check_type(task, option, value)
            except UnknotError as error:
                raise study.source.fault(("tasks", task, option), error) from None
    if not study.tasks:
        return
    alike = {(s.world, s.split, s.model, s.image_size): s for s in specs}
    for task, options in study.tasks.items():
        for spec in alike.values():
            key = options.get("world") or spec.world
            home = _world(spec.world, opener, ("worlds",))
            world = _world(key, opener, ("tasks", task, "world"))
            if home is None or world is None:
                continue
            try:
                check_options(task, options, Untrained(spec, home, world, key))
            except UnknotError as error:
                raise _at_fault(study, task, options, error) from None


def _world(name: str, opener: Opener, where: tuple[str, ...]) -> World | None:
    """The world, what is known of it without its files, or None for somebody's own that is not here."""
    known = Absent(WORLDS[name].title, WORLDS[name].factors) if name in WORLDS else None
    return opener(name, Values((name,), where)) or known


def _at_fault(study: StudySpec, task: str, options: Mapping[str, Any], error: UnknotError) -> UnknotError:
    """The error with the line of the option that it names or quotes, or of the task."""
    message = str(error)
    quoted = re.findall(r"'([^']+)'", message.partition(";")[0])
    named = [name for name in options if re.search(rf"(?<!\w){re.escape(name)} is ", message)]
    named += [name for name, value in options.items() if any(word in str(value) for word in quoted)]
    named += [
        name for name, value in options.items() if isinstance(value, str) and message.startswith(f"{value}:")
    ]
    named += options if len(options) == 1 else ()
    return study.source.fault(("tasks", task, *named[:1]), message)
