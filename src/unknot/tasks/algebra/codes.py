"""The codes that object algebra is done with, and what else their encoder can do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.encoders.points import checked_codes
from unknot.encoders.source import FEW, Source
from unknot.progress import Progress
from unknot.runs.workspace import Workspace
from unknot.tasks.algebra.codes_elsewhere import CodesElsewhere
from unknot.tasks.algebra.decoder import Decoder
from unknot.tasks.algebra.quadruples import Tuples
from unknot.tasks.algebra.tuple_codes import CLIPPED, FLOATS, tuple_codes


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
    source: Source,
    tuples: Tuples,
    *,
    fingerprint: str,
    batch_size: int,
    workspace: Workspace,
    progress: Progress,
) -> EncoderCodes:
    """The codes of a source, made now or read; see `tuple_codes`."""
    if isinstance(source.own, CodesElsewhere):
        return EncoderCodes(source.label, source.own.codes(tuples.roles, len(tuples)))
    encoder = source.encoder_of(tuples.image_shape)
    codes = tuple_codes(
        encoder,
        tuples,
        fingerprint=fingerprint,
        batch_size=batch_size,
        workspace=workspace.within("codes"),
        progress=progress,
    )
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
