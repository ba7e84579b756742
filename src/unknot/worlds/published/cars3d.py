"""Cars3D, from the published archive of renderings; halved to 64 x 64 and kept beside it (216 MB).

Models are numbered by the archive's `list.txt`. Some libraries number them by the order of a directory listing, which
differs between machines; model numbers are then not comparable, scores are.
"""

import gzip
import io
import lzma
import math
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.factors import Factor, FactorSpace
from unknot.reading.guard import AGAIN, must_fit, parsing
from unknot.worlds.array_world import ArrayWorld
from unknot.worlds.entry import Conventions, PublishedFile
from unknot.worlds.published import cache, forms
from unknot.worlds.world import Images

SPACE = FactorSpace(
    (
        Factor("elevation", 4),
        Factor("azimuth", 24, "circular", tuple(float(15 * k) for k in range(24))),
        Factor("model", 183, "categorical"),
    )
)
CONVENTIONS = Conventions(still=("model",))


def _models_in_turn(path: Path, key: str, rows: int) -> Iterator[NDArray[np.uint8]]:
    _, models = read_models(path, SPACE)
    return (model.reshape(-1, *model.shape[2:]) for model in models.values())


ARCHIVE = PublishedFile(
    "nips2015-analogy-data.tar.gz",
    urls=(
        "http://www.scottreed.info/files/nips2015-analogy-data.tar.gz",
        "http://www-personal.umich.edu/~reedscot/files/nips2015-analogy-data.tar.gz",
    ),
    md5="4e866a7919c1beedf53964e6f7a23686",
    form=forms.Form(forms.Container(_models_in_turn), means=(0.897668, 0.889166, 0.885148), space=SPACE),
)
SIDE = 64
_LARGEST_MEMBER = 64_000_000  # a model's file is about 6 MB at most
_BROKEN = (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError, OSError)


def read(path: Path, *, space: FactorSpace = SPACE) -> ArrayWorld:
    """Cars3D from its `.tar.gz`, whose members are read where they are and never extracted."""
    path = Path(path)
    if not path.is_file():
        raise UnknotError(f"{path}: no such file.")

    def fill(images: NDArray[np.uint8]) -> None:
        names, models = read_models(path, space)
        grid = images.reshape(*space.shape, SIDE, SIDE, 3)
        for k, name in enumerate(names):
            grid[:, :, k] = models[name]

    copy = path.with_name(f"{path.name}.cars{SIDE}.npy")
    images = cache.converted(copy, [path], (space.size, SIDE, SIDE, 3), fill)
    return ArrayWorld(images, space=space, name="Cars3D", key="cars3d" if space == SPACE else "")


def read_models(path: Path, space: FactorSpace) -> tuple[list[str], dict[str, Images]]:
    """Names in the order of `list.txt`, and each model's images (elevation, azimuth, 64, 64, 3)."""
    names: list[str] | None = None
    models: dict[str, Images] = {}
    with parsing(path, "a .tar.gz archive", AGAIN), tarfile.open(path, "r|*") as archive:
        for member in archive:
            place = _safe(member, path)
            stream = archive.extractfile(member) if place.parent.name == "cars" and member.isfile() else None
            if stream is not None and place.name == "list.txt":
                names = [PurePosixPath(line).stem for line in stream.read().decode("utf-8").split()]
            elif stream is not None and place.suffix == ".mat":
                models[place.stem] = _model(stream, f"{path}: {place}", space)
    if names is None:
        raise UnknotError(f"{path}: has no cars/list.txt, which numbers the models.")
    lacking = [name for name in names if name not in models]
    n_models = space["model"].size
    if lacking or len(names) != n_models:
        raise UnknotError(
            f"{path}: cars/list.txt names {len(names)} models, of which {len(lacking)} are missing"
            f"{f' (first {lacking[0]})' if lacking else ''}; Cars3D has {n_models}."
        )
    return names, models


def _safe(member: tarfile.TarInfo, path: Path) -> PurePosixPath:
    place = PurePosixPath(member.name.replace("\\", "/"))
    if place.is_absolute() or ".." in place.parts or ":" in "".join(place.parts[:1]):
        raise UnknotError(f"{path}: has a member '{member.name}' outside its own folder; refused.")
    if place.parent.name == "cars" and (member.issym() or member.islnk()):
        raise UnknotError(f"{path}: has a link '{member.name}' to '{member.linkname}'; refused.")
    if place.parent.name == "cars" and member.size > _LARGEST_MEMBER:
        raise UnknotError(
            f"{path}: member '{member.name}' has {member.size:,} bytes; a car has about 6 MB. Refused."
        )
    return place


def _model(stream: IO[bytes], who: str, space: FactorSpace) -> Images:
    from PIL import Image
    from scipy.io import loadmat, whosmat

    try:
        content = io.BytesIO(stream.read())
        for name, shape, _ in whosmat(content):  # which may unfold to far more than it takes here
            must_fit(who, 8 * math.prod(shape) if name == "im" else 0)
        images = loadmat(content, variable_names=["im"])["im"]
    except KeyError:
        raise UnknotError(f"{who}: has no array 'im'.") from None
    except (*_BROKEN, UnknotError):
        raise
    except Exception as error:  # scipy raises many kinds on a damaged file
        raise UnknotError(f"{who}: cannot be read as a .mat file ({error}).") from error
    expected = (128, 128, 3, space["azimuth"].size, space["elevation"].size)
    if images.shape != expected or images.dtype != np.uint8:
        raise UnknotError(f"{who}: 'im' is {images.dtype} of shape {images.shape}; expected uint8 of {expected}.")
    small = np.empty((*expected[:2:-1], SIDE, SIDE, 3), dtype=np.uint8)
    for elevation, azimuth in np.ndindex(small.shape[:2]):
        picture = Image.fromarray(np.ascontiguousarray(images[..., azimuth, elevation]))
        small[elevation, azimuth] = np.asarray(picture.resize((SIDE, SIDE), Image.Resampling.LANCZOS))
    return small
