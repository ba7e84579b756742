"""`unknot task combinations`: novel combinations of familiar features."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unknot.cli.task.bar import progress_bar, rows_or_all
from unknot.cli.task.output import JSON, json_alone, show
from unknot.errors import UnknotError
from unknot.processes.signals import sigterm_is_ctrl_c

if TYPE_CHECKING:
    from unknot.runs.spec import RunSpec
    from unknot.tasks.result import TaskResult

# Options of a model, such as --beta, are not known before the model is: they come as words of `source`.
MODEL_OPTIONS = {"ignore_unknown_options": True}


def combinations(
    source: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SOURCE",
            help="The folder of a run, a file of latents, package.module:function, timm:NAME or hf:NAME; with --model, "
            "options of the model instead, such as --beta 4.",
        ),
    ] = None,
    world: Annotated[str, typer.Option(help="Where images come from; that of the run if left out.")] = "",
    model: Annotated[str, typer.Option(help="Train this model without each combination, instead of SOURCE.")] = "",
    held_out: Annotated[
        list[str] | None,
        typer.Option(
            "--held-out", help="A combination, such as scale=0,shape=0; may be repeated. Else the published."
        ),
    ] = None,
    pair: Annotated[str, typer.Option(help="Two factors, all combinations of which are tried: scale,shape.")] = "",
    limit: Annotated[int | None, typer.Option(help="At most so many combinations, drawn with the seed.")] = None,
    rows: Annotated[str, typer.Option(help="How many images are encoded, or all.")] = "15000",
    pair_only: Annotated[
        bool, typer.Option("--pair-only", help="Read the two factors only, not the others.")
    ] = False,
    recipe: Annotated[
        str, typer.Option(help="How heads are trained: converged, paper or paper_text.")
    ] = "converged",
    seed: Annotated[int, typer.Option(help="Decides rows, heads and, with --model, the runs.")] = 0,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Folder for runs and finished combinations, where the same command goes on; with --model "
            "./combinations if left out.",
        ),
    ] = None,
    json: Annotated[Path | None, typer.Option("--json", help=JSON)] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write a page to this file.")] = None,
    steps: Annotated[int, typer.Option(help="With --model: updates.")] = 300_000,
    latents: Annotated[int, typer.Option(help="With --model: size of the representation.")] = 10,
    architecture: Annotated[
        str, typer.Option(help="With --model: conv64, conv64_k2, burgess64, fc1200.")
    ] = "conv64",
    decoder: Annotated[str, typer.Option(help="With --model: bernoulli or gaussian.")] = "bernoulli",
    batch_size: Annotated[int, typer.Option(help="With --model: images in a batch.")] = 64,
    lr: Annotated[float, typer.Option(help="With --model: learning rate.")] = 1e-4,
    precision: Annotated[str, typer.Option(help="With --model: float32 or bfloat16.")] = "float32",
    pool: Annotated[str, typer.Option(help="For timm and hf: own, mean, class or slots.")] = "",
    image_size: Annotated[int | None, typer.Option(help="With --model, timm, hf: resize images.")] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda or mps.")] = "cpu",
    data: Annotated[Path | None, typer.Option(help="Folder of data files.")] = None,
) -> None:
    """Leave out one combination of two factor values; is it read right by heads that know each value?

    Two kinds of heads, a net and a linear one, learn from all other combinations. Prints the accuracy above chance on a
    random test set of those and on the novel combination, averaged over combinations.
    """
    words = source or []
    asked: Any
    if model:
        training = {"steps": steps, "latents": latents, "architecture": architecture, "decoder": decoder}
        training |= {"batch_size": batch_size, "lr": lr, "precision": precision, "image_size": image_size}
        asked = _spec(words, world, model, seed, training)
        if output is None:
            output = Path("combinations")
            typer.echo(f"runs are kept in {output}{os.sep}; -o FOLDER chooses another folder", err=True)
        image_size = None
    else:
        asked = _source(words)
    from unknot.tasks.combinations.task import combinations as task

    try:
        with progress_bar() as told, sigterm_is_ctrl_c():
            result = task(
                asked,
                world if world and not model else None,
                held_out=held_out or (),
                pair=[name.strip() for name in pair.split(",")] if pair else (),
                limit=limit,
                rows=rows_or_all("combinations", rows),
                pair_only=pair_only,
                recipe=recipe,  # type: ignore[arg-type]  # checked by the task
                pool=pool,
                image_size=image_size,
                seed=seed,
                device=device,
                data=data,
                folder=output,
                **told,
            )
    except KeyboardInterrupt as stop:
        kept = (
            "the same command goes on."
            if output is not None
            else "nothing was kept; -o FOLDER keeps what is done."
        )
        typer.echo(f"unknot: {stop if stop.args else f'interrupted; {kept}'}", err=True)
        raise typer.Exit(130) from None
    with json_alone(result, json):
        print_table(result)
        show(result, source=None if model else asked, json=json, html=html)


def _spec(words: list[str], world: str, model: str, seed: int, training: dict[str, Any]) -> "RunSpec":
    from unknot.cli.train import model_options
    from unknot.runs.spec import RunSpec

    if not world:
        raise UnknotError("combinations: --model needs a world to be trained on: --world dsprites_rendered.")
    return RunSpec(world=world, model=model, options=model_options(words), seed=seed, **training)


def _source(words: list[str]) -> str:
    unknown = [word for word in words if word.startswith("-")]
    if unknown:
        raise UnknotError(f"combinations: no such option: {unknown[0]}; options of a model go with --model.")
    if len(words) != 1:
        raise UnknotError(
            "combinations: give one run, file or encoder, or --model to train one; got "
            f"{', '.join(words) if words else 'none'}."
        )
    return words[0]


def print_table(result: "TaskResult") -> None:
    """The means as in the paper's Table 3: a row for each kind of head, columns for both test sets."""
    from rich.console import Console
    from rich.table import Table

    rows = result.tables["summary"]
    factors = list(dict.fromkeys(str(row["factor"]) for row in rows))
    tests = list(dict.fromkeys(str(row["test"]) for row in rows))
    n = max(int(row["combinations"] or 0) for row in rows)
    means = "mean (standard deviation) over" if n > 1 else "of"
    table = Table(
        title=f"accuracy above chance, {means} {n} combination{'s' if n > 1 else ''}", title_justify="left"
    )
    table.add_column("heads")
    for test in tests:
        for factor in factors:
            table.add_column(f"{test} {factor}", justify="right")
    for heads in dict.fromkeys(str(row["heads"]) for row in rows):
        found = {(row["test"], row["factor"]): row for row in rows if row["heads"] == heads}
        table.add_row(heads, *(_cell(found.get((test, factor), {})) for test in tests for factor in factors))
    Console().print(table)


def _cell(row: Any) -> str:
    if not row:
        return "-"
    sd = row["sd_adjusted"]
    return f"{row['adjusted']:.3f}" + (f" ({sd:.3f})" if sd is not None else "")
