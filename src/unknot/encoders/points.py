"""Points of a world, drawn and encoded: the same rows on every machine and for every batch size."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unknot.encoders.encoder import Encoder
from unknot.errors import UnknotError
from unknot.factors import Classes, Indices
from unknot.processes.threads import threads_of_torch
from unknot.progress import Progress, silent
from unknot.reading.arrays import as_array
from unknot.worlds.array_world import ArrayWorld
from unknot.worlds.splits.split import Split
from unknot.worlds.world import Images, World

CHUNK = 256  # images in memory at a time; fixed, so that a stochastic world looks the same at every batch size
STEADY = 1e-2  # of the largest number, by which codes may differ between sizes of batches
Codes = list[NDArray[np.float32]]  # latents or slots alone, or means and log-variances


def draw_points(world: World, split: Split | None, part: str, rows: int | str, seed: int) -> Classes:
    """Classes of so many rows (or "all"), of the whole world or of the "train" or "test" part of a split."""
    drawn = _drawn(world.factors.size, world.rows, split, part, rows, seed)
    return world.factors.classes(drawn) if world.rows is None else world.rows[drawn]


def drawn_rows(
    world: World, split: Split | None, part: str, rows: int | str, seed: int
) -> tuple[World, Classes, Classes]:
    """Where the images of so many rows come from, the points by which to ask for them there, and their classes."""
    if isinstance(world, ArrayWorld) and world.stochastic:  # several images of one combination: each counts
        numbers = _drawn(len(world.labels), world.labels, split, part, rows, seed)
        return world.one_by_one(), numbers[:, None], world.labels[numbers]
    classes = draw_points(world, split, part, rows, seed)
    return world, classes, classes


def _drawn(
    size: int, listed: Classes | None, split: Split | None, part: str, rows: int | str, seed: int
) -> Indices:
    pool: Indices | None = None  # the whole grid is not listed
    if listed is not None:
        inside = np.ones(len(listed), dtype=bool) if split is None else split.rows(listed)
        pool = np.flatnonzero(inside if part == "train" or split is None else ~inside)
    elif split is not None:
        pool = split.train_indices() if part == "train" else split.test_indices()
    size = size if pool is None else len(pool)
    rng = np.random.default_rng([seed, int(part == "test"), 2])
    chosen = np.arange(size) if rows == "all" or int(rows) >= size else rng.choice(size, int(rows), replace=False)
    return chosen if pool is None else pool[chosen]


def encode_points(
    encoder: Encoder,
    world: World,
    classes: Classes,
    *,
    seed: Sequence[int] = (0,),
    batch_size: int = 128,
    threads: int = 1,
    progress: Progress = silent,
) -> Codes:
    """Codes of chosen points of a world, one for each row of classes and in their order.

    Args:
        encoder: ready for images of the world's shape.
        world: where the images come from.
        classes: (n, n_factors).
        seed: decides the random parts of stochastic worlds.
        batch_size: images the encoder sees at a time, 256 at most.
        threads: of torch.
        progress: told how many rows are encoded.
    """
    n, done = len(classes), 0
    batch_size = min(batch_size, CHUNK)
    order = _reading_order(world, classes)
    collected: Codes = []
    with threads_of_torch(threads):
        for i in range(-(-n // CHUNK)):
            chunk = order[i * CHUNK : (i + 1) * CHUNK]
            images = _chunk(world, classes[chunk], seed, i)
            for first in range(0, len(chunk), batch_size):
                into = chunk[first : first + batch_size]
                codes = checked_codes(encoder, images[first : first + batch_size])
                if not collected:
                    collected = [np.empty((n, *code.shape[1:]), dtype=np.float32) for code in codes]
                must_match(encoder, codes, collected)
                for code, all_codes in zip(codes, collected, strict=True):
                    all_codes[into] = code
                done += len(into)
                progress("encoding", done, n)
    return collected


def encoded_images(world: World, classes: Classes, rows: Indices, seed: Sequence[int] = (0,)) -> Images:
    """The images that `encode_points` showed for some of its rows, random parts included."""
    if not world.stochastic or not len(rows):
        return world.images(classes[rows])
    order = _reading_order(world, classes)
    places = np.argsort(order)[rows]
    chunks = {
        i: _chunk(world, classes[order[i * CHUNK : (i + 1) * CHUNK]], seed, i)
        for i in set((places // CHUNK).tolist())
    }
    return np.stack([chunks[at // CHUNK][at % CHUNK] for at in places.tolist()])


def _reading_order(world: World, classes: Classes) -> Indices:
    """Files are read fastest in their own order; rows keep theirs."""
    return np.argsort(world.factors.indices(classes), kind="stable")


def _chunk(world: World, classes: Classes, seed: Sequence[int], number: int) -> Images:
    rng = np.random.default_rng([*seed, 1, number]) if world.stochastic else None
    return world.images(classes, rng=rng)


def checked_codes(encoder: Encoder, images: NDArray[np.uint8]) -> Codes:
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
        array = as_array(part, f"encoder '{encoder.name}'", "what it returned")
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


def steady_codes(encoder: Encoder, images: NDArray[np.uint8]) -> Codes:
    """The codes of images; an error if that of one depends on which others are encoded with it, or how many."""
    together = checked_codes(encoder, images)
    for i in range(len(images)):
        alone = checked_codes(encoder, images[i : i + 1])
        must_match(encoder, alone, together)
        for code, codes in zip(alone, together, strict=True):
            if not np.allclose(code[0], codes[i], rtol=STEADY, atol=STEADY * float(np.abs(codes).max())):
                raise UnknotError(
                    f"encoder '{encoder.name}': the code of an image is another when it is encoded alone than among "
                    f"{len(images)}; does it normalise over the batch? Put networks into evaluation mode."
                )
    return together


def must_match(encoder: Encoder, codes: Codes, collected: Codes) -> None:
    """An error if codes are of another size than those before."""
    now, before = ([array.shape[1:] for array in arrays] for arrays in (codes, collected))
    if now != before:
        raise UnknotError(
            f"encoder '{encoder.name}': returned codes of shape {now[0]} after codes of shape {before[0]}; the size "
            "must not change from batch to batch."
        )
