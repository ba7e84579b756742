"""The main job end to end on embedded defaults: a small study, and a look at worlds, splits and scores, as one page."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from unknot.examples import example_file
from unknot.files import must_be_ours
from unknot.progress import Progress, silent
from unknot.reports.kit.page import Cell, Grid, Picture, Section, write_page
from unknot.scoring.record import score_rows
from unknot.scoring.scoring import score
from unknot.worlds.splits.rules import SplitKind

KINDS: tuple[SplitKind, ...] = ("random", "composition", "interpolation", "extrapolation")
FIRST = "zoo:beta_tc_vae_dsprites"  # the run whose latents are shown before anything is trained
SHOWN = ("dsprites_rendered", "abstract_dsprites_rendered", "shapes3d_rendered", "mpi3d_rendered")


def demo(
    folder: Path | str,
    *,
    study: Path | str = "demo",
    jobs: int | None = None,
    progress: Progress = silent,
    live: Callable[[], AbstractContextManager[Progress]] = lambda: nullcontext(silent),
) -> Path:
    """Run a small study in `folder/study` and write `folder/index.html`; a second call goes on where one stopped.

    Args:
        folder: for everything.
        study: its file, or the name of one that ships.
        jobs: runs at a time; one for each core if left out.
        progress: told what is being done.
        live: opens the display of the study's own progress.
    """
    from unknot.reports.study_page import study_sections
    from unknot.studies.folder import StudyFolder
    from unknot.studies.plan import plan_study
    from unknot.studies.spec import read_spec
    from unknot.studies.study import run_study

    folder = Path(folder)
    must_be_ours(folder, "demo", ["study", "index.html"])
    stages = len(SHOWN) + 4
    progress(f"moving the latents of {FIRST}", 0, stages)
    first = _disentangled()
    progress("training, scoring and ranking models", 1, stages)
    with live() as advance:
        run_study(plan_study(read_spec(study)), folder / "study", jobs=jobs, progress=advance)
    return write_page(
        folder / "index.html",
        "Unknot: a first look",
        "A disentangled model; a study of two kinds of models, ranked with labels and without; a scored file of "
        "latents; ways to split a world; and worlds whose factors are known. But for the first model and the file, "
        "everything here was rendered, trained and computed on this machine, without a download.",
        [first, *study_sections(StudyFolder(folder / "study"), shown=6), *_sections(progress, stages)],
    )


def _sections(progress: Progress, stages: int) -> Iterator[Section]:
    progress("scoring the shipped example", 2, stages)
    yield _example()
    progress("splitting dSprites", 3, stages)
    yield _splits()
    for i, name in enumerate(SHOWN, start=4):
        progress(f"rendering {name}", i, stages)
        yield _world(name)


def _disentangled() -> Section:
    from unknot.encoders.source import Source
    from unknot.models.codes import represent
    from unknot.representation import mean_kl
    from unknot.runs.pictures import draw, shown_images
    from unknot.runs.run import PICTURES, Run
    from unknot.runs.training import feed

    run = Run(FIRST)
    source = Source.of(run)
    images = shown_images(feed(run.spec, source.model, source.home))
    q = represent(source.model, images)
    kl = None if q.logvar is None else mean_kl(q.mean.numpy(), q.logvar.numpy())
    with TemporaryDirectory() as scratch:
        draw(source.model, images, Path(scratch), kl=kl, title=FIRST)
        picture = Picture((Path(scratch) / PICTURES["traversals"]).read_bytes(), "One latent moves in each row.")
    text = (
        f"A small model that ships with the package ({FIRST}; `unknot zoo` lists all). It was given images and nothing "
        "else, and found the vertical place, the horizontal place and the size, with a latent for each. `unknot "
        f"explore {FIRST}` lets you move them."
    )
    return Section("A model that can be read", [text], [picture])


def _world(name: str) -> Section:
    from unknot.worlds import open_world
    from unknot.worlds.preview import sheet

    world = open_world(name)
    rng = np.random.default_rng(0)
    alone = Picture.of(sheet(world, kind="factors", rng=rng), f"{world.name}: one factor varies in each row.")
    mixed = Picture.of(sheet(world, kind="samples", rng=rng, rows=3), f"{world.name}: random images.")
    return Section(world.name, contents=[alone, mixed])


def _splits() -> Section:
    from unknot.reports.split_picture import split_picture
    from unknot.worlds.published.dsprites import SPACE
    from unknot.worlds.splits.split import split

    rows: list[list[str | int]] = []
    pictures = []
    with TemporaryDirectory() as scratch:
        for kind in KINDS:
            parts = split(SPACE, kind, rule="dsprites")
            held = "; ".join(f"{name} {_span(classes)}" for name, classes in parts.exclusive.items())
            share = f"{100 * parts.n_train / SPACE.size:.2f} %"
            rows.append([kind, held or "-", parts.n_train, parts.n_test, share])
            if parts.exclusive:
                path = split_picture(parts, Path(scratch) / f"{kind}.png", title="dSprites")
                pictures.append(Picture(path.read_bytes(), f"The {kind} split of dSprites."))
    table = Grid(("split", "exclusive classes", "train", "test", "train share"), rows)
    text = (
        "Interpolation and extrapolation keep some classes of a factor for the test; composition keeps some for "
        "training, so that the test has combinations never seen (Schott et al. 2022)."
    )
    return Section("Splits", [text], [table, *pictures])


def _example() -> Section:
    from unknot.reports.kit.hinton import hinton_figure

    card = score(example_file())
    names = [verdict.factor for verdict in card.verdicts]
    with TemporaryDirectory() as scratch:
        path = Path(scratch) / "hinton.png"
        hinton_figure(card.shares if card.shares is not None else np.zeros((1, 1)), names, path)
        picture = Picture(path.read_bytes(), "Who knows what: area is I(latent; factor) / H(factor).")
    known: list[list[Cell]] = [[v.factor, round(v.share, 2), v.text] for v in card.verdicts]
    verdicts = Grid(("factor", "known", "carried by"), known, "Verdicts")
    rows: list[list[Cell]] = [
        [row.metric, row.measures, round(row.value, 3), "higher" if row.higher_is_better else "lower"]
        for row in score_rows(card)
        if not row.part and not row.refused
    ]
    scores = Grid(("metric", "measures", "value", "better"), rows, "Scores")
    text = (
        "The posterior means of a small beta-VAE (beta = 4) that saw rendered dSprites for a few minutes, as shipped "
        "with the package. The command unknot score prints the same for any file of latents."
    )
    return Section("A scored representation", [text], [verdicts, picture, scores])


def _span(classes: tuple[int, ...]) -> str:
    whole = classes == tuple(range(classes[0], classes[-1] + 1))
    return f"{classes[0]}..{classes[-1]}" if whole and len(classes) > 2 else ",".join(map(str, classes))
