"""WReN: a training step that shares what all answers have in common beside one that pairs 81 panels for each answer.

CPU seconds of forward, backward and Adam at the paper's batch of 32 with codes of 10 numbers, in short turns that
alternate; the median of the turns' ratios is told. The task keeps freed memory between steps, a plain loop does not:
the ratio to a plain loop that does is told too. Also puzzles a second.
"""

import statistics
import time
from collections.abc import Callable
from contextlib import nullcontext

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from unknot.factors import space
from unknot.processes.memory import kept_memory
from unknot.tasks.reasoning.options import PUBLISHED, WReNSetting
from unknot.tasks.reasoning.wren import WReN, initialise
from unknot.worlds.puzzles.puzzles import draw_puzzles

BATCH, LATENTS = 32, 10
TURNS = 5
SETTINGS = {"256x2": (256, 2, 8), "512x3": (512, 3, 2), "512x4": (512, 4, 2)}  # g, and steps in a turn


def naive(model: WReN, context: Tensor, answers: Tensor) -> Tensor:
    """The formula as it is written: all 81 pairs of the eight panels and a candidate, for each candidate."""
    b = len(answers)
    places = torch.eye(9).expand(b, 6, 9, 9)
    panels = torch.cat([context[:, None].expand(-1, 6, -1, -1), answers[:, :, None]], dim=2)
    tagged = torch.cat([panels, places], dim=3)
    first = tagged[:, :, :, None].expand(-1, -1, -1, 9, -1)
    second = tagged[:, :, None].expand(-1, -1, 9, -1, -1)
    hidden = torch.cat([first, second], dim=4)
    for layer in (model.first, *model.g):
        hidden = functional.relu(layer(hidden))
    hidden = hidden.sum(dim=(2, 3))
    for layer in model.f:
        hidden = functional.relu(layer(hidden))
    return model.score(functional.dropout(hidden, model.setting.dropout, model.training))[..., 0]


def stepper(width: int, depth: int, forward: Callable[..., Tensor], bfloat16: bool) -> Callable[[], None]:
    """One training step, ready to be repeated."""
    model = WReN(LATENTS, WReNSetting(g_width=width, g_depth=depth, f_width=256, f_depth=1, **PUBLISHED))
    initialise(model, torch.Generator().manual_seed(0))
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    context, answers = torch.randn(BATCH, 8, LATENTS), torch.randn(BATCH, 6, LATENTS)
    labels = torch.randint(6, (BATCH,))

    def step() -> None:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bfloat16):
            scores = forward(model, context, answers)
        nn.functional.cross_entropy(scores.float(), labels).backward()
        optimiser.step()
        optimiser.zero_grad()

    return step


def seconds(step: Callable[[], None], times: int) -> float:
    start = time.process_time()
    for _ in range(times):
        step()
    return (time.process_time() - start) / times


def ratios(width: int, depth: int, times: int) -> dict[str, float]:
    """Milliseconds of a naive step, and how many times faster ours is."""
    steps = {
        "naive": (stepper(width, depth, naive, False), nullcontext),
        "naive_kept": (stepper(width, depth, naive, False), kept_memory),
        "float32": (stepper(width, depth, WReN.forward, False), kept_memory),
        "bfloat16": (stepper(width, depth, WReN.forward, True), kept_memory),
    }
    turns = []
    for _ in range(TURNS):
        turn = {}
        for name, (step, memory) in steps.items():
            with memory():
                step()
                turn[name] = seconds(step, times)
        turns.append(turn)

    def middle(one: str, other: str) -> float:
        return statistics.median(turn[one] / turn[other] for turn in turns)

    return {
        "naive_ms": 1e3 * statistics.median(turn["naive"] for turn in turns),
        "float32": middle("naive", "float32"),
        "bfloat16": middle("naive", "bfloat16"),
        "float32_of_kept": middle("naive_kept", "float32"),
    }


def puzzles_per_second(sizes: tuple[int, ...]) -> float:
    factors = space({f"factor_{i}": size for i, size in enumerate(sizes)})
    rng = np.random.default_rng(0)
    draw_puzzles(factors, 32, rng)  # compiles, or loads what was compiled before
    best = min(seconds(lambda: draw_puzzles(factors, 20_000, rng), 1) for _ in range(3))
    return 20_000 / best


def main() -> dict[str, float]:
    """Ratios for three sizes of g."""
    torch.set_num_threads(1)
    results = {}
    for name, (width, depth, times) in SETTINGS.items():
        found = ratios(width, depth, times)
        print(
            f"wren  g {name}: {found['naive_ms']:7.1f} ms naive; {found['float32']:.2f} x faster in float32 "
            f"({found['float32_of_kept']:.2f} x if it keeps memory), {found['bfloat16']:.2f} x in bfloat16"
        )
        results |= {f"{name}_{key}": value for key, value in found.items()}
    for world, sizes in {"abstract_dsprites": (5, 6, 3, 3, 4, 4), "shapes3d": (10, 10, 10, 4, 4, 4)}.items():
        results[f"puzzles_{world}"] = puzzles_per_second(sizes)
        print(f"      {results[f'puzzles_{world}']:,.0f} puzzles a second of {world}, one core")
    return results


if __name__ == "__main__":
    main()
