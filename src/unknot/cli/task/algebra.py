"""`unknot task algebra`: does adding an object add the same thing to the code, whatever else is in the picture?"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unknot.cli.task.bar import progress_bar
from unknot.cli.task.output import JSON, json_alone, show
from unknot.errors import UnknotError

if TYPE_CHECKING:
    from unknot.tasks.result import TaskResult
    from unknot.worlds.scenes.corpus import Corpus


def algebra(
    source: Annotated[
        str,
        typer.Argument(
            help="The folder of a run, package.module:function, timm:NAME, hf:NAME, or codes of the corpus made "
            "elsewhere (.npz, or a folder of .npy). Left out, the baselines alone."
        ),
    ] = "",
    corpus: Annotated[
        Path | None,
        typer.Option(help="Folder of a corpus, or where corpora are made and kept; the data folder if left out."),
    ] = None,
    tuples: Annotated[int, typer.Option(help="Tuples of a corpus that is made.")] = 1600,
    size: Annotated[int, typer.Option(help="Pixels of its images.")] = 128,
    variant: Annotated[str, typer.Option(help="occluded, clear or 'as published'.")] = "occluded",
    corpus_seed: Annotated[int, typer.Option(help="Decides its scenes.")] = 0,
    clear: Annotated[
        bool, typer.Option("--clear/--no-clear", help="Also score a corpus whose objects hardly hide each other.")
    ] = True,
    quadruples: Annotated[
        Path | None, typer.Option(help="Instead of a corpus: a list of one's own images (.csv, .json, .txt).")
    ] = None,
    norm: Annotated[str, typer.Option(help="squared as the published code, or l2 as the paper.")] = "squared",
    chance: Annotated[str, typer.Option(help="shuffle_ab or shuffle_d; as the published code if left out.")] = "",
    minibatch: Annotated[int, typer.Option(help="Tuples that chance is averaged over.")] = 64,
    threshold: Annotated[float, typer.Option(help="Half chord below which two slots are duplicates.")] = 0.15,
    blank: Annotated[
        str, typer.Option(help="What replaces them: mean slot of the corpus, or of a batch.")
    ] = "corpus",
    tre: Annotated[str, typer.Option(help="Composition of TRE: add or transformer (minutes).")] = "add",
    seed: Annotated[int, typer.Option(help="Decides minibatches and the bootstrap.")] = 0,
    jobs: Annotated[int, typer.Option(help="Processes that make a corpus.")] = 2,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for codes; the corpus' own if left out.")
    ] = None,
    json: Annotated[Path | None, typer.Option("--json", help=JSON)] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write a page to this file.")] = None,
    preview: Annotated[Path | None, typer.Option(help="Write a picture of some tuples to this file.")] = None,
    pool: Annotated[str, typer.Option(help="For timm and hf: own, mean, class or slots.")] = "",
    image_size: Annotated[int | None, typer.Option(help="For timm and hf: resize images.")] = None,
    batch_size: Annotated[int, typer.Option(help="Images an encoder sees at a time.")] = 64,
    device: Annotated[str, typer.Option(help="cpu, cuda or mps.")] = "cpu",
    data: Annotated[Path | None, typer.Option(help="Folder of data files.")] = None,
) -> None:
    """Measure object compositionality (COAT): is z(B) - z(A) + z(C) = z(D), and is it nothing else?

    Makes a corpus of tuples first if there is none: A, B (A and more objects), C, D (C and the same objects), and
    pictures that differ from D in one thing. Prints L2-COAT and acos-COAT in percent, whether every wrong picture does
    worse (else the score is in brackets), and the same for pixels and for codes that must pass or fail.
    """
    from unknot.tasks.algebra.codes import check_source
    from unknot.tasks.algebra.task import algebra as task

    if quadruples is not None and (corpus is not None or preview is not None):
        raise UnknotError("algebra: --quadruples takes the place of a corpus; leave out --corpus and --preview.")
    if quadruples is None and not _is_corpus(corpus) and tuples < minibatch:
        raise UnknotError(
            f"algebra: --tuples {tuples} are fewer than a minibatch of {minibatch}, over which chance is averaged; ask "
            f"for more, or for --minibatch {tuples}."
        )
    if source:
        check_source(source)
    with progress_bar() as told:
        given: dict[str, Any] = {"quadruples": quadruples}
        if quadruples is None:
            wanted = {"n": tuples, "size": size, "seed": corpus_seed, "jobs": jobs}
            main = _corpus(corpus, data, variant, wanted, told)
            given = {"corpus": main}
            if clear and variant != "clear" and main.folder != corpus:
                given["clear"] = _corpus(corpus, data, "clear", wanted, told)
            output = output or main.folder / "codes"
            if preview is not None:
                from unknot.worlds.preview import save_sheet
                from unknot.worlds.scenes.corpus_sheet import corpus_sheet

                save_sheet(corpus_sheet(main), preview)
        words: dict[str, Any] = {"norm": norm, "chance": chance or None, "blank": blank, "composition": tre}
        result = task(
            source or None,
            **given,
            **words,
            minibatch=minibatch,
            threshold=threshold,
            pool=pool,
            image_size=image_size,
            batch_size=batch_size,
            seed=seed,
            device=device,
            data=data,
            folder=output,
            **told,
        )
    with json_alone(result, json):
        print_scores(result)
        show(result, source=source, json=json, html=html)
        if preview is not None:
            typer.echo(preview)


def print_scores(result: "TaskResult") -> None:
    """Scores of encoder, baselines and published models; then the share of successes on each wrong picture."""
    from rich.console import Console
    from rich.table import Table

    from unknot.tasks.algebra.page import p_hat, score_text

    console = Console()
    table = Table(title="COAT in percent; in brackets where a wrong picture does as well", title_justify="left")
    for column in ("representation", "corpus"):
        table.add_column(column, overflow="fold")
    for column in ("L2", "acos"):
        table.add_column(column, justify="right", no_wrap=True)
    for kind in ("encoder", "baseline"):
        for row in (row for row in result.tables["scores"] if row["kind"] == kind):
            words = (
                str(row["representation"]),
                str(row["corpus"]),
                score_text(row, "l2"),
                score_text(row, "acos"),
            )
            table.add_row(*words)
        table.add_section()
    console.print(table)
    names = list(dict.fromkeys(str(row["negative"]) for row in result.tables["negatives"]))
    tables: dict[str, Table] = {}  # one for each corpus and loss, so that names fit 80 columns
    for (representation, corpus, loss), shares in p_hat(result).items():
        title = f"Share of tuples in which the wrong picture does worse: {loss}, {corpus}"
        if title not in tables:
            tables[title] = Table(title=title, title_justify="left", box=None, header_style="bold")
            tables[title].add_column("representation", overflow="fold")
            for name in names:
                tables[title].add_column(name, justify="right", no_wrap=True)
        tables[title].add_row(representation, *(shares.get(name, "-") for name in names))
    for table in tables.values():
        console.print(table)


def _is_corpus(folder: Path | None) -> bool:
    """Whether a folder holds a corpus, whole or not, rather than several."""
    return folder is not None and any((folder / name).is_file() for name in ("corpus.json", "images.npy"))


def _corpus(
    folder: Path | None,
    data: Path | None,
    variant: str,
    wanted: dict[str, Any],
    told: dict[str, Callable[..., None]],
) -> "Corpus":
    """The corpus in a folder; made below it if the folder holds none."""
    from unknot.worlds.published.data_folders import cache_folder
    from unknot.worlds.scenes.corpus import open_corpus
    from unknot.worlds.scenes.making import make_corpus

    if folder is not None and _is_corpus(folder):
        return open_corpus(folder)
    name = "-".join([variant.replace(" ", "_"), str(wanted["n"]), str(wanted["size"]), f"seed{wanted['seed']}"])
    home = (folder or (data or cache_folder()) / "coat") / name
    if not (home / "corpus.json").is_file():
        told["say"](f"making the {variant} corpus in {home}")

    def progress(stage: str, done: int, total: int, /, **facts: Any) -> None:
        told["watch"](done, total)

    return make_corpus(home, variant=variant, progress=progress, **wanted)
