"""From the declaration of a task to its command."""

import inspect
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.main import get_command

from unknot.cli.bar import progress_bar
from unknot.cli.docstrings import joined
from unknot.cli.task.output import STDOUT, keep_with_run, result_file, show
from unknot.cli.task.words import read_words, word_type
from unknot.cli.train import model_options
from unknot.encoders.encoder import Opening
from unknot.encoders.source import Source
from unknot.errors import UnknotError
from unknot.processes.signals import sigterm_is_ctrl_c
from unknot.runs.spec import RunSpec
from unknot.runs.workspace import Workspace
from unknot.tasks.options import Options, flag_of
from unknot.tasks.result import TaskResult
from unknot.tasks.task import Task

JSON = "Write the result to this file; - for standard output."
OUTPUT = "Folder for results and for what is done so far: the same command goes on."
TRAINED = ("steps", "latents", "architecture", "decoder", "batch_size", "lr", "precision", "image_size")
Parameters = dict[str, tuple[Any, Any]]  # name -> annotation for typer, default


def command_of(task: Task) -> Any:
    """The command of a task."""
    parameters = _parameters(task)

    def command(**values: Any) -> None:
        _perform(task, values)

    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for name, (annotation, default) in parameters.items()
        ]
    )
    command.__annotations__ = {name: annotation for name, (annotation, _) in parameters.items()}
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    # Options of a model, such as --beta, are not known before the model is: they come as words of SOURCES.
    settings = {"ignore_unknown_options": True} if task.trains else {}
    first = task.about.partition("\n\n")[0]
    app.command(task.name, help=joined(f"{task.question}\n\n{first}"), context_settings=settings)(command)
    return get_command(app)


def _parameters(task: Task) -> Parameters:
    found: Parameters = {"sources": (Annotated[list[str] | None, typer.Argument(help=task.sources)], None)}
    if "world" in task.takes:
        text = "Where images come from; that of the run if left out."
        found["world"] = (Annotated[str, typer.Option(help=text)], "")
    if task.trains:
        text = "Train this model instead of giving sources, with its options such as --beta 4."
        found["model"] = (Annotated[str, typer.Option(help=text)], "")
    for name in task.options.model_fields:
        found[name] = _option(task.options, name)
    if task.trains:
        for name in TRAINED[:-1]:
            field = RunSpec.model_fields[name]
            kind = field.annotation if field.annotation in (int, float) else str
            text = f"With --model: {TRAINING[name]}"
            found[name] = (Annotated[kind, typer.Option(help=text)], field.default)  # type: ignore[valid-type]
    found["output"] = (Annotated[Path | None, typer.Option("--output", "-o", help=OUTPUT)], None)
    found["json"] = (Annotated[Path | None, typer.Option("--json", help=JSON)], None)
    found["html"] = (Annotated[Path | None, typer.Option("--html", help="Write a page to this file.")], None)
    if task.preview is not None:
        text = "Only draw what the task shows to this file; nothing is measured."
        found["preview"] = (Annotated[Path | None, typer.Option(help=text)], None)
    found["pool"] = (Annotated[str, typer.Option(help="For timm and hf: own, mean, class or slots.")], "")
    text = (
        "For timm and hf, and with --model: resize images." if task.trains else "For timm and hf: resize images."
    )
    found["image_size"] = (Annotated[int | None, typer.Option(help=text)], None)
    found["device"] = (Annotated[str, typer.Option(help="cpu, cuda or mps.")], "cpu")
    found["data"] = (Annotated[Path | None, typer.Option(help="Folder of data files.")], None)
    return found


TRAINING = {
    "steps": "updates.",
    "latents": "size of the representation.",
    "architecture": "conv64, conv64_k2, burgess64, fc1200.",
    "decoder": "bernoulli or gaussian.",
    "batch_size": "images in a batch.",
    "lr": "learning rate.",
    "precision": "float32 or bfloat16.",
}


def _option(options: type[Options], name: str) -> tuple[Any, Any]:
    """An option of a task as typer wants it."""
    field, name = options.model_fields[name], flag_of(options, name)
    kind, repeated = word_type(field.annotation)
    flag, repeated = name.rstrip(","), repeated and not name.endswith(",")
    if kind is bool and field.default and "/" not in flag:
        flag = f"{flag}/--no-{flag.removeprefix('--')}"
    default = None if repeated or field.default in (None, (), "") else field.default
    default = _word(default) if kind is str and default is not None else default
    annotation = list[str] | None if repeated else kind | None
    return Annotated[annotation, typer.Option(flag, help=field.description)], default


def _word(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def _perform(task: Task, values: dict[str, Any]) -> None:
    words, world = values.pop("sources") or [], values.pop("world", "") or None
    output, json, html = (values.pop(name) for name in ("output", "json", "html"))
    model, training = values.pop("model", ""), {name: values.pop(name) for name in TRAINED[:-1] if task.trains}
    size, preview = values.pop("image_size"), values.pop("preview", None)
    opening = Opening(
        device=values.pop("device"),
        data=values.pop("data"),
        pool=values.pop("pool"),
        image_size=None if model else size,
    )
    options = _options(task, values)
    if model:
        if world is None:
            raise UnknotError(f"{task.name}: --model needs a world to be trained on: --world dsprites_rendered.")
        seed = options.settings().get("seed", 0)
        spec = RunSpec(
            world=world, model=model, options=model_options(words), seed=seed, **training, image_size=size
        )
        given: list[Any] = [spec]
        world = None
        if output is None:
            output = Path(task.name)
            typer.echo(f"runs are kept in {output}{os.sep}; -o FOLDER chooses another folder", err=True)
    else:
        given = _sources(task, words, options)
    if json is not None and len(given) > 1:
        raise UnknotError(f"{task.name}: --json is for one source; -o FOLDER takes the results of several.")
    sources = [task.source_of(which, world, opening) for which in given]
    if preview is not None and task.preview is not None:
        _draw(task, sources[0], options, preview)
        return
    results = []
    for source in sources:
        task.must_fit(source, options)
        with _stoppable(output), progress_bar() as progress:
            result = task.run(source, options, Workspace(output), progress)
        results.append(result)
        show(task, result, json=json)
        keep_with_run(source, result)
        if output is not None:
            typer.echo(result.write(result_file(output, result)), err=json == STDOUT)
    _together(task, results, html, json)


def _options(task: Task, values: dict[str, Any]) -> Options:
    """The options of a task from what was typed; what was not is left to their defaults."""
    typed: dict[str, Any] = {}
    for name, field in task.options.model_fields.items():
        value = values.pop(name)
        if value is None or value == []:
            continue
        shared = flag_of(task.options, name).endswith(",")
        if isinstance(value, str | list):
            words = value if isinstance(value, list) else [value]
            value = read_words(words, field.annotation, joined=shared)
        typed[name] = value
    return task.options(**typed)


def _sources(task: Task, words: Sequence[str], options: Options) -> list[Any]:
    unknown = [word for word in words if word.startswith("-")]
    if unknown:
        raise UnknotError(f"{task.name}: no such option: {unknown[0]}; options of a model go with --model.")
    return list(words) or [None]


@contextmanager
def _stoppable(output: Path | None) -> Iterator[None]:
    """Ctrl-C and SIGTERM end in a sentence that says what is kept."""
    try:
        with sigterm_is_ctrl_c():
            yield
    except KeyboardInterrupt as stop:
        kept = "the same command goes on." if output else "nothing was kept; -o FOLDER keeps what is done."
        typer.echo(f"unknot: {stop if stop.args else f'interrupted; {kept}'}", err=True)
        raise typer.Exit(130) from None


def _draw(task: Task, source: Source, options: Options, path: Path) -> None:
    from unknot.worlds.preview import check_picture_name, save_sheet

    check_picture_name(path)
    draw: Callable[..., Any] = task.preview  # type: ignore[assignment]
    with progress_bar() as progress:
        picture = draw(source, options, progress)
    typer.echo(save_sheet(picture, path))


def _together(task: Task, results: Sequence[TaskResult], html: Path | None, json: Path | None) -> None:
    if len(results) > 1 and task.compare is not None:
        from rich.console import Console

        Console(stderr=json == STDOUT).print(task.compare(results))
    if html is not None:
        from unknot.reports.task_page import write_task_page

        typer.echo(write_task_page(html, results), err=json == STDOUT)
