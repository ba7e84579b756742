"""Batches drawn ahead are those drawn in time, and go to a GPU once, from pinned memory, without waiting."""

import threading
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from unknot.models.model import Batch
from unknot.runs.ahead import Ahead
from unknot.runs.batches import Feed
from unknot.runs.run import Run
from unknot.runs.spec import RunSpec
from unknot.runs.trainer import Trainer
from unknot.runs.training import build_model, kept_random
from unknot.worlds import open_world
from unknot.worlds.raytracer.painting import _light, _paint

CPU = torch.device("cpu")


class Watched(Feed):
    """A feed that notes who draws which step."""

    def batch(self, step: int) -> Batch:
        drawn.append((step, threading.current_thread() is threading.main_thread()))
        return super().batch(step)


drawn: list[tuple[int, bool]] = []


@pytest.fixture(autouse=True)
def _nothing_drawn() -> None:
    drawn.clear()


def test_a_thread_draws_the_next_batch_of_a_traced_world_bit_for_bit() -> None:
    feed = Watched(open_world("shapes3d_rendered"), batch_size=4, seed=3)
    ahead = Ahead(feed, CPU, steps=7)
    batches = [ahead.batch(step) for step in (0, 1, 2, 5, 6)]  # as a run that goes on after a checkpoint
    # 3 was never asked for, 5 was not foreseen, 7 is after the end.
    assert sorted(drawn) == [(0, True), (1, False), (2, False), (3, False), (5, True), (6, False)]
    for step, batch in zip((0, 1, 2, 5, 6), batches, strict=True):
        assert torch.equal(batch.images, Feed(feed.world, batch_size=4, seed=3).batch(step).images)
    ahead.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("batches")]
    assert torch.equal(ahead.batch(2).images, batches[2].images)
    for kernel in (_light, _paint):
        assert kernel.targetoptions["nogil"], "else the step waits for the thread"


def test_worlds_that_cost_nothing_are_drawn_in_time() -> None:
    ahead = Ahead(Watched(open_world("dsprites_rendered"), batch_size=4, seed=0), CPU, steps=3)
    ahead.batch(0)
    assert drawn == [(0, True)]


def test_a_batch_that_cannot_be_drawn_is_an_error_of_its_own_step(monkeypatch: pytest.MonkeyPatch) -> None:
    feed = Feed(open_world("shapes3d_rendered"), batch_size=4, seed=0)
    ahead = Ahead(feed, CPU, steps=3)
    draw = Feed.batch
    monkeypatch.setattr(Feed, "batch", lambda self, step: draw(self, step) if step != 1 else 1 / 0)
    ahead.batch(0)
    with pytest.raises(ZeroDivisionError):
        ahead.batch(1)


def test_the_random_numbers_of_a_gpu_are_seeded_for_each_step_and_put_back(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    forked: list[Any] = []
    monkeypatch.setattr(torch.random, "fork_rng", lambda devices: forked.append(devices) or nullcontext())
    for device in ("cpu", "cuda:1"):
        with kept_random(torch.device(device)):
            pass
    assert forked == [[], [torch.device("cuda", 1)]]
    seeds: list[int] = []
    monkeypatch.setattr(torch, "manual_seed", seeds.append)  # of all devices
    spec, world = RunSpec(world="dsprites_rendered", steps=5), open_world("dsprites_rendered")
    model, spec = build_model(spec, world)
    trainer = Trainer(Run.create(tmp_path, spec), model, Feed(world, batch_size=4, seed=0), CPU)
    trainer.device = torch.device("cuda", 1)
    seeds.clear()
    trainer._seed_default(7)
    assert seeds == [7]


def test_a_batch_goes_to_a_gpu_once_from_pinned_memory_without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    monkeypatch.setattr(Tensor, "pin_memory", lambda tensor: calls.append("pinned") or tensor)
    monkeypatch.setattr(Tensor, "to", lambda tensor, *to, **how: calls.append((to, how)) or tensor)
    cuda = torch.device("cuda", 0)
    feed = Feed(open_world("dsprites_rendered"), batch_size=4, seed=0, supervision="labels")
    Ahead(feed, cuda, steps=3).batch(0)
    assert calls == ["pinned"] * 2 + [((cuda,), {"non_blocking": True})] * 2  # images and labels
