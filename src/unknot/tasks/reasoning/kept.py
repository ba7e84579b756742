"""What the folder of a reasoning task keeps, codes of panels above all, and whether it is still of the same task."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.encoders.encoding import encode_points, opened_encoder
from unknot.errors import UnknotError
from unknot.files import written_whole
from unknot.tasks.pool import FEW
from unknot.tasks.reasoning.panels import CodeTable
from unknot.worlds.puzzles.quantised import Quantised

Fingerprint = str | list[float]


def code_fingerprint(encoder: Any, world: Quantised, seed: int, **how: Any) -> Fingerprint:
    """Of the weights of a run; else a number for each of a few images: a function edited since is another one."""
    found, _, _ = opened_encoder(encoder, world, **how)
    if found.record.get("kind") == "run":
        return str(found.record["weights"])
    few = np.linspace(0, world.factors.size - 1, FEW).astype(np.int64)
    codes = encode_points(found, world, world.factors.classes(few), seed=[seed, 0]).reshape(FEW, -1)
    weights = np.random.default_rng(0).normal(size=codes.shape[1])
    return [float(number) for number in codes.astype(np.float64) @ weights]


def digest_of(*arrays: NDArray[Any]) -> str:
    """A fingerprint of arrays."""
    return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()[:16]


def keep_codes(folder: Path, made: CodeTable, record: Mapping[str, Any]) -> None:
    """Write codes of panels to a folder, with what is known of their encoder."""
    with written_whole(folder / "codes.npz") as beside, beside.open("wb") as file:
        np.savez(file, codes=made.codes, starts=made.starts, source=np.array(json.dumps(record)))


def kept_codes(
    folder: Path | None, coarse: Quantised, fingerprint: Fingerprint
) -> tuple[CodeTable, Mapping[str, Any]] | None:
    """The codes in a folder and what is known of their encoder, if there are any; an error if they are others."""
    path = None if folder is None else folder / "codes.npz"
    if path is None or not path.is_file():
        return None
    try:
        with np.load(path, allow_pickle=False) as archive:
            codes, starts, source = archive["codes"], archive["starts"], json.loads(str(archive["source"]))
    except Exception as error:
        raise UnknotError(f"{path}: is damaged ({error}); remove it to encode anew.") from None
    if len(starts) != coarse.factors.size + 1:
        raise UnknotError(f"{path}: holds codes of another grid; choose another folder.")
    must_be_same_codes(path, source.get("fingerprint"), fingerprint)
    return CodeTable(coarse.factors, codes, starts), source


def must_be_same_codes(path: Path, before: Fingerprint | None, now: Fingerprint) -> None:
    """Refuse what was made from other codes; files of earlier versions do not say which.

    Another machine may compute codes that differ in their last digits.
    """
    if isinstance(before, list) and isinstance(now, list):
        same = len(before) == len(now) and np.allclose(before, now, rtol=1e-3, atol=1e-3 * float(np.std(now)))
    else:
        same = before is None or before == now
    if not same:
        raise UnknotError(
            f"{path}: is of an encoder or of latents that have been changed since; choose another folder, or remove "
            f"{path.parent}."
        )


def must_be_same_task(folder: Path, settings: Mapping[str, Any], fingerprint: Fingerprint) -> None:
    """Refuse a folder of another task or of other codes; its checkpoints would not fit."""
    path = folder / "task.json"
    now = json.loads(json.dumps(settings))
    if path.is_file():
        before = json.loads(path.read_text(encoding="utf-8"))
        other = [name for name in now if before.get(name) != now[name]]
        if other:
            raise UnknotError(
                f"{folder}: keeps a task with another {', '.join(other)}; choose another folder, or remove it."
            )
        must_be_same_codes(path, before.get("fingerprint"), fingerprint)
        return
    with written_whole(path) as beside:
        beside.write_text(json.dumps(now | {"fingerprint": fingerprint}, indent=1) + "\n", encoding="utf-8")
