"""Codes of all images of tuples, encoded in chunks that are kept."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.encoders.encoder import Encoder
from unknot.encoders.points import checked_codes
from unknot.errors import UnknotError
from unknot.processes.threads import threads_of_torch
from unknot.progress import Progress, silent
from unknot.runs.workspace import ARRAYS, Workspace
from unknot.tasks.algebra.quadruples import Tuples

F32 = NDArray[np.float32]
CHUNK = 16  # tuples that are encoded, and kept, at a time
PIXEL = "pixel"  # the negative B - A + C, computed from images
FLOATS = ("run", "module", "timm", "hf")  # encoders that take images beyond 0 and 255
CLIPPED = (
    "The pixel negative B - A + C is cut off at black and white: this encoder is a function of uint8 images. Runs, "
    "modules, timm and hf networks see it as it is."
)


def tuple_codes(
    encoder: Encoder,
    tuples: Tuples,
    *,
    fingerprint: str = "",
    batch_size: int = 64,
    workspace: Workspace | None = None,
    progress: Progress = silent,
) -> dict[str, F32]:
    """Role -> codes (n, d) or slots (n, k, d) of every image, and of the pixel negative.

    Args:
        encoder: see `Source.encoder_of`.
        tuples: images.
        fingerprint: what tells the encoder from others.
        batch_size: images an encoder sees at a time.
        workspace: keeps chunks, so that an interrupted call goes on; None keeps nothing.
        progress: told of tuples.
    """
    workspace = workspace or Workspace()
    identity = [dict(encoder.record), fingerprint, tuples.identity, len(tuples)]
    whole: F32 = np.empty((len(tuples), 0), dtype=np.float32)  # its width is that of the first chunk
    with threads_of_torch(1):
        for rows in _chunks(len(tuples)):

            def encoded(rows: NDArray[np.int64] = rows) -> dict[str, NDArray[Any]]:
                return {"codes": _encoded(encoder, tuples, rows, batch_size)}

            first = int(rows[0])
            chunk = workspace.kept(f"codes {first:06d}", [*identity, first], encoded, ARRAYS)["codes"]
            if first == 0:
                whole = np.empty((len(tuples), *chunk.shape[1:]), dtype=np.float32)
            if chunk.shape[1:] != whole.shape[1:]:
                raise UnknotError(
                    f"encoder '{encoder.name}': returned codes of shape {chunk.shape[2:]} after codes of shape "
                    f"{whole.shape[2:]}; the size must not change."
                )
            whole[rows] = chunk
            progress("encoding", int(rows[-1]) + 1, len(tuples))
    return {role: whole[:, i] for i, role in enumerate((*tuples.roles, PIXEL))}


def pixel_negative(tuples: Tuples, rows: NDArray[np.int64]) -> F32:
    """B - A + C, (b, h, w, c) on the scale of 0 to 255 and not cut off at its ends."""
    a, b, c = (tuples.images(rows, role).astype(np.float32) for role in "ABC")
    return b - a + c


def _chunks(n: int) -> Iterator[NDArray[np.int64]]:
    for start in range(0, n, CHUNK):
        yield np.arange(start, min(start + CHUNK, n))


def _encoded(encoder: Encoder, tuples: Tuples, rows: NDArray[np.int64], batch_size: int) -> F32:
    """(b, roles and pixel, ...) codes of some tuples."""
    codes = [_in_batches(encoder, tuples.images(rows, role), batch_size) for role in tuples.roles]
    wrong: Any = pixel_negative(tuples, rows)
    if encoder.record.get("kind") not in FLOATS:
        wrong = wrong.round().clip(0, 255).astype(np.uint8)
    codes.append(_in_batches(encoder, wrong, batch_size))
    return np.stack(codes, axis=1)


def _in_batches(encoder: Encoder, images: Any, batch_size: int) -> F32:
    # Encoders may write into what they are given.
    parts = [
        checked_codes(encoder, images[i : i + batch_size].copy())[0] for i in range(0, len(images), batch_size)
    ]
    return np.concatenate(parts)
