"""`unknot encode`: the representation of a run, or of any encoder."""

import re
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from unknot.cli.bar import progress_bar
from unknot.errors import UnknotError

ROWS = 15_000


def encode(
    run: Annotated[Path | None, typer.Argument(help="The folder of a run.")] = None,
    encoder: Annotated[
        str, typer.Option(help="Instead of a run: package.module:function, timm:NAME, timm:NAME@FILE or hf:NAME.")
    ] = "",
    world: Annotated[str, typer.Option(help="Images to encode; those the run was trained on if left out.")] = "",
    rows: Annotated[str, typer.Option(help="How many images, drawn without replacement; or all.")] = str(ROWS),
    split: Annotated[
        str,
        typer.Option(
            help="Encode rows of both parts of this split: composition, ..., combination:scale=0,shape=0."
        ),
    ] = "",
    seed: Annotated[int, typer.Option(help="Decides which images.")] = 0,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The file; in the run's folder if left out, and needed with --encoder."
        ),
    ] = None,
    pool: Annotated[str, typer.Option(help="For timm and hf: own, mean, class or slots.")] = "",
    image_size: Annotated[
        int | None, typer.Option(help="For timm and hf: resize images to so many pixels.")
    ] = None,
    batch_size: Annotated[int, typer.Option(help="Images at a time, 256 at most.")] = 128,
    device: Annotated[str, typer.Option(help="cpu, cuda or mps.")] = "cpu",
    data: Annotated[Path | None, typer.Option(help="Folder of data files.")] = None,
    pictures: Annotated[
        bool, typer.Option("--pictures", help="Also draw reconstructions, traversals and a Hinton diagram.")
    ] = False,
) -> None:
    """Encode images into one .npz: latents, factors, and the KL of each latent."""
    if (run is None) == (not encoder):
        raise UnknotError("encode: give either the folder of a run or --encoder" + (", not both." if run else "."))
    if run is None and pictures:
        raise UnknotError("encode: --pictures are of runs; an encoder cannot draw.")
    wanted = _rows(rows)
    if output is None and run is None:
        raise UnknotError(
            "encode: --encoder needs -o FILE, such as -o latents.npz; only a run has a folder for it."
        )
    target = output or _target(cast(Path, run), world, wanted, split, seed)
    if target.suffix != ".npz":
        raise UnknotError(f"encode: '{target}' does not end in .npz.")
    with progress_bar() as progress:
        from unknot.encoders.encoding import encode

        representation = encode(
            run if run is not None else encoder,
            world or None,
            rows=wanted,
            split=split,
            seed=seed,
            batch_size=batch_size,
            device=device,
            data=data,
            pool=pool,
            image_size=image_size,
            progress=progress,
        )
        representation.write(target)
    size, test = " x ".join(map(str, representation.latents.shape)), representation.latents_test
    also = f" and {len(test)} test rows" if test is not None else ""
    typer.echo(f"{size} latents{also} of {representation.source['world']}", err=True)
    if run is not None and pictures:
        from unknot.runs.redraw import draw_run

        for path in draw_run(run, representation, data=data):
            typer.echo(path)
    typer.echo(target)


def _rows(text: str) -> Any:
    if text == "all":
        return "all"
    if not text.isdigit() or int(text) < 1:
        raise UnknotError(f"encode: --rows is '{text}'; expected a number above 0, or all.")
    return int(text)


def _target(run: Path, world: str, rows: int | str, split: str, seed: int) -> Path:
    """Where latents go by default: a name for each setting, so that none takes another's place.

    The name without more words is that of the default setting alone, which `unknot score RUN` reads.
    """
    from unknot.runs.run import Run

    parts = [re.sub(r"\W+", "_", word).strip("_") for word in (world, split)]
    parts += [str(rows)] if rows != ROWS else []
    parts += [f"seed{seed}"] if seed else []
    return Run(run).latents_of(*filter(None, parts))
