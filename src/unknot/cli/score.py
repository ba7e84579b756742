"""`unknot score`: every metric that applies to a file of latents, or to a run."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import typer

from unknot.cli.bar import progress_bar
from unknot.cli.options import CSV, FACTORS, GAPS, GROUPS, JOIN, JSON, LATENTS, LOG, argument, option, takes
from unknot.cli.output import check_targets, echo, keep_with_run, plain_console, put
from unknot.errors import UnknotError, UnknotWarning

if TYPE_CHECKING:
    from rich.console import Console

    from unknot.representation import Representation
    from unknot.runs.run import Run
    from unknot.scoring.dictionaries.card import DictionaryCard
    from unknot.scoring.scorecard import Plan, Record, Scorecard

WORTH_SAYING = 5.0  # seconds of work, of which is said beforehand how long it will take


@dataclass(frozen=True)
class ScoreOptions:
    """What is scored, how, and where the scores go."""

    file: Path = argument(
        "Latents: .npz, .safetensors, .csv, .parquet or .npy; the folder of a run; or `example`."
    )
    factors_file: Path | None = argument("Factors, if in a file of their own.", None)
    metrics: Sequence[str] = option(
        (), "Only these, such as mig,dci\\[lasso]; or quick, default, all.", "--metrics,"
    )
    exclude: Sequence[str] = option((), "All but these.", "--exclude,")
    factors: Sequence[str] = option((), FACTORS, "--factors,")
    latents: Sequence[str] = option((), LATENTS, "--latents,")
    groups: str = option("", GROUPS)
    join: str = option("", JOIN)
    missing: Sequence[str] = option((), GAPS, "--missing,")
    kinds: Sequence[str] = option((), "Kinds of factors, such as hue=circular,year=continuous.", "--kinds,")
    decoder: Path | None = option(None, "Decoder of a sparse autoencoder: its file or folder; adds a card.")
    dense: Path | None = option(None, "With --decoder: activations of the same rows, to score beside.")
    others: Sequence[str] = option((), "With --decoder: decoders from other seeds.", "--others,")
    other_codes: Sequence[str] = option((), "With --others: their codes of the same rows.", "--other-codes,")
    seed: int = option(0, "Decides splits, resamples and draws.")
    limit: int | None = option(None, "Use at most this many rows.")
    bootstrap: int = option(0, "Resamples for 95 % intervals of training-free metrics.")
    null: int | None = option(None, "Permutations that measure chance; unasked, 10 below 1,000 rows.")
    jobs: int = option(1, "Processes.")
    flatten_slots: bool = option(False, "Lay slots (n, k, d) side by side.")
    json: str = option("", JSON)
    csv: str = option("", CSV)
    plot: Path | None = option(None, "Draw a Hinton diagram into this picture.")
    html: Path | None = option(None, "Write one page with everything, to read or to send.")
    save_baseline: Path | None = option(None, "Keep the scores, to compare others with: unknot compare FILE ...")
    log: str = option("", LOG)


@takes(ScoreOptions)
def score(options: ScoreOptions) -> None:
    """Score a representation: is it disentangled, compact, explicit?"""
    from unknot.examples import located
    from unknot.metrics import METRICS, parse_identity
    from unknot.scoring.scoring import TIERS, plan, run_of, scorecard

    targets = {"--json": options.json, "--csv": options.csv, "--plot": options.plot, "--html": options.html}
    targets["--save-baseline"] = options.save_baseline
    inputs = [options.file, options.factors_file, options.decoder, options.dense]
    check_targets([*inputs, *map(Path, (*options.others, *options.other_codes))], targets)
    if options.save_baseline is not None and options.limit is not None:
        raise UnknotError(
            f"--save-baseline keeps scores of all rows, and --limit is {options.limit}; leave one of the two out."
        )
    if options.decoder is None and (options.dense or options.others or options.other_codes):
        raise UnknotError(
            "--dense, --others and --other-codes are for dictionaries; name the decoder: --decoder FILE."
        )
    if options.log:
        from unknot.integrations.trackers import check_tracker

        check_tracker(options.log)
    for name in (*options.metrics, *options.exclude):
        if name not in TIERS or name in options.exclude:
            parse_identity(name, METRICS)
    quiet = "-" in (options.json, options.csv)
    console = plain_console(err=quiet)
    run = run_of(options.file)
    latents = located(options.file)
    if run is not None:
        from unknot.encoders.encoding import representation_of

        with progress_bar() as progress:  # with default settings, unless it is there already
            latents = representation_of(run, progress=progress)
    representation = _read(options, latents, console)
    with warnings.catch_warnings(action="ignore", category=UnknotWarning):  # the table says what was left out
        try:
            todo = plan(
                representation,
                metrics=options.metrics,
                exclude=options.exclude,
                seed=options.seed,
                limit=options.limit,
                bootstrap=options.bootstrap,
                null=options.null,
            )
        except UnknotError as error:
            raise UnknotError(f"{latents}: {error}") from None
    dictionary = _dictionary(options, representation)
    records, interrupted = _run(todo, options.jobs)
    card = scorecard(todo, records)
    dense = _dense_scores(options, card) if dictionary and options.dense and not interrupted else {}
    _write(options, card, run, [latents, *filter(None, [options.factors_file])], dictionary, dense)
    if not quiet:
        from unknot.reports.terminal import show

        show(card, console)
        if dictionary is not None:
            from unknot.reports.dictionary_card import show_dictionary

            show_dictionary(dictionary, console, dense)
    if run is not None and options.factors_file is None and records:
        from unknot.scoring.kept_scores import keep_scores

        keep = partial(keep_scores, run, card, latents, **_chosen(options))
        keep_with_run(run, "the scores are", keep, err=quiet)
    if options.save_baseline is not None and not interrupted:
        from unknot.scoring.baselines import baseline, write_baseline

        write_baseline(baseline(card), options.save_baseline)
    if interrupted:
        console.print(f"interrupted: {len(records)} of {len(todo.tasks)} metrics are done.")
        raise typer.Exit(130)
    if not card.values():
        raise UnknotError(f"{latents}: no metric could be computed: {'; '.join(r.refused for r in records)}")


def _read(options: ScoreOptions, latents: Path, console: "Console") -> "Representation":
    """What is scored, and on the console what is noted of its file."""
    from unknot.representation import from_table, read_representation
    from unknot.tables.frames import HDF5

    named = any((options.latents, options.groups, options.join, options.missing))
    table = latents.suffix in (".csv", ".parquet", *HDF5) or options.factors_file is not None
    columns = named or (table and bool(options.factors))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UnknotWarning)
        if columns:
            representation = from_table(
                latents,
                options.factors_file,
                latents=options.latents,
                factors=options.factors,
                groups=options.groups,
                join=options.join,
                missing=options.missing,
            )
        else:
            representation = read_representation(latents, options.factors_file)
    for warning in caught:
        console.print(f"note: {warning.message}", markup=False, highlight=False, style="dim")
    if kinds := _kinds(options):
        representation = representation.with_kinds(kinds)
    if options.flatten_slots:
        representation = representation.flattened()
    if options.plot is not None:
        from unknot.reports.kit.hinton import check_picture

        check_picture(options.plot)
        if representation.factors is None:
            raise UnknotError("--plot: a Hinton diagram needs factors, and there are none.")
    return representation.with_factors(options.factors) if options.factors and not columns else representation


def _kinds(options: ScoreOptions) -> dict[str, str]:
    """Factor -> its kind, of words such as `hue=circular`."""
    pairs = {word: word.rpartition("=") for word in options.kinds}
    for word, (name, _, _) in pairs.items():
        if not name:
            raise UnknotError(f"--kinds {word}: expected names with kinds, such as hue=circular.", field="kinds")
    return {name: kind for name, _, kind in pairs.values()}


def _chosen(options: ScoreOptions) -> dict[str, Any]:
    """What was named for the scores of the file's columns."""
    names = ("latents", "factors", "groups", "join", "missing", "flatten_slots")
    given = {name: vars(options)[name] for name in names} | {"kinds": _kinds(options)}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in given.items() if value}


def _dictionary(options: ScoreOptions, representation: "Representation") -> "DictionaryCard | None":
    """The card of a dictionary, if there is a decoder."""
    if options.decoder is None:
        return None
    from unknot.scoring.dictionaries.card import dictionary_card

    with progress_bar() as progress:
        return dictionary_card(
            representation,
            options.decoder,
            dense=options.dense,
            others=list(options.others),
            other_codes=list(options.other_codes),
            seed=options.seed,
            progress=progress,
        )


def _dense_scores(options: ScoreOptions, card: "Scorecard") -> "dict[str, list[float | None]]":
    """Metric -> its value of the codes, and of the dense activations of the same rows."""
    from unknot.scoring.dictionaries.card import with_activations
    from unknot.scoring.scoring import plan, scorecard

    codes = card.values()
    with warnings.catch_warnings(action="ignore", category=UnknotWarning):
        todo = plan(
            with_activations(card.plan.representation, options.dense),
            metrics=list(codes),
            seed=options.seed,
            limit=options.limit,
            null=0,
        )
    dense = scorecard(todo, _run(todo, options.jobs)[0]).values()
    return {metric: [value, dense.get(metric)] for metric, value in codes.items()}


def _run(todo: "Plan", jobs: int) -> "tuple[list[Record], bool]":
    """The records of a plan, and whether Ctrl-C cut them short."""
    from unknot.scoring import scoring
    from unknot.scoring.scorecard import duration

    records = []
    if (seconds := todo.seconds / max(1, min(jobs, len(todo.tasks)))) >= WORTH_SAYING:
        echo(f"{len(todo.tasks)} metrics, {duration(seconds)}", err=True)
    with progress_bar() as progress:
        try:
            for record in scoring.run(todo, jobs=jobs, progress=progress):
                records.append(record)
                if seconds >= WORTH_SAYING:
                    result = "refused" if record.score is None else f"{float(record.score):.3f}"
                    echo(f"  {record.id}  {result}  ({record.seconds:.1f} s)", err=True)
        except KeyboardInterrupt:
            return records, True
    return records, False


def _write(
    options: ScoreOptions,
    card: "Scorecard",
    run: "Run | None",
    files: list[Path],
    dictionary: "DictionaryCard | None",
    dense: "dict[str, list[float | None]]",
) -> None:
    """Write what was asked for; of a run, also its Hinton diagram."""
    from unknot.files import as_json, plain
    from unknot.scoring.record import scorecard_record, to_csv

    record = scorecard_record(card, files, _chosen(options)) if options.json or options.html else {}
    if dictionary is not None:
        record["dictionary"] = plain({**dictionary.record(), "codes_and_dense": dense})
    if options.json:
        put(options.json, as_json(record))
    if options.csv:
        put(options.csv, to_csv(card))
    if options.html is not None:
        from unknot.reports.score_page import write_score_page

        sections = []
        if dictionary is not None:
            from unknot.reports.dictionary_card import dictionary_section

            sections.append(dictionary_section(dictionary, dense))
        named = [run.folder] if run else filter(None, [options.file, options.factors_file])
        write_score_page(options.html, record, [str(path) for path in named], sections)
    if options.log:
        from unknot.integrations.trackers import tracking

        about = {"file": options.file, "rows": len(card.plan.representation.latents), "seed": options.seed}
        with tracking(options.log, run.folder.name if run else options.file.stem, about) as log:
            log(card.values(), run.updates if run else 0)
    plot = options.plot or (run.picture("hinton") if run else None)
    if plot is not None and card.shares is not None:
        from unknot.reports.kit.hinton import hinton_figure

        title = fill(run.spec.title, 40) if run else options.file.stem
        hinton_figure(card.shares, [v.factor for v in card.verdicts], plot, title=title)
