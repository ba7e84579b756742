"""Encode a world: `unknot.encode(run)`, or `unknot.encode(encoder, world)` for anyone's own encoder.

    def encoder(images):                       # uint8 (n, h, w, c)
        return my_network(images)              # (n, d)

    unknot.score(unknot.encode(encoder, "dsprites_rendered"))

Latents are float32 whatever a run was trained in. Images are rendered or read a few hundred at a time, so memory
does not grow with the world, and rows depend on the seed alone: not on the batch size, not on the machine.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from unknot.encoders.encoder import Opening, Transformer, run_record
from unknot.encoders.points import Codes, drawn_rows, encode_points
from unknot.encoders.source import Source
from unknot.errors import UnknotError
from unknot.progress import Progress, counted, silent
from unknot.reading.arguments import checked
from unknot.representation import Representation, mean_kl, read_representation
from unknot.runs.run import Run
from unknot.runs.training_world import world_fingerprint
from unknot.worlds.catalogue import conventions
from unknot.worlds.splits.named import canonical_split, named_split
from unknot.worlds.world import KeylessWorld

ROWS = 15_000  # the literature's 10,000 training and 5,000 test rows


@checked
def encode(
    encoder: Source | Run | Path | str | Transformer | Callable[..., Any],
    world: KeylessWorld | Path | str | None = None,
    *,
    rows: int | Literal["all"] = ROWS,
    split: str = "",
    seed: int = 0,
    batch_size: int = 128,
    device: str = "cpu",
    data: Path | None = None,
    pool: str = "",
    image_size: int | None = None,
    layer: str = "",
    threads: int = 1,
    progress: Progress = silent,
) -> Representation:
    """The representation of a world's images by a run or by any encoder.

    Args:
        encoder: a run or its folder; a function from uint8 images (n, h, w, c) to latents (n, d), slots (n, k, d) or a
            pair of means and log-variances; a torch module; a fitted transformer of scikit-learn; or a name:
            `zoo:NAME`, `package.module:name`, `pipeline.skops`, `timm:NAME`, `hf:NAME`.
        world: a world or its name; left out, the world a run was trained on.
        rows: how many images, drawn without replacement and in random order; if there are no more than that, or for
            "all", every one in the world's order.
        split: a kind of split, or `combination:scale=0,shape=0`: `latents` are then rows of its training part,
            `latents_test` as many of its test part.
        seed: decides which rows, and the random parts of stochastic worlds.
        batch_size: images an encoder sees at a time, 256 at most.
        device: "cpu", "cuda" or "mps", for runs and for timm and hf networks.
        data: folder of data files.
        pool: how the positions of a network become one code: see `unknot.encoders.layers`.
        image_size: resize images to this many pixels, for timm and hf networks.
        layer: of a network or a torch module whose output is the code, as `named_modules` call it.
        threads: of torch; one is the fastest on a shared machine.
        progress: told how many rows are encoded.

    >>> def brightness(images):
    ...     return images.mean(axis=(1, 2)) / 255
    >>> representation = encode(brightness, "dsprites_rendered", rows=100)
    >>> representation.latents.shape, representation.factors.shape, representation.factor_names[2]
    ((100, 1), (100, 5), 'orientation')
    """
    _check(rows, seed, batch_size)
    split = canonical_split(split) if split else ""
    opening = Opening(device=device, data=data, pool=pool, image_size=image_size, layer=layer)
    source = Source.of(encoder, world, opening)
    opened, ready = source.world, source.encoder
    halves = named_split(split, opened.factors, conventions(opened.key).rule) if split else None
    names = ("train", "test") if split else ("train",)
    drawn = [drawn_rows(opened, halves, part, rows, seed) for part in names]
    parts = [classes for _, _, classes in drawn]

    def encoded(i: int) -> Codes:
        before, total = sum(map(len, parts[:i])), sum(map(len, parts))
        told = counted(lambda done, _: progress("encoding", before + done, total))
        images, points, _ = drawn[i]
        return encode_points(
            ready, images, points, seed=[seed, i], batch_size=batch_size, threads=threads, progress=told
        )

    codes = [encoded(i) for i in range(len(parts))]
    labelled = opened.factors.names != ("image",)  # told apart by number alone is no factor
    means, *spread = codes[0]
    return Representation(
        latents=means,
        factors=opened.factors.measured(parts[0]) if labelled else None,
        factor_names=opened.factors.names if labelled else (),
        latents_test=codes[1][0] if split else None,
        factors_test=opened.factors.measured(parts[1]) if split and labelled else None,
        kl=mean_kl(means, spread[0]) if spread else None,
        logvars=spread[0] if spread else None,
        source=_record(source.record, source.world_name, rows, split, seed),
        kinds=opened.factors.kinds if labelled else {},
    )


def representation_of(run: Run | Path | str, *, data: Path | None = None, progress: Progress = silent) -> Path:
    """The file of a run's representation with default settings, encoded now unless it is there already."""
    run = run if isinstance(run, Run) else Run(run)
    run.must_match_world(world_fingerprint(run.spec.world) if run.world_file else "")
    target = run.latents
    if run.finished:
        expected = _record(run_record(run), run.spec.world, ROWS, "", 0)
        for path in filter(Path.is_file, (target, run.latents_of("default"))):
            record = read_representation(path).source
            if record == expected:
                return path
            if path == run.latents and _other_rows(record, expected):  # those of a study are its own, and stay
                target = run.latents_of("default")
    return encode(run, progress=progress, data=data).write(target)


def _other_rows(record: Mapping[str, Any], expected: Mapping[str, Any]) -> bool:
    """Whether two representations differ in the rows asked for, not only in the weights."""
    return any(record.get(key) != expected[key] for key in ("world", "rows", "split", "seed"))


def _check(rows: int | str, seed: int, batch_size: int) -> None:
    if rows != "all" and (not isinstance(rows, int) or rows < 1):
        raise UnknotError(f"encode: rows is {rows!r}; expected a number above 0, or all.")
    if seed < 0:
        raise UnknotError(f"encode: the seed is {seed}; seeds are whole numbers from 0 up.")
    if batch_size < 1:
        raise UnknotError(f"encode: batch_size is {batch_size}; expected at least one image.")


def _record(encoder: Mapping[str, Any], world: str, rows: int | str, split: str, seed: int) -> dict[str, Any]:
    """What a representation says about how it was made."""
    return {"encoder": dict(encoder), "world": world, "rows": rows, "split": split, "seed": seed}
