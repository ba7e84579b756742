"""Object algebra: is the code of a scene the sum of what it knows of its objects?"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from unknot.encoders.source import Source
from unknot.errors import UnknotError
from unknot.progress import Progress, within
from unknot.runs.workspace import Workspace
from unknot.tasks.algebra.codes import codes_of, fingerprint_on, read_codes
from unknot.tasks.algebra.options import LOSSES, WHO, AlgebraOptions, TupleSet, must_be_scorable, planned_tuples
from unknot.tasks.algebra.page import p_hat, score_text, section
from unknot.tasks.algebra.published import published_rows
from unknot.tasks.algebra.quadruples import CorpusTuples
from unknot.tasks.algebra.scores import ResultParts, score_baselines, score_beside, score_encoder
from unknot.tasks.algebra.tuple_sheet import tuple_sheet
from unknot.tasks.options import Untrained
from unknot.tasks.result import RESULT, TaskResult
from unknot.tasks.task import Task

if TYPE_CHECKING:
    from PIL.Image import Image
    from rich.console import RenderableType
    from rich.table import Table

DRAWN = 8  # tuples of a preview
ERRORS = ("tre", "tre_no_duplicates", "tre_tidied")  # values of which less is better


def measure(source: Source, options: AlgebraOptions, workspace: Workspace, progress: Progress) -> TaskResult:
    """COAT of a source on every corpus, beside pixels, perfect codes and codes that must fail."""
    planned = planned_tuples(options, source.opening.data)
    must_be_scorable(planned, options)
    _must_encode(source, planned[0].image_shape)  # or is refused before a corpus is made for it
    sets = [TupleSet(plan.name, plan.opened(progress), first=i == 0) for i, plan in enumerate(planned)]
    first = sets[0]
    fingerprint = fingerprint_on(source, first.tuples)
    settings = {
        **options.settings(),
        "n": len(first.tuples),
        "corpora": {tuple_set.name: tuple_set.tuples.about for tuple_set in sets},
        "encoder": source.record,
    }

    def result() -> TaskResult:
        parts = ResultParts()
        for tuple_set in sets:
            encoder, variants, here = None, {}, within(progress, tuple_set.name)
            if source.own is not None and not tuple_set.first:
                parts.notes.append(f"The codes are of one corpus; there are none of '{tuple_set.name}'.")
            elif not source.nothing:
                encoder = codes_of(source, tuple_set.tuples, fingerprint, options.batch_size, workspace, here)
                variants = score_encoder(parts, encoder, tuple_set, options)
            if tuple_set.first:
                score_beside(parts, encoder, variants, tuple_set.tuples, options)
            score_baselines(parts, tuple_set, options, workspace, here)
        return TaskResult(
            task=WHO,
            source=source.label or "baselines",
            world=f"scenes ({first.name})" if isinstance(first.tuples, CorpusTuples) else first.name,
            values=parts.values,
            tables={
                "scores": sorted(parts.scores, key=lambda row: row["kind"] != "encoder"),
                "negatives": parts.negatives,
                "against_n": parts.against_n,
                "objects": parts.objects,
                "published": published_rows(),
                "pictures": parts.pictures,
            },
            settings=settings,
            notes=list(dict.fromkeys(parts.notes)),
            lower_is_better=[name for name in parts.values if name in ERRORS],
        )

    identities = [tuple_set.tuples.identity for tuple_set in sets]
    key = [settings, source.label, fingerprint, identities, options.pictures]
    return workspace.kept(WHO, key, result, RESULT)


def check(run: Untrained, options: AlgebraOptions) -> None:
    """Refuse options that no run can be put to the task with, before there is one; no corpus is made for that."""
    planned = planned_tuples(options)
    must_be_scorable(planned, options)
    try:
        run.must_see(planned[0].image_shape)
    except UnknotError as error:
        raise error.within(planned[0].option) from None


def _must_encode(source: Source, shape: tuple[int, int, int]) -> None:
    if source.representation is not None:
        raise UnknotError(
            f"{WHO}: {source.label} holds latents of other images; give an encoder, or codes of the images of the "
            "corpus (.npz, or a folder of .npy)."
        )
    if source.own is None and not source.nothing:
        source.encoder_of(shape)


def preview(source: Source, options: AlgebraOptions, progress: Progress) -> "Image":
    """Some of the tuples, made first if need be."""
    tuples = planned_tuples(options, source.opening.data)[0].opened(progress)
    if isinstance(tuples, CorpusTuples):
        from unknot.worlds.scenes.corpus_sheet import corpus_sheet

        return corpus_sheet(tuples.corpus, rows=DRAWN)
    rows = np.arange(min(DRAWN, len(tuples)))
    return tuple_sheet({role: tuples.images(rows, role) for role in tuples.roles})


def table(result: TaskResult) -> "RenderableType":
    """Scores of encoder and baselines; then the share of successes on each wrong picture."""
    from rich.console import Group

    return Group(_score_table(result), *_negative_tables(result))


def _score_table(result: TaskResult) -> "Table":
    from rich.table import Table

    grid = Table(title="COAT in percent; in brackets where a wrong picture does as well", title_justify="left")
    for column in ("representation", "corpus"):
        grid.add_column(column, overflow="fold")
    for column in ("L2", "acos"):
        grid.add_column(column, justify="right", no_wrap=True)
    for kind in ("encoder", "baseline"):
        for row in (row for row in result.tables["scores"] if row["kind"] == kind):
            grid.add_row(
                str(row["representation"]), str(row["corpus"]), *(score_text(row, loss) for loss in LOSSES)
            )
        grid.add_section()
    return grid


def _negative_tables(result: TaskResult) -> "Iterator[Table]":
    """One for each corpus and loss, so that names fit 80 columns."""
    from rich.table import Table

    names = list(dict.fromkeys(str(row["negative"]) for row in result.tables["negatives"]))
    grids: dict[str, Table] = {}
    for (representation, corpus, loss), shares in p_hat(result).items():
        title = f"Share of tuples in which the wrong picture does worse: {loss}, {corpus}"
        if title not in grids:
            grids[title] = Table(title=title, title_justify="left", box=None, header_style="bold")
            grids[title].add_column("representation", overflow="fold")
            for name in names:
                grids[title].add_column(name, justify="right", no_wrap=True)
        grids[title].add_row(representation, *(shares.get(name, "-") for name in names))
    yield from grids.values()


ALGEBRA = Task(
    name=WHO,
    version=3,
    question="Object compositionality (COAT): is z(B) - z(A) + z(C) = z(D), and is it nothing else?",
    about="""Makes a corpus of tuples first if there is none: A, B (A and more objects), C, D (C and the same objects),
and pictures that differ from D in one thing. Says L2-COAT and acos-COAT in percent, whether every wrong picture does
worse (else the score is in brackets), and the same for pixels and for codes that must pass or fail.

Slots (n, k, d) are scored as they are, without duplicates and, where a run can draw its slots, without duplicates and
invisible ones. From slots a linear probe and an MLP read size, shape, colour, material and place of every object,
matched by the Hungarian method. Runs that mask objects get ARI, FG-ARI, mean best overlap and covering too.

`values`: scores (1 is best, 0 chance) and passes (1 or 0) of the first corpus, with its name at the end those of the
second; "tre", and "tre_normalised", of slots also without duplicates and tidied; of slots, "objects_read_linear" and
"objects_read_mlp" (mean over properties of accuracy, of places R^2) and "objects_recalled_linear" and "_mlp" (the share
of objects of which all is right). `tables`: "scores" (in percent), "negatives", "against_n" (scores of the first tuples
alone), "objects" (each property beside what slots of other images give), "published" (in percent) and "pictures"
(base64 PNG).

Scores of baselines are kept with the corpus; codes in the folder, 16 tuples at a time.""",
    reference="Xie et al. 2022, COAT: Measuring Object Compositionality in Emergent Representations, ICML.",
    options=AlgebraOptions,
    check=check,
    measure=measure,
    table=table,
    page=section,
    takes=("corpus",),
    sources=(
        "The folder of a run, package.module:function, timm:NAME, hf:NAME, or codes of the corpus made elsewhere "
        "(.npz, a folder of .npy, in Python also role -> array). Left out, the baselines alone."
    ),
    optional=True,
    reads=read_codes,
    preview=preview,
)
algebra = ALGEBRA.function
