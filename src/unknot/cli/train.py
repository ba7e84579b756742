"""`unknot train` and `unknot models`."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unknot.cli.bar import progress_bar
from unknot.errors import UnknotError
from unknot.processes.signals import sigterm_is_ctrl_c

if TYPE_CHECKING:
    from unknot.runs.meters import Meter
    from unknot.runs.run import Run
    from unknot.runs.spec import RunSpec

# Options of a model, such as --beta, are not known before the model is: they are read by `model_options`.
ANY_OPTION = {"allow_extra_args": True, "ignore_unknown_options": True}


def train(
    context: typer.Context,
    world: Annotated[str, typer.Option(help="A world of `unknot data list`, or a file or folder of images.")],
    model: Annotated[str, typer.Option(help="A model of `unknot models`, or package.module:Class.")] = "beta_vae",
    steps: Annotated[int, typer.Option(help="Updates of the model.")] = 300_000,
    seed: Annotated[int, typer.Option(help="Decides weights, batches and noise.")] = 0,
    output: Annotated[Path, typer.Option("--output", "-o", help="The run's folder is made in this one.")] = Path(
        "runs"
    ),
    latents: Annotated[int, typer.Option(help="Size of the representation.")] = 10,
    split: Annotated[
        str,
        typer.Option(
            help="Train on the training part of this split only: composition, ..., combination:scale=0,shape=0."
        ),
    ] = "",
    pairs: Annotated[str, typer.Option(help="Law of pairs: one_factor, k_factors, laplace.")] = "",
    architecture: Annotated[str, typer.Option(help="conv64, conv64_k2, burgess64, fc1200 or coat128.")] = "conv64",
    decoder: Annotated[str, typer.Option(help="bernoulli or gaussian.")] = "bernoulli",
    init: Annotated[str, typer.Option(help="glorot or torch.")] = "glorot",
    batch_size: Annotated[int, typer.Option(help="Images, or pairs, in a batch.")] = 64,
    lr: Annotated[float, typer.Option(help="Learning rate of Adam.")] = 1e-4,
    precision: Annotated[str, typer.Option(help="float32, or bfloat16 (about twice as fast).")] = "float32",
    image_size: Annotated[int | None, typer.Option(help="Resize images to this many pixels.")] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda or mps.")] = "cpu",
    data: Annotated[Path | None, typer.Option(help="Folder of data files.")] = None,
    checkpoint_every: Annotated[int, typer.Option(help="Steps a killed run can lose.")] = 1000,
    compiled: Annotated[bool, typer.Option("--compile", help="Use torch.compile; pays on GPUs.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait if another process trains this run.")] = False,
    coat: Annotated[
        Path | None, typer.Option(help="Measure COAT while it trains, on this corpus (`unknot data corpus`).")
    ] = None,
    coat_every: Annotated[int, typer.Option(help="Steps between two measurements of COAT.")] = 1000,
) -> None:
    """Train a model on a world; options of the model follow as --NAME VALUE (such as --beta 4)."""
    from unknot.runs.spec import RunSpec

    options = model_options(context.args)
    _flags_must_be_boolean(model, options)
    spec = RunSpec(
        world=world,
        model=model,
        options=options,
        steps=steps,
        seed=seed,
        latents=latents,
        split=split,
        pairs=pairs,
        architecture=architecture,
        decoder=decoder,
        init=init,
        batch_size=batch_size,
        lr=lr,
        precision=precision,
        image_size=image_size,
    )
    how = {
        "device": device,
        "data": data,
        "checkpoint_every": checkpoint_every,
        "compiled": compiled,
        "meters": _meters(spec, data, coat, coat_every),
    }
    try:
        with sigterm_is_ctrl_c():
            run = _train_watched(spec, output, wait, **how)
    except KeyboardInterrupt as stop:
        typer.echo(f"unknot: {stop if stop.args else 'interrupted; the same command goes on.'}", err=True)
        raise typer.Exit(130) from None
    typer.echo(run.folder)


def _meters(spec: "RunSpec", data: Path | None, coat: Path | None, every: int) -> "list[Meter]":
    """What is measured while it trains, besides what always is."""
    if coat is None:
        return []
    from unknot.tasks.algebra.meter import coat_meter
    from unknot.worlds import open_world

    return [coat_meter(coat, open_world(spec.world, data=data), spec.image_size, every=every)]


def _train_watched(spec: "RunSpec", folder: Path, wait: bool, **how: Any) -> "Run":
    """Train with a bar, which is told where training starts; if it never is, there was nothing left to train."""
    from unknot.runs.run import RunBusyError
    from unknot.runs.training import train

    started = False
    with progress_bar() as bar:

        def progress(stage: str, done: int, total: int, /, **facts: Any) -> None:
            nonlocal started
            if not started and done:
                typer.echo(f"going on after step {done} of {total}", err=True)
            started = True
            bar(stage, done, total, **{name: fact for name, fact in facts.items() if not name.endswith("norm")})

        try:
            run = train(spec, folder, progress=progress, **how)
        except RunBusyError:
            if not wait:
                raise
            typer.echo("another process is training this run; waiting for it", err=True)
            run = train(spec, folder, progress=progress, wait=True, **how)
    if not started:
        typer.echo(f"already trained: {spec.steps} steps", err=True)
    return run


def model_options(words: list[str]) -> dict[str, Any]:
    """`--beta 4 --same-batch` as {"beta": 4, "same_batch": True}."""
    options: dict[str, Any] = {}
    rest = [part for word in words for part in (word.split("=", 1) if word.startswith("--") else [word])]
    while rest:
        name = rest.pop(0)
        if not name.startswith("--"):
            raise UnknotError(f"train: '{name}' is not an option; options look like --beta 4.")
        value = rest.pop(0) if rest and not rest[0].startswith("--") else "True"
        options[name[2:].replace("-", "_")] = _value(value)
    return options


def _flags_must_be_boolean(model: str, options: dict[str, Any]) -> None:
    """An error for `--beta` with its value forgotten."""
    from unknot.models import find, options_of

    known = options_of(find(model))
    for name, value in options.items():
        default = known[name].default if name in known else None
        if value is True and isinstance(default, int | float | str) and not isinstance(default, bool):
            word = f"--{name.replace('_', '-')}"
            raise UnknotError(f"train: option {word} needs a value, such as {word} {_shown(default)}.")


def _value(text: str) -> bool | int | float | str:
    if text in ("True", "true", "False", "false"):
        return text in ("True", "true")
    if re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    try:
        return float(text)
    except ValueError:
        return text


def models(
    name: Annotated[str, typer.Argument(help="Explain this one.")] = "",
) -> None:
    """List the models, or explain one: objective, options, published settings."""
    import inspect

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from unknot.cli.docstrings import reflowed
    from unknot.models import MODELS, find, options_of

    console = Console()
    if not name:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in ("model", "learns from", "what it is"):
            table.add_column(column, no_wrap=column != "what it is")
        for key, kind in MODELS.items():
            first = (inspect.getdoc(kind) or "").partition("\n")[0]
            table.add_row(key, kind.supervision.replace("_", " "), first)
        console.print(table)
        console.print("unknot models NAME explains one, with its options and published settings.", style="dim")
        return
    kind = find(name)
    console.print(Text(name, style="bold"))
    console.print(Text(reflowed(inspect.getdoc(kind) or "", console.width)))
    defaults = (f"--{option} {_shown(p.default)}" for option, p in options_of(kind).items())
    console.print(Text.assemble(("\noptions  ", "bold"), ", ".join(defaults) or "none"))
    for key, preset in kind.presets.items():
        swept = [f"{option} in {', '.join(map(str, values))}" for option, values in preset.sweep.items()]
        fixed = [f"{option} {value}" for option, value in preset.fixed.items()]
        console.print(Text.assemble((f"\n{key}  ", "bold"), f"{preset.source}: {'; '.join(swept + fixed)}"))


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return "''" if value == "" else str(value).lower() if isinstance(value, bool) else str(value)
