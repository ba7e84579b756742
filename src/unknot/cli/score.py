"""`unknot score`: every metric that applies to a file of latents, or to a run."""

import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated

import typer

from unknot.errors import UnknotError, UnknotWarning

if TYPE_CHECKING:
    from rich.console import Console

    from unknot.scoring.scoring import Scorecard


def score(
    file: Annotated[
        Path, typer.Argument(help="Latents: .npz, .safetensors, .csv, .parquet or .npy; or the folder of a run.")
    ],
    factors_file: Annotated[Path | None, typer.Argument(help="Factors, if in a file of their own.")] = None,
    metrics: Annotated[str, typer.Option(help="Only these, such as mig,dci[lasso].")] = "",
    exclude: Annotated[str, typer.Option(help="All but these.")] = "",
    factors: Annotated[str, typer.Option(help="Only these factors, by name, such as scale,shape.")] = "",
    seed: Annotated[int, typer.Option(help="Decides splits, resamples and draws.")] = 0,
    limit: Annotated[int | None, typer.Option(help="Use at most this many rows.")] = None,
    bootstrap: Annotated[int, typer.Option(help="Resamples for 95 % intervals of training-free metrics.")] = 0,
    jobs: Annotated[int, typer.Option(help="Processes.")] = 1,
    flatten_slots: Annotated[
        bool, typer.Option("--flatten-slots", help="Lay slots (n, k, d) side by side.")
    ] = False,
    json: Annotated[str, typer.Option(help="Write all numbers to this file; - for standard output.")] = "",
    csv: Annotated[str, typer.Option(help="Write the table to this file; - for standard output.")] = "",
    plot: Annotated[Path | None, typer.Option(help="Draw a Hinton diagram into this picture.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write one page with everything, to read or to send.")] = None,
) -> None:
    """Score a representation: is it disentangled, compact, explicit?"""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from unknot.representation import read_representation
    from unknot.scoring.scoring import Record, plan, run, scorecard

    check_targets([file, factors_file], {"--json": json, "--csv": csv, "--plot": plot, "--html": html})
    quiet = "-" in (json, csv)
    console = Console(stderr=quiet)
    run_folder = file if file.is_dir() else None
    if run_folder is not None:
        file = _encoded(run_folder, console)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UnknotWarning)
        representation = read_representation(file, factors_file)
    for warning in said:
        console.print(f"note: {warning.message}", markup=False, highlight=False, style="dim")
    if flatten_slots:
        representation = representation.flattened()
    if plot is not None:
        from unknot.reports.kit.hinton import check_picture

        check_picture(plot)
        if representation.factors is None:
            raise UnknotError("--plot: a Hinton diagram needs factors, and there are none.")
    if factors:
        representation = representation.with_factors(names_in(factors))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknotWarning)  # the table says what was left out
        todo = plan(
            representation,
            metrics=names_in(metrics),
            exclude=names_in(exclude),
            seed=seed,
            limit=limit,
            bootstrap=bootstrap,
        )
    records: list[Record] = []
    interrupted = False
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("scoring", total=len(todo.tasks))
        try:
            for record in run(todo, jobs=jobs, starting=lambda id_: progress.update(task, description=id_)):
                records.append(record)
                progress.advance(task)
        except KeyboardInterrupt:
            interrupted = True
    card = scorecard(todo, records)
    title = file.stem
    if run_folder is not None:
        title = fill(representation.source["encoder"]["title"], 40)
        if plot is None and card.shares is not None:
            plot = run_folder / "pictures" / "hinton.png"
    files = [file, *([factors_file] if factors_file else [])]
    _write(card, files, json, csv, plot, title)
    if html is not None:
        from unknot.reports.score_page import write_score_page
        from unknot.reports.scorecard import scorecard_record

        write_score_page(
            html, scorecard_record(card, files), [str(f) for f in ([run_folder] if run_folder else files)]
        )
    if not quiet:
        from unknot.reports.terminal import show

        show(card, console)
    if interrupted:
        console.print(f"interrupted: {len(records)} of {len(todo.tasks)} metrics are done.")
        raise typer.Exit(130)
    if not card.values():
        raise UnknotError("no metric could be computed: " + "; ".join(r.refused for r in records))


def _encoded(folder: Path, console: "Console") -> Path:
    """The latents of a run with default settings, encoded now unless they are there already."""
    from unknot.cli.encode import encoding_bar
    from unknot.encoders.encoding import representation_of

    with encoding_bar(console) as watch:
        return representation_of(folder, watch=watch)


def _write(card: "Scorecard", files: list[Path], json: str, csv: str, plot: Path | None, title: str) -> None:
    if json or csv:
        from unknot.reports.scorecard import scorecard_record, to_csv, to_json

        if json:
            put(json, to_json(scorecard_record(card, files)))
        if csv:
            put(csv, to_csv(card))
    if plot is not None and card.shares is not None:
        from unknot.reports.kit.hinton import hinton_figure

        hinton_figure(card.shares, [v.factor for v in card.verdicts], plot, title=title)


def check_targets(inputs: Sequence[Path | None], targets: Mapping[str, Path | str | None]) -> None:
    """Refuse to write over what is read, or to write two things to one place."""
    read = {path.resolve() for path in inputs if path is not None}
    taken: dict[Path | str, str] = {}
    for option, target in targets.items():
        if not target:
            continue
        place = "-" if target == "-" else Path(target).resolve()
        if place in read:
            raise UnknotError(f"{option} {target}: is an input, which would be overwritten; name another file.")
        if place in taken:
            where = "standard output" if place == "-" else str(target)
            raise UnknotError(
                f"{taken[place]} and {option} both write to {where}; give one of them a file of its own."
            )
        taken[place] = option


def put(target: str, text: str) -> None:
    """Write to a file, or to standard output for "-"."""
    from unknot.files import written_whole

    if target == "-":
        typer.echo(text, nl=False)
        return
    with written_whole(target) as beside:
        beside.write_text(text, encoding="utf-8")


def names_in(text: str) -> list[str]:
    """Split at commas outside brackets."""
    return [name.strip() for name in re.split(r",(?![^\[]*\])", text) if name.strip()]
