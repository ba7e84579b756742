"""`unknot data scenes`, `corpus` and `import-coat`: pictures of objects, written to a folder."""

from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Annotated

import typer

from unknot.cli.bar import progress_bar
from unknot.cli.options import option, takes
from unknot.cli.output import echo, stoppable
from unknot.errors import UnknotError

Output = Annotated[Path, typer.Option("--output", "-o", help="Folder for this set alone.")]
SEED = "Decides every picture."
JOBS = "Processes; the files do not depend on it."
SIZE = "Side of the pictures, such as 64 or 128; or HEIGHTxWIDTH: 240x320."
Seed = Annotated[int, typer.Option(min=0, help=SEED)]
Jobs = Annotated[int, typer.Option(min=1, help=JOBS)]
SizeText = Annotated[str, typer.Option(help=SIZE)]


@dataclass(frozen=True)
class ScenesOptions:
    """The options of `unknot data scenes`."""

    output: Path = option(MISSING, "Folder for this set alone.", "--output", "-o")
    setting: str = option("iid", "iid, corr, clevr, sprites or black_sprites (two-dimensional).")
    n: int = option(23_000, "Pictures.", "--n")
    size: str = option("128", SIZE)
    form: str = option("array", "array: one memory-mapped file; png: one file each.", "--format")
    split: str = option("train", "Goes into names and JSON.")
    seed: int = option(0, SEED)
    jobs: int = option(1, JOBS)
    background: str = option("", "Floor of every scene, such as white or gray; left out, drawn as published.")


@takes(ScenesOptions)
def write_scenes(options: ScenesOptions) -> None:
    """Draw a training set of scenes: pictures, masks, scene JSON. An interrupted one is continued.

    Train on it with `unknot train --world FOLDER`.
    """
    from unknot.worlds.scenes.dataset import SceneSet
    from unknot.worlds.scenes.dataset import write_scenes as write

    output, size = options.output, read_size(options.size)
    scene_set = SceneSet(
        options.setting, options.n, size, options.seed, options.form, options.split, options.background
    )
    with stoppable(f"{output}: interrupted; the same command goes on."), progress_bar() as progress:
        world = write(output, scene_set, jobs=options.jobs, progress=progress)
    height, width, _ = world.image_shape
    echo(f"{output}: {options.n:,} pictures, {height} x {width}, {world.name}")


def write_corpus(
    output: Output,
    n: Annotated[int, typer.Option("--n", min=1, help="Tuples, of ten pictures each.")] = 1600,
    size: SizeText = "128",
    variant: Annotated[str, typer.Option(help="occluded, clear, white, or 'as published'.")] = "occluded",
    per_scene: Annotated[int, typer.Option(min=1, help="Tuples at most from one main scene.")] = 4,
    seed: Seed = 0,
    jobs: Jobs = 1,
    preview: Annotated[Path | None, typer.Option(help="Draw some tuples into this picture.")] = None,
) -> None:
    """Make the corpus that `unknot task algebra` tests codes on. An interrupted one is continued."""
    from unknot.worlds.preview import check_picture_name, save_sheet
    from unknot.worlds.scenes.corpus_sheet import corpus_sheet
    from unknot.worlds.scenes.making import make_corpus

    target = None if preview is None else check_picture_name(preview)
    with stoppable(f"{output}: interrupted; the same command goes on."), progress_bar() as progress:
        corpus = make_corpus(
            output,
            n=n,
            size=read_size(size),
            variant=variant,
            seed=seed,
            per_scene=per_scene,
            jobs=jobs,
            progress=progress,
        )
    echo(f"{output}: {len(corpus):,} tuples, {variant}")
    if target is not None:
        echo(str(save_sheet(corpus_sheet(corpus), target)))


def import_corpus(
    tests: Annotated[Path, typer.Argument(help="The list, such as CLEVR_test_cases_hard.csv.")],
    output: Output,
    images: Annotated[
        Path | None, typer.Option(help="Folder that its pictures lie in; else that of the list.")
    ] = None,
    size: Annotated[int, typer.Option(min=1, help="Side of the pictures.")] = 128,
    window: Annotated[str, typer.Option(help="What is cut out of them: coat, slots or whole.")] = "coat",
    jobs: Jobs = 1,
) -> None:
    """Make a corpus of COAT's published tests, or of pictures listed in the same way: ten on a line.

    Paths of another machine are found below the folder of pictures. Score it with `unknot task algebra --corpus`.
    """
    from unknot.worlds.scenes.coat_list import import_coat

    with stoppable(f"{output}: interrupted; the same command goes on."), progress_bar() as progress:
        corpus = import_coat(tests, output, images=images, size=size, window=window, jobs=jobs, progress=progress)
    echo(f"{output}: {len(corpus):,} tuples, {size} x {size}")


def read_size(text: str) -> int | tuple[int, int]:
    """The size that a text names.

    >>> read_size("128"), read_size("240x320")
    (128, (240, 320))
    """
    sides = text.lower().split("x")
    if not all(side.strip().isdigit() and int(side) > 0 for side in sides) or len(sides) > 2:
        raise UnknotError(
            f"--size '{text}' is no size; write a side such as 128, or HEIGHTxWIDTH such as 240x320."
        )
    return int(sides[0]) if len(sides) == 1 else (int(sides[0]), int(sides[1]))
