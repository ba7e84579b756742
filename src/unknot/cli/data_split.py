"""`unknot data split`: what a split of a world holds back, counted, with no image read."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from unknot.cli.options import DATA, argument, option, takes
from unknot.cli.output import plain_console
from unknot.cli.split_rule import SplitRule
from unknot.errors import UnknotError

if TYPE_CHECKING:
    from unknot.factors import Classes, Factor, FactorSpace
    from unknot.worlds.splits.split import Split

_HEADS = {
    "composition": "only in training",
    "combination": "held out together",
    "interpolation": "only in test",
    "extrapolation": "only in test",
}


@dataclass(frozen=True, kw_only=True)
class SplitOptions(SplitRule):
    """Which split of which world, and how it is shown."""

    name: str = argument("A world of `unknot data list`, or a file of one's own.")
    kind: str = option("extrapolation", "random, composition, interpolation, extrapolation or combination.")
    seed: int = option(0, "Decides a random split.")
    output: Path | None = option(None, "Draw the split into this picture: .png, .svg or .pdf.", "--output", "-o")
    json: bool = option(False, "Print as JSON.")
    data: Path | None = option(None, DATA)


@takes(SplitOptions)
def split_world(options: SplitOptions) -> None:
    """Show what a systematic split holds back: classes, counts, caveats, and a picture."""
    key, title, space, rows = _world(options.name, options.data)
    split = _split(options, key, space)
    record = _record(options.name, split, rows)
    if options.output is not None:
        from unknot.reports.split_picture import split_picture

        record["picture"] = str(split_picture(split, options.output, title=title))
    if options.json:
        from json import dumps

        typer.echo(dumps(record, indent=2))
    else:
        _show(split, record, title)


def _world(name: str, data: Path | None) -> "tuple[str, str, FactorSpace, Classes | None]":
    from unknot.worlds import WORLDS, open_world

    if name in WORLDS:
        return name, WORLDS[name].title, WORLDS[name].factors, None  # the grid is known without the file
    world = open_world(name, data=data)
    return world.key, world.name, world.factors, world.rows


def _split(options: SplitOptions, key: str, space: "FactorSpace") -> "Split":
    from unknot.worlds import conventions
    from unknot.worlds.splits.rules import check_kind

    kind, known = check_kind(options.kind), conventions(key)
    if kind == "combination" and not options.hold:
        published = known.combinations
        factors = tuple(published[0]) if published else space.names[:2]
        pairs = ", ".join("-".join(map(str, combination.values())) for combination in published)
        raise UnknotError(
            f"data split: say which combination to hold out, such as --hold {'=0 --hold '.join(factors)}=0."
            + (f" Published ones of {' and '.join(factors)} are {pairs}." if published else "")
        )
    return options.own.split(kind, space, known.rule, who="data split", seed=options.seed)


def _record(name: str, split: "Split", rows: "Classes | None") -> dict[str, Any]:
    total = split.space.size
    per_factor = split.one_ood_counts
    record: dict[str, Any] = {
        "world": name,
        "kind": split.kind,
        "factors": [
            {
                "name": f.name,
                "kind": f.kind,
                "size": f.size,
                "exclusive": list(split.exclusive.get(f.name, ())),
                "one_ood": per_factor.get(f.name, 0),
            }
            for f in split.space
        ],
        "exclusive_classes_are": _HEADS.get(split.kind, ""),
        "n_train": split.n_train,
        "n_test": split.n_test,
        "train_share": split.n_train / total,
        "test_share": split.n_test / total,
        "one_ood": sum(per_factor.values()),
        "one_ood_share_of_test": sum(per_factor.values()) / split.n_test,
        "notes": list(split.notes),
        "definition": split.as_json(),
    }
    if rows is not None:
        mask = split.rows(rows)
        record |= {"n_train_images": int(mask.sum()), "n_test_images": int((~mask).sum())}
    return record


def _show(split: "Split", record: dict[str, Any], title: str) -> None:
    from rich.table import Table
    from rich.text import Text

    console = plain_console()
    console.print(Text.assemble((title, "bold"), f": {split.kind}\n"))
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("factor", no_wrap=True)
    table.add_column("kind", style="dim")
    table.add_column("classes", justify="right")
    if split.exclusive:
        table.add_column(_HEADS[split.kind], overflow="fold")
        table.add_column("values", style="dim", overflow="fold")
    if record["one_ood"]:
        table.add_column("one-OOD", justify="right", no_wrap=True)
    for factor, row in zip(split.space, record["factors"], strict=True):
        cells = [factor.name, factor.kind, str(factor.size)]
        if split.exclusive:
            cells += [_runs(row["exclusive"]) or "-", _values(factor, row["exclusive"])]
        if record["one_ood"]:
            cells.append(f"{row['one_ood']:,}" if row["one_ood"] else "-")
        table.add_row(*map(Text, cells))
    console.print(table)
    counts = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    counts.add_column()
    counts.add_column(justify="right")
    counts.add_column(justify="right", style="dim")
    counts.add_row("training", f"{split.n_train:,}", f"{100 * record['train_share']:.2f} %")
    counts.add_row("test", f"{split.n_test:,}", f"{100 * record['test_share']:.2f} %")
    if record["one_ood"]:
        share = f"{100 * record['one_ood_share_of_test']:.2f} % of test"
        counts.add_row("one-OOD: exactly one class unseen in training", f"{record['one_ood']:,}", share)
    if "n_train_images" in record:
        counts.add_row("images for training", f"{record['n_train_images']:,}", "")
        counts.add_row("images for testing", f"{record['n_test_images']:,}", "")
    console.print()
    console.print(counts)
    for note in split.notes:
        console.print(Text(f"note: {note}", style="dim"))
    if "picture" in record:
        console.print(Text(f"picture: {record['picture']}"), soft_wrap=True)


def _runs(classes: list[int]) -> str:
    """Classes as people write them.

    >>> _runs([0, 1, 2, 7, 9])
    '0..2, 7, 9'
    """
    runs: list[list[int]] = []
    for c in classes:
        if runs and c == runs[-1][-1] + 1:
            runs[-1].append(c)
        else:
            runs.append([c])
    return ", ".join(f"{run[0]}..{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)


def _values(factor: "Factor", classes: list[int]) -> str:
    if not factor.values or not classes:
        return ""
    labels = [factor.label(c) for c in classes]
    if len(labels) <= 3:
        return ", ".join(labels)
    whole_run = classes[-1] - classes[0] + 1 == len(classes) and factor.kind != "categorical"
    return f"{labels[0]}..{labels[-1]}" if whole_run else ", ".join(labels[:2]) + ", .. " + labels[-1]
