"""The codes that object algebra is done with, from whatever the caller calls an encoder."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unknot.encoders.encoder import Encoder, find_encoder, must_exist
from unknot.runs.run import Run
from unknot.runs.training_world import open_training_world
from unknot.tasks.algebra.decoder import Decoder
from unknot.tasks.algebra.quadruples import Tuples
from unknot.tasks.algebra.tuple_codes import CLIPPED, FLOATS, read_codes, tuple_codes
from unknot.tasks.stages import Tell
from unknot.worlds.world import World


@dataclass
class Found:
    """Codes of an encoder and what else it can do."""

    name: str
    codes: dict[str, Any]
    record: Mapping[str, Any]
    decoder: Decoder | None = None
    notes: list[str] = field(default_factory=list)


def codes_file(encoder: Any) -> Path | None:
    """The file or folder of codes made elsewhere, if that is what an encoder is."""
    path = Path(encoder) if isinstance(encoder, str | Path) else None
    if path is not None and (path.suffix == ".npz" or (path / "A.npy").is_file()):
        return path
    return None


def check_source(encoder: str) -> None:
    """Refuse a name that is no run, no codes and no function, before a corpus is made for it."""
    must_exist(encoder)
    if codes_file(encoder) is not None:
        return
    if Path(encoder).is_dir():
        Run(encoder)
    elif encoder.partition(":")[0] not in ("timm", "hf"):
        find_encoder(encoder, (64, 64, 3))  # of any shape: it is only imported


def find_codes(
    encoder: Any,
    tuples: Tuples,
    pool: str,
    image_size: int | None,
    batch_size: int,
    device: str,
    data: Path | None,
    folder: Path | None,
    tell: Tell,
) -> Found:
    """The codes of an encoder, made now or read."""
    if isinstance(encoder, Mapping):
        return Found("codes", dict(encoder), {"kind": "codes"})
    file = codes_file(encoder)
    if file is not None:
        return Found(file.name, read_codes(file, tuples.roles, len(tuples)), {"kind": "codes", "file": file.name})
    is_folder = isinstance(encoder, Path) or (isinstance(encoder, str) and Path(encoder).is_dir())
    run = encoder if isinstance(encoder, Run) else Run(encoder) if is_folder else None
    home: World | None = open_training_world(run, data=data) if run is not None else None
    opened: Encoder = find_encoder(
        run or encoder, tuples.image_shape, device=device, data=data, pool=pool, image_size=image_size, home=home
    )
    codes = tuple_codes(
        opened,
        tuples,
        function=opened.encode,
        batch_size=batch_size,
        folder=folder,
        watch=lambda done, total: tell("encoding", done, total),
    )
    notes = [] if opened.record.get("kind") in FLOATS else [CLIPPED]
    decoder = Decoder.of(run, home, device) if run is not None and home is not None else None
    name = run.spec.label if run is not None else opened.name
    return Found(name, dict(codes), opened.record, decoder, notes)
