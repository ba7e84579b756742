"""From the declaration of a task to its command."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import typer

from unknot.cli.bar import progress_bar
from unknot.cli.docstrings import joined
from unknot.cli.options import (
    DATA,
    DEVICE,
    LAYER,
    POOL,
    Parameters,
    argument,
    made_command,
    option,
    parameters_of,
    typed,
)
from unknot.cli.output import echo, keep_with_run, plain_console, stoppable
from unknot.cli.train import model_options
from unknot.encoders.encoder import Opening
from unknot.encoders.source import Source
from unknot.errors import UnknotError, must_have, sentences
from unknot.files import json_hash, must_be_ours
from unknot.runs.spec import RunSpec
from unknot.runs.workspace import Workspace
from unknot.tasks.kept_results import keep_result
from unknot.tasks.options import Options
from unknot.tasks.result import TaskResult
from unknot.tasks.task import Task

STDOUT = Path("-")


@dataclass(frozen=True)
class Request:
    """What is typed besides the options of a task, of which the help knows some words."""

    sources: list[str] | None = argument("{sources}", None)
    world: str = option("", "Where images come from; that of the run if left out.")
    model: str = option("", "Train this model instead of giving sources, with its options such as --beta 4.")
    output: Path | None = option(
        None, "Folder for results and for what is done so far: the same command goes on.", "--output", "-o"
    )
    json: Path | None = option(None, "Write the result to this file; - for standard output.")
    html: Path | None = option(None, "Write a page to this file.")
    preview: Path | None = option(None, "Only draw what the task shows to this file; nothing is measured.")
    pool: str = option("", POOL)
    layer: str = option("", LAYER)
    image_size: int | None = option(None, "For timm and hf{trained}: resize images to so many pixels.")
    device: str = option("cpu", DEVICE)
    data: Path | None = option(None, DATA)


def command_of(task: Task) -> Any:
    """The command of a task."""
    settled = {*Request.__annotations__, *task.options.model_fields, "options", "split"}
    trained = [name for name in RunSpec.model_fields if task.trains and name not in settled]

    def command(**values: Any) -> None:
        options = task.options(**typed(task.options, values))
        training = typed(RunSpec, {name: values.pop(name) for name in trained})
        request = Request(**typed(Request, values))
        if request.html is not None:
            must_have("--html", "jinja2")
        if request.model and request.output is None:
            request = replace(request, output=Path(task.name))
            echo(f"runs are kept in {request.output}{os.sep}; -o FOLDER chooses another folder", err=True)
        sources = [_to_train(task, options, request, training)] if request.model else _sources(task, request)
        _perform(task, options, request, sources)

    first, *_ = task.about.split("\n\n")
    about = joined(f"{task.question}\n\n{first}")
    # Options of a model, such as --beta, are not known before the model is: they come as words of SOURCES.
    return made_command(task.name, command, _parameters(task, trained), about, any_option=task.trains)


def _parameters(task: Task, trained: Sequence[str]) -> Parameters:
    has = {"world": "world" in task.takes, "model": task.trains, "preview": task.preview is not None}
    names = [name for name in Request.__annotations__ if has.get(name, True)]
    words = {"sources": task.sources, "trained": ", or with --model" if task.trains else ""}
    own = parameters_of(Request, names, lambda text: text.format(**words))
    first = {name: own.pop(name) for name in ("sources", "world", "model") if name in own}
    training = parameters_of(RunSpec, trained, lambda text: f"With --model: {text[:1].lower()}{text[1:]}")
    return first | parameters_of(task.options) | training | own


def _sources(task: Task, request: Request) -> list[Source]:
    unknown = [word for word in request.sources or () if word.startswith("-")]
    if unknown:
        raise UnknotError(f"{task.name}: no such option: {unknown[0]}; options of a model go with --model.")
    opening = Opening(request.device, request.data, request.pool, request.image_size, request.layer)
    words: Sequence[str | None] = request.sources or [None]
    return [task.source_of(word, request.world or None, opening) for word in words]


def _to_train(task: Task, options: Options, request: Request, training: dict[str, Any]) -> Source:
    """The run that is to be trained; what stands where sources do are options of its model."""
    if not request.world:
        raise UnknotError(f"{task.name}: --model needs a world to be trained on: --world dsprites_rendered.")
    spec = RunSpec(
        world=request.world,
        model=request.model,
        options=model_options(request.sources or []),
        seed=options.settings().get("seed", 0),
        image_size=request.image_size,
        **training,
    )
    return task.source_of(spec, None, Opening(request.device, request.data))


def _perform(task: Task, options: Options, request: Request, sources: Sequence[Source]) -> None:
    if request.preview is not None and task.preview is not None:
        from unknot.worlds.preview import check_picture_name, save_sheet

        check_picture_name(request.preview)
        with progress_bar() as progress:
            picture = task.preview(sources[0], options, progress)
        echo(save_sheet(picture, request.preview))
        return
    for_one = {"--json": request.json, "--name": options.settings().get("name")}
    if len(sources) > 1 and any(for_one.values()):
        which = " and ".join(flag for flag, value in for_one.items() if value)
        raise UnknotError(f"{task.name}: {which} is for one source; -o FOLDER takes the results of several.")
    for source in sources:
        task.must_fit(source, options)
    if request.output is not None:
        must_be_ours(request.output, "result of a task", ["parts", "runs", "codes", "*.json"])
    kept = "the same command goes on." if request.output else "nothing was kept; -o FOLDER keeps what is done."
    tell = partial(echo, err=request.json == STDOUT)  # where standard output is given the JSON alone
    results = []
    for source in sources:
        with stoppable(f"interrupted; {kept}"), progress_bar() as progress:
            result = task.run(source, options, Workspace(request.output), progress)
        results.append(result)
        show(task, result, err=request.json == STDOUT)
        if source.run is not None:
            keep = partial(keep_result, source.run, result)
            keep_with_run(source.run, "the result is", keep, err=request.json == STDOUT)
        if request.json == STDOUT:
            typer.echo(result.as_json(), nl=False)
        elif request.json is not None:
            tell(result.write(request.json))
        if request.output is not None:
            tell(result.write(_result_file(request.output, result)))
    if len(results) > 1 and task.compare is not None:
        plain_console(err=request.json == STDOUT).print(task.compare(results))
    if request.html is not None:
        from unknot.reports.task_page import write_task_page

        tell(write_task_page(request.html, results))


def show(task: Task, result: TaskResult, *, err: bool = False) -> None:
    """Print a result: its table, its headline numbers, its notes."""
    from rich.table import Table

    console = plain_console(err=err)
    about = f"{result.task}: {result.source}" + (f" on {result.world}" if result.world else "")
    console.print(about, style="bold")
    if any(result.tables.values()):
        console.print(task.table(result))
    headline = Table(show_header=False, box=None, pad_edge=False)
    headline.add_column()
    headline.add_column(justify="right")
    for name, value in result.values.items():
        headline.add_row(name, "-" if value != value else f"{value:.3f}")
    console.print(headline)
    for sentence in sentences(result.notes):
        console.print(sentence, style="dim")


def _result_file(folder: Path, result: TaskResult) -> Path:
    """A file of its own for each source, world and setting."""
    words = re.sub(r"\W+", "_", f"{result.task}-{Path(result.source).name}").strip("_")
    return folder / f"{words[:80]}-{json_hash([result.source, result.world, result.settings], 8)}.json"
