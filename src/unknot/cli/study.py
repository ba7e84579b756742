"""`unknot study` and `unknot results`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unknot.errors import UnknotError
from unknot.processes.signals import sigterm_is_ctrl_c

if TYPE_CHECKING:
    from rich.console import Console

    from unknot.studies.plan import StudyPlan
    from unknot.studies.study import StudyState


def study(
    file: Annotated[
        str, typer.Argument(help="A study file (YAML), or the name of one that ships: see --list.")
    ] = "",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The study's folder; studies/NAME if left out.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan, and do nothing.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="List the studies that ship.")] = False,
    show: Annotated[bool, typer.Option("--show", help="Print the study file, to make one's own of it.")] = False,
    engine: Annotated[str, typer.Option(help="local or ray.")] = "local",
    jobs: Annotated[int | None, typer.Option(help="Steps at a time; one for each core if left out.")] = None,
    address: Annotated[str, typer.Option(help="For ray: the cluster to join, such as auto.")] = "",
    cpus: Annotated[float, typer.Option(help="For ray: processors of a step.")] = 1,
    gpus: Annotated[float, typer.Option(help="For ray: GPUs of a step that trains or encodes.")] = 0,
    retries: Annotated[int, typer.Option(help="How often a failed step is tried again.")] = 1,
    device: Annotated[str, typer.Option(help="cpu, cuda or mps.")] = "cpu",
    data: Annotated[Path | None, typer.Option(help="Folder of data files.")] = None,
    checkpoint_every: Annotated[int, typer.Option(help="Training steps a killed process can lose.")] = 1000,
) -> None:
    """Train, encode, score, try and rank many runs; the same command goes on where it stopped."""
    from rich.console import Console

    from unknot.studies.plan import plan_study
    from unknot.studies.spec import PRESETS, read_spec

    if list_:
        _list()
        return
    if not file:
        raise UnknotError("study: name a study file, or one that ships: `unknot study --list`.")
    spec = read_spec(file)
    if show:
        path = Path(file) if Path(file).exists() else PRESETS / f"{file}.yaml"
        typer.echo(path.read_text(encoding="utf-8"), nl=False)
        return
    if retries < 0 or checkpoint_every < 1:
        raise UnknotError(
            f"study: retries is {retries} and checkpoint_every {checkpoint_every}; expected 0 and 1 up."
        )
    folder = output or Path("studies") / spec.name
    plan = plan_study(spec, data=data, must_open=not dry_run)
    if dry_run:
        _show_plan(plan, folder, jobs, data)
        return
    from unknot.runs.training import find_device
    from unknot.studies.engines import open_engine
    from unknot.studies.live import shown
    from unknot.studies.steps import Conditions
    from unknot.studies.store import belongs_to
    from unknot.studies.study import run_study

    belongs_to(folder, spec)
    if engine == "local":
        find_device(device)
    console = Console(stderr=True)
    opened = open_engine(engine, jobs=jobs, address=address, num_cpus=cpus, num_gpus=gpus)
    try:
        with sigterm_is_ctrl_c(), shown(console) as progress:
            conditions = Conditions(device, data, checkpoint_every)
            state = run_study(
                plan, folder, engine=opened, retries=retries, conditions=conditions, progress=progress
            )
    except KeyboardInterrupt:
        typer.echo(f"unknot: {folder}: stopped; the same command goes on.", err=True)
        raise typer.Exit(130) from None
    finally:
        opened.close()
    _summary(state, len(plan.runs), console)
    typer.echo(folder)
    if state.failures:
        raise typer.Exit(1)


def results(
    folder: Annotated[Path, typer.Argument(help="The folder of a study.")],
    form: Annotated[str, typer.Option("--format", help="csv, parquet, markdown, latex or json.")] = "",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file.")] = None,
    parts: Annotated[bool, typer.Option("--parts", help="Also the numbers beside the headlines.")] = False,
) -> None:
    """The results of a study as one table: a row for each run, a column for each metric."""
    from unknot.errors import unknown
    from unknot.files import written_whole
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
    with written_whole(output) as beside:
        if form == "parquet":
            table.to_parquet(beside, index=False)
        else:
            beside.write_text(formatted(table, form), encoding="utf-8")
    typer.echo(output)


def _list() -> None:
    from rich.console import Console
    from rich.table import Table

    from unknot.studies.spec import preset_names, read_spec

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("study", no_wrap=True)
    table.add_column("about")
    for name in preset_names():
        table.add_row(name, read_spec(name).about)
    console = Console()
    console.print(table)
    console.print("unknot study NAME runs one, --dry-run shows its plan, --show prints its file.", style="dim")


def _show_plan(plan: "StudyPlan", folder: Path, jobs: int | None, data: Path | None) -> None:
    import os

    from rich.console import Console
    from rich.table import Table

    from unknot.studies.estimate import estimate, in_words
    from unknot.studies.steps import RUN_KINDS
    from unknot.studies.store import Store

    store = Store(folder, plan)
    left = [store.missing(run) for run in plan.runs]
    console = Console()
    models = dict.fromkeys(run.spec.model for run in plan.runs)
    console.print(f"{plan.study.name}: {len(plan.runs)} runs, {folder}", highlight=False, soft_wrap=True)
    runs = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("world", "split", "model", "settings", "seeds", "runs"):
        runs.add_column(column, no_wrap=column == "model")
    for group in plan.groups:
        by_model = group.by_model
        for model in (name for name in models if name in by_model):
            mine = by_model[model]
            counts = [len({r.setting for r in mine}), len({r.spec.seed for r in mine}), len(mine)]
            runs.add_row(group.world, group.split, model, *map(str, counts))
    console.print(runs)
    for world, why in plan.missing.items():
        console.print(f"{world}: {why}", highlight=False, markup=False, soft_wrap=True)
    guess = estimate(store, data=data)
    workers = jobs or os.cpu_count() or 1
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("stage", "done", "to do", f"time on {workers} processes"):
        table.add_column(column, justify="left" if column == "stage" else "right")
    for kind in RUN_KINDS if plan.study.tasks else RUN_KINDS[:-1]:
        todo = sum(kind in kinds for kinds in left)
        seconds = guess.seconds.get(kind) or 0.0
        table.add_row(
            kind, str(len(left) - todo), str(todo), in_words(seconds / workers) if todo and seconds else ""
        )
    n_metrics = len({id_ for run in plan.runs for id_ in run.metrics})
    keys = [store.ranking_key(*ranking)[0] for ranking in store.planned_rankings]
    complete = not any(left)
    ranked = sum(complete and store.ranked(key) for key in keys)
    table.add_row("rank", str(ranked), str(len(keys) - ranked), "")
    console.print(table)
    console.print(
        f"{n_metrics} metrics; about {in_words(guess.total(workers))} in all, if {workers} cores are free "
        f"({'; '.join(guess.basis)}).",
        highlight=False,
        soft_wrap=True,
    )


def _summary(state: "StudyState", n_runs: int, console: "Console") -> None:
    from unknot.studies.estimate import in_words

    for note in state.notes:
        console.print(note, markup=False, highlight=False, soft_wrap=True)
    for title, error, log in state.failures:
        console.print(f"failed: {title}: {error}\n  log: {log}", markup=False, highlight=False, soft_wrap=True)
    done = state.done["score"]
    console.print(f"{done} of {n_runs} runs done, {in_words(state.seconds)}", highlight=False)
