"""The codes that object algebra is done with: made here, in chunks that are kept, or somewhere else.

The latter are role -> array, an `.npz`, or a folder of `.npy`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.encoders.encoder import Encoder
from unknot.encoders.points import checked_codes
from unknot.encoders.source import FEW, Source
from unknot.errors import UnknotError
from unknot.files import array_hash, json_hash
from unknot.processes.threads import threads_of_torch
from unknot.progress import Progress, silent
from unknot.reading import npz
from unknot.reading.arrays import as_array
from unknot.runs.workspace import ARRAYS, Workspace
from unknot.tasks.algebra.decoder import Decoder
from unknot.tasks.algebra.quadruples import F32, PIXEL, Tuples, pixel_negative
from unknot.worlds.scenes.corpus import MASKED

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

    A workspace keeps chunks, so that an interrupted call goes on; the fingerprint tells the encoder from others.
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


@dataclass(frozen=True)
class CodesElsewhere:
    """Codes by the name of their role.

    Attributes:
        arrays: role -> (n, d) or (n, k, d); or `latents` with a row for every image, tuple after tuple, each in the
            order of the roles, where a row more for each tuple is the pixel negative.
        path: the file or folder they were read from, if any.
    """

    arrays: Mapping[str, Any]
    path: str = ""

    @property
    def label(self) -> str:
        """What results call them."""
        return self.path or "codes"

    @property
    def record(self) -> dict[str, Any]:
        """What results say about them."""
        return {"kind": "codes"} | ({"file": Path(self.path).name} if self.path else {})

    @property
    def fingerprint(self) -> str:
        """Of all numbers."""
        return json_hash({role: array_hash(as_array(codes)) for role, codes in self.arrays.items()})

    def codes(self, roles: tuple[str, ...], n: int) -> dict[str, Any]:
        """Role -> codes of n tuples; further arrays of a file are something else, those of a mapping are negatives."""
        if "latents" in self.arrays and "A" not in self.arrays:
            return self._split(as_array(self.arrays["latents"]), roles, n)
        known = (*roles, PIXEL) if self.path else tuple(self.arrays)
        codes = {role: self.arrays[role] for role in known if role in self.arrays}
        lacking = [role for role in MASKED if role not in codes]
        if lacking:
            names = ", ".join(self.arrays) or "nothing"
            raise UnknotError(f"{self.label}: has no codes for {', '.join(lacking)}; it holds {names}.")
        for role, code in codes.items():
            if (rows := np.shape(code)[0]) != n:
                raise UnknotError(f"{self.label}: {rows} codes for {role}; the corpus has {n} tuples.")
        return codes

    def _split(self, latents: NDArray[Any], roles: tuple[str, ...], n: int) -> dict[str, NDArray[Any]]:
        for names in (roles, (*roles, PIXEL)):
            if len(latents) == n * len(names):
                whole = latents.reshape(n, len(names), *latents.shape[1:])
                return {role: whole[:, i] for i, role in enumerate(names)}
        raise UnknotError(
            f"{self.label}: has {len(latents)} rows of latents; {n} tuples of {len(roles)} images need "
            f"{n * len(roles)}, tuple after tuple ({', '.join(roles)}), or {n * (len(roles) + 1)} with the pixel "
            "negative."
        )


def read_codes(source: Any) -> CodesElsewhere | None:
    """The codes that a source is; None if it is something else.

    >>> read_codes("timm:resnet50.tv_in1k") is None
    True
    """
    if isinstance(source, Mapping):
        return CodesElsewhere(source)
    if not isinstance(source, str | Path):
        return None
    path = Path(source)
    if path.suffix == ".npz":
        return CodesElsewhere(_read_archive(path), str(source))
    if (path / "A.npy").is_file():
        arrays = {file.stem: _read_array(file) for file in sorted(path.glob("*.npy"))}
        return CodesElsewhere(arrays, str(source))
    return None


def _read_archive(path: Path) -> dict[str, NDArray[Any]]:
    return npz.load(path, npz.members(path))


def _read_array(path: Path) -> NDArray[Any]:
    return npz.read_npy(path, mapped=True)
