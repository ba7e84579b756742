"""`unknot task reasoning`: does a representation help to solve Raven-like puzzles?"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unknot.errors import UnknotError

if TYPE_CHECKING:
    from unknot.tasks.reasoning.task import Progress
    from unknot.tasks.reasoning.wren import WReNSetting


def reasoning(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(help="Folders of runs, or .npz files of latents and factors; several are compared."),
    ] = None,
    encoder: Annotated[
        str, typer.Option(help="Instead of a run: package.module:function, timm:NAME, timm:NAME@FILE or hf:NAME.")
    ] = "",
    input: Annotated[
        str, typer.Option(help="Instead of a run: onehot or integer factors, or cnn, trained from images.")
    ] = "",
    world: Annotated[str, typer.Option(help="What puzzles are made from; the world of the run if left out.")] = "",
    steps: Annotated[int, typer.Option(help="Training steps of each reasoner.")] = 5_000,
    at: Annotated[
        str, typer.Option(help="Steps whose accuracy is told, with commas; as published if left out.")
    ] = "",
    evaluate_every: Annotated[int, typer.Option(help="Steps between evaluations.")] = 1_000,
    evaluation_batches: Annotated[int, typer.Option(help="Fresh batches in an evaluation.")] = 100,
    batch_size: Annotated[int, typer.Option(help="Puzzles in a batch.")] = 32,
    draws: Annotated[
        int, typer.Option(help="Reasoners with settings drawn at random, the same for each run; 0 for one.")
    ] = 0,
    search: Annotated[str, typer.Option(help="Where settings are drawn from: cpu (48) or paper (288).")] = "cpu",
    g: Annotated[str, typer.Option("--g", help="Width x depth of g, with --draws 0.")] = "128x2",
    f: Annotated[str, typer.Option("--f", help="Width x depth of f, with --draws 0.")] = "256x2",
    lr: Annotated[float, typer.Option(help="Learning rate, with --draws 0.")] = 0.01,
    dropout: Annotated[float, typer.Option(help="Share that is dropped, with --draws 0.")] = 0.0,
    norm: Annotated[
        bool, typer.Option("--norm/--no-norm", help="Normalise sums over pairs, with --draws 0; published: no.")
    ] = True,
    optimiser: Annotated[str, typer.Option(help="muon, or adam as published; with --draws 0.")] = "muon",
    relations: Annotated[str, typer.Option(help="Fixed factors: 1, 2, 3 or mixed.")] = "mixed",
    alternatives: Annotated[str, typer.Option(help="Wrong answers: hard, easy or balanced.")] = "hard",
    reject_distinct: Annotated[
        bool, typer.Option("--reject-distinct", help="Redraw factors as the released code does.")
    ] = False,
    classes: Annotated[
        str, typer.Option(help="Classes that factors keep, as x=4,y=4; as published if left out.")
    ] = "",
    views: Annotated[int, typer.Option(help="Images encoded of a combination, in worlds with random parts.")] = 40,
    precision: Annotated[str, typer.Option(help="float32, or bfloat16 (about twice as fast).")] = "float32",
    seed: Annotated[int, typer.Option(help="Decides puzzles, weights and settings.")] = 0,
    device: Annotated[str, typer.Option(help="cpu, cuda or mps.")] = "cpu",
    data: Annotated[Path | None, typer.Option(help="Folder of data files.")] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Folder for results, codes and checkpoints: the same command goes on."
        ),
    ] = None,
    json: Annotated[
        Path | None, typer.Option(help="File for the result of one run; - for standard output.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="File for a page with figures.")] = None,
    preview: Annotated[
        Path | None, typer.Option(help="Only draw a puzzle to this file; nothing is trained.")
    ] = None,
    solved: Annotated[bool, typer.Option("--solved", help="Mark the right answer in the picture.")] = False,
) -> None:
    """Train relation networks on puzzles seen through a representation; accuracy over training steps."""
    from unknot.cli.task.output import json_alone, show
    from unknot.worlds.puzzles.puzzles import read_relations

    asked: list[Any] = [*(runs or []), *([encoder] if encoder else []), *([None] if input else [])]
    puzzle: dict[str, Any] = {
        "relations": read_relations(relations),
        "alternatives": alternatives,
        "reject_distinct": reject_distinct,
        "classes": _classes(classes),
        "seed": seed,
        "data": data,
    }
    if preview is not None:
        _preview(preview, world or _world_of(runs), solved, **puzzle)
        return
    if not asked or (input and len(asked) > 1) or (encoder and len(asked) > 1):
        raise UnknotError("reasoning: give folders of runs, or --encoder, or --input onehot, integer or cnn.")
    if json is not None and len(asked) > 1:
        raise UnknotError("reasoning: --json is for one run; -o FOLDER takes the results of several.")
    from unknot.tasks.reasoning.task import AT, reasoning

    results = []
    for one in asked:
        with _bar() as watch:
            result = reasoning(
                one,
                world or None,
                input=input or "representation",
                steps=steps,
                at=_steps(at) if at else AT,
                evaluate_every=evaluate_every,
                evaluation_batches=evaluation_batches,
                batch_size=batch_size,
                views=views,
                draws=draws,
                search=search,
                setting=_setting(g, f, lr, dropout, norm, optimiser),
                precision=precision,
                device=device,
                folder=None if output is None else output / _name(one, input),
                watch=watch,
                **puzzle,
            )
        results.append(result)
        tables = ("accuracy over training", "by relations")
        with json_alone(result, json):
            show(result, source=one, tables=tables, json=json, html=html if len(asked) == 1 else None)
            if output is not None:
                typer.echo(result.write(output / f"{_name(one, input)}.json"))
    if html is not None and len(results) > 1:
        from unknot.reports.task_page import write_task_page

        typer.echo(write_task_page(html, results))


def _preview(
    path: Path, world: str, solved: bool, *, classes: Any, seed: int, data: Path | None, **kind: Any
) -> None:
    import numpy as np

    from unknot.worlds import open_world
    from unknot.worlds.preview import check_picture_name, save_sheet
    from unknot.worlds.puzzles.picture import puzzle_picture
    from unknot.worlds.puzzles.puzzles import draw_puzzles
    from unknot.worlds.puzzles.quantised import Quantised

    if not world:
        raise UnknotError("reasoning: --preview needs --world.")
    check_picture_name(path)
    coarse = Quantised(open_world(world, data=data), classes)
    rng = np.random.default_rng(seed)
    picture = puzzle_picture(coarse, draw_puzzles(coarse.factors, 1, rng, **kind), rng=rng, solved=solved)
    typer.echo(save_sheet(picture, path))


def _world_of(runs: list[Path] | None) -> str:
    from unknot.runs.run import Run

    return Run(runs[0]).spec.world if runs and runs[0].is_dir() else ""


def _setting(g: str, f: str, lr: float, dropout: float, norm: bool, optimiser: str) -> "WReNSetting":
    try:
        from unknot.tasks.reasoning.wren import WReNSetting
    except ImportError:
        raise UnknotError("reasoning: needs torch, an extra: pip install unknot[torch].") from None
    sizes = []
    for name, text in (("g", g), ("f", f)):
        match = re.fullmatch(r"(\d+)x(\d+)", text)
        if match is None:
            raise UnknotError(f"reasoning: --{name} is '{text}'; expected width x depth, such as 256x2.")
        sizes += [int(match[1]), int(match[2])]
    g_width, g_depth, f_width, f_depth = sizes
    return WReNSetting(lr, g_width, g_depth, f_width, f_depth, dropout, norm, optimiser)  # type: ignore[arg-type]


def _steps(text: str) -> list[int]:
    words = text.replace(" ", "").split(",")
    if not all(word.isdigit() and int(word) > 0 for word in words):
        raise UnknotError(f"reasoning: --at is '{text}'; expected steps such as 1000,2000,5000.")
    return [int(word) for word in words]


def _classes(text: str) -> dict[str, int] | None:
    if not text:
        return None
    pairs = [word.partition("=") for word in text.replace(" ", "").split(",")]
    if not all(equals and value.isdigit() for _, equals, value in pairs):
        raise UnknotError(f"reasoning: --classes is '{text}'; expected numbers of classes such as x=4,y=4.")
    return {name: int(value) for name, _, value in pairs}


def _name(one: Any, input: str) -> str:
    """Of the files of a run or an input."""
    text = input if one is None else one.stem if isinstance(one, Path) else str(one)
    return re.sub(r"\W+", "_", text).strip("_") or "encoder"


@contextmanager
def _bar() -> "Iterator[Callable[[Progress], None]]":
    """A bar for images encoded, then for steps, with the accuracy so far."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    last = TextColumn("{task.fields[said]}")
    with Bar(*columns, last, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("puzzles", total=None, said="")
        stage = ""

        def watch(progress: "Progress") -> None:
            nonlocal stage
            known = progress.accuracy == progress.accuracy
            said = f"accuracy {progress.accuracy:.3f}" if known else ""
            if progress.stage != stage:  # a new bar, so that the time left is that of this stage
                bar.reset(task, total=progress.total, completed=progress.done, description=progress.stage)
                stage = progress.stage
            bar.update(task, completed=progress.done, total=progress.total, said=said)

        yield watch
