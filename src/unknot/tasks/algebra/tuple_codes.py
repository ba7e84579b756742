"""Codes of all images of tuples: encoded in chunks that are kept, or read from files that somebody wrote."""

import hashlib
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.encoders.encoder import Encoder
from unknot.encoders.encoding import checked_codes
from unknot.errors import UnknotError
from unknot.files import written_whole
from unknot.processes.threads import threads_of_torch
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
    function: Any = None,
    batch_size: int = 64,
    folder: Path | None = None,
    watch: Callable[[int, int], None] | None = None,
) -> dict[str, F32]:
    """Role -> codes (n, d) or slots (n, k, d) of every image, and of the pixel negative.

    Args:
        encoder: from `find_encoder`.
        tuples: images.
        function: what the encoder was made of, if it is a function: another one gets other files.
        batch_size: images an encoder sees at a time.
        folder: where chunks are kept, so that an interrupted call goes on; None keeps nothing.
        watch: called with the tuples done and the tuples in all.
    """
    roles, n = [*tuples.roles, PIXEL], len(tuples)
    store = _store(folder, encoder, tuples, function)
    chunks: list[F32] = []
    with threads_of_torch(1):
        for start in range(0, n, CHUNK):
            rows = np.arange(start, min(start + CHUNK, n))
            file = store and store / f"{start:06d}.npy"
            kept = _read_chunk(file, len(rows), len(roles)) if file else None
            chunk = _encoded(encoder, tuples, rows, batch_size) if kept is None else kept
            if chunks and chunk.shape[2:] != chunks[0].shape[2:]:
                raise UnknotError(
                    f"encoder '{encoder.name}': returned codes of shape {chunk.shape[2:]} after codes of shape "
                    f"{chunks[0].shape[2:]}; the size must not change."
                )
            if file and kept is None:
                with written_whole(file) as beside, beside.open("wb") as open_file:
                    np.save(open_file, chunk, allow_pickle=False)
            chunks.append(chunk)
            if watch is not None:
                watch(int(rows[-1]) + 1, n)
    whole = np.concatenate(chunks)
    return {role: whole[:, i] for i, role in enumerate(roles)}


def read_codes(path: Path, roles: tuple[str, ...], n: int) -> dict[str, NDArray[Any]]:
    """Codes somebody wrote: a folder with `A.npy`, `B.npy` and so on, or an `.npz` with arrays of those names.

    An `.npz` may instead hold one array `latents` with a row for every image, tuple after tuple, each in the order of
    the roles; a row more for each tuple is the pixel negative.
    """
    if path.is_dir():
        arrays = {file.stem: _read_array(file) for file in sorted(path.glob("*.npy"))}
    else:
        arrays = _read_archive(path)
    if "latents" in arrays and "A" not in arrays:
        return _split(path, arrays["latents"], roles, n)
    known = (*roles, PIXEL)
    found = {role: arrays[role] for role in known if role in arrays}
    lacking = [role for role in roles[:4] if role not in found]
    if lacking:
        named = ", ".join(arrays) or "nothing"
        raise UnknotError(f"{path}: has no codes for {', '.join(lacking)}; it holds {named}.")
    for role, code in found.items():
        if len(code) != n:
            raise UnknotError(f"{path}: {len(code)} codes for {role}; the corpus has {n} tuples.")
    return found


def pixel_negative(tuples: Tuples, rows: NDArray[np.int64]) -> F32:
    """B - A + C, (b, h, w, c) on the scale of 0 to 255 and not cut off at its ends."""
    a, b, c = (tuples.images(rows, role).astype(np.float32) for role in "ABC")
    return b - a + c


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


def _store(folder: Path | None, encoder: Encoder, tuples: Tuples, function: Any) -> Path | None:
    """The folder of these codes alone; None if nothing is kept, or if the encoder cannot be told from another."""
    if folder is None:
        return None
    kind, source = encoder.record.get("kind"), ""
    if kind == "module":  # its weights are nowhere on disk
        return None
    if kind == "function":
        # Only a function at the top of a file is told from others by its name and that file.
        if not inspect.isfunction(function) or function.__closure__ or "<" in function.__qualname__:
            return None
        try:
            source = hashlib.sha256(Path(inspect.getfile(function)).read_bytes()).hexdigest()
        except (OSError, TypeError):
            return None
    record = {"encoder": dict(encoder.record), "source": source, "tuples": tuples.identity, "n": len(tuples)}
    text = json.dumps(record, sort_keys=True, default=str)
    store = folder / f"codes-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    if not (store / "codes.json").is_file():
        with written_whole(store / "codes.json") as beside:
            beside.write_text(text + "\n", encoding="utf-8")
    return store


def _read_chunk(file: Path, n: int, roles: int) -> F32 | None:
    """A chunk encoded before; None if there is none that can be used."""
    try:
        chunk: F32 = np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return chunk if chunk.shape[:2] == (n, roles) and chunk.dtype == np.float32 else None


def _split(path: Path, latents: NDArray[Any], roles: tuple[str, ...], n: int) -> dict[str, NDArray[Any]]:
    for names in (roles, (*roles, PIXEL)):
        if len(latents) == n * len(names):
            whole = latents.reshape(n, len(names), *latents.shape[1:])
            return {role: whole[:, i] for i, role in enumerate(names)}
    raise UnknotError(
        f"{path}: has {len(latents)} rows of latents; {n} tuples of {len(roles)} images need {n * len(roles)}, tuple "
        f"after tuple ({', '.join(roles)}), or {n * (len(roles) + 1)} with the pixel negative."
    )


def _read_archive(path: Path) -> dict[str, NDArray[Any]]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return {str(name): archive[name] for name in archive.files}
    except Exception as error:  # of many kinds: no zip file, a pickle, a cut-off member
        raise UnknotError(f"{path}: cannot be read as an .npz of numbers ({error}).") from None


def _read_array(path: Path) -> NDArray[Any]:
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise UnknotError(f"{path}: cannot be read as an array of numbers ({error}).") from None
    return array
