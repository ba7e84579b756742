"""All reasoners of a task, one after the other; each is kept in the workspace while it learns."""

from dataclasses import asdict
from functools import partial
from typing import Any

import torch

from unknot.processes.memory import kept_memory
from unknot.processes.threads import threads_of_torch
from unknot.progress import Progress
from unknot.runs.workspace import Workspace
from unknot.tasks.reasoning.reasoner import Lesson, Reasoner
from unknot.tasks.result import Table


def teach(
    lesson: Lesson, device: torch.device, identity: Any, workspace: Workspace, progress: Progress
) -> tuple[Table, dict[int, int]]:
    """Train the reasoners of a task, or go on where they were stopped.

    Args:
        lesson: what they are taught.
        device: where.
        identity: everything that decides the accuracies but a reasoner's own settings and the number of its steps.
        workspace: keeps them.
        progress: told how many steps are done.

    Returns:
        A row for each reasoner and examination; and reasoner -> the step at which its loss was no longer finite, for
        those whose loss was not.
    """
    options = lesson.options
    examinations, settings = options.examinations(), options.reasoners()
    curve: Table = []
    diverged: dict[int, int] = {}
    with threads_of_torch(options.threads), kept_memory(), torch.random.fork_rng(devices=[]):
        for draw, setting in enumerate(settings):
            key = [identity, draw, asdict(setting)]
            stage = f"reasoner {draw + 1} of {len(settings)}"
            with workspace.locked("reasoner", key):
                reasoner = Reasoner(lesson, setting, draw, device, workspace.path("reasoner", key, ".pt"))
                if reasoner.lacks(examinations):  # it was taught for longer, and asked at other steps
                    reasoner = Reasoner(lesson, setting, draw, device)
                rows = reasoner.train(options.steps, examinations, partial(progress, stage))
            curve += [{"draw": draw, **row, "step": int(row["step"])} for row in rows]
            if 0 < reasoner.diverged <= options.steps:
                diverged[draw] = reasoner.diverged
    return curve, diverged
