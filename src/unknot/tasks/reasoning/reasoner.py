"""Train WReNs on puzzles, one after the other: fresh ones in every batch, fresh ones in every evaluation.

The puzzles, the views of panels and the dropped units of a step depend on the seed, the draw and the step alone, and a
checkpoint holds the rest: a process killed at any moment goes on and ends with the same accuracies.
"""

import io
import json
import math
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from unknot.errors import UnknotError
from unknot.files import written_whole
from unknot.processes.memory import kept_memory
from unknot.processes.threads import threads_of_torch
from unknot.progress import Progress
from unknot.runs.batches import as_tensor
from unknot.runs.trainer import seed_of
from unknot.runs.workspace import Workspace
from unknot.tasks.reasoning.options import OTHER_ROWS, ReasoningOptions, WReNSetting
from unknot.tasks.reasoning.panels import CodeTable, Panels
from unknot.tasks.reasoning.wren import PanelCNN, WReN, initialise
from unknot.tasks.result import Table
from unknot.worlds.puzzles.puzzles import ANSWERS, CHANCE, Puzzles

TRAIN, EVALUATE = 0, 1  # streams of puzzles
CHUNK = 256  # puzzles evaluated at a time
CHECKPOINT_EVERY = 250
READ_EVERY = 50  # steps whose losses are fetched at once

Row = dict[str, float]


@dataclass(frozen=True)
class Lesson:
    """What a reasoner is taught and how it is examined.

    Attributes:
        panels: codes of panels, or the world whose images they are.
        options: the kind of puzzles, how many in a batch and in an evaluation, the precision and the seed.
    """

    panels: Panels
    options: ReasoningOptions

    def puzzles(self, n: int, rng: np.random.Generator) -> Puzzles:
        """So many fresh puzzles."""
        return self.options.puzzles(self.panels.factors, n, rng)

    def inputs(self, puzzles: Puzzles, rng: np.random.Generator) -> Tensor:
        """(n, 14, d) codes or (n, 14, c, h, w) images: the eight panels of the context, then the six answers."""
        panels = np.concatenate([puzzles.context, puzzles.answers], axis=1)
        if isinstance(self.panels, CodeTable):
            return torch.from_numpy(self.panels.look_up(panels, rng))
        flat = panels.reshape(-1, panels.shape[2])
        images = as_tensor(self.panels.images(flat, rng=rng if self.panels.stochastic else None))
        return images.reshape(*panels.shape[:2], *images.shape[1:])


@dataclass
class Reasoner:
    """The state of one WReN between two steps.

    Attributes:
        lesson: what it is taught.
        setting: its hyper-parameters.
        draw: its number among the reasoners of a task.
        device: where it is trained.
        file: where it is kept; None for nowhere.
        step: how many it has done.
        rows: its examinations.
        diverged: the step at which its loss was no longer finite; 0 if it always was.
        unread: steps and their losses, which stay on the device until they are read.
    """

    lesson: Lesson
    setting: WReNSetting
    draw: int
    device: torch.device
    file: Path | None = None
    step: int = 0
    rows: list[Row] = field(default_factory=list)
    diverged: int = 0
    unread: list[tuple[int, Tensor]] = field(default_factory=list)

    def __post_init__(self) -> None:
        panels = self.lesson.panels
        codes = panels if isinstance(panels, CodeTable) else PanelCNN(panels.image_shape)
        self.cnn = codes if isinstance(codes, PanelCNN) else None
        self.wren = WReN(codes.width, self.setting)
        self.model = nn.ModuleList([self.wren] if self.cnn is None else [self.wren, self.cnn])
        seed = seed_of(self.lesson.options.seed, self.draw, 2)
        initialise(self.model, torch.Generator().manual_seed(seed))
        self.model.to(self.device)
        self.optimisers = self._optimisers()
        self._resume()

    def lacks(self, examinations: Collection[int]) -> bool:
        """Whether it has gone past a step of these without being examined."""
        rows = {row["step"] for row in self.rows}
        return any(step <= self.step and step not in rows for step in examinations)

    def train(self, steps: int, examinations: Collection[int], progress: Callable[..., None]) -> list[Row]:
        """Go on to a step, and tell what came out of the examinations, which are after some of the steps.

        Progress is told the steps done, the steps in all and, once it is known, the latest accuracy.
        """
        self._tell(steps, progress)
        while self.step < steps:
            if not self.diverged:
                self._advance()
            self.step += 1
            if self.step % READ_EVERY == 0 or self.step in examinations or self.step == steps:
                self._read_losses()
            if self.step in examinations:
                self.rows.append(self._examine())
            if self.step % CHECKPOINT_EVERY == 0 or self.step in examinations or self.step == steps:
                self._keep()
                self._tell(steps, progress)
        return [row for row in self.rows if row["step"] in examinations]

    def _tell(self, steps: int, progress: Callable[..., None]) -> None:
        progress(min(self.step, steps), steps, **({"accuracy": self.rows[-1]["accuracy"]} if self.rows else {}))

    def scores(self, inputs: Tensor) -> Tensor:
        """Scores (n, 6) of the answers."""
        inputs = inputs.to(self.device)
        enabled = self.lesson.options.precision == "bfloat16"
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=enabled):
            codes = inputs if self.cnn is None else self.cnn(inputs)
            scores: Tensor = self.wren(codes[:, :8], codes[:, 8:])
        return scores.float()

    def _optimisers(self) -> list[torch.optim.Optimizer]:
        """Adam for all parameters; or Muon for the matrices of g and f, and Adam for the others."""
        lr = self.setting.lr
        matrices = self.wren.matrices() if self.setting.optimiser == "muon" else []
        taken = {id(matrix) for matrix in matrices}
        others = [parameter for parameter in self.model.parameters() if id(parameter) not in taken]
        fused = self.device.type in ("cpu", "cuda")
        adam = torch.optim.Adam(others, lr=lr, eps=1e-8, fused=fused)
        if not matrices:
            return [adam]
        # Steps of the size Adam would make, so that one learning rate serves both.
        return [adam, torch.optim.Muon(matrices, lr=lr, weight_decay=0, adjust_lr_fn="match_rms_adamw")]

    def _advance(self) -> None:
        lesson, options = self.lesson, self.lesson.options
        rng = np.random.default_rng([options.seed, self.draw, TRAIN, self.step])
        puzzles = lesson.puzzles(options.batch_size, rng)
        self.model.train()
        torch.manual_seed(seed_of(options.seed, self.draw, 3, self.step))  # for dropout
        labels = torch.from_numpy(puzzles.labels).to(self.device)
        loss = functional.cross_entropy(self.scores(lesson.inputs(puzzles, rng)), labels)
        torch.autograd.backward(loss)
        for optimiser in self.optimisers:
            optimiser.step()
        self.model.zero_grad(set_to_none=True)
        self.unread.append((self.step + 1, loss.detach()))

    def _read_losses(self) -> None:
        """Fetch the losses of the latest steps; asking for each at its step would make a GPU wait."""
        steps, losses = zip(*self.unread, strict=True) if self.unread else ((), ())
        finite = torch.isfinite(torch.stack(losses)).tolist() if losses else []
        self.diverged = self.diverged or next(
            (step for step, fine in zip(steps, finite, strict=True) if not fine), 0
        )
        self.unread.clear()

    def _examine(self) -> Row:
        """Accuracy on fresh puzzles, all and by the number of fixed factors; chance once training has diverged.

        The same puzzles are put once more with rows one and two of another.
        """
        lesson, options = self.lesson, self.lesson.options
        rng = np.random.default_rng([options.seed, self.draw, EVALUATE, self.step])
        puzzles = lesson.puzzles(options.batch_size * options.evaluation_batches, rng)
        right, right_otherwise, losses = [], [], []
        self.model.eval()
        with torch.no_grad():
            for start in range(0, 0 if self.diverged else len(puzzles), CHUNK):
                at = slice(start, start + CHUNK)
                some = Puzzles(puzzles.grids[at], puzzles.answers[at], puzzles.labels[at], puzzles.fixed[at])
                labels = torch.from_numpy(some.labels)
                inputs = lesson.inputs(some, rng)
                scores = self.scores(inputs).cpu()
                right.append((scores.argmax(dim=1) == labels).numpy())
                otherwise = self.scores(_with_other_rows(inputs)).cpu()
                right_otherwise.append((otherwise.argmax(dim=1) == labels).numpy())
                losses.append(float(functional.cross_entropy(scores, labels, reduction="sum")))
        kinds = np.unique(puzzles.relations)
        if not right or not math.isfinite(sum(losses)):
            self.diverged = self.diverged or self.step
            by_kind = {f"accuracy_k{k}": CHANCE for k in kinds}
            chance = {"accuracy": CHANCE, OTHER_ROWS: CHANCE, "loss": math.log(ANSWERS)}
            return {"step": self.step, **chance, **by_kind}
        correct = np.concatenate(right)
        by_kind = {f"accuracy_k{k}": float(correct[puzzles.relations == k].mean()) for k in kinds}
        accuracy, loss = float(correct.mean()), sum(losses) / len(correct)
        other_rows = float(np.concatenate(right_otherwise).mean())
        return {"step": self.step, "accuracy": accuracy, OTHER_ROWS: other_rows, "loss": loss, **by_kind}

    def _keep(self) -> None:
        if self.file is None:
            return
        state: dict[str, Any] = {
            "step": self.step,
            "diverged": self.diverged,
            "model": self.model.state_dict(),
            "optimisers": [optimiser.state_dict() for optimiser in self.optimisers],
            "rows": json.dumps(self.rows),
        }
        buffer = io.BytesIO()
        torch.save(state, buffer)
        with written_whole(self.file) as beside:
            beside.write_bytes(buffer.getbuffer())

    def _resume(self) -> None:
        if self.file is None or not self.file.is_file():
            return
        try:
            state = torch.load(self.file, map_location=self.device, weights_only=True)
            self.model.load_state_dict(state["model"])
            for optimiser, kept in zip(self.optimisers, state["optimisers"], strict=True):
                optimiser.load_state_dict(kept)
            self.step, self.diverged = int(state["step"]), int(state["diverged"])
            self.rows = json.loads(state["rows"])
        except Exception as error:
            raise UnknotError(
                f"{self.file}: is damaged ({type(error).__name__}); move it away to train this reasoner anew."
            ) from error


def _with_other_rows(inputs: Tensor) -> Tensor:
    """Each puzzle with rows one and two of the one before it."""
    return torch.cat([inputs[:, :6].roll(1, dims=0), inputs[:, 6:]], dim=1)


def teach(
    lesson: Lesson, device: torch.device, identity: Any, workspace: Workspace, progress: Progress
) -> tuple[Table, dict[int, int]]:
    """Train the reasoners of a task, or go on where they were stopped; a workspace keeps them.

    Their identity is everything that decides the accuracies but a reasoner's own settings and the number of its steps.

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
