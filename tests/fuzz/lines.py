"""Command lines of every command, with words in them that nobody should type."""

import shutil
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.strange import SUBJECT, word

# A line of each command that does little and ends well; {stage} is the folder with a run, a study and latents.
USUAL = {
    "score": "score {stage}/latents.npz --metrics mig",
    "metrics": "metrics mig",
    "train": "train --world {stage}/world.npz --steps 1 --batch-size 2 -o runs",
    "compare": "compare {stage}/latents.npz {stage}/other.npz --metrics mig --resamples 20",
    "models": "models beta_vae",
    "recipes": "recipes",
    "zoo": "zoo",
    "encode": "encode run --rows 50 -o out.npz",
    "rank": "rank {stage}/latents.npz {stage}/other.npz --all-to-all --method spearman",
    "study": "study {stage}/study.yaml --dry-run",
    "results": "results {stage}/study",
    "report": "report run -o page.html",
    "explore": "explore {stage}/latents.npz --no-browser",
    "leaderboard": "leaderboard {stage}/result.json",
    "papers": "papers duan2020",
    "demo": "demo --study {stage}/nothing.yaml",
    "task fairness": "task fairness {stage}/latents.npz --rows 50",
    "task combinations": "task combinations {stage}/latents.npz --rows 50",
    "task reasoning": "task reasoning {stage}/latents.npz --world dsprites_rendered --steps 1",
    "task generalisation": "task generalisation {stage}/latents.npz --rows 50",
    "task algebra": "task algebra {stage}/latents.npz --tuples 1 --size 16",
    "task agent": "task agent {stage}/nothing --steps 1",
    "data list": "data list",
    "data download": "data download {stage}",
    "data check": "data check {stage}/world.npz --quick",
    "data preview": "data preview {stage}/world.npz -o sheet.png",
    "data split": "data split dsprites_rendered --kind random",
    "data scenes": "data scenes -o scenes --n 2 --size 16",
    "data import-coat": "data import-coat {stage}/study.yaml -o coat",
    "data corpus": "data corpus -o corpus --n 1 --size 16",
}
SLOW = ("--help", "--compile")
KEPT = ("task algebra",)  # lines that would do much without one of their words


@cache
def parameters(command: str) -> list[tuple[str, bool]]:
    """The options of a command as its parser knows them, and whether each takes a value."""
    from typer.main import get_command

    from unknot.cli import app

    group: Any = get_command(app)
    context = group.make_context("unknot", [], resilient_parsing=True)
    for part in command.split():
        group = group.get_command(context, part)
        context = group.make_context(part, [], resilient_parsing=True)
    options = [p for p in context.command.params if p.param_type_name == "option"]
    return [(p.opts[0], not p.is_flag) for p in options if p.opts[0] not in SLOW]


def command_line(rng: Random, folder: Path, stage: Path) -> list[str]:
    """A usual line with some options more, or some words changed."""
    command = rng.choice(list(USUAL))
    words = USUAL[command].format(stage=stage).split()
    if "run" in words:
        shutil.copytree(stage / "run", folder / "run")
    (folder / "folder").mkdir()
    shutil.copy(stage / "latents.npz", folder / f"{SUBJECT}.npz")
    n = len(command.split())
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        kind = rng.random()
        if kind < 0.7 and parameters(command):
            option, valued = rng.choice(parameters(command))
            words = [*_without(words, option), option, *([word(rng)] if valued else [])]
        elif kind < 0.9 and len(words) > n and command not in KEPT:
            words[rng.randrange(n, len(words))] = word(rng)
        else:
            words.insert(rng.randrange(n, len(words) + 1), word(rng))
    return words


def _without(words: list[str], option: str) -> list[str]:
    """The words without an option and its value, so that it is not given twice."""
    if option not in words:
        return words
    at = words.index(option)
    return words[:at] + words[at + 2 :]
