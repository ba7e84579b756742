"""`unknot compare`: is one representation better than another, or is it luck?"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from unknot.cli.bar import progress_bar
from unknot.cli.options import CSV, FACTORS, GAPS, GROUPS, JSON, LATENTS, argument, option, takes
from unknot.cli.output import check_targets, echo, plain_console, put, stoppable

if TYPE_CHECKING:
    from rich.console import Console

    from unknot.progress import Progress
    from unknot.representation import Representation
    from unknot.runs.run import Run
    from unknot.scoring.comparison import Comparison
    from unknot.tasks.result import TaskResult


@dataclass(frozen=True)
class CompareOptions:
    """What is compared, how, and where the result goes."""

    representations: list[Path] = argument(
        "Two or more of the same factors: files of latents, runs, baselines; runs that differ by their seed alone are "
        "one setting where there are others."
    )
    metrics: Sequence[str] = option(
        (), "Which, such as mig,mcc; else those of a baseline, or those that train nothing.", "--metrics,"
    )
    resamples: int = option(200, "Parts of the rows; a baseline has its own.")
    latents: Sequence[str] = option((), LATENTS, "--latents,")
    factors: Sequence[str] = option((), FACTORS, "--factors,")
    groups: str = option("", GROUPS)
    missing: Sequence[str] = option((), GAPS, "--missing,")
    tasks: bool = option(False, "Compare kept results of tasks (of runs, or files of them), not scores.")
    margin: float = option(0.0, "Differences up to this count as none.")
    fail_below: float | None = option(
        None, "Exit with 1 if any after the first is surely worse, and may be by so much."
    )
    seed: int = option(0, "Decides parts, splits and draws.")
    jobs: int = option(1, "Processes.")
    json: str = option("", JSON)
    csv: str = option("", CSV)


@takes(CompareOptions)
def compare(options: CompareOptions) -> None:
    """Compare representations: differences of scores, with intervals, and whether they may be luck."""
    from unknot.errors import UnknotError
    from unknot.files import as_json
    from unknot.studies.results import formatted

    if options.fail_below is not None and not 0 <= options.fail_below < inf:
        raise UnknotError(
            f"compare: --fail-below is {options.fail_below:g}; expected a loss of 0 or more, such as 0.02."
        )
    check_targets(options.representations, {"--json": options.json, "--csv": options.csv})
    quiet = "-" in (options.json, options.csv)
    with progress_bar() as progress, stoppable("interrupted; nothing was compared."):
        result = _of_tasks(options) if options.tasks else _of_scores(options, progress)
    if options.json:
        put(options.json, as_json(asdict(result)))
    if options.csv:
        put(options.csv, formatted(result.to_frame(), "csv"))
    if not quiet:
        _show(result, plain_console())
    lost = [] if options.fail_below is None else _lost(result, options.fail_below)
    if options.fail_below and (
        blind := [each.metric for each in result.differences if not each.smallest <= options.fail_below]
    ):
        metrics = ", ".join(dict.fromkeys(blind))
        echo(
            f"note: these rows or seeds are too few to see a loss of {options.fail_below:g} in {metrics}.",
            err=True,
        )
    for text in lost:
        echo(f"unknot: {text}", err=True)
    if lost:
        raise typer.Exit(1)


def _of_scores(options: CompareOptions, progress: "Progress") -> "Comparison":
    from unknot.encoders.encoding import representation_of
    from unknot.scoring.comparison import compare

    given = {
        name: [
            _columns(options, path) if run is None else representation_of(run, progress=progress)
            for path, run in seeds
        ]
        for name, seeds in _by_setting(options.representations).items()
    }
    return compare(
        given,
        metrics=options.metrics,
        resamples=options.resamples,
        margin=options.margin,
        seed=options.seed,
        jobs=options.jobs,
        progress=progress,
    )


def _columns(options: CompareOptions, path: Path) -> "Path | Representation":
    """A file, or what is chosen of its columns."""
    from unknot.examples import located
    from unknot.representation import from_table

    named = any((options.latents, options.factors, options.groups, options.missing))
    if not named or path.suffix == ".json":  # a baseline
        return path
    return from_table(
        located(path),
        latents=options.latents,
        factors=options.factors,
        groups=options.groups,
        missing=options.missing,
    )


def _of_tasks(options: CompareOptions) -> "Comparison":
    from unknot.tasks.comparison import compare_results
    from unknot.tasks.kept_results import kept_results
    from unknot.tasks.result import read_result

    results: dict[str, list[TaskResult]] = {}
    faults: list[str] = []
    for name, seeds in _by_setting(options.representations).items():
        own = results[name] = []
        for path, run in seeds:
            kept, damaged = ({path: read_result(path)}, []) if run is None else kept_results(run)
            own += kept.values()
            faults += damaged
    comparison = compare_results(results, margin=options.margin)
    return replace(comparison, notes=(*comparison.notes, *faults))


def _by_setting(paths: Sequence[Path]) -> dict[str, list[tuple[Path, "Run | None"]]]:
    """Name -> what it stands for: runs of one setting by their seeds, if there are other settings; else each alone."""
    from unknot.errors import UnknotError
    from unknot.scoring.scoring import run_of

    for at, path in enumerate(paths):
        if path.resolve() in [other.resolve() for other in paths[:at]]:
            raise UnknotError(f"compare: {path} is named twice; expected each once.")
    opened = [(path, run_of(path)) for path in paths]
    settings: dict[str, list[tuple[Path, Run | None]]] = {}
    for path, run in opened:
        setting = str(path) if run is None else run.spec.model_copy(update={"seed": 0}).id
        settings.setdefault(setting, []).append((path, run))
    if len(settings) < 2:
        return {str(path): [(path, run)] for path, run in opened}
    named: dict[str, list[tuple[Path, Run | None]]] = {}
    for seeds in settings.values():
        path, first = seeds[0]
        by_seed: dict[int, Path] = {}
        for other, run in seeds:
            if run and by_seed.setdefault(run.spec.seed, other) != other:
                raise UnknotError(
                    f"compare: {by_seed[run.spec.seed]} and {other} are runs of the same setting and of the same seed, "
                    f"{run.spec.seed}; name one of them."
                )
        title = str(path) if first is None or len(seeds) == 1 else first.spec.title.rpartition(", seed ")[0]
        name = f"{path}, ..." if title in named else title
        named[name] = sorted(seeds, key=lambda each: each[1].spec.seed if each[1] else 0)
    return named


WIDE = 100  # columns of a terminal that has room for all numbers


def _show(result: "Comparison", console: "Console") -> None:
    from rich.text import Text

    from unknot.reports.kit.terminal import plain_table
    from unknot.statistics.places import in_words

    rows = "the same rows" if result.paired else "other rows"
    about = f"representations of {rows}, {result.resamples} parts of the rows" if result.resamples else "by tasks"
    console.print(Text(f"{len(result.names)} {about}", style="bold"))
    wide, pairs = console.width >= WIDE, len(result.names) > 2
    if not pairs:
        console.print(Text("first: {}, second: {}".format(*map(_short, result.names))))
    numbers = ["first", "second", "change", "95 % interval", "p (Holm)", *["smallest seen"] * wide]
    for first, second in combinations(result.names, 2):
        title = f"{_short(first)} and {_short(second)}" if pairs else ""
        whole = [*numbers, "second is"]
        table = plain_table("metric", *whole, right=numbers, whole=whole, fold=["metric"], title=title)
        for each in result.differences:
            if (each.first, each.second) == (first, second):
                cells = [f"{value:.3f}" for value in (*each.values, each.difference)]
                cells += [
                    f"{each.low:.3f}..{each.high:.3f}",
                    "<0.001" if each.p_holm < 0.0005 else f"{each.p_holm:.3f}",
                ]
                table.add_row(Text(each.metric), *cells, *[f"{each.smallest:.3f}"] * wide, each.verdict)
        console.print(table)
    if pairs:
        for metric in result.metrics:
            places = sorted(result.ranks(metric).items(), key=lambda item: item[1])
            words = [f"{_short(name)} {in_words(place)}" for name, place in places]
            console.print(Text(f"places by {metric}: {', '.join(words)}"))
    for note in result.notes:
        console.print(Text(f"note: {note}", style="dim"))


def _short(name: str) -> str:
    """The name of a file without its folder; others as they are."""
    return Path(name).stem if Path(name).exists() else name


def _lost(result: "Comparison", least: float) -> list[str]:
    """What is surely worse than in the first representation, nearer to what is not allowed than to nothing."""
    return [
        f"{each.second} is worse than {each.first} by {abs(each.difference):.3f} in {each.metric} (95 % interval "
        f"{each.low:.3f} to {each.high:.3f}), where a loss of {least:g} fails."
        for each in result.differences
        if each.first == result.names[0] and each.loses(least)
    ]
