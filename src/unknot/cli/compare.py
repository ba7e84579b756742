"""`unknot compare`: is one representation better than another, or is it luck?"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from unknot.cli.bar import progress_bar
from unknot.cli.options import CSV, JSON, argument, option, takes
from unknot.cli.output import check_targets, echo, plain_console, put, stoppable

if TYPE_CHECKING:
    from rich.console import Console

    from unknot.scoring.comparison import Comparison


@dataclass(frozen=True)
class CompareOptions:
    """What is compared, how, and where the result goes."""

    representations: list[Path] = argument("Two or more of the same factors: files of latents, runs, baselines.")
    metrics: Sequence[str] = option(
        (), "Which, such as mig,mcc; else those of a baseline, or those that train nothing.", "--metrics,"
    )
    resamples: int = option(200, "Of the rows; a baseline has its own.")
    margin: float = option(0.0, "Differences up to this count as none.")
    fail_below: float | None = option(
        None, "Exit with 1 if any after the first is surely worse, and may be by so much."
    )
    seed: int = option(0, "Decides resamples, splits and draws.")
    jobs: int = option(1, "Processes.")
    json: str = option("", JSON)
    csv: str = option("", CSV)


@takes(CompareOptions)
def compare(options: CompareOptions) -> None:
    """Compare representations: differences of scores, with intervals, and whether they may be luck."""
    from unknot.encoders.encoding import representation_of
    from unknot.files import as_json
    from unknot.scoring.comparison import compare
    from unknot.scoring.scoring import run_of

    check_targets(options.representations, {"--json": options.json, "--csv": options.csv})
    quiet = "-" in (options.json, options.csv)
    with progress_bar() as progress, stoppable("interrupted; nothing was compared."):
        files = {}
        for path in options.representations:
            run = run_of(path)
            files[str(path)] = path if run is None else representation_of(run, progress=progress)
        result = compare(
            files,
            metrics=options.metrics,
            resamples=options.resamples,
            margin=options.margin,
            seed=options.seed,
            jobs=options.jobs,
            progress=progress,
        )
    if options.json:
        put(options.json, as_json(asdict(result)))
    if options.csv:
        put(options.csv, result.to_frame().to_csv(index=False))
    if not quiet:
        _show(result, plain_console())
    lost = [] if options.fail_below is None else _lost(result, options.fail_below)
    if options.fail_below and (
        blind := [each.metric for each in result.differences if each.smallest > options.fail_below]
    ):
        metrics = ", ".join(dict.fromkeys(blind))
        echo(f"note: these rows are too few to see a loss of {options.fail_below:g} in {metrics}.", err=True)
    for text in lost:
        echo(f"unknot: {text}", err=True)
    if lost:
        raise typer.Exit(1)


def _show(result: "Comparison", console: "Console") -> None:
    from rich.text import Text

    from unknot.reports.kit.terminal import plain_table
    from unknot.statistics.places import in_words

    rows = "the same rows" if result.paired else "other rows"
    console.print(
        Text(f"{len(result.names)} representations of {rows}, {result.resamples} resamples", style="bold")
    )
    numbers = ("first", "second", "difference", "95 % interval", "p (Holm)", "smallest seen")
    pairs = len(result.names) > 2
    columns = ("metric", *(["pair"] if pairs else []), *numbers, "the second is")
    table = plain_table(*columns, right=list(numbers))
    for each in result.differences:
        pair = [Text(f"{Path(each.first).stem}, {Path(each.second).stem}")] if pairs else []
        cells = [f"{value:.3f}" for value in (*each.values, each.difference)]
        cells += [f"{each.low:.3f}..{each.high:.3f}", f"{each.p_holm:.3f}", f"{each.smallest:.3f}"]
        table.add_row(Text(each.metric), *pair, *cells, each.verdict)
    console.print(table)
    if pairs:
        for metric in result.metrics:
            places = sorted(result.ranks(metric).items(), key=lambda item: item[1])
            words = [f"{Path(name).stem} {in_words(place)}" for name, place in places]
            console.print(Text(f"places by {metric}: {', '.join(words)}"))
    for note in result.notes:
        console.print(Text(f"note: {note}", style="dim"))


def _lost(result: "Comparison", least: float) -> list[str]:
    """What is surely worse than in the first representation, nearer to what is not allowed than to nothing."""
    return [
        f"{each.second} is worse than {each.first} by {abs(each.difference):.3f} in {each.metric} (95 % interval "
        f"{each.low:.3f} to {each.high:.3f}), where a loss of {least:g} fails."
        for each in result.differences
        if each.first == result.names[0] and each.loses(least)
    ]
