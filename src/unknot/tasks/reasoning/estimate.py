"""How long a reasoning task will take, from a short trial."""

import time
from math import ceil
from pathlib import Path

from unknot.progress import silent
from unknot.runs.workspace import Workspace
from unknot.tasks.reasoning.options import ReasoningOptions
from unknot.tasks.reasoning.panels import integer_table
from unknot.worlds import open_world
from unknot.worlds.puzzles.quantised import Quantised

STEPS = 10  # of each reasoner that are timed


def estimate(world: str, options: ReasoningOptions, data: Path | None) -> float:
    """Seconds to teach and examine the reasoners of one run, from a few steps on codes of integers."""
    import torch

    from unknot.tasks.reasoning.reasoner import Lesson
    from unknot.tasks.reasoning.teaching import teach

    panels = integer_table(Quantised(open_world(world, data=data), options.classes).factors)

    def seconds(steps: int, batches: int) -> float:
        few = {"steps": steps, "evaluate_every": steps, "evaluation_batches": batches, "at": ()}
        lesson = Lesson(panels, options.model_copy(update=few))
        began = time.perf_counter()
        teach(lesson, torch.device("cpu"), None, Workspace(), silent)
        return time.perf_counter() - began

    seconds(1, 1)  # compiles
    least = seconds(1, 1)
    step = max(0.0, seconds(1 + STEPS, 1) - least) / STEPS
    examination = max(0.0, seconds(1, options.evaluation_batches) - least)
    return options.steps * step + ceil(options.steps / options.evaluate_every) * examination
