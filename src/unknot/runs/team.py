"""One run trained by several processes: each computes its rows of every network, and all take the same step.

Every process has the whole batch and the whole loss. Only the networks that treat each row by itself, which is where
the time goes, are shared out: a process gives its rows to such a network, and gets the outputs of all rows back.
Whatever the loss does with a batch (total correlations, covariances, permutations, noise) it does with the whole one,
so that the step is that of one process but for the order of sums.

Gradients are averaged. What all processes compute alike counts once so; the gradient of a process's own rows is taken
as often as there are processes, and counts once so too.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import torch
import torch.distributed as dist
from torch import Tensor, nn

from unknot.errors import UnknotError, why
from unknot.models.model import Model

Share = Callable[[Tensor, "Team"], Tensor]
PATIENCE = timedelta(minutes=10)  # that processes wait for each other, such as while pictures are drawn


@dataclass(frozen=True)
class Team:
    """The processes that train a run; this one is number `rank` of `size`, and number 0 alone writes files."""

    rank: int = 0
    size: int = 1

    @property
    def leads(self) -> bool:
        """Whether this is the process that the user started."""
        return self.rank == 0

    @contextmanager
    def sharing(self, model: Model) -> Iterator[None]:
        """Inside the block, networks that treat rows alone are given the rows of this process."""
        with ExitStack() as stack:
            for name in model.by_rows if self.size > 1 else ():
                module = model.get_submodule(name)
                stack.callback(module.register_forward_pre_hook(self._own_rows).remove)
                stack.callback(module.register_forward_hook(self._all_rows).remove)
            yield

    def _own_rows(self, module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(_own(each, self) if isinstance(each, Tensor) else each for each in inputs)

    def _all_rows(self, module: nn.Module, inputs: Any, outputs: Any) -> Any:
        if isinstance(outputs, Tensor):
            return _all(outputs, self)
        parts = [_all(each, self) if isinstance(each, Tensor) else each for each in outputs]
        return tuple(parts) if type(outputs) is tuple else type(outputs)(*parts)

    def average(self, gradients: Sequence[Tensor]) -> None:
        """Replace gradients by their mean over processes, all in one message."""
        if self.size == 1:
            return
        flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
        with lost_peers():
            dist.all_reduce(flat)
        flat /= self.size
        parts = torch.split(flat, [gradient.numel() for gradient in gradients])
        for gradient, part in zip(gradients, parts, strict=True):
            gradient.copy_(part.view(gradient.shape))

    def rows(self, n: int) -> slice:
        """Which of n rows are those of this process."""
        if n % self.size:
            raise UnknotError(
                f"{n} rows cannot be shared out evenly among {self.size} processes.", field="processes"
            )
        share = n // self.size
        return slice(self.rank * share, (self.rank + 1) * share)

    def gathered(self, rows: Tensor) -> Tensor:
        """The rows of all processes, in their order, laid out in memory as those of this one are."""
        last = rows.dim() == 4 and rows.is_contiguous(memory_format=torch.channels_last)
        own = (rows.movedim(1, -1) if last else rows).contiguous()
        parts = [torch.empty_like(own) for _ in range(self.size)]
        with lost_peers():
            dist.all_gather(parts, own)
        whole = torch.cat(parts)
        return whole.movedim(-1, 1) if last else whole


class _Own(torch.autograd.Function):
    """The rows of this process; the gradient of all rows comes from all processes."""

    @staticmethod
    def forward(context: Any, whole: Tensor, team: Team) -> Tensor:
        context.team = team
        return whole[team.rows(len(whole))]

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        team: Team = context.team
        return team.gathered(gradients[0]) / team.size, None


class _All(torch.autograd.Function):
    """The rows of all processes; a process sees the gradient of its own."""

    @staticmethod
    def forward(context: Any, rows: Tensor, team: Team) -> Tensor:
        context.team = team
        return team.gathered(rows)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        team: Team = context.team
        whole = gradients[0]
        return whole[team.rows(len(whole))] * team.size, None


_own, _all = cast(Share, _Own.apply), cast(Share, _All.apply)
ALONE = Team()


@contextmanager
def lost_peers() -> Iterator[None]:
    """Say in words that another process of the team is gone."""
    try:
        yield
    except RuntimeError as error:
        raise UnknotError(
            f"train: another process of this run is gone ({why(error)}). Was it killed, perhaps for want of memory? "
            "The same command goes on from the last checkpoint."
        ) from error


@contextmanager
def joined(rank: int, size: int, meeting: Path, device: torch.device) -> Iterator[Team]:
    """Be one of several processes inside the block; they meet in a file."""
    if dist.is_initialized():
        raise UnknotError(
            "train: torch.distributed is in use already in this program, and processes=2 needs it; train in a program "
            "of its own.",
            field="processes",
        )
    with lost_peers():
        backend = "nccl" if device.type == "cuda" else "gloo"
        store = dist.FileStore(str(meeting.absolute()), size)  # type: ignore[attr-defined]
        dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=PATIENCE)
    try:
        yield Team(rank, size)
    finally:
        dist.destroy_process_group()


def must_be_shareable(model: Model, name: str, size: int, batch_size: int, device: torch.device) -> None:
    """Refuse a model that several processes would train otherwise than one."""
    if not model.by_rows:
        raise UnknotError(
            f"train: {name} does not say which of its networks treat each row by itself (`by_rows`), so it cannot be "
            f"trained by {size} processes; leave processes out.",
            field="processes",
        )
    for part in model.by_rows:
        for layer in model.get_submodule(part).modules():
            if isinstance(layer, nn.modules.batchnorm._BatchNorm | nn.modules.dropout._DropoutNd):
                raise UnknotError(
                    f"train: '{part}' of {name} has a {type(layer).__name__}, which looks at other rows or draws "
                    f"noise of its own; it cannot be trained by {size} processes. Leave processes out.",
                    field="processes",
                )
    if batch_size % size:
        raise UnknotError(
            f"train: batches of {batch_size} cannot be shared out evenly among {size} processes; choose a batch_size "
            "that is a multiple of it.",
            field="processes",
        )
    if device.type == "cuda" and torch.cuda.device_count() < size:
        raise UnknotError(
            f"train: {size} processes on {torch.cuda.device_count()} GPUs; each needs one of its own.",
            field="processes",
        )


def place_of(device: torch.device, rank: int) -> torch.device:
    """The device of a process: GPUs are counted, everything else is shared."""
    return torch.device("cuda", rank) if device.type == "cuda" else device
