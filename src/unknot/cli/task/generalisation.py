"""`unknot task generalisation`: R² where training never was."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unknot.errors import UnknotError

if TYPE_CHECKING:
    from unknot.tasks.generalisation.split_work import Watch
    from unknot.tasks.result import TaskResult


def generalisation(
    models: Annotated[
        list[str] | None,
        typer.Argument(
            help="Folders of runs, files of latents, package.module:function, timm:NAME, hf:NAME; several are compared."
        ),
    ] = None,
    world: Annotated[str, typer.Option(help="Images to test on; those a run was trained on if left out.")] = "",
    split: Annotated[
        list[str] | None,
        typer.Option(help="random, composition, interpolation, extrapolation or all; a run's own if left out."),
    ] = None,
    readout: Annotated[
        bool | None,
        typer.Option("--readout/--predicts", help="Whether a function gives latents to read from, or factors."),
    ] = None,
    rows: Annotated[str, typer.Option(help="Test images, drawn without replacement; or all.")] = "50000",
    train_rows: Annotated[str, typer.Option(help="Training images of the readout; or all.")] = "50000",
    steps: Annotated[
        int | None, typer.Option(help="Of the readout; 8 epochs of the training part if left out.")
    ] = None,
    recipe: Annotated[str, typer.Option(help="Of the readout: paper or quick.")] = "paper",
    scale: Annotated[str, typer.Option(help="Of predictions: unit for [0, 1], or classes.")] = "unit",
    name: Annotated[str, typer.Option(help="What results call the model.")] = "",
    oracle: Annotated[
        bool, typer.Option("--oracle", help="Read the true factors instead of a model's latents.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Decides which images, and the readout.")] = 0,
    device: Annotated[str, typer.Option(help="cpu, cuda or mps.")] = "cpu",
    data: Annotated[Path | None, typer.Option(help="Folder of data files.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder for one JSON a model, and for what is done so far."),
    ] = None,
    json: Annotated[
        Path | None, typer.Option(help="File for the result of one model; - for standard output.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="File for a page with figures.")] = None,
) -> None:
    """Predict factors on images unlike those of training: R² by split and factor, beside what a constant scores."""
    from unknot.cli.task.output import json_alone, show

    if oracle:
        _oracle(models or [], world, split or ["all"], rows, steps, recipe, seed, json, html)
        return
    if not models:
        raise UnknotError("generalisation: name a model: the folder of a run, or package.module:function.")
    if len(models) > 1 and (json is not None or name):
        raise UnknotError(
            "generalisation: --json and --name are for one model; -o FOLDER takes the results of several."
        )
    from unknot.tasks.generalisation.task import generalisation

    results: list[TaskResult] = []
    for model in models:
        with _bar(model) as watch:
            result = generalisation(
                model,
                world or None,
                split or "",
                readout=readout,
                rows=_rows("rows", rows),
                train_rows=_rows("train-rows", train_rows),
                steps=steps,
                recipe=recipe,  # type: ignore[arg-type]  # checked there
                scale=scale,  # type: ignore[arg-type]
                name=name,
                seed=seed,
                device=device,
                data=data,
                folder=None if output is None else output / "parts",
                watch=watch,
            )
        results.append(result)
        with json_alone(result, json):
            _factors(result)
            show(result, source=model, json=json, html=html if len(models) == 1 else None)
            if output is not None:
                typer.echo(result.write(_free(output, result)))
    if len(results) > 1:
        _compare(results)
        if html is not None:
            from unknot.reports.task_page import write_task_page

            typer.echo(write_task_page(html, results))


def _oracle(
    models: list[str],
    world: str,
    split: list[str],
    rows: str,
    steps: int | None,
    recipe: str,
    seed: int,
    json: Path | None,
    html: Path | None,
) -> None:
    from unknot.cli.task.output import json_alone, show
    from unknot.tasks.generalisation.oracle import oracle

    if models or not world:
        raise UnknotError("generalisation: --oracle reads true factors; give --world and no model.")
    found = oracle(world, split, rows=_rows("rows", rows), steps=steps, recipe=recipe, seed=seed)  # type: ignore[arg-type]
    with json_alone(found, json):
        show(found, tables=("oracle",), json=json, html=html)


def _factors(result: "TaskResult") -> None:
    """A table for each split: R² of every factor, each number beside that of a constant."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    heads = {"r2": "R²", "constant_train_mean": "constant"}
    unseen = {
        "r2_id": "ID",
        "constant_id": "constant",
        "r2_ood": "OOD",
        "constant_ood": "constant",
        "ratio": "ratio",
    }
    for mean in result.tables["splits"]:
        split = mean["split"]
        columns = heads if mean["r2_ood"] is None else heads | unseen
        table = Table(title=f"{split}: R² by factor", title_justify="left", box=None, pad_edge=False)
        table.add_column("factor")
        for column in columns.values():
            table.add_column(column, justify="right", style="dim" if column == "constant" else "")
        for row in [
            *(row for row in result.tables["factors"] if row["split"] == split),
            {**mean, "factor": "mean"},
        ]:
            cells = ("-" if row[name] is None else f"{row[name]:.3f}" for name in columns)
            table.add_row(str(row["factor"]), *cells, style="bold" if row["factor"] == "mean" else "")
        console.print(table)
        console.print()


def _compare(results: "list[TaskResult]") -> None:
    """How alike several models are, for each split they share."""
    from rich.console import Console
    from rich.table import Table

    from unknot.tasks.generalisation.error_similarity import error_similarity, shared_splits

    console = Console()
    for split in shared_splits(results):
        found = error_similarity(results, split)
        console.print(f"{split}: correlation of predictions over {found.rows} images", highlight=False)
        table = Table()
        table.add_column("")
        for i in range(len(found.names)):
            table.add_column(str(i + 1), justify="right")
        for i, (name, row) in enumerate(zip(found.names, found.matrix, strict=True)):
            table.add_row(f"{i + 1} {name}", *("-" if r != r else f"{r:.2f}" for r in row))
        console.print(table)


@contextmanager
def _bar(what: str) -> "Iterator[Watch]":
    """A bar for the images done."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(escape(Path(what).name), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _rows(option: str, text: str) -> int | str:
    if text != "all" and (not text.isdigit() or int(text) < 1):
        raise UnknotError(f"generalisation: --{option} is '{text}'; expected a number above 0, or all.")
    return text if text == "all" else int(text)


def _free(folder: Path, result: "TaskResult") -> Path:
    """A file for a result, by the name of its model; another model's result is not overwritten."""
    import re

    from unknot.tasks.result import read_result

    def same(other: "TaskResult") -> bool:
        return all(other.settings.get(what) == result.settings[what] for what in ("model", "splits", "readout"))

    words = [
        re.split(r"\W", result.source.split(":")[-1])[0],
        result.settings["model"].get("id", ""),
        result.world,
    ]
    stem = "-".join(re.sub(r"\W+", "_", word).strip("_") for word in words if word)
    for i in range(1, 1000):
        path = folder / (f"{stem}.json" if i == 1 else f"{stem}-{i}.json")
        if not path.is_file():
            return path
        if same(read_result(path)):
            return path
    raise UnknotError(f"{folder}: holds too many results of '{result.source}'.")
