"""`unknot score`: every metric that applies to a file of latents, or to a run."""

import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unknot.cli.bar import progress_bar
from unknot.errors import UnknotError, UnknotWarning

if TYPE_CHECKING:
    from rich.console import Console

    from unknot.runs.run import Run
    from unknot.scoring.scorecard import Plan, Record, Scorecard


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

    from unknot.representation import read_representation
    from unknot.scoring.scoring import plan, scorecard

    check_targets([file, factors_file], {"--json": json, "--csv": csv, "--plot": plot, "--html": html})
    quiet = "-" in (json, csv)
    console = Console(stderr=quiet)
    scored = _as_run(file)
    if scored is not None:
        file = _encoded(scored)
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
    records, interrupted = _run(todo, jobs)
    card = scorecard(todo, records)
    title, files = file.stem, [file, *([factors_file] if factors_file else [])]
    if scored is not None:
        title = fill(representation.source["encoder"]["title"], 40)
        if plot is None and card.shares is not None:
            plot = scored.picture("hinton")
    _write(card, files, json, csv, plot, title)
    if html is not None:
        from unknot.reports.score_page import write_score_page
        from unknot.scoring.record import scorecard_record

        named = [str(path) for path in ([scored.folder] if scored else files)]
        write_score_page(html, scorecard_record(card, files), named)
    if not quiet:
        from unknot.reports.terminal import show

        show(card, console)
    if scored is not None and factors_file is None and records:
        own = {"factors": names_in(factors), "flatten_slots": flatten_slots}
        _keep(scored, card, file, {name: value for name, value in own.items() if value}, console)
    if interrupted:
        console.print(f"interrupted: {len(records)} of {len(todo.tasks)} metrics are done.")
        raise typer.Exit(130)
    if not card.values():
        raise UnknotError("no metric could be computed: " + "; ".join(r.refused for r in records))


def _as_run(file: Path) -> "Run | None":
    """The run that a folder is."""
    from unknot.runs.run import Run

    return Run(file) if file.is_dir() else None


def _encoded(run: "Run") -> Path:
    """The latents of a run with default settings, encoded now unless they are there already."""
    from unknot.encoders.encoding import representation_of

    with progress_bar() as progress:
        return representation_of(run, progress=progress)


def _run(todo: "Plan", jobs: int) -> "tuple[list[Record], bool]":
    """The records of a plan, and whether Ctrl-C cut them short."""
    from unknot.scoring import scoring

    records = []
    with progress_bar() as progress:
        try:
            for record in scoring.run(todo, jobs=jobs, progress=progress):
                records.append(record)
        except KeyboardInterrupt:
            return records, True
    return records, False


def _keep(run: "Run", card: "Scorecard", latents: Path, own: dict[str, Any], console: "Console") -> None:
    """Write scores to the folder of their run; where that cannot be written, they are not lost over it."""
    from unknot.scoring.kept_scores import keep_scores

    try:
        path = keep_scores(run, card, latents, **own)
    except UnknotError as error:
        typer.echo(f"unknot: the scores are not kept with the run: {error}", err=True)
        return
    text = f"{path} (shown by unknot report {run.folder})"
    console.print(text, highlight=False, markup=False, soft_wrap=True)


def _write(card: "Scorecard", files: list[Path], json: str, csv: str, plot: Path | None, title: str) -> None:
    if json or csv:
        from unknot.files import as_json
        from unknot.scoring.record import scorecard_record, to_csv

        if json:
            put(json, as_json(scorecard_record(card, files)))
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
