"""What the catalogue of worlds knows of each one before it is opened."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from unknot.factors import FactorSpace
from unknot.worlds.world import World


@dataclass(frozen=True)
class PublishedFile:
    """One published file: where it can be had and how to know it is whole.

    Attributes:
        name: the file's name in the data folder.
        urls: addresses, tried in turn.
        size: bytes, if known.
        md5: checksum, if known.
        sha256: checksum, if known.
    """

    name: str
    urls: tuple[str, ...] = ()
    size: int | None = None
    md5: str = ""
    sha256: str = ""


@dataclass(frozen=True)
class Entry:
    """One world of the catalogue.

    Attributes:
        title: what results call it.
        factors: its factor space.
        licence: of the published data, or of ours for rendered worlds.
        reference: the paper or page to cite.
        open: builds the world, given the folder that holds data files (None: where they are usually kept).
        files: the published files it reads, all of them needed; none for rendered worlds.
        alternatives: other sets of published files, any one of which serves instead.
        stand_in: the name of the rendered world with the same factors, if there is one.
    """

    title: str
    factors: FactorSpace
    licence: str
    reference: str
    open: Callable[[Path | None], World]
    files: tuple[PublishedFile, ...] = ()
    alternatives: tuple[tuple[PublishedFile, ...], ...] = ()
    stand_in: str = ""
