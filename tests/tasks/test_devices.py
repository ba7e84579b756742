"""Networks of tasks stay on one device: that of meta has no numbers and refuses tensors of the CPU, as a GPU does."""

import ast
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import unknot.tasks
from unknot.tasks.agent.networks import LOOKS, Touch, Worth
from unknot.tasks.reasoning.options import ReasoningOptions, WReNSetting
from unknot.tasks.reasoning.reasoner import Lesson, Reasoner
from unknot.tasks.reasoning.wren import WReN
from unknot.worlds import open_world

META = torch.device("meta")


def empty(*shape: int) -> Tensor:
    return torch.empty(shape, device=META)


def _touch(network: nn.Module) -> Tensor:
    codes, actions, hit = empty(8, 5), empty(8, 4), empty(8)
    return network.loss(empty(2, 8, 5), codes, actions, codes, codes, codes, actions, hit)


def _worth(network: nn.Module) -> Tensor:
    return network.loss(empty(8, 3, 2 + LOOKS), empty(8))


@pytest.mark.parametrize(("network", "loss"), [(Touch(5), _touch), (Worth(), _worth)])
def test_a_step_of_the_agent_stays_on_one_device(network: nn.Module, loss: Callable[[nn.Module], Tensor]) -> None:
    network = network.to(META)
    loss(network).backward()
    torch.optim.Adam(network.parameters()).step()
    assert {weight.grad.device.type for weight in network.parameters()} == {"meta"}


def test_a_step_of_the_reasoner_fetches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "autocast", lambda *device, **how: nullcontext())  # the meta device has none
    world = open_world("abstract_dsprites_rendered")
    lesson = Lesson(world, ReasoningOptions(batch_size=2))
    reasoner = Reasoner(lesson, WReNSetting(g_width=12, g_depth=2, f_width=7, f_depth=1), 0, META)
    reasoner._advance()
    ((step, loss),) = reasoner.unread
    assert step == 1 and loss.device.type == "meta"


def test_a_reasoner_that_diverges_says_at_which_step(monkeypatch: pytest.MonkeyPatch) -> None:
    lesson = Lesson(open_world("abstract_dsprites_rendered"), ReasoningOptions(batch_size=2, evaluation_batches=1))
    reasoner = Reasoner(lesson, WReNSetting(g_width=12, g_depth=2, f_width=7, f_depth=1), 0, torch.device("cpu"))
    scores = WReN.forward
    monkeypatch.setattr(
        WReN, "forward", lambda self, *parts: scores(self, *parts) * (torch.nan if reasoner.step == 2 else 1.0)
    )
    (row,) = reasoner.train(4, [4], lambda *told, **facts: None)
    assert reasoner.diverged == 3 and row["accuracy"] == pytest.approx(1 / 6)


def test_every_network_of_a_task_is_tested_here_or_beside_it() -> None:
    folder = Path(unknot.tasks.__file__).parent
    networks = {
        node.name
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base) == "nn.Module" for base in node.bases)
    }
    assert networks == {"Touch", "Worth", "WReN", "PanelCNN"}
