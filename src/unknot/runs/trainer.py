"""The training loop: steps, their curve, checkpoints, and how it stops."""

import io
import json
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Never, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from unknot.errors import UnknotError, UnknotWarning, why
from unknot.files import written_whole
from unknot.models.codes import channels_last
from unknot.models.model import Batch, Model, Player, Terms
from unknot.processes.signals import interrupts
from unknot.progress import Progress, silent
from unknot.runs.ahead import Ahead
from unknot.runs.batches import Feed
from unknot.runs.curve import GRADIENT, Curve, Row
from unknot.runs.meters import Meter
from unknot.runs.optimisers import optimiser_of, set_rate
from unknot.runs.run import Run
from unknot.runs.schedules import rate, read_pressure, weight
from unknot.runs.team import ALONE, Team

LOG_EVERY = 50  # steps averaged into one row of the curve
OLD_NAMES = {"kl": "latents"}  # of tables in checkpoints, where they are not those of the meters
FIT = "reconstruction"  # the term that pressure leaves alone
CORPUS = "_corpus"  # after a meter's name, in checkpoints: what its rows were measured on


class DivergedError(UnknotError):
    """Training cannot go on: a loss, a gradient or a weight is no longer finite, or a gradient exploded."""


class Draw(Protocol):
    """Draws pictures of a model as it is at a step."""

    def __call__(self, model: Model, step: int, *, kl: NDArray[np.float64] | None, animated: bool) -> object:
        """Draw; `kl` is that of each latent, if it was measured."""


class Trainer:
    """The state of a run between two steps.

    The batch and the noise of a step depend on the seed and the step alone, and a checkpoint holds everything else:
    weights, optimisers, and the curve with the steps that are not in a row of it yet.

    Args:
        run: what is trained, and where.
        model: with fresh weights; those of a checkpoint take their place.
        feed: its batches.
        device: it is trained on.
        compiled: whether to use `torch.compile`.
        meters: what is measured, in this order.
        draw: draws its pictures, at checkpoints and at the end.
        team: the processes that train it.
    """

    def __init__(
        self,
        run: Run,
        model: Model,
        feed: Feed,
        device: torch.device,
        *,
        compiled: bool = False,
        meters: Sequence[Meter] = (),
        draw: Draw | None = None,
        team: Team = ALONE,
    ) -> None:
        self.run, self.spec, self.feed, self.device = run, run.spec, feed, device
        self.meters, self.draw, self.team = meters, draw, team
        self.batches = Ahead(feed, device, self.spec.steps)
        self.model = channels_last(model.to(device))
        self.players = self.model.players()
        self.main = main_player(self.model, self.players)
        self.parameters = [moved_by(player) for player in self.players]
        self.optimisers = [
            optimiser_of(player, moved, self.spec.lr)
            for player, moved in zip(self.players, self.parameters, strict=True)
        ]
        self.losses = [_compiled(player.loss) if compiled else player.loss for player in self.players]
        self.pressure = read_pressure(self.spec.pressure)
        self.generator = torch.Generator(device=device)
        self.prefixes = ["" if i == self.main else f"{player.name}." for i, player in enumerate(self.players)]
        self.curve = Curve(
            norms=[
                prefix + GRADIENT
                for prefix, player in zip(self.prefixes, self.players, strict=True)
                if not player.clip  # cut back, a step stays small
            ]
        )
        self.tables: dict[str, list[Row]] = {meter.name: [] for meter in meters}
        self.corpora: dict[str, str] = {}  # meter -> what it measured on
        self.step = self.saved = 0
        self.spent, self.began = 0.0, time.perf_counter()  # seconds of earlier processes, start of this one
        if team.leads:
            run.remove_parts()
        self._resume()
        for meter in meters:
            self._same_corpus(meter)

    def train(self, checkpoint_every: int, progress: Progress = silent, *, until: int | None = None) -> None:
        """Go on to the last step, and write the weights; or until an earlier one, and write a checkpoint."""
        last = min(until or self.spec.steps, self.spec.steps)
        steps, began, since = self.spec.steps, self.step, time.perf_counter()
        self.model.train()
        with interrupts() as interrupted:
            progress("training", began, steps)
            while self.step < last:
                self.advance()
                if self.step % LOG_EVERY == 0 or self.step == steps:
                    self.read_curve()
                    terms = self.curve.close_row(self.step)
                    speed = (self.step - began) * self.spec.batch_size / (time.perf_counter() - since)
                    began, since = self.step, time.perf_counter()
                    progress("training", self.step, steps, **terms, images_per_second=speed)
                for meter in self.meters:
                    if self.step % meter.every == 0 or self.step == steps:
                        self._measure(meter)
                if self.step == steps:
                    break
                if interrupted():
                    self._checkpoint()
                    raise KeyboardInterrupt(
                        f"{self.run.folder}: stopped after step {self.step} of {steps}; the same command goes on there."
                    )
                if self.step % checkpoint_every == 0:
                    self._checkpoint()
                    self._draw()
        if self.step == steps:
            self._finish()
        elif self.saved < self.step:
            self._checkpoint()

    def follow(self, until: int | None) -> None:
        """Take the same steps as the process that leads, which alone writes."""
        self.model.train()
        while self.step < min(until or self.spec.steps, self.spec.steps):
            self.advance()

    def advance(self) -> None:
        """One step: one update of every player."""
        try:
            batch = self.batches.batch(self.step)
            for index, player in enumerate(self.players):
                self._update(index, player, batch)
            self.model.after_step()
        except (RuntimeError, ValueError, ArithmeticError):
            self.read_curve()  # a model may fail over what an earlier step broke: then that is the news
            raise
        self.step += 1

    def _update(self, index: int, player: Player, batch: Batch) -> None:
        """One step of one optimiser."""
        seed = seed_of(self.spec.seed, self.step, index + 1)
        self.generator.manual_seed(seed)
        self._seed_default(seed)
        with self._autocast(), self.team.sharing(self.model):
            terms = self.losses[index](batch, self.step, self.generator)
        if terms is None:
            return
        _check_terms(self.spec.model, terms)
        if index == self.main and self.pressure is not None:
            terms = self._under_pressure(terms)
        loss = torch.stack(list(terms.values())).sum()
        # Unlike `autograd.grad`, `backward` lays a gradient out in memory as its parameter is, which the fused
        # optimiser takes for granted: it would mix up elements without a word.
        torch.autograd.backward(loss, inputs=self.parameters[index])
        gradients = [parameter.grad for parameter in self.parameters[index] if parameter.grad is not None]
        self.team.average(gradients)
        norm = torch.nn.utils.get_total_norm(gradients)
        if player.clip:
            torch.nn.utils.clip_grads_with_norm_(self.parameters[index], player.clip, norm)
        share = rate(self.spec.schedule, self.step, self.spec.steps)
        set_rate(self.optimisers[index], player, self.spec.lr, self.step, share)
        self.optimisers[index].step()
        self.optimisers[index].zero_grad(set_to_none=True)
        if not self.team.leads:
            return
        values = {**terms, GRADIENT: norm}
        if index == self.main:
            values["loss"] = loss
        self.curve.add(self.step, {self.prefixes[index] + name: value for name, value in values.items()})

    def _seed_default(self, seed: int) -> None:
        """Seed layers that take no generator, such as dropout in anyone's own model."""
        if self.device.type == "cpu":
            torch.default_generator.manual_seed(seed)  # alone: there are no GPUs to note it for
        else:
            torch.manual_seed(seed)

    def _under_pressure(self, terms: Terms) -> Terms:
        if FIT not in terms:
            raise UnknotError(
                f"{self.spec.model}: its loss has no term '{FIT}' ({', '.join(terms)}), and a pressure "
                f"({self.spec.pressure}) is what all others are multiplied by; leave it out.",
                field="pressure",
            )
        more = weight(self.pressure, self.step, self.spec.steps)
        return {name: term if name == FIT else more * term for name, term in terms.items()}

    def _autocast(self) -> Any:
        if self.spec.precision == "float32":
            return nullcontext()
        return torch.autocast(self.device.type, dtype=torch.bfloat16)

    def read_curve(self) -> None:
        """Fetch the values of the latest steps; an error if training has diverged."""
        news = self.curve.read()
        if news is not None:
            self._diverged(news.step, news.words)

    def _weights_must_be_finite(self) -> None:
        for name, parameter in self.model.named_parameters():
            if not bool(torch.isfinite(parameter).all()):
                self._diverged(self.step, f"the weights '{name}' are no longer finite")

    def _diverged(self, step: int, what: str) -> Never:
        kept = f"the checkpoint of step {self.saved} is kept" if self.saved else "no checkpoint was written yet"
        raise DivergedError(
            f"training diverged at step {step}: {what} ({self.spec.title}); {kept}. Try a smaller learning rate "
            f"(now {self.spec.lr:g}), a smaller weight of that term, or precision float32."
        )

    def _resume(self) -> None:
        path = self.run.checkpoint
        if not path.is_file():
            return
        try:
            state = torch.load(path, map_location=self.device, weights_only=True)
            if state["spec"] != self.spec.id:
                raise UnknotError(f"{path}: belongs to another spec; move it away to start this run anew.")
            self.model.load_state_dict(state["model"])
            for optimiser, saved in zip(self.optimisers, state["optimisers"], strict=True):
                optimiser.load_state_dict(saved)
            tables = json.loads(state["tables"])
            self.curve.load(tables.pop("curve"))
            names = {old: name for name, old in OLD_NAMES.items()}
            for name, value in tables.items():
                if name.endswith(CORPUS):
                    self.corpora[name.removesuffix(CORPUS)] = value
                else:
                    self.tables[names.get(name, name)] = value
            self.step = self.saved = int(state["step"])
            self.spent = float(state["seconds"])
        except UnknotError:
            raise
        except Exception as error:
            raise UnknotError(
                f"{path}: is damaged ({type(error).__name__}); move it away to start this run anew.{self.run.newer}"
            ) from error

    def _checkpoint(self) -> None:
        self.read_curve()
        self._weights_must_be_finite()
        tables: dict[str, Any] = {OLD_NAMES.get(name, name): rows for name, rows in self.tables.items()}
        tables |= {name + CORPUS: corpus for name, corpus in self.corpora.items()}
        tables["curve"] = self.curve.state()
        state = {
            "spec": self.spec.id,
            "step": self.step,
            "seconds": self._seconds(),
            "model": self.model.state_dict(),
            "optimisers": [optimiser.state_dict() for optimiser in self.optimisers],
            "tables": json.dumps(tables),
        }
        # Through memory, because torch's own writer reports a full disk as an error of its own kind.
        buffer = io.BytesIO()
        torch.save(state, buffer)
        with written_whole(self.run.checkpoint) as beside:
            beside.write_bytes(buffer.getbuffer())
        self.saved = self.step
        self._write_tables()

    def _finish(self) -> None:
        from safetensors.torch import save

        self._weights_must_be_finite()
        self._write_tables()
        self._draw(animated=True)
        self.model.eval()
        weights = {name: tensor.contiguous().cpu() for name, tensor in self.model.state_dict().items()}
        self.run.note(training_seconds=round(self._seconds(), 1))
        with written_whole(self.run.weights) as beside:
            beside.write_bytes(save(weights))
        self.run.checkpoint.unlink(missing_ok=True)

    def _seconds(self) -> float:
        """Time spent on the run so far, by all processes that worked on it."""
        return self.spent + time.perf_counter() - self.began

    def _same_corpus(self, meter: Meter) -> None:
        """One table is of one corpus; which one is noted with the run."""
        if self.tables[meter.name] and self.corpora.get(meter.name, "") != meter.identity:
            raise UnknotError(
                f"{self.run.folder}: {meter.name} was measured on another corpus up to step {self.step}, and one curve "
                "cannot be of two; go on with that corpus, or without one."
            )
        if meter.identity:
            self.corpora[meter.name] = meter.identity
            self.run.note(**{meter.name: dict(meter.about)})

    def _measure(self, meter: Meter) -> None:
        """A row for the weights as they are; codes that cannot be measured must not cost the run."""
        self.model.eval()
        try:
            row = meter.row(self.model, self.device)
        except UnknotError as error:
            what = f"{self.run.folder}: {meter.name} could not be measured at step {self.step} ({error})"
            warnings.warn(what, UnknotWarning, stacklevel=2)
        else:
            self.tables[meter.name] += [{"step": self.step} | row] if row else []
        finally:
            self.model.train()

    def _draw(self, *, animated: bool = False) -> None:
        """Pictures of the model as it is now; one that cannot be drawn must not cost the run."""
        if self.draw is None:
            return
        last = next(reversed(self.tables.get("kl", [])), {})
        kl = np.array([value for name, value in last.items() if name != "step"])
        try:
            self.draw(self.model, self.step, kl=kl if len(kl) else None, animated=animated)
        except Exception as error:
            warnings.warn(f"{self.run.folder}: no pictures ({error})", UnknotWarning, stacklevel=2)

    def _write_tables(self) -> None:
        for name, rows in {"curve": self.curve.rows, **self.tables}.items():
            if rows:
                self.run.write_table(name, rows)


def seed_of(*words: int) -> int:
    """A 63-bit seed from a few numbers, far from that of their neighbours."""
    low, high = np.random.SeedSequence(words).generate_state(2)
    return int(low) | (int(high) & 0x7FFFFFFF) << 32


def _compiled(loss: Callable[..., Terms | None]) -> Callable[..., Terms | None]:
    """A loss compiled when it is first called, which needs more than torch."""
    from torch._dynamo.exc import TorchDynamoException

    fast = torch.compile(loss)

    def call(batch: Batch, step: int, generator: torch.Generator) -> Terms | None:
        try:
            return fast(batch, step, generator)
        except TorchDynamoException as error:
            raise UnknotError(
                f"torch.compile does not work here ({why(error)}). On a CPU it needs a C++ compiler such as g++; or "
                "train without --compile (compiled=False)."
            ) from error

    return call


def _check_terms(model: str, terms: Terms) -> None:
    if not isinstance(terms, Mapping) or not terms:
        raise UnknotError(
            f"{model}: its loss is {type(terms).__name__}; expected a dict of named terms, not empty."
        )
    for name, term in terms.items():
        if not isinstance(term, Tensor) or term.dim() != 0:
            what = f"a tensor of shape {tuple(term.shape)}" if isinstance(term, Tensor) else type(term).__name__
            raise UnknotError(f"{model}: the term '{name}' of its loss is {what}; expected a scalar tensor.")


def main_player(model: Model, of: Sequence[Player]) -> int:
    """The player whose loss the curve calls the loss: the one moved by the model's own, else the first."""
    own = [index for index, player in enumerate(of) if player.loss == model.loss]
    return own[0] if own else 0


def moved_by(player: Player) -> list[nn.Parameter]:
    """The weights that a player trains."""
    parameters: list[nn.Parameter] = []
    for module in player.modules:
        parameters += [module] if isinstance(module, nn.Parameter) else list(module.parameters())
    return [parameter for parameter in parameters if parameter.requires_grad]
