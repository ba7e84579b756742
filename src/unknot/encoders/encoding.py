"""Encode a world: `unknot.encode(run)`, or `unknot.encode(encoder, world)` for anyone's own encoder.

    def encoder(images):                       # uint8 (n, h, w, c)
        return my_network(images)              # (n, d)

    unknot.score(unknot.encode(encoder, "dsprites_rendered"))

Latents are float32 whatever a run was trained in. Images are rendered or read a few hundred at a time, so memory
does not grow with the world, and rows depend on the seed alone: not on the batch size, not on the machine.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unknot.encoders.encoder import Encoder, find_encoder, run_record
from unknot.errors import UnknotError
from unknot.factors import Classes, Indices
from unknot.metrics.inputs import as_array
from unknot.processes.threads import threads_of_torch
from unknot.progress import Progress, silent
from unknot.representation import Representation, mean_kl, read_representation
from unknot.runs.run import Run
from unknot.runs.training_world import open_training_world, trained_on, world_fingerprint
from unknot.worlds.catalogue import conventions, open_world, recorded_name
from unknot.worlds.splits.named import canonical_split, named_split
from unknot.worlds.splits.split import Split
from unknot.worlds.world import World

ROWS = 15_000  # the literature's 10,000 training and 5,000 test rows
CHUNK = 256  # images in memory at a time; fixed, so that a stochastic world looks the same at every batch size


def encode(
    encoder: Run | Path | str | Callable[..., Any],
    world: World | Path | str | None = None,
    *,
    rows: int | Literal["all"] = ROWS,
    split: str = "",
    seed: int = 0,
    batch_size: int = 128,
    device: str = "cpu",
    data: Path | None = None,
    pool: str = "",
    image_size: int | None = None,
    threads: int = 1,
    progress: Progress = silent,
) -> Representation:
    """The representation of a world's images by a run or by any encoder.

    Args:
        encoder: a run or its folder; a function from uint8 images (n, h, w, c) to latents (n, d), slots (n, k, d) or a
            pair of means and log-variances; or a name: `package.module:function`, `timm:NAME`, `hf:NAME`.
        world: a world or its name; left out, the world a run was trained on.
        rows: how many images, drawn without replacement and in random order; if there are no more than that, or for
            "all", every one in the world's order.
        split: a kind of split, or `combination:scale=0,shape=0`: `latents` are then rows of its training part,
            `latents_test` as many of its test part.
        seed: decides which rows, and the random parts of stochastic worlds.
        batch_size: images an encoder sees at a time, 256 at most.
        device: "cpu", "cuda" or "mps", for runs and for timm and hf networks.
        data: folder of data files.
        pool: how the positions of a timm or hf network become one code: see `encoders.POOLS`.
        image_size: resize images to this many pixels, for timm and hf networks.
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
    ready, opened, name = opened_encoder(
        encoder, world, device=device, data=data, pool=pool, image_size=image_size
    )
    halves = named_split(split, opened.factors, conventions(opened.key).rule) if split else None
    parts = [
        draw_points(opened, halves, part, rows, seed) for part in (("train", "test") if split else ("train",))
    ]
    total, before = sum(map(len, parts)), 0
    outputs = []
    with threads_of_torch(threads):
        for i, classes in enumerate(parts):

            def tell(done: int, before: int = before) -> None:
                progress("encoding", before + done, total)

            outputs.append(_encode(ready, opened, classes, [seed, i], min(batch_size, CHUNK), tell))
            before += len(classes)
    labelled = opened.factors.names != ("image",)  # told apart by number alone is no factor
    means, logvars = outputs[0]
    return Representation(
        latents=means,
        factors=parts[0] if labelled else None,
        factor_names=opened.factors.names if labelled else (),
        latents_test=outputs[1][0] if split else None,
        factors_test=parts[1] if split and labelled else None,
        kl=None if logvars is None else mean_kl(means, logvars),
        logvars=logvars,
        source=_source(ready.record, name, rows, split, seed),
    )


def opened_encoder(
    encoder: Run | Path | str | Callable[..., Any],
    world: World | Path | str | None,
    *,
    device: str = "cpu",
    data: Path | None = None,
    pool: str = "",
    image_size: int | None = None,
) -> tuple[Encoder, World, str]:
    """An encoder ready for a world, that world, opened, and its recorded name; arguments are those of `encode`."""
    run = _as_run(encoder)
    if world is not None:
        name, opened = recorded_name(world), open_world(world, data=data)
    elif run is not None:
        name, opened = run.spec.world, open_training_world(run, data=data)
    else:
        raise UnknotError("encode: an encoder of one's own needs a world; name one, such as dsprites_rendered.")
    at_home = world is None or (run is not None and isinstance(world, str | Path) and trained_on(run, str(world)))
    ready = find_encoder(
        run or encoder,
        opened.image_shape,
        device=device,
        data=data,
        pool=pool,
        image_size=image_size,
        home=opened if at_home else None,
    )
    return ready, opened, name


def encode_points(
    encoder: Encoder,
    world: World,
    classes: Classes,
    *,
    seed: Sequence[int] = (0,),
    batch_size: int = 128,
    threads: int = 1,
    progress: Progress = silent,
) -> NDArray[np.float32]:
    """Latents, or slots, of chosen points of a world, one for each row of classes and in their order.

    Args:
        encoder: of `opened_encoder`.
        world: where the images come from.
        classes: (n, n_factors).
        seed: decides the random parts of stochastic worlds.
        batch_size: images the encoder sees at a time, 256 at most.
        threads: of torch.
        progress: told how many rows are encoded.
    """

    def tell(done: int) -> None:
        progress("encoding", done, len(classes))

    with threads_of_torch(threads):
        return _encode(encoder, world, classes, list(seed), min(batch_size, CHUNK), tell)[0]


def representation_of(run: Run | Path | str, *, data: Path | None = None, progress: Progress = silent) -> Path:
    """The file of a run's representation with default settings, encoded now unless it is there already."""
    run = run if isinstance(run, Run) else Run(run)
    run.must_match_world(world_fingerprint(run.spec.world) if run.world_file else "")
    # A study keeps latents of other rows under the first name; those are its own, and stay.
    usual, beside = run.latents, run.latents_of("default")
    expected = _source(run_record(run), run.spec.world, ROWS, "", 0) if run.finished else None
    taken = False
    for path in (usual, beside):
        if path.is_file() and expected is not None:
            source = read_representation(path).source
            if source == expected:
                return path
            taken = taken or (path == usual and _other_rows(source, expected))
    return encode(run, progress=progress, data=data).write(beside if taken else usual)


def _other_rows(source: Mapping[str, Any], expected: Mapping[str, Any]) -> bool:
    """Whether two sources differ in the rows asked for, not only in the weights."""
    return any(source.get(key) != expected.get(key) for key in ("world", "rows", "split", "seed"))


def _check(rows: int | str, seed: int, batch_size: int) -> None:
    if rows != "all" and (not isinstance(rows, int) or rows < 1):
        raise UnknotError(f"encode: rows is {rows!r}; expected a number above 0, or all.")
    if seed < 0:
        raise UnknotError(f"encode: the seed is {seed}; seeds are whole numbers from 0 up.")
    if batch_size < 1:
        raise UnknotError(f"encode: batch_size is {batch_size}; expected at least one image.")


def _as_run(encoder: Any) -> Run | None:
    if isinstance(encoder, Run):
        return encoder
    if isinstance(encoder, Path) or (isinstance(encoder, str) and Path(encoder).is_dir()):
        return Run(encoder)
    return None


def _source(encoder: Mapping[str, Any], world: str, rows: int | str, split: str, seed: int) -> dict[str, Any]:
    return {"encoder": dict(encoder), "world": world, "rows": rows, "split": split, "seed": seed}


def draw_points(world: World, split: Split | None, part: str, rows: int | str, seed: int) -> Classes:
    """Classes of so many rows (or "all"), of the whole world or of the "train" or "test" part of a split."""
    pool: Indices
    if world.rows is not None:
        pool = np.arange(len(world.rows))
        if split is not None:
            inside = split.rows(world.rows)
            pool = np.flatnonzero(inside if part == "train" else ~inside)
        size = len(pool)
    elif split is not None:
        pool = split.train_indices() if part == "train" else split.test_indices()
        size = len(pool)
    else:
        pool, size = np.empty(0, dtype=np.int64), world.factors.size  # the whole grid is not listed
    rng = np.random.default_rng([seed, int(part == "test"), 2])
    if rows == "all" or int(rows) >= size:
        chosen = np.arange(size)
    else:
        chosen = rng.choice(size, size=int(rows), replace=False)
    if len(pool):
        chosen = pool[chosen]
    return world.factors.classes(chosen) if world.rows is None else world.rows[chosen]


def _encode(
    encoder: Encoder, world: World, classes: Classes, seed: list[int], batch_size: int, tell: Callable[[int], None]
) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
    """Means and log-variances of all rows, in their order."""
    n, done = len(classes), 0
    # Files are read fastest in their own order; rows keep theirs.
    order = np.argsort(world.factors.indices(classes), kind="stable")
    collected: list[NDArray[np.float32]] = []
    for i, start in enumerate(range(0, n, CHUNK)):
        chunk = order[start : start + CHUNK]
        rng = np.random.default_rng([*seed, 1, i])
        images = world.images(classes[chunk], rng=rng if world.stochastic else None)
        for first in range(0, len(chunk), batch_size):
            into = chunk[first : first + batch_size]
            codes = checked_codes(encoder, images[first : first + batch_size])
            if not collected:
                collected = [np.empty((n, *code.shape[1:]), dtype=np.float32) for code in codes]
            _must_match(encoder, codes, collected)
            for code, all_codes in zip(codes, collected, strict=True):
                all_codes[into] = code
            done += len(into)
            tell(done)
    return collected[0], collected[1] if len(collected) > 1 else None


def checked_codes(encoder: Encoder, images: NDArray[np.uint8]) -> list[NDArray[np.float32]]:
    """The codes of a batch of images, checked: one array, or means and log-variances."""
    try:
        output = encoder.encode(images)
    except UnknotError:
        raise
    except Exception as error:
        raise UnknotError(
            f"encoder '{encoder.name}': failed on images of shape {images.shape} ({type(error).__name__}: {error})."
        ) from error
    codes = []
    for part in output if isinstance(output, tuple) else (output,):
        array = as_array(part)
        wanted = f"({len(images)}, d) latents or ({len(images)}, k, d) slots"
        if array.dtype.kind not in "fiub" or array.ndim not in (2, 3) or 0 in array.shape[1:]:
            raise UnknotError(
                f"encoder '{encoder.name}': returned {array.dtype} of shape {array.shape} for {len(images)} images; "
                f"expected numbers of shape {wanted}."
            )
        if len(array) != len(images):
            raise UnknotError(
                f"encoder '{encoder.name}': returned {len(array)} rows for {len(images)} images; expected one row for "
                "each. Does it keep or drop part of a batch?"
            )
        with np.errstate(over="ignore"):
            code = array.astype(np.float32)
        if not np.isfinite(code).all():
            bad = int(np.flatnonzero(~np.isfinite(code).reshape(len(code), -1).all(axis=1))[0])
            raise UnknotError(
                f"encoder '{encoder.name}': row {bad} of a batch is not finite (NaN or infinity in float32); look at "
                "its weights and at how it scales images."
            )
        codes.append(code)
    if len(codes) > 2 or (len(codes) == 2 and codes[0].shape != codes[1].shape):
        shapes = ", ".join(str(code.shape) for code in codes)
        raise UnknotError(
            f"encoder '{encoder.name}': returned arrays of shapes {shapes}; expected one array, or means and "
            "log-variances of one shape."
        )
    return codes


def _must_match(encoder: Encoder, codes: list[NDArray[np.float32]], collected: list[NDArray[np.float32]]) -> None:
    now, before = ([array.shape[1:] for array in arrays] for arrays in (codes, collected))
    if now != before:
        raise UnknotError(
            f"encoder '{encoder.name}': returned codes of shape {now[0]} after codes of shape {before[0]}; the size "
            "must not change from batch to batch."
        )


__all__ = [
    "CHUNK",
    "ROWS",
    "draw_points",
    "encode",
    "encode_points",
    "opened_encoder",
    "representation_of",
]
