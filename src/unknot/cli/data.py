"""`unknot data`: worlds, their files, their splits."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unknot.cli.bar import progress_bar
from unknot.cli.data_scenes import import_corpus, write_corpus, write_scenes
from unknot.cli.data_split import split_world
from unknot.cli.output import echo, plain_console
from unknot.reports.kit.terminal import plain_table

if TYPE_CHECKING:
    from unknot.worlds.published.check import Checked

MB = 10**6  # bytes
app = typer.Typer(no_args_is_help=True, help="Worlds with known factors: list, preview, split, download, check.")
app.command("split")(split_world)
app.command("scenes")(write_scenes)
app.command("corpus")(write_corpus)
app.command("import-coat")(import_corpus)

Data = Annotated[
    Path | None,
    typer.Option("--data", help="Folder of data files; else UNKNOT_DATA, else the user's cache folder."),
]


@app.command("list")
def list_worlds(
    data: Data = None,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Show every world: factors, sizes, licence, and whether its file is here."""
    from unknot.errors import UnknotError
    from unknot.worlds import WORLDS
    from unknot.worlds.published.data_folders import data_folders

    if data is not None and not data.is_dir():
        raise UnknotError(f"data list: --data {data} is not a folder; name the one that holds the files.")
    rows = [_row(name, data) for name in WORLDS]
    if json:
        from json import dumps

        typer.echo(dumps(rows, indent=2))
        return
    names = ("world", "factors", "grid", "licence", "file")
    table = plain_table(*names, right=["grid"], whole=["world", "grid", "file"])
    for row in rows:
        factors = ", ".join(f"{f['name']} {f['size']}" for f in row["factors"])
        file = "rendered" if row["rendered"] else "here" if row["here"] else "not here"
        table.add_row(row["name"], factors, f"{row['combinations']:,}", row["licence"], file)
    console = plain_console()
    console.print(table)
    folders = ", ".join(str(folder) for folder in data_folders(data))
    for path in dict.fromkeys(path for row in rows for path in row["paths"]):
        console.print(f"here: {path}", soft_wrap=True)
    console.print(f"\nFiles are looked for in {folders}.", soft_wrap=True)
    console.print("`unknot data download NAME` gets those that are not here.")


@app.command("download")
def download_world(
    name: Annotated[str, typer.Argument(help="A world of `unknot data list`.")],
    data: Data = None,
) -> None:
    """Get the published files of a world; an interrupted download is continued."""
    from unknot.errors import UnknotError, unknown
    from unknot.worlds import WORLDS
    from unknot.worlds.published.data_folders import data_folders
    from unknot.worlds.published.download import download

    if name not in WORLDS:
        raise unknown("world", name, WORLDS)
    entry = WORLDS[name]
    if not entry.files:
        raise UnknotError(f"{name}: is rendered, so there is nothing to download; it can be used at once.")
    folder = data_folders(data)[0]
    console = plain_console()
    for file in entry.files:
        with progress_bar() as progress:

            def advance(_: str, done: int, total: int, /, stage: str = f"{file.name} (MB)", **facts: Any) -> None:
                progress(stage, done // MB, total // MB)

            try:
                path = download(file, folder, advance)
            except UnknotError as error:
                hint = f" The rendered stand-in '{entry.stand_in}' needs no file." if entry.stand_in else ""
                raise UnknotError(f"{error}{hint}") from error
        checked = "checksum verified" if file.sha256 or file.md5 else "no checksum is known"
        console.print(f"{path} ({checked})", soft_wrap=True)
    console.print(f"Licence: {entry.licence}. Cite {entry.reference}.", soft_wrap=True)


@app.command("check")
def check_file(
    file: Annotated[Path, typer.Argument(help="A published data file.")],
    quick: Annotated[bool, typer.Option("--quick", help="Arrays and labels only: no checksum, no mean.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Compare a file with what was published: arrays, labels, mean colour, checksum. Exit code 1 if it differs."""
    from unknot.worlds.published.check import check

    with progress_bar() as progress:
        checked = check(file, quick=quick, progress=progress)
    if json:
        from dataclasses import asdict
        from json import dumps

        record = {"file": str(file), "world": checked.world, "passed": checked.passed}
        typer.echo(dumps(record | {"checks": [asdict(one) for one in checked.checks]}, indent=2))
    else:
        _show(checked, quick)
    if not checked.passed:
        raise typer.Exit(1)


def _row(name: str, data: Path | None) -> dict[str, Any]:
    from unknot.worlds import WORLDS
    from unknot.worlds.published.data_folders import find_files

    entry = WORLDS[name]
    paths = find_files(entry, data) if entry.files else ()
    return {
        "name": name,
        "title": entry.title,
        "factors": [{"name": f.name, "size": f.size, "kind": f.kind} for f in entry.factors],
        "combinations": entry.factors.size,
        "licence": entry.licence,
        "reference": entry.reference,
        "rendered": not entry.files,
        "here": bool(paths) or not entry.files,
        "paths": [str(path) for path in paths],
        "files": [file.name for file in entry.files],
        "stand_in": entry.stand_in,
    }


def _show(checked: "Checked", quick: bool) -> None:
    from rich.text import Text

    columns = ("", "check", "expected", "found")
    table, console = plain_table(*columns, whole=[""], fold=columns), plain_console()
    for one in checked.checks:
        mark = Text("pass", style="green") if one.passed else Text("FAIL", style="bold red")
        table.add_row(mark, Text(one.what), Text(one.expected), Text(one.found))
    console.print(table)
    verdict = "is" if checked.verified else "has the form of" if checked.passed else "differs from"
    text = f"{checked.path} {verdict} the published file of {checked.world}."
    if checked.passed and not checked.verified:
        text += " Its checksum was not compared" + ("." if quick else ": none is known.")
    console.print(text, soft_wrap=True)


@app.command("preview")
def preview(
    name: Annotated[str, typer.Argument(help="A world's name, a file of images or a folder of pictures.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The picture to write: .png, .jpg or .webp.")],
    kind: Annotated[str, typer.Option(help="samples: random images; factors: one row per factor.")] = "samples",
    seed: Annotated[int, typer.Option(min=0, help="Decides which images are shown.")] = 0,
    data: Data = None,
) -> None:
    """Draw a contact sheet of a world: what its images look like, or what each factor does."""
    import numpy as np

    from unknot.worlds import open_world
    from unknot.worlds.preview import check_picture_name, save_sheet, sheet, sheet_kind

    wanted, target = sheet_kind(kind), check_picture_name(output)
    if (Path(name) / "corpus.json").is_file():
        from unknot.worlds.scenes.corpus import open_corpus
        from unknot.worlds.scenes.corpus_sheet import corpus_sheet

        picture = corpus_sheet(open_corpus(name), seed=seed)
    else:
        picture = sheet(open_world(name, data=data), kind=wanted, rng=np.random.default_rng(seed))
    save_sheet(picture, target)
    echo(f"{target}: {picture.width} x {picture.height}")
