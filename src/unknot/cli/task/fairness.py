"""`unknot task fairness`: what happens to predictions when a factor that should not matter is changed."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unknot.cli.task.bar import progress_bar, rows_or_all
from unknot.cli.task.output import JSON, json_alone, show

if TYPE_CHECKING:
    from unknot.tasks.result import TaskResult


def fairness(
    source: Annotated[
        str,
        typer.Argument(
            help="The folder of a run, a file of latents, package.module:function, timm:NAME or hf:NAME."
        ),
    ],
    world: Annotated[str, typer.Option(help="Where images come from; that of the run if left out.")] = "",
    target: Annotated[
        list[str] | None, typer.Option(help="A factor whose predictions are looked at; may be repeated. Else all.")
    ] = None,
    sensitive: Annotated[
        list[str] | None, typer.Option(help="A factor that is changed; may be repeated. Else all.")
    ] = None,
    rows: Annotated[str, typer.Option(help="How many images are encoded for the classifiers, or all.")] = "15000",
    points: Annotated[int, typer.Option(help="Random images that are changed.")] = 100,
    rounds: Annotated[int, typer.Option(help="Rounds of boosting.")] = 100,
    seed: Annotated[int, typer.Option(help="Decides rows and points.")] = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for latents and the result, read the next time.")
    ] = None,
    json: Annotated[Path | None, typer.Option("--json", help=JSON)] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write a page to this file.")] = None,
    pool: Annotated[str, typer.Option(help="For timm and hf: own, mean, class or slots.")] = "",
    image_size: Annotated[int | None, typer.Option(help="For timm and hf: resize images.")] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda or mps.")] = "cpu",
    data: Annotated[Path | None, typer.Option(help="Folder of data files.")] = None,
) -> None:
    """Set each sensitive factor to all of its values: how much do predictions of the others move?

    Prints a row for each target and a column for each sensitive factor: the total variation between predictions at
    one value and at all of them, averaged over values. 0 is fair.
    """
    from unknot.tasks.fairness.task import fairness as task

    wanted = rows_or_all("fairness", rows)
    with progress_bar() as told:
        result = task(
            source,
            world or None,
            targets=target or (),
            sensitive=sensitive or (),
            rows=wanted,
            points=points,
            rounds=rounds,
            pool=pool,
            image_size=image_size,
            seed=seed,
            device=device,
            data=data,
            folder=output,
            **told,
        )
    with json_alone(result, json):
        print_matrix(result)
        show(result, source=source, json=json, html=html)


def print_matrix(result: "TaskResult") -> None:
    """Targets down, sensitive factors across, and the accuracy of each target's classifier."""
    from rich.console import Console
    from rich.table import Table

    rows = result.tables["pairs"]
    accuracy = {row["target"]: row["accuracy"] for row in result.tables["targets"]}
    present = {row["sensitive"] for row in rows}
    sensitive = [str(name) for name in result.settings["sensitive"] if name in present]
    table = Table(title="unfairness of predictions (row) under changes of a factor (column)", title_justify="left")
    table.add_column("target")
    for name in (*sensitive, "accuracy"):
        table.add_column(name, justify="right")
    for target in dict.fromkeys(str(row["target"]) for row in rows):
        found = {row["sensitive"]: row["unfairness"] for row in rows if row["target"] == target}
        cells = [f"{found[name]:.3f}" if name in found else "" for name in sensitive]
        table.add_row(target, *cells, f"{accuracy[target]:.3f}")
    Console().print(table)
