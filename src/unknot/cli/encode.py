"""`unknot encode`: the representation of a run, or of any encoder."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from unknot.cli.bar import progress_bar
from unknot.cli.options import DATA, DEVICE, LAYER, POOL, argument, option, takes
from unknot.cli.output import echo
from unknot.errors import UnknotError

if TYPE_CHECKING:
    from unknot.runs.run import Run

ROWS = 15_000


@dataclass(frozen=True)
class EncodeOptions:
    """What is encoded, and where it goes."""

    run: Path | None = argument("The folder of a run.", None)
    encoder: str = option("", "Instead of a run: package.module:function, timm:NAME, timm:NAME@FILE or hf:NAME.")
    world: str = option("", "Images to encode; those the run was trained on if left out.")
    rows: int | Literal["all"] = option(ROWS, "How many images, drawn without replacement; or all.")
    split: str = option(
        "", "Encode rows of both parts of this split: composition, ..., combination:scale=0,shape=0."
    )
    seed: int = option(0, "Decides which images.")
    output: Path | None = option(
        None, "The file; in the run's folder if left out, and needed with --encoder.", "--output", "-o"
    )
    pool: str = option("", POOL)
    layer: str = option("", LAYER)
    image_size: int | None = option(None, "For timm and hf: resize images to so many pixels.")
    batch_size: int = option(128, "Images at a time, 256 at most.")
    device: str = option("cpu", DEVICE)
    data: Path | None = option(None, DATA)
    pictures: bool = option(False, "Also draw reconstructions, traversals and a Hinton diagram.")


@takes(EncodeOptions)
def encode(options: EncodeOptions) -> None:
    """Encode images into one .npz: latents, factors, and the KL of each latent."""
    if (options.run is None) == (not options.encoder):
        both = ", not both." if options.run else "."
        raise UnknotError("encode: give either the folder of a run or --encoder" + both)
    if options.run is None and options.pictures:
        raise UnknotError("encode: --pictures are of runs; an encoder cannot draw.")
    if options.run is None and options.output is None:
        raise UnknotError(
            "encode: --encoder needs -o FILE, such as -o latents.npz; only a run has a folder for it."
        )
    with progress_bar() as progress:
        from unknot.encoders.encoder import Opening
        from unknot.encoders.encoding import encode
        from unknot.encoders.source import Source
        from unknot.runs.run import Run

        run = None if options.run is None else Run(options.run)
        target = _target(options, run)
        opening = Opening(options.device, options.data, options.pool, options.image_size, options.layer)
        source = Source.of(run or options.encoder, options.world or None, opening)
        representation = encode(
            source,
            rows=options.rows,
            split=options.split,
            seed=options.seed,
            batch_size=options.batch_size,
            progress=progress,
        )
        representation.write(target)
    size, test = " x ".join(map(str, representation.latents.shape)), representation.latents_test
    also = f" and {len(test)} test rows" if test is not None else ""
    echo(f"{size} latents{also} of {representation.source['world']}", err=True)
    if run is not None and options.pictures:
        from unknot.runs.pictures import draw_run
        from unknot.runs.training import feed

        for path in draw_run(run, source.model, feed(run.spec, source.model, source.home), representation):
            echo(path)
    echo(target)


def _target(options: EncodeOptions, run: "Run | None") -> Path:
    """Where latents go: a name for each setting, so that none takes another's place, unless a file was named.

    The name without more words is that of the default setting alone, which `unknot score RUN` reads.
    """
    target = options.output
    if target is None and run is not None:
        words = [re.sub(r"\W+", "_", word).strip("_") for word in (options.world, options.split)]
        words += [str(options.rows)] if options.rows != ROWS else []
        words += [f"seed{options.seed}"] if options.seed else []
        target = run.latents_of(*filter(None, words))
    if target is None or target.suffix not in (".npz", ".safetensors"):
        raise UnknotError(f"encode: '{target}' does not end in .npz or .safetensors.")
    return target
