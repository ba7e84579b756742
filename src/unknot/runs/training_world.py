"""The world a run was trained on: found again, and still what it was."""

import hashlib
import os
from pathlib import Path

from unknot.errors import UnknotError
from unknot.runs.run import Run
from unknot.worlds import WORLDS, image_folder, open_world
from unknot.worlds.world import World

BLOCK = 2**20
BLOCKS = 64  # read of a file; a larger one is looked at in so many places, so that its size costs no time


def world_fingerprint(world: str) -> str:
    """What tells somebody's own file of images from what is in its place later; empty for worlds of the catalogue.

    Of a folder of pictures these are names and sizes, of one that Unknot wrote its description.
    """
    path = Path(world).expanduser()
    if world in WORLDS or not path.exists():
        return ""
    if path.is_file():
        return _of_file(path)
    for name in ("corpus.json", "dataset.json"):
        if (path / name).is_file():
            return _of_file(path / name)
    pictures = [
        f"{file.relative_to(path).as_posix()} {file.stat().st_size}" for file in image_folder.pictures(path)
    ]
    return hashlib.sha256(os.fsencode("\n".join(pictures))).hexdigest()[:32] if pictures else ""


def _of_file(path: Path) -> str:
    size = path.stat().st_size
    hasher = hashlib.sha256(str(size).encode())
    last = max(0, size - BLOCK)
    with path.open("rb") as file:
        for i in range(BLOCKS):
            file.seek(last * i // (BLOCKS - 1) if size > BLOCK * BLOCKS else BLOCK * i)
            hasher.update(file.read(BLOCK))
    return hasher.hexdigest()[:32]


def trained_on(run: Run, world: str) -> bool:
    """Whether a file is the one the run was trained on, wherever it is now; of older runs that is not known."""
    return bool(run.world_file) and world_fingerprint(world) == run.world_file


def open_training_world(run: Run, *, data: Path | None = None) -> World:
    """The world a run was trained on, opened; an error if its file is elsewhere or holds something else now."""
    name = run.spec.world
    if name not in WORLDS and not Path(name).expanduser().exists():
        other = f", or name it: unknot encode {run.folder} --world FILE" if run.world_file else ""
        raise UnknotError(
            f"{name}: there is no such file or folder here. It is the world of run {run.folder}, named as it was given "
            f"when training began; run the command from the folder it was trained in{other}."
        )
    run.must_match_world(world_fingerprint(name) if run.world_file else "")
    return open_world(name, data=data)
