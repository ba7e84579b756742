"""`unknot rank`: which of these models should I pick, with no labels?"""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from unknot.cli.bar import progress_bar
from unknot.cli.score import check_targets, names_in, put
from unknot.errors import UnknotError, UnknotWarning

if TYPE_CHECKING:
    from unknot.metrics.udr import Method, Normaliser


def rank(
    models: Annotated[
        list[Path],
        typer.Argument(help="Runs, folders of runs, or files of latents of the same inputs in the same order."),
    ],
    groups: Annotated[str, typer.Option(help="The setting of each model, in their order, such as a,a,b,b.")] = "",
    group_by: Annotated[
        str, typer.Option(help="A pattern that finds the setting in file names or titles of runs: 'beta([0-9]+)'.")
    ] = "",
    all_to_all: Annotated[
        bool, typer.Option("--all-to-all", help="Compare across settings too; to choose one model among all.")
    ] = False,
    method: Annotated[str, typer.Option(help="lasso (UDR-L) or spearman (UDR-S).")] = "lasso",
    alpha: Annotated[
        str, typer.Option(help="Penalty of the Lasso: 0.1 is the released code's, cv the paper's.")
    ] = "0.1",
    partners: Annotated[
        int | None, typer.Option(help="Compare each model with so many others; all if left out.")
    ] = None,
    rows: Annotated[str, typer.Option(help="Inputs to use, or all; 10000 for lasso, 1000 for spearman.")] = "",
    threshold: Annotated[float, typer.Option(help="Smallest KL of an informative latent.")] = 0.01,
    normaliser: Annotated[
        str, typer.Option(help="Of a pair's score: paper, or public for the released code's.")
    ] = "paper",
    seed: Annotated[int, typer.Option(help="Decides rows, partners and resamples.")] = 0,
    against: Annotated[
        str, typer.Option(help="Where factors are known: rank correlation with these metrics, such as mig,dci.")
    ] = "",
    top: Annotated[int, typer.Option(help="Models to show.")] = 20,
    json: Annotated[str, typer.Option(help="Write all numbers to this file; - for standard output.")] = "",
    csv: Annotated[str, typer.Option(help="Write the table to this file; - for standard output.")] = "",
    plot: Annotated[Path | None, typer.Option(help="Draw scores by setting into this picture.")] = None,
    matrix: Annotated[Path | None, typer.Option(help="Draw who is like whom into this picture.")] = None,
    data: Annotated[Path | None, typer.Option(help="Folder of data files, for runs.")] = None,
) -> None:
    """Rank models without labels (UDR): those alike to others of their setting are likely disentangled."""
    from rich.console import Console

    from unknot.ranking.model_choice import agreement, compare_settings, supervised_scores
    from unknot.ranking.ranking import rank
    from unknot.reports.ranking import ranking_csv, ranking_record, show_ranking

    if groups and group_by:
        raise UnknotError("rank: --groups and --group-by both say what the settings are; give one of them.")
    check_targets(models, {"--json": json, "--csv": csv, "--plot": plot, "--matrix": matrix})
    _check_outputs(plot, matrix, against)
    quiet = "-" in (json, csv)
    console = Console(stderr=quiet)
    try:
        with progress_bar() as progress, warnings.catch_warnings():
            warnings.simplefilter("ignore", UnknotWarning)  # the notes say what was left out
            ranking = rank(
                models,
                groups=group_by or names_in(groups) or None,
                all_to_all=all_to_all,
                method=cast("Method", method),
                alpha=_alpha(alpha),
                partners=partners,
                rows=_rows(rows),
                threshold=threshold,
                normaliser=cast("Normaliser", normaliser),
                seed=seed,
                data=data,
                progress=progress,
            )
            settings = compare_settings(ranking, seed=seed)
            agreed = None
            if against:
                agreed = agreement(ranking, supervised_scores(models, names_in(against), progress=progress))
    except KeyboardInterrupt:
        typer.echo("unknot: interrupted; runs that were encoded stay so.", err=True)
        raise typer.Exit(130) from None
    if json:
        from unknot.files import as_json

        put(json, as_json(ranking_record(ranking, settings, agreed)))
    if csv:
        put(csv, ranking_csv(ranking))
    if plot is not None or matrix is not None:
        from unknot.reports.ranking_picture import matrix_picture, settings_picture

        if plot is not None:
            settings_picture(ranking, plot)
        if matrix is not None:
            matrix_picture(ranking, matrix)
    if not quiet:
        show_ranking(ranking, console, settings, agreed, top=top)


def _check_outputs(plot: Path | None, matrix: Path | None, against: str) -> None:
    """Refuse before hours of encoding what could only be refused after."""
    for picture in (plot, matrix):
        if picture is not None:
            from unknot.reports.ranking_picture import picture_path

            picture_path(picture)
    for name in names_in(against):
        from unknot.metrics import METRICS
        from unknot.metrics.score import parse_identity

        parse_identity(name, METRICS)


def _alpha(text: str) -> float | Literal["cv"]:
    if text == "cv":
        return "cv"
    try:
        return float(text)
    except ValueError:
        raise UnknotError(f"rank: --alpha is '{text}'; expected a positive number, or cv.") from None


def _rows(text: str) -> int | Literal["all"] | None:
    if text == "all":
        return "all"
    if text and not text.isdigit():
        raise UnknotError(f"rank: --rows is '{text}'; expected a number, or all.")
    return int(text) if text else None
