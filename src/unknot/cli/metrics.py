"""`unknot metrics`: what each metric is, before it is run."""

import inspect
from typing import TYPE_CHECKING, Annotated

import typer

from unknot.cli.docstrings import reflowed
from unknot.cli.output import facts_table, plain_console
from unknot.errors import unknown
from unknot.reports.kit.terminal import plain_table

WIDE = 120  # terminals narrower than this show short names alone: titles would be cut to syllables

if TYPE_CHECKING:
    from rich.console import Console


def metrics(
    name: Annotated[str, typer.Argument(help="Explain this one.")] = "",
) -> None:
    """List the metrics, or explain one: formula, range, defaults, pitfalls, reference."""
    from unknot.metrics import METRICS

    console = plain_console()
    if not name:
        _list(console)
        return
    key = name.partition("[")[0]
    if key not in METRICS:
        raise unknown("metric", name, METRICS)
    _explain(console, key)


def _list(console: "Console") -> None:
    from rich.text import Text

    from unknot.metrics import METRICS
    from unknot.metrics.score import identity

    wide = console.width >= WIDE
    facts_of = ("measures", "range", "better", "cost")
    table = plain_table("metric", *["what it is"] * wide, *facts_of, whole=["metric", *facts_of])
    for key, metric in METRICS.items():
        facts = metric.facts
        name = [Text(identity(metric)), Text(facts.title)] if wide else [Text(key)]
        bounds = f"{facts.bounds[0]:g}..{facts.bounds[1]:g}"
        better = "higher" if facts.higher_is_better else "lower"
        table.add_row(*name, facts.measures, bounds, better, facts.cost + (" *" if facts.asked else ""))
    console.print(table)
    console.print("* only when asked for with --metrics. unknot metrics NAME explains one.", style="dim")


def _explain(console: "Console", key: str) -> None:
    from rich.text import Text

    from unknot.metrics import METRICS
    from unknot.metrics.score import identity

    metric = METRICS[key]
    facts = metric.facts
    console.print(Text(f"{identity(metric)}: {facts.title}", style="bold"))
    doc = (inspect.getdoc(metric) or "").partition("\n>>>")[0]
    console.print(Text(reflowed(doc.rstrip(), console.width)))
    console.print()
    direction = "higher is better" if facts.higher_is_better else "lower is better"
    facts_lines = {
        "measures": facts.measures,
        "range": f"{facts.bounds[0]:g} to {facts.bounds[1]:g}, {direction}",
        "chance": str(facts.chance),
        "assumes": ", ".join(facts.assumes) or "-",
        "also reported": ", ".join(facts.also) or "-",
        "unmoved by": ", ".join(sorted(facts.invariances)) or "-",
        "cost": facts.cost,
        "version": str(facts.version),
        "reference": facts.reference,
    }
    data = {"latents", "factors", "latents_test", "factors_test"}
    options = [p for p in inspect.signature(metric).parameters.values() if p.name not in data]
    defaults = ", ".join(f"{p.name}={p.default!r}" for p in options if p.default is not p.empty)
    facts_lines["defaults"] = defaults or "-"
    console.print(facts_table(facts_lines))
