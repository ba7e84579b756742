"""`unknot study` and `unknot results`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unknot.cli.options import DATA, DEVICE, LOG, argument, option, takes
from unknot.cli.output import echo, plain_console, put, stoppable
from unknot.errors import UnknotError
from unknot.reading.names import visible
from unknot.reports.kit.terminal import plain_table

if TYPE_CHECKING:
    from rich.console import Console

    from unknot.studies.plan import StudyPlan
    from unknot.studies.study import StudyState


@dataclass(frozen=True)
class StudyOptions:
    """Which study, where, and how its steps are done."""

    file: str = argument("A study file (YAML), or the name of one that ships: see --list.", "")
    output: Path | None = option(None, "The study's folder; studies/NAME if left out.", "--output", "-o")
    dry_run: bool = option(False, "Show the plan, and do nothing.")
    list_: bool = option(False, "List the studies that ship.", "--list")
    show: bool = option(False, "Print the study file, to make one's own of it.")
    engine: str = option("local", "local or ray.")
    jobs: int | None = option(None, "Steps at a time; one for each core if left out.")
    address: str = option("", "For ray: the cluster to join, such as auto.")
    cpus: float = option(1, "For ray: processors of a step.")
    gpus: float = option(0, "For ray: GPUs of a step that trains or encodes.")
    retries: int = option(1, "How often a failed step is tried again.")
    device: str = option("cpu", DEVICE)
    data: Path | None = option(None, DATA)
    checkpoint_every: int = option(1000, "Training steps a killed process can lose.")
    log: str = option("", LOG)


@takes(StudyOptions)
def study(options: StudyOptions) -> None:
    """Train, encode, score, try and rank many runs; the same command goes on where it stopped."""
    from unknot.studies.plan import plan_study
    from unknot.studies.spec import PRESETS, read_spec

    if options.list_:
        _list()
        return
    if not options.file:
        raise UnknotError("study: name a study file, or one that ships: `unknot study --list`.")
    spec = read_spec(options.file)
    if options.show:
        path = Path(options.file) if Path(options.file).exists() else PRESETS / f"{options.file}.yaml"
        typer.echo(visible(path.read_text(encoding="utf-8").expandtabs()), nl=False)
        return
    if options.retries < 0 or options.checkpoint_every < 1:
        raise UnknotError(
            f"study: retries is {options.retries} and checkpoint_every {options.checkpoint_every}; expected 0 and 1 up."
        )
    folder = options.output or Path("studies") / spec.name
    plan = plan_study(spec, data=options.data, must_open=not options.dry_run)
    if options.dry_run:
        _show_plan(plan, folder, options.jobs, options.data)
        return
    from unknot.runs.training import find_device
    from unknot.studies.engines import open_engine
    from unknot.studies.live import shown
    from unknot.studies.steps import Conditions
    from unknot.studies.store import belongs_to
    from unknot.studies.study import run_study

    if options.log:
        from unknot.integrations.trackers import check_tracker

        check_tracker(options.log)
    belongs_to(folder, spec)
    if options.engine == "local":
        find_device(options.device)
    console = plain_console(err=True)
    engine = open_engine(
        options.engine, jobs=options.jobs, address=options.address, num_cpus=options.cpus, num_gpus=options.gpus
    )
    try:
        with stoppable(f"{folder}: stopped; the same command goes on."), shown(console) as progress:
            conditions = Conditions(options.device, options.data, options.checkpoint_every)
            state = run_study(
                plan, folder, engine=engine, retries=options.retries, conditions=conditions, progress=progress
            )
    finally:
        engine.close()
    _summary(state, len(plan.runs), console)
    _answer(folder, console)
    if options.log:
        _log(folder, options.log)
    echo(folder)
    if state.failures:
        raise typer.Exit(1)


def _answer(folder: Path, console: "Console") -> None:
    """What the study found, and where to look on; a page that cannot be read says so itself."""
    from rich.text import Text

    from unknot.reports.study_words import answer
    from unknot.studies.folder import StudyFolder

    for sentence in answer(StudyFolder(folder)):
        console.print(Text(sentence))
    console.print(Text(f"unknot report {folder} shows all of it as a page.", style="dim"))


def _log(folder: Path, address: str) -> None:
    """Take each run's numbers to a tracker, a run there for each run here."""
    from unknot.integrations.trackers import tracking
    from unknot.studies.folder import StudyFolder

    opened = StudyFolder(folder)
    for row in opened.runs.to_dict("records"):
        about = {str(name): value for name, value in row.items()}
        values = {each.column: each.values.get(about["id"]) for each in opened.measures}
        known = {column: float(value) for column, value in values.items() if value is not None}
        with tracking(address, f"{about['model']}, {about['setting']}, seed {about['seed']}", about) as log:
            log(known, about["steps"])


def results(
    folder: Annotated[Path, typer.Argument(help="The folder of a study.")],
    form: Annotated[str, typer.Option("--format", help="csv, parquet, markdown, latex or json.")] = "",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file.")] = None,
    parts: Annotated[bool, typer.Option("--parts", help="Also the numbers beside the headlines.")] = False,
) -> None:
    """The results of a study as one table: a row for each run, a column for each metric."""
    from unknot.errors import unknown
    from unknot.files import write_parquet
    from unknot.studies.folder import StudyFolder
    from unknot.studies.results import FORMATS, formatted, readable
    from unknot.studies.results import results as table_of

    endings = {".csv": "csv", ".parquet": "parquet", ".md": "markdown", ".tex": "latex", ".json": "json"}
    if output and not form and output.suffix.lower() not in endings:
        raise UnknotError(
            f"{output}: ends in none of {', '.join(endings)}; name the file so, or its form with --format."
        )
    form = form or (endings[output.suffix.lower()] if output else "csv")
    if form not in FORMATS:
        raise unknown("format", form, FORMATS)
    if form == "parquet" and output is None:
        raise UnknotError("results: parquet is no text; name a file with --output.")
    table = table_of(StudyFolder(folder), parts=parts)
    if form in ("markdown", "latex"):
        table = readable(table)
    if output is None:
        typer.echo(formatted(table, form), nl=False)
        return
    if form == "parquet":
        write_parquet(output, table)
    else:
        put(str(output), formatted(table, form))
    if str(output) != "-":
        echo(output)


def _list() -> None:
    from unknot.studies.spec import preset_names, read_spec

    table = plain_table("study", "about", whole=["study"])
    for name in preset_names():
        table.add_row(name, read_spec(name).about)
    console = plain_console()
    console.print(table)
    console.print("unknot study NAME runs one, --dry-run shows its plan, --show prints its file.", style="dim")


def _show_plan(plan: "StudyPlan", folder: Path, jobs: int | None, data: Path | None) -> None:
    import os

    from unknot.studies.estimate import estimate, in_words
    from unknot.studies.steps import RUN_KINDS
    from unknot.studies.store import Store

    store = Store(folder, plan)
    left = [store.missing(run) for run in plan.runs]
    console = plain_console()
    models = dict.fromkeys(run.spec.model for run in plan.runs)
    console.print(f"{plan.study.name}: {len(plan.runs)} runs, {folder}", soft_wrap=True)
    runs = plain_table("world", "split", "model", "settings", "seeds", "runs", whole=["model"])
    for group in plan.groups:
        for model in models:
            mine = [run for run in group.runs if run.spec.model == model]
            counts = [len({r.setting for r in mine}), len({r.spec.seed for r in mine}), len(mine)]
            if mine:
                runs.add_row(group.world, group.split, model, *map(str, counts))
    console.print(runs)
    for world, why in plan.missing.items():
        console.print(f"{world}: {why}", soft_wrap=True)
    guess = estimate(store, data=data)
    workers = jobs or os.cpu_count() or 1
    numbers = ("done", "to do", f"time on {workers} processes")
    table = plain_table("stage", *numbers, right=numbers)
    n_metrics = len({id_ for run in plan.runs for id_ in run.metrics})
    none = [kind for kind, asked in (("score", n_metrics), ("task", plan.study.tasks)) if not asked]
    for kind in (kind for kind in RUN_KINDS if kind not in none):
        todo = sum(kind in kinds for kinds in left)
        seconds = guess.seconds.get(kind) or 0.0
        table.add_row(
            kind, str(len(left) - todo), str(todo), in_words(seconds / workers) if todo and seconds else ""
        )
    keys = [store.ranking_key(*ranking)[0] for ranking in store.planned_rankings]
    complete = not any(left)
    ranked = sum(complete and store.ranked(key) for key in keys)
    table.add_row("rank", str(ranked), str(len(keys) - ranked), "")
    console.print(table)
    left_out = [*guess.left_out, *(["ranking"] if ranked < len(keys) else [])]
    extent = f"without {', '.join(left_out)}" if left_out else "in all"
    console.print(
        f"{n_metrics} metrics; about {in_words(guess.total(workers))} {extent}, if {workers} cores are free "
        f"({'; '.join(guess.basis)}).",
        soft_wrap=True,
    )


def _summary(state: "StudyState", n_runs: int, console: "Console") -> None:
    from unknot.studies.estimate import in_words

    for note in state.notes:
        console.print(note, soft_wrap=True)
    for title, error, log in state.failures:
        console.print(f"failed: {title}: {error}\n  log: {log}", soft_wrap=True)
    done = min(state.done[kind] for kind in ("encode", "score"))
    console.print(f"{done} of {n_runs} runs done, {in_words(state.seconds)}")
