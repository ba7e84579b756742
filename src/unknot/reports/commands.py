"""The command that makes a number, for everyone who wants to see it made."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from unknot.reports.page import Command
from unknot.runs import RunSpec

MANY = 40  # runs that are named one by one


def train_command(spec: RunSpec, parent: Path | str) -> Command:
    """What trains this spec into a folder below `parent`; fields at their defaults are left out.

    >>> train_command(RunSpec(world="dsprites_rendered", options={"beta": 4.0}, steps=100, seed=2), "runs").text
    'unknot train --world dsprites_rendered --model beta_vae --steps 100 --seed 2 --output runs --beta 4.0'
    """
    words = ["unknot", "train", "--world", spec.world, "--model", spec.model, "--steps", str(spec.steps)]
    words += ["--seed", str(spec.seed), "--output", str(parent)]
    shown = {"world", "model", "steps", "seed", "options"}
    for name, field in RunSpec.model_fields.items():
        value = getattr(spec, name)
        if name not in shown and value != field.default:
            words += [f"--{name.replace('_', '-')}", str(value)]
    for name, value in spec.options.items():
        words += [f"--{name.replace('_', '-')}", str(value)]
    return Command(tuple(words), "trains it")


def score_command(target: Sequence[str], metric: str, *, seed: int = 0, limit: int | None = None) -> Command:
    """What computes one metric of a run or of files of latents."""
    words = ["unknot", "score", *target, "--metrics", metric]
    words += ["--seed", str(seed)] if seed else []
    words += ["--limit", str(limit)] if limit is not None else []
    return Command(tuple(words))


def rank_command(
    folder: Path, runs: Sequence[str], method: str, scope: str, how: Mapping[str, object] | None = None
) -> Command:
    """What ranks runs of a study by a method such as `udr_lasso[alpha=0.1]`.

    Args:
        folder: of the study.
        runs: their ids; of many, only the folder is named.
        method: its full name.
        scope: "setting" or "all".
        how: `partners` and `rows`, where the study says them.

    >>> rank_command(Path("study"), ["a", "b"], "udr_lasso[alpha=0.1]", "all").text
    'unknot rank --method lasso --alpha 0.1 --all-to-all study/runs/a study/runs/b'
    """
    match = re.fullmatch(r"udr_(\w+?)(?:\[alpha=([\w.]+)\])?", method)
    name, alpha = match.groups() if match else (method, None)
    words = ["unknot", "rank", "--method", name, *(["--alpha", alpha] if alpha else [])]
    words += ["--all-to-all"] if scope == "all" else []
    for name in ("partners", "rows"):
        if isinstance(value := (how or {}).get(name), int | str):
            words += [f"--{name}", str(value)]
    if len(runs) <= MANY:
        return Command((*words, *(str(folder / "runs" / run) for run in runs)))
    return Command((*words, str(folder / "runs")), tail="/*")
