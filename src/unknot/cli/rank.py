"""`unknot rank`: which of these models should I pick, with no labels?"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from unknot.cli.bar import progress_bar
from unknot.cli.options import CSV, JSON, argument, option, takes
from unknot.cli.output import check_targets, plain_console, put, stoppable
from unknot.errors import UnknotError, UnknotWarning


@dataclass(frozen=True)
class RankOptions:
    """Which models are ranked, how, and where the result goes."""

    models: list[Path] = argument(
        "Runs, folders of runs, a study, or files of latents of the same inputs in the same order."
    )
    groups: Sequence[str] = option((), "The setting of each model, in their order, such as a,a,b,b.", "--groups,")
    group_by: str = option("", "A pattern that finds the setting in file names or titles of runs: 'beta([0-9]+)'.")
    all_to_all: bool = option(False, "Compare across settings too; to choose one model among all.")
    method: str = option("lasso", "lasso (UDR-L) or spearman (UDR-S).")
    alpha: float | Literal["cv"] = option(0.1, "Penalty of the Lasso: 0.1 is the released code's, cv the paper's.")
    partners: int | None = option(None, "Compare each model with so many others; all if left out.")
    rows: int | Literal["all"] | None = option(None, "Inputs to use, or all; 10000 for lasso, 1000 for spearman.")
    threshold: float = option(0.01, "Smallest KL of an informative latent.")
    normaliser: str = option("paper", "Of a pair's score: paper, or public for the released code's.")
    seed: int = option(0, "Decides rows, partners and resamples.")
    against: Sequence[str] = option(
        (), "Where factors are known: rank correlation with these metrics, such as mig,dci.", "--against,"
    )
    top: int = option(20, "Models to show.")
    json: str = option("", JSON)
    csv: str = option("", CSV)
    plot: Path | None = option(None, "Draw scores by setting into this picture.")
    matrix: Path | None = option(None, "Draw who is like whom into this picture.")
    data: Path | None = option(None, "Folder of data files, for runs.")


@takes(RankOptions)
def rank(options: RankOptions) -> None:
    """Rank models without labels (UDR): those alike to others of their setting are likely disentangled."""
    from unknot.ranking.model_choice import agreement, compare_settings, supervised_scores
    from unknot.ranking.ranking import rank
    from unknot.reports.ranking import ranking_csv, ranking_record, show_ranking

    models = options.models
    if options.groups and options.group_by:
        raise UnknotError("rank: --groups and --group-by both say what the settings are; give one of them.")
    targets = {"--json": options.json, "--csv": options.csv, "--plot": options.plot, "--matrix": options.matrix}
    check_targets(models, targets)
    _check_outputs(options)
    quiet = "-" in (options.json, options.csv)
    same = ("all_to_all", "method", "alpha", "partners", "rows", "threshold", "normaliser", "seed", "data")
    how = {name: vars(options)[name] for name in same}
    stop = stoppable("interrupted; runs that were encoded stay so.")
    quietly = warnings.catch_warnings(action="ignore", category=UnknotWarning)  # the notes say what was left out
    with stop, progress_bar() as progress, quietly:
        ranking = rank(models, groups=options.group_by or options.groups or None, **how, progress=progress)
        settings = compare_settings(ranking, seed=options.seed)
        agreed = None
        if options.against:
            agreed = agreement(ranking, supervised_scores(models, options.against, progress=progress))
    if options.json:
        from unknot.files import as_json

        put(options.json, as_json(ranking_record(ranking, settings, agreed)))
    if options.csv:
        put(options.csv, ranking_csv(ranking))
    if options.plot is not None or options.matrix is not None:
        from unknot.reports.ranking_picture import matrix_picture, settings_picture

        if options.plot is not None:
            settings_picture(ranking, options.plot)
        if options.matrix is not None:
            matrix_picture(ranking, options.matrix)
    if not quiet:
        show_ranking(ranking, plain_console(), settings, agreed, top=options.top)


def _check_outputs(options: RankOptions) -> None:
    """Refuse before hours of encoding what could only be refused after."""
    from unknot.metrics import METRICS
    from unknot.metrics.score import parse_identity
    from unknot.reports.kit.figure import figure_path
    from unknot.reports.ranking_picture import WHO

    for picture in filter(None, (options.plot, options.matrix)):
        figure_path(WHO, picture)
    for name in options.against:
        parse_identity(name, METRICS)
