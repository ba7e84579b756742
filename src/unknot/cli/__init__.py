"""The command line. Each command is a short layer over a function that Python users call themselves."""

import inspect
import io
import os
import sys
import sysconfig
import traceback
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from unknot import __version__
from unknot.cli.audit import audit
from unknot.cli.compare import compare
from unknot.cli.data import app as data
from unknot.cli.demo import demo
from unknot.cli.docstrings import joined
from unknot.cli.encode import encode
from unknot.cli.explore import explore
from unknot.cli.leaderboard import leaderboard
from unknot.cli.metrics import metrics
from unknot.cli.options import WhenAsked
from unknot.cli.output import echo
from unknot.cli.papers import papers
from unknot.cli.rank import rank
from unknot.cli.report import report
from unknot.cli.score import score
from unknot.cli.slots import slots
from unknot.cli.student import student
from unknot.cli.study import results, study
from unknot.cli.task import app as task
from unknot.cli.train import models, recipes, train
from unknot.cli.zoo import zoo
from unknot.errors import UnknotError, UnknotWarning, extras
from unknot.processes.signals import sigterm_is_ctrl_c
from unknot.processes.trust import trust
from unknot.reading.guard import VARIABLE, parse_bytes
from unknot.reading.names import ERRORS, visible

MAX_BYTES_OPTION = "--max-bytes"
_usual_warning = warnings.formatwarning

# One thread in each process: on a shared machine two were measured several times slower than one.
for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

_UsageError: Any = typer.BadParameter.__base__  # of every mistake in what is typed


def _take_max_bytes(words: list[str]) -> list[str]:
    """The words without `--max-bytes SIZE`, which holds for this process and all that it starts."""
    for at, word in enumerate(words):
        name, equals, size = word.partition("=")
        if name == MAX_BYTES_OPTION and (equals or words[at + 1 :]):
            os.environ[VARIABLE] = size if equals else words[at + 1]
            parse_bytes(os.environ[VARIABLE], MAX_BYTES_OPTION)
            return words[:at] + words[at + (1 if equals else 2) :]
    return words


class _Unknot(TyperGroup):
    """All commands. `--trust` and `--max-bytes` may stand anywhere; names that are typed may be imported."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take `--trust` and `--max-bytes` out of the words."""
        args = _take_max_bytes(args)
        end = args.index("--") if "--" in args else len(args)
        words = [word.rpartition("=")[2] for word in args[:end]]
        if typed := [word for word in words if ":" in word and not any(map(str.isspace, word))]:
            trust(*typed)
        if "--trust" in words:
            trust()
        return super().parse_args(ctx, [word for word in args[:end] if word != "--trust"] + args[end:])

    def invoke(self, ctx: Any) -> Any:
        """Do a command; Ctrl-C and SIGTERM end it in a sentence where it has none of its own."""
        try:
            with sigterm_is_ctrl_c(), extras("this"):
                return super().invoke(ctx)
        except _UsageError as error:
            error.message = visible(error.message)
            raise
        except KeyboardInterrupt as stop:
            echo(f"unknot: {stop if stop.args else 'interrupted.'}", err=True)
            raise typer.Exit(130) from None


app = typer.Typer(
    name="unknot",
    cls=_Unknot,
    help="What is a learned representation worth?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(score)
app.command()(metrics)
app.command(cls=WhenAsked)(train)
for _function in (
    compare,
    audit,
    models,
    recipes,
    zoo,
    encode,
    slots,
    student,
    rank,
    study,
    results,
    report,
    explore,
    leaderboard,
    papers,
    demo,
):
    app.command()(_function)
app.add_typer(task, name="task")
app.add_typer(data, name="data")
for _commands in (app, data):
    for _command in _commands.registered_commands:
        _command.help = _command.help or joined(inspect.getdoc(_command.callback) or "")


def _version(wanted: bool) -> None:
    if wanted:
        echo(f"unknot {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and stop.")
    ] = False,
    max_bytes: Annotated[
        str | None,
        typer.Option(MAX_BYTES_OPTION, help="Memory that a file may take, such as 8GB; 2 GiB if left out."),
    ] = None,
    trust: Annotated[
        bool,
        typer.Option(
            "--trust", help="Import own models that files of runs and studies name, which runs their code."
        ),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line; mistakes of the user end in one message and exit code 2, never a traceback."""
    warnings.formatwarning = _warning
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal or file that takes ASCII alone is given escapes
            stream.reconfigure(errors=ERRORS)
    try:
        app()
    except UnknotError as error:
        _stop(str(error), 2)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        if isinstance(error, OSError) and error.filename:  # whose name is too long, or which may not be read
            _stop(f"{error.filename}: {error.strerror}.", 2)
        if os.environ.get("UNKNOT_DEBUG"):
            raise
        what, place = f"{type(error).__name__}: {error}", _own_line(error)
        if place:
            _stop(f"{what}\nIn {place}; UNKNOT_DEBUG=1 shows the whole traceback.", 1)
        _stop(f"{what}\nThis should not have happened; UNKNOT_DEBUG=1 shows where it did.", 1)


def _own_line(error: Exception) -> str:
    """The last line of the user's own code that an error came through, such as the loss of a model; or nothing."""
    installed = [
        Path(__file__).parents[1],
        *(Path(sysconfig.get_path(key)) for key in ("stdlib", "purelib", "platlib")),
    ]
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if path.is_file() and not any(path.is_relative_to(folder) for folder in installed):
            return f"{path}, line {frame.lineno}, in {frame.name}"
    return ""


def _warning(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> str:
    """Our own warnings in one line, without the place in our code that others carry."""
    if issubclass(category, UnknotWarning):
        return f"unknot: warning: {visible(' '.join(str(message).split()))}\n"
    return _usual_warning(message, category, *where, **more)


def _stop(message: str, code: int) -> None:
    echo(f"unknot: {message}", err=True)
    sys.exit(code)
