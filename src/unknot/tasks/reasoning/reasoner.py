"""Train one WReN on puzzles: fresh ones in every batch, fresh ones in every evaluation.

The puzzles, the views of panels and the dropped units of a step depend on the seed, the draw and the step alone, and a
checkpoint holds the rest: a process killed at any moment goes on and ends with the same accuracies.
"""

import io
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from unknot.errors import UnknotError
from unknot.files import written_whole
from unknot.runs.batches import as_tensor
from unknot.runs.trainer import seed_of
from unknot.tasks.reasoning.panels import CodeTable
from unknot.tasks.reasoning.wren import PanelCNN, WReN, WReNSetting, initialise
from unknot.worlds.puzzles.puzzles import CHANCE, Alternatives, Puzzles, Relations, draw_puzzles
from unknot.worlds.puzzles.quantised import Quantised

TRAIN, EVALUATE = 0, 1  # streams of puzzles
CHUNK = 256  # puzzles evaluated at a time
CHECKPOINT_EVERY = 250

Row = dict[str, float]


@dataclass(frozen=True)
class Lesson:
    """What a reasoner is taught and how it is examined.

    Attributes:
        panels: codes of panels, or the world whose images they are.
        relations: see `draw_puzzles`.
        alternatives: see `draw_puzzles`.
        reject_distinct: see `draw_puzzles`.
        batch_size: puzzles in a batch.
        evaluation_batches: of an evaluation.
        precision: "float32" or "bfloat16".
        seed: of everything.
    """

    panels: CodeTable | Quantised
    relations: Relations = "mixed"
    alternatives: Alternatives = "hard"
    reject_distinct: bool = False
    batch_size: int = 32
    evaluation_batches: int = 100
    precision: str = "float32"
    seed: int = 0

    def puzzles(self, n: int, rng: np.random.Generator) -> Puzzles:
        """As many as asked for."""
        space = self.panels.space if isinstance(self.panels, CodeTable) else self.panels.factors
        return draw_puzzles(
            space,
            n,
            rng,
            relations=self.relations,
            alternatives=self.alternatives,
            reject_distinct=self.reject_distinct,
        )

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
        draw: number of the setting among those drawn.
        device: where it is trained.
        file: where it is kept; None for nowhere.
    """

    lesson: Lesson
    setting: WReNSetting
    draw: int
    device: torch.device
    file: Path | None = None
    step: int = 0
    rows: list[Row] = field(default_factory=list)
    diverged: int = 0

    def __post_init__(self) -> None:
        panels = self.lesson.panels
        self.cnn = None if isinstance(panels, CodeTable) else PanelCNN(panels.image_shape)
        width = panels.width if isinstance(panels, CodeTable) else self.cnn.width if self.cnn else 0
        self.wren = WReN(width, self.setting)
        self.model = nn.ModuleList([self.wren] if self.cnn is None else [self.wren, self.cnn])
        initialise(self.model, torch.Generator().manual_seed(seed_of(self.lesson.seed, self.draw, 2)))
        self.model.to(self.device)
        self.optimisers = self._optimisers()
        self._resume()

    def train(self, steps: int, examine_at: set[int], watch: Callable[[int, float], None]) -> list[Row]:
        """Go on to a step, with an evaluation after each step of `examine_at`; the evaluations up to there."""
        watch(self.step, self._latest())
        while self.step < steps:
            if not self.diverged:
                self._advance()
            self.step += 1
            if self.step in examine_at:
                self.rows.append(self._examine())
            if self.step % CHECKPOINT_EVERY == 0 or self.step in examine_at or self.step == steps:
                self._keep()
                watch(self.step, self._latest())
        return [row for row in self.rows if row["step"] <= steps]

    def scores(self, inputs: Tensor) -> Tensor:
        """Scores (n, 6) of the answers."""
        inputs = inputs.to(self.device)
        enabled = self.lesson.precision == "bfloat16"
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
        made: list[torch.optim.Optimizer] = [torch.optim.Adam(others, lr=lr, eps=1e-8, fused=fused)]
        if matrices:  # steps of the size Adam would make, so that one learning rate serves both
            made.append(torch.optim.Muon(matrices, lr=lr, weight_decay=0, adjust_lr_fn="match_rms_adamw"))
        return made

    def _advance(self) -> None:
        lesson = self.lesson
        rng = np.random.default_rng([lesson.seed, self.draw, TRAIN, self.step])
        puzzles = lesson.puzzles(lesson.batch_size, rng)
        self.model.train()
        torch.manual_seed(seed_of(lesson.seed, self.draw, 3, self.step))  # for dropout
        labels = torch.from_numpy(puzzles.labels).to(self.device)
        loss = functional.cross_entropy(self.scores(lesson.inputs(puzzles, rng)), labels)
        torch.autograd.backward(loss)
        for optimiser in self.optimisers:
            optimiser.step()
        self.model.zero_grad(set_to_none=True)
        if not math.isfinite(loss.item()):
            self.diverged = self.step + 1

    def _examine(self) -> Row:
        """Accuracy on fresh puzzles, all and by the number of fixed factors; chance once training has diverged."""
        lesson = self.lesson
        rng = np.random.default_rng([lesson.seed, self.draw, EVALUATE, self.step])
        puzzles = lesson.puzzles(lesson.batch_size * lesson.evaluation_batches, rng)
        right, losses = [], []
        self.model.eval()
        with torch.no_grad():
            for start in range(0, 0 if self.diverged else len(puzzles), CHUNK):
                some = _slice(puzzles, start, start + CHUNK)
                labels = torch.from_numpy(some.labels)
                scores = self.scores(lesson.inputs(some, rng)).cpu()
                right.append((scores.argmax(dim=1) == labels).numpy())
                losses.append(float(functional.cross_entropy(scores, labels, reduction="sum")))
        if not right or not math.isfinite(sum(losses)):
            self.diverged = self.diverged or self.step
            return {"step": self.step, "accuracy": CHANCE, "loss": math.log(6)} | {
                f"accuracy_k{k}": CHANCE for k in np.unique(puzzles.relations)
            }
        correct = np.concatenate(right)
        by = {
            f"accuracy_k{k}": float(correct[puzzles.relations == k].mean()) for k in np.unique(puzzles.relations)
        }
        return {"step": self.step, "accuracy": float(correct.mean()), "loss": sum(losses) / len(correct), **by}

    def _latest(self) -> float:
        return self.rows[-1]["accuracy"] if self.rows else math.nan

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


def _slice(puzzles: Puzzles, start: int, end: int) -> Puzzles:
    return Puzzles(
        puzzles.grids[start:end], puzzles.answers[start:end], puzzles.labels[start:end], puzzles.fixed[start:end]
    )
