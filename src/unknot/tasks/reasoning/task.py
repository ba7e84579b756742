"""Does a representation help abstract visual reasoning? `unknot task reasoning`.

A relation network (WReN) learns to solve Raven-like puzzles whose panels it sees through a frozen representation; what
counts is how well it does after how many steps. The literature's claim is that disentangled representations need
fewer.

Reference: van Steenkiste et al. 2019, Are Disentangled Representations Helpful for Abstract Visual Reasoning?,
arXiv:1905.12506.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unknot.encoders.encoder import must_exist
from unknot.errors import UnknotError, unknown
from unknot.representation import Representation, read_representation
from unknot.runs.run import Run
from unknot.runs.training_world import open_training_world
from unknot.tasks.options import Untrained
from unknot.tasks.reasoning.kept import (
    Fingerprint,
    code_fingerprint,
    digest_of,
    keep_codes,
    kept_codes,
    must_be_same_task,
)
from unknot.tasks.reasoning.panels import (
    INPUTS,
    CodeTable,
    encoded_table,
    integer_table,
    onehot_table,
    representation_table,
)
from unknot.tasks.result import Table, TaskResult
from unknot.worlds import open_world
from unknot.worlds.puzzles.puzzles import Alternatives, Relations, check_puzzles
from unknot.worlds.puzzles.quantised import Quantised
from unknot.worlds.puzzles.solvers import accuracies
from unknot.worlds.world import World

if TYPE_CHECKING:
    from unknot.tasks.reasoning.wren import WReNSetting

AT = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)  # steps whose accuracy the study reports
VIEWS = 40  # images of a combination where they have random parts: as many as a sprite has orientations
BASELINE_PUZZLES = 20_000
SOURCES = {"onehot": "one-hot factors", "integer": "integer factors", "cnn": "CNN from scratch"}


@dataclass(frozen=True)
class Progress:
    """How far the task is.

    Attributes:
        stage: "encoding", or "reasoner 2 of 10".
        done: images or steps.
        total: of them.
        accuracy: at the latest evaluation; NaN before the first.
    """

    stage: str
    done: int
    total: int
    accuracy: float


def reasoning(
    encoder: Any = None,
    world: World | Path | str | None = None,
    *,
    input: str = "representation",
    steps: int = 5_000,
    at: Sequence[int] = AT,
    evaluate_every: int = 1_000,
    evaluation_batches: int = 100,
    batch_size: int = 32,
    relations: Relations = "mixed",
    alternatives: Alternatives = "hard",
    reject_distinct: bool = False,
    classes: Mapping[str, int] | None = None,
    views: int = VIEWS,
    draws: int = 0,
    search: str = "cpu",
    setting: "WReNSetting | None" = None,
    precision: str = "float32",
    seed: int = 0,
    device: str = "cpu",
    data: Path | None = None,
    folder: Path | str | None = None,
    threads: int = 1,
    watch: Callable[[Progress], None] | None = None,
) -> TaskResult:
    """Train WReNs on puzzles seen through a representation, and say how accuracy grows with training.

    Beside it stand three baselines that learn nothing: the rule itself (always right), a solver that looks at the
    third row alone, and one that looks at the answers alone. What is not above those two may be a shortcut.

    Edge cases: a reasoner whose loss is no longer finite counts as chance from there on, and a note says so.
    Departs from the paper: wrong answers never repeat and are really hard ones; dropout is the share that is dropped;
    settings are drawn without replacement.

    Args:
        encoder: a run or its folder, a function or name as for `unknot.encode`, a `Representation` or a file of one
            that holds all combinations.
        world: where panels come from; left out, the world a run was trained on.
        input: "representation"; or instead of an encoder "onehot" or "integer" factors, or "cnn" from images.
        steps: of training, of each reasoner.
        at: steps whose accuracy is reported.
        evaluate_every: steps between evaluations.
        evaluation_batches: fresh batches in each evaluation.
        batch_size: puzzles in a batch.
        relations: 1, 2 or 3 fixed factors, or "mixed".
        alternatives: "hard", "easy" or "balanced" wrong answers.
        reject_distinct: as in the released code, see `draw_puzzles`.
        classes: factor -> how many classes puzzles use; as published if left out, see `Quantised`.
        views: images encoded of each combination in worlds with random parts.
        draws: reasoners with settings drawn from `search`, the same for each representation; 0 for one, `setting`.
        search: "cpu" (48 settings, g of 2 x 256) or "paper" (288).
        setting: of the reasoner if `draws` is 0.
        precision: "float32" or "bfloat16" (about twice as fast).
        seed: decides puzzles, weights and settings.
        device: "cpu", "cuda" or "mps".
        data: folder of data files.
        folder: keeps codes and checkpoints, so that a task that was stopped goes on, and more steps can be added.
        threads: of torch.
        watch: told how far it is.

    >>> from unknot.worlds.puzzles.quantised import Quantised
    >>> found = reasoning(world="abstract_dsprites_rendered", input="onehot", steps=2, evaluation_batches=2)
    >>> found.values["rule"], found.tables["curve"][0]["step"]
    (1.0, 2)
    """
    began = time.perf_counter()
    _check(input, encoder, steps, evaluate_every, evaluation_batches, batch_size, views, seed, precision)
    try:
        import torch
    except ImportError:
        raise UnknotError("reasoning: needs torch, an extra: pip install unknot[torch].") from None
    from unknot.processes.memory import kept_memory
    from unknot.processes.threads import threads_of_torch
    from unknot.runs.training import find_device
    from unknot.tasks.reasoning.reasoner import Lesson, Reasoner
    from unknot.tasks.reasoning.wren import WReNSetting, as_record, draw_settings

    chosen = draw_settings(draws, seed, search) if draws else [setting or WReNSetting()]
    settings: dict[str, Any] = {
        "input": input,
        "world": "",
        "evaluate_every": evaluate_every,
        "evaluation_batches": evaluation_batches,
        "batch_size": batch_size,
        "relations": relations,
        "alternatives": alternatives,
        "reject_distinct": reject_distinct,
        "views": views,
        "precision": precision,
        "seed": seed,
        "at": sorted(set(at)),
        "reasoners": [as_record(one) for one in chosen],
    }
    kept = None if folder is None else Path(folder)
    place = find_device(device)
    tell = watch or (lambda _: None)

    def encoding(done: int, total: int) -> None:
        tell(Progress("encoding", done, total, float("nan")))

    panels, source, world_name, record, fingerprint = _panels(
        encoder, world, input, classes, views, kept, encoding, seed=seed, device=device, data=data
    )
    space = panels.space if isinstance(panels, CodeTable) else panels.factors
    settings |= {
        "world": world_name,
        "classes": dict(zip(space.names, space.shape, strict=True)),
        "encoder": record,
    }
    lesson = Lesson(
        panels, relations, alternatives, reject_distinct, batch_size, evaluation_batches, precision, seed
    )
    baselines = accuracies(lesson.puzzles(BASELINE_PUZZLES, np.random.default_rng([seed, 4])))
    if kept is not None:
        must_be_same_task(kept, settings, fingerprint)
    asked = {*range(evaluate_every, steps + 1, evaluate_every), *(step for step in at if step <= steps), steps}
    curve: Table = []
    diverged = {}
    with threads_of_torch(threads), kept_memory(), torch.random.fork_rng(devices=[]):
        for i, one in enumerate(chosen):
            file = None if kept is None else kept / f"reasoner-{i:03d}.pt"
            reasoner = Reasoner(lesson, one, i, place, file)

            def told(step: int, accuracy: float, i: int = i) -> None:
                tell(Progress(f"reasoner {i + 1} of {len(chosen)}", step, steps, accuracy))

            curve += [{"draw": i, **row, "step": int(row["step"])} for row in reasoner.train(steps, asked, told)]
            if reasoner.diverged:
                diverged[i] = reasoner.diverged
    result = _result(curve, baselines, settings | {"steps": steps}, source, world_name, diverged)
    return TaskResult(**{**vars(result), "seconds": round(time.perf_counter() - began, 1)})


def check(
    run: Untrained,
    *,
    input: str,
    steps: int,
    evaluate_every: int,
    evaluation_batches: int,
    batch_size: int,
    relations: Relations,
    alternatives: Alternatives,
    classes: Mapping[str, int] | None,
    views: int,
    draws: int,
    search: str,
    precision: str,
    seed: int,
    **_: Any,
) -> None:
    """Refuse options that no run can be put to the task with, before there is one."""
    from unknot.tasks.reasoning.wren import draw_settings

    _check(input, run, steps, evaluate_every, evaluation_batches, batch_size, views, seed, precision)
    draw_settings(draws or 1, seed, search)
    check_puzzles(Quantised(run.world, classes).factors, relations, alternatives)


def baselines_in_words(values: Mapping[str, float]) -> str:
    """What an accuracy has to be held against."""
    return (
        f"Chance is {1 / 6:.3f}. Without learning anything, looking at the answers alone gets "
        f"{values['answers_only']:.3f} and at the third row alone {values['third_row']:.3f}; an accuracy below the "
        "latter does not show that rows one and two are used."
    )


def _check(
    input: str,
    encoder: Any,
    steps: int,
    evaluate_every: int,
    evaluation_batches: int,
    batch_size: int,
    views: int,
    seed: int,
    precision: str,
) -> None:
    if input not in INPUTS:
        raise unknown("input", input, INPUTS)
    if (encoder is None) == (input == "representation"):
        needs = (
            "an encoder, or input onehot, integer or cnn" if encoder is None else f"no encoder with input {input}"
        )
        raise UnknotError(f"reasoning: expected {needs}.")
    if precision not in ("float32", "bfloat16"):
        raise unknown("precision", precision, ("float32", "bfloat16"))
    numbers = {"evaluate_every": evaluate_every, "evaluation_batches": evaluation_batches}
    for name, number in {"steps": steps, "batch_size": batch_size, "views": views, **numbers}.items():
        if number < 1:
            raise UnknotError(f"reasoning: {name} is {number}; expected at least 1.")
    if seed < 0:
        raise UnknotError(f"reasoning: the seed is {seed}; seeds are whole numbers from 0 up.")


def _panels(
    encoder: Any,
    world: World | Path | str | None,
    input: str,
    classes: Mapping[str, int] | None,
    views: int,
    kept: Path | None,
    watch: Callable[[int, int], None],
    *,
    seed: int,
    device: str,
    data: Path | None,
) -> tuple["CodeTable | Quantised", str, str, Mapping[str, Any], Fingerprint]:
    """What is seen of panels, whose it is, the world's name, what is known of the encoder, and its fingerprint."""
    must_exist(encoder)
    if isinstance(encoder, str | Path) and Path(encoder).is_file():
        encoder, name = read_representation(encoder), Path(encoder).stem
    else:
        name = "representation"
    if isinstance(encoder, Representation):
        made = representation_table(encoder, classes)
        about = encoder.source.get("encoder", {})
        return made, name, str(encoder.source.get("world", "")), about, digest_of(made.codes, made.starts)
    if isinstance(encoder, Path) or (isinstance(encoder, str) and Path(encoder).is_dir()):
        encoder = Run(encoder)
    if world is None and not isinstance(encoder, Run):
        raise UnknotError(
            "reasoning: name a world that puzzles are made from, such as abstract_dsprites_rendered."
        )
    if world is None:
        named, opened = encoder.spec.world, open_training_world(encoder, data=data)
    else:
        named, opened = world, open_world(world, data=data) if isinstance(world, str | Path) else world
    coarse = Quantised(opened, classes)
    label = str(named) if isinstance(named, str | Path) else opened.name
    if input != "representation":
        tables = {"onehot": onehot_table, "integer": integer_table}
        seen = coarse if input == "cnn" else tables[input](coarse.factors)
        return seen, SOURCES[input], label, {}, ""
    several = views if opened.stochastic else 1
    how: dict[str, Any] = {"device": device, "data": data}
    fingerprint = "" if kept is None else code_fingerprint(encoder, coarse, seed, **how)
    found = kept_codes(kept, coarse, fingerprint)
    if found is None:
        made, record = encoded_table(encoder, coarse, views=several, seed=seed, watch=watch, **how)
        if kept is not None:
            keep_codes(kept, made, {**record, "fingerprint": fingerprint})
    else:
        made, record = found
    about = record["encoder"]
    source = (
        encoder.spec.label if isinstance(encoder, Run) else str(about.get("title", about.get("name", "encoder")))
    )
    return made, source, label, record["encoder"], fingerprint


def _result(
    curve: Table,
    baselines: Mapping[str, Mapping[int, float]],
    settings: Mapping[str, Any],
    source: str,
    world: str,
    diverged: Mapping[int, int],
) -> TaskResult:
    steps = sorted({int(row["step"] or 0) for row in curve})
    kinds = [f"accuracy_k{k}" for k in baselines["rule"] if k > 0]
    curve = [  # a small evaluation lacks some
        {n: v for n, v in row.items() if n not in kinds} | {kind: row.get(kind) for kind in kinds} for row in curve
    ]
    means = {step: {n: _mean(curve, step, n) for n in curve[0] if n not in ("draw", "step")} for step in steps}
    last = means[steps[-1]]
    spread = [float(row["accuracy"] or 0) for row in curve if row["step"] == steps[-1]]
    values = {
        "accuracy": last["accuracy"],
        **{f"accuracy_{step}": means[step]["accuracy"] for step in settings["at"] if step in means},
        **{name: by[0] for name, by in baselines.items()},
    }
    if len(spread) > 1:
        values |= {"accuracy_worst": min(spread), "accuracy_best": max(spread)}
    by_relations: Table = [
        {
            "relations": k,
            "accuracy": last[f"accuracy_k{k}"],
            **{name: by[k] for name, by in baselines.items()},
        }
        for k in baselines["rule"]
        if k > 0
    ]
    notes = [baselines_in_words(values)]
    notes += [
        f"Reasoner {draw} diverged at step {step}; from there on it counts as chance."
        for draw, step in diverged.items()
    ]
    return TaskResult(
        task="reasoning",
        source=source,
        world=world,
        values=values,
        tables={
            "accuracy over training": [
                {"step": step, **{name: value for name, value in means[step].items()}} for step in steps
            ],
            "by relations": by_relations,
            "curve": curve,
            "reasoners": [{"draw": i, **one} for i, one in enumerate(settings["reasoners"])],
        },
        settings=settings,
        notes=notes,
    )


def _mean(curve: Table, step: int, name: str) -> float:
    """Over reasoners; NaN if none of them was asked."""
    known = [float(row[name] or 0) for row in curve if row["step"] == step and row.get(name) is not None]
    return float(np.mean(known)) if known else float("nan")


__all__ = ["Progress", "reasoning"]
