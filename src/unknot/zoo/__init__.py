"""The zoo: small trained runs that ship with the package. `zoo:NAME` stands wherever the folder of a run does.

Each is an archive of the files of a run that decide its codes and pictures, with weights in half precision. It is
unpacked where the user's caches are, so that latents, scores and results can be kept beside it as with any run. The
archives are made by `python -m tools.zoo` from the study `zoo`.
"""

import hashlib
import io
import json
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

from unknot.errors import unknown
from unknot.files import cache_folder, written_whole

PREFIX = "zoo:"
HERE = Path(__file__).parent


@cache
def catalogue() -> dict[str, dict[str, Any]]:
    """Name -> what it is: model, world, and the scores of its codes as shipped.

    >>> catalogue()["beta_tc_vae_dsprites"]["world"]
    'dsprites_rendered'
    """
    return dict(json.loads((HERE / "zoo.json").read_text(encoding="utf-8")))


def is_of_zoo(path: Path | str) -> bool:
    """Whether a word names a run of the zoo, known or not."""
    return str(path).startswith(PREFIX)


def zoo_folder(name: Path | str) -> Path:
    """The folder of a run of the zoo, unpacked now unless it is there, whole.

    Args:
        name: with `zoo:` before it or without.

    >>> zoo_folder("zoo:beta_tc_vae_dsprite")
    Traceback (most recent call last):
    unknot.errors.UnknotError: unknown run of the zoo 'beta_tc_vae_dsprite'; did you mean 'beta_tc_vae_dsprites'? ...
    """
    name = str(name).removeprefix(PREFIX)
    if name not in catalogue():
        raise unknown("run of the zoo", name, catalogue())
    archive = (HERE / f"{name}.zip").read_bytes()
    folder = cache_folder() / "zoo" / hashlib.sha256(archive).hexdigest()[:8] / name
    with zipfile.ZipFile(io.BytesIO(archive)) as files:
        # What makes it a run comes last.
        for member in sorted(files.infolist(), key=lambda file: file.filename == "run.json"):
            path = folder / member.filename
            if not path.is_file() or path.stat().st_size != member.file_size:  # caches are swept now and then
                with written_whole(path) as beside:
                    beside.write_bytes(files.read(member))
    return folder
