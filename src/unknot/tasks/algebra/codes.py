"""The codes that object algebra is done with, made in chunks that are kept, and what else their encoder can do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.encoders.encoder import Encoder
from unknot.encoders.points import checked_codes
from unknot.encoders.source import FEW, Source
from unknot.errors import UnknotError
from unknot.processes.threads import threads_of_torch
from unknot.progress import Progress, silent
from unknot.runs.workspace import ARRAYS, Workspace
from unknot.tasks.algebra.codes_elsewhere import CodesElsewhere
from unknot.tasks.algebra.decoder import Decoder
from unknot.tasks.algebra.quadruples import F32, PIXEL, Tuples, pixel_negative

CHUNK = 16  # tuples that are encoded, and kept, at a time
FLOATS = ("run", "module", "timm", "hf")  # encoders that take images beyond 0 and 255
CLIPPED = (
    "The pixel negative B - A + C is cut off at black and white: this encoder is a function of uint8 images. Runs, "
    "modules, timm and hf networks see it as it is."
)


@dataclass(frozen=True)
class EncoderCodes:
    """Codes of one encoder for the images of some tuples.

    Attributes:
        name: what tables call the encoder.
        codes: role -> (n, d) vectors or (n, k, d) slots.
        decoder: what draws codes, if the encoder is a run.
        notes: what a reader should know of them.
    """

    name: str
    codes: Mapping[str, Any]
    decoder: Decoder | None = None
    notes: Sequence[str] = ()


def codes_of(
    source: Source, tuples: Tuples, fingerprint: str, batch_size: int, workspace: Workspace, progress: Progress
) -> EncoderCodes:
    """The codes of a source, made now or read; see `tuple_codes`."""
    if isinstance(source.own, CodesElsewhere):
        return EncoderCodes(source.label, source.own.codes(tuples.roles, len(tuples)))
    encoder = source.encoder_of(tuples.image_shape)
    codes = tuple_codes(encoder, tuples, fingerprint, batch_size, workspace.within("codes"), progress)
    decoder = None
    if source.run is not None:
        decoder = Decoder(source.model, source.run.spec.image_size, source.device)
    return EncoderCodes(source.label, codes, decoder, [] if encoder.record.get("kind") in FLOATS else [CLIPPED])


def fingerprint_on(source: Source, tuples: Tuples) -> str:
    """What tells a source from others: see `Source.fingerprint`."""

    def codes() -> NDArray[Any]:
        images = tuples.images(np.arange(min(FEW, len(tuples))), "D")
        return checked_codes(source.encoder_of(tuples.image_shape), images)[0]

    return source.fingerprint_by(codes)


def tuple_codes(
    encoder: Encoder,
    tuples: Tuples,
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
    workspace, n = workspace or Workspace(), len(tuples)
    identity = [dict(encoder.record), fingerprint, tuples.identity, n]
    whole: F32 = np.empty((n, 0), dtype=np.float32)  # its width is that of the first chunk
    with threads_of_torch(1):
        for start in range(0, n, CHUNK):
            rows = np.arange(start, min(start + CHUNK, n))
            encoded = partial(_encoded, encoder, tuples, rows, batch_size)
            chunk = workspace.kept(f"codes {start:06d}", [*identity, start], encoded, ARRAYS)["codes"]
            if start == 0:
                whole = np.empty((n, *chunk.shape[1:]), dtype=np.float32)
            if chunk.shape[1:] != whole.shape[1:]:
                raise UnknotError(
                    f"encoder '{encoder.name}': returned codes of shape {chunk.shape[2:]} after codes of shape "
                    f"{whole.shape[2:]}; the size must not change."
                )
            whole[rows] = chunk
            progress("encoding", int(rows[-1]) + 1, n)
    return {role: whole[:, i] for i, role in enumerate((*tuples.roles, PIXEL))}


def _encoded(
    encoder: Encoder, tuples: Tuples, rows: NDArray[np.int64], batch_size: int
) -> dict[str, NDArray[Any]]:
    """(b, roles and pixel, ...) codes of some tuples."""
    codes = [_in_batches(encoder, tuples.images(rows, role), batch_size) for role in tuples.roles]
    wrong: Any = pixel_negative(tuples, rows)
    if encoder.record.get("kind") not in FLOATS:
        wrong = wrong.round().clip(0, 255).astype(np.uint8)
    codes.append(_in_batches(encoder, wrong, batch_size))
    return {"codes": np.stack(codes, axis=1)}


def _in_batches(encoder: Encoder, images: Any, batch_size: int) -> F32:
    # Encoders may write into what they are given.
    parts = [
        checked_codes(encoder, images[i : i + batch_size].copy())[0] for i in range(0, len(images), batch_size)
    ]
    return np.concatenate(parts)
