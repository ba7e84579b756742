"""The command that makes a number, for everyone who wants to see it made."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unknot.reports.kit.page import Command
from unknot.runs.run import Run
from unknot.runs.spec import RunSpec
from unknot.studies.spec import RankingSpec, parse_method


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


def score_command(target: Sequence[str], metric: str, record: Mapping[str, Any] | None = None) -> Command:
    """What computes a metric, or several with commas between, of a run or of files of latents.

    Args:
        target: the run or the files.
        metric: full names.
        record: of the scorecard, whose seed, limit, kinds and columns are repeated; left out, all are the defaults.

    >>> record = {"seed": 0, "parameters": {"limit": 500}, "input": {"kinds": {"hue": "circular"}}}
    >>> score_command(["codes.npz"], "r2", record).text
    'unknot score codes.npz --metrics r2 --limit 500 --kinds hue=circular'
    """
    words = ["unknot", "score", *target, "--metrics", metric]
    if record is not None:
        limit, kinds = record["parameters"].get("limit"), record["input"].get("kinds", {})
        words += ["--seed", str(record["seed"])] if record["seed"] else []
        words += ["--limit", str(limit)] if limit is not None else []
        words += ["--kinds", ",".join(f"{name}={kind}" for name, kind in kinds.items())] if kinds else []
        chosen = record["input"].get("chosen", {})
        for name in ("latents", "factors", "groups", "join", "missing"):
            value = chosen.get(name, "")
            words += [f"--{name}", value if isinstance(value, str) else ",".join(value)] if value else []
        words += ["--flatten-slots"] if chosen.get("flatten_slots") else []
    return Command(tuple(words))


def encode_command(run: Run, source: Mapping[str, Any]) -> Command:
    """What made the latents in a run's folder, by the source they name.

    >>> encode_command(Run.at("runs/a"), {"rows": 500, "split": "", "seed": 0}).text
    'unknot encode runs/a --rows 500 --output runs/a/latents.npz'
    """
    words = ["unknot", "encode", str(run.folder), "--rows", str(source.get("rows", "all"))]
    for name in ("split", "seed"):
        words += [f"--{name}", str(source[name])] if source.get(name) else []
    return Command((*words, "--output", str(run.latents)), "encodes it")


def rank_command(
    folder: Path, runs: Mapping[str, str], method: str, scope: str, ranking: RankingSpec | None = None
) -> Command:
    """What ranks runs of a study by a method such as `udr_lasso[alpha=0.1]`, from the latents the study made.

    Args:
        folder: of the study.
        runs: id -> setting.
        method: its full name.
        scope: "setting" or "all".
        ranking: how the study ranks, for its number of partners and of rows.

    >>> rank_command(Path("s"), {"a": "beta 1", "b": "beta 1"}, "udr_lasso[alpha=0.1]", "setting").text
    'unknot rank --method lasso --alpha 0.1 --groups 1,1 s/runs/a/latents.npz s/runs/b/latents.npz'
    """
    words = ["unknot", "rank"]
    for name, value in (parse_method(method) or {"method": method}).items():
        words += [f"--{name}", str(value)]
    if ranking is not None:
        words += ["--partners", str(ranking.partners)]
        words += [] if ranking.rows is None else ["--rows", str(ranking.rows)]
    if scope == "all":
        words.append("--all-to-all")
    else:
        settings = list(dict.fromkeys(runs.values()))
        words += ["--groups", ",".join(str(1 + settings.index(setting)) for setting in runs.values())]
    return Command((*words, *(str(Run.at(folder / "runs" / run).latents) for run in runs)))
