"""`unknot train`, `unknot models` and `unknot recipes`."""

import inspect
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unknot.cli.bar import progress_bar
from unknot.cli.options import DATA, DEVICE, LOG, made_command, option, parameters_of, typed
from unknot.cli.output import echo, plain_console, stoppable
from unknot.cli.split_rule import SplitRule
from unknot.errors import UnknotError
from unknot.reports.kit.terminal import plain_table

if TYPE_CHECKING:
    from unknot.integrations.trackers import Log
    from unknot.runs.meters import Meter
    from unknot.runs.run import Run
    from unknot.runs.spec import RunSpec

# In the help; the others follow as a spec has them.
FIRST = (
    "world",
    "model",
    "preset",
    "recipe",
    "steps",
    "starts",
    "seed",
    "output",
    "latents",
    "split",
    "hold",
    "ratio",
    "keep",
    "pairs",
)


@dataclass(frozen=True)
class UntypedOptions:
    """Where values come from that are not typed."""

    preset: str = option(
        "", "A published setting of the model (`unknot models NAME`); what is typed goes before it."
    )
    recipe: str = option("", "How to train, such as quick (`unknot recipes`); what is typed goes before it.")


@dataclass(frozen=True)
class TrainOptions:
    """How a run is trained and what is measured on the way: nothing of it decides the weights."""

    output: Path = option(Path("runs"), "The run's folder is made in this one.", "--output", "-o")
    device: str = option("cpu", DEVICE)
    data: Path | None = option(None, DATA)
    checkpoint_every: int = option(1000, "Steps a killed run can lose.")
    compiled: bool = option(False, "Use torch.compile; pays on GPUs.", "--compile")
    processes: int = option(
        1, "That compute each batch together; other runs beside are faster where there are some."
    )
    jobs: int = option(1, "With --starts: starts that are trained at a time.")
    wait: bool = option(False, "Wait if another process trains this run.")
    coat: Path | None = option(None, "Measure COAT while it trains, on this corpus (`unknot data corpus`).")
    coat_every: int = option(1000, "Steps between two measurements of COAT.")
    log: str = option("", LOG)


def train() -> Any:
    """Train a model on a world; options of the model follow as --NAME VALUE (such as --beta 4)."""
    from unknot.runs.spec import RunSpec

    def command(context: typer.Context, **values: Any) -> None:
        rule, untyped = SplitRule(**typed(SplitRule, values)), UntypedOptions(**typed(UntypedOptions, values))
        written = [name for name in RunSpec.model_fields if name in values and _typed(context, name)]
        # Options of a model, such as --beta, are not known before the model is.
        fields = {**typed(RunSpec, values), "options": model_options(context.args)}
        _flags_must_be_boolean(fields["model"], fields["options"])
        fields = _with_untyped(untyped, fields, written)
        if rule.own.given:
            fields["split"] = _own_split(fields, rule, values["data"])
        with stoppable("interrupted; the same command goes on."):
            run = _train_watched(RunSpec(**fields), TrainOptions(**values))
        echo(run.folder)

    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    known = parameters_of(RunSpec) | parameters_of(SplitRule) | parameters_of(TrainOptions)
    known |= parameters_of(UntypedOptions)
    del known["options"]
    parameters = {"context": context, **{name: known[name] for name in FIRST}, **known}
    return made_command("train", command, parameters, train.__doc__ or "", any_option=True)


def _typed(context: typer.Context, name: str) -> bool:
    """Whether a value was typed, and is not the default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _with_untyped(untyped: UntypedOptions, fields: dict[str, Any], written: Collection[str]) -> dict[str, Any]:
    """The fields of a run with those of a published setting or a recipe where nothing was typed."""
    from unknot.runs.recipes import filled, recipe_values

    values = _preset_values(untyped.preset, fields) if untyped.preset else {}
    if untyped.recipe:
        values |= recipe_values(untyped.recipe, fields["model"], preset=untyped.preset)
    chosen = {name: value for name, value in fields.items() if name in (*written, "model", "options")}
    return fields | filled(chosen, values)


def _preset_values(name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """What a published setting fixes; where it has several values of an option, one must be typed."""
    from unknot.models import find_preset

    preset = find_preset(fields["model"], name)
    missing = [option for option in preset.sweep if option not in fields["options"]]
    if missing:
        values = ", ".join(map(str, preset.sweep[missing[0]]))
        flag = f"--{missing[0].replace('_', '-')}"
        raise UnknotError(
            f"train: the preset '{name}' of {fields['model']} has several values of {missing[0]} ({values}); choose "
            f"one, such as {flag} {preset.sweep[missing[0]][0]}.",
            field="preset",
        )
    return dict(preset.fixed)


def _own_split(fields: dict[str, Any], rule: SplitRule, data: Path | None) -> str:
    """The name of the split that a rule makes of the kind that was typed."""
    from unknot.worlds import conventions, open_world

    world = open_world(fields["world"], data=data)
    return rule.own.name(fields.get("split", ""), world.factors, conventions(world.key).rule, who="train")


def _meters(spec: "RunSpec", how: TrainOptions) -> "list[Meter]":
    """What is measured while it trains, besides what always is."""
    if how.coat is None:
        return []
    from unknot.tasks.algebra.meter import coat_meter
    from unknot.worlds import open_world

    world = open_world(spec.world, data=how.data)
    return [coat_meter(how.coat, world, spec.image_size, every=how.coat_every)]


def _train_watched(spec: "RunSpec", how: TrainOptions) -> "Run":
    """Train with a bar, which is told where training starts; if it never is, there was nothing left to train."""
    from unknot.runs.run import RunBusyError
    from unknot.runs.training import train

    started = False
    with progress_bar() as bar, _logging(spec, how.log) as log:

        def progress(stage: str, done: int, total: int, /, **facts: Any) -> None:
            nonlocal started
            if not started and done:
                echo(f"going on after step {done} of {total}", err=True)
            started = True
            log({name: float(fact) for name, fact in facts.items() if isinstance(fact, int | float)}, done)
            bar(stage, done, total, **{name: fact for name, fact in facts.items() if not name.endswith("norm")})

        start = partial(
            train,
            spec,
            how.output,
            device=how.device,
            data=how.data,
            checkpoint_every=how.checkpoint_every,
            compiled=how.compiled,
            processes=how.processes,
            jobs=how.jobs,
            meters=_meters(spec, how),
            progress=progress,
        )
        try:
            run = start()
        except RunBusyError:
            if not how.wait:
                raise
            echo("another process is training this run; waiting for it", err=True)
            run = start(wait=True)
    if not started:
        echo(f"already trained: {run.updates} steps", err=True)
    return run


@contextmanager
def _logging(spec: "RunSpec", address: str) -> Iterator["Log"]:
    """What takes the numbers of each report to the tracker of an address, if there is one."""
    if not address:
        yield lambda values, step: None
        return
    from unknot.integrations.trackers import tracking

    with tracking(address, spec.label, spec.model_dump(exclude={"options"}) | dict(spec.options)) as log:
        yield log


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
    try:
        return int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)
    except ValueError:
        return text


def models(
    name: Annotated[str, typer.Argument(help="Explain this one.")] = "",
) -> None:
    """List the models, or explain one: objective, options, published settings."""
    from rich.text import Text

    from unknot.cli.docstrings import reflowed
    from unknot.models import MODELS, find, options_of

    console = plain_console()
    if not name:
        table = plain_table("model", "learns from", "what it is", whole=["model", "learns from"])
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


def recipes() -> None:
    """List the recipes: named ways to train, for `unknot train --recipe NAME` and `recipe: NAME` in a study."""
    from unknot.runs.recipes import RECIPES

    table = plain_table("recipe", "what it is", "for models", whole=["recipe"])
    for name, recipe in RECIPES.items():
        table.add_row(name, recipe.about, ", ".join(recipe.models) or "all")
    console = plain_console()
    console.print(table)
    for name, recipe in RECIPES.items():
        if recipe.fields:
            console.print(f"{name}: {', '.join(f'{field} {value}' for field, value in recipe.fields.items())}")


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return "''" if value == "" else str(value).lower() if isinstance(value, bool) else str(value)
