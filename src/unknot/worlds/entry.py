"""What the catalogue knows of a world before it is opened: its files, what papers fixed for it, whom to cite."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from unknot.factors import FactorSpace
from unknot.worlds.published.forms import Form
from unknot.worlds.splits.rules import Rule
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
        form: what it looks like inside, if known.
    """

    name: str
    urls: tuple[str, ...] = ()
    size: int | None = None
    md5: str = ""
    sha256: str = ""
    form: Form | None = None


@dataclass(frozen=True)
class Conventions:
    """What papers fixed for a world, so that numbers can be compared; variants and stand-ins name the same.

    Attributes:
        rule: of its systematic splits.
        combinations: the novel combinations that were held out.
        still: the factors that Laplace pairs leave alone; None: nobody said, and categorical ones stay.
        puzzle_classes: how many classes some factors keep in puzzles, others keeping all; None: nobody said.
    """

    rule: Rule | None = None
    combinations: tuple[Mapping[str, int], ...] = ()
    still: tuple[str, ...] | None = None
    puzzle_classes: Mapping[str, int] | None = None


@dataclass(frozen=True)
class Entry:
    """One world of the catalogue.

    Attributes:
        title: its name for people, which the opened world has too.
        factors: its factor space.
        licence: of the published data, or of ours for rendered worlds.
        reference: the paper or page to cite.
        open: builds the world from its files.
        files: the published files it reads, all of them needed; none for rendered worlds.
        alternatives: other sets of published files, any one of which serves instead.
        find: looks for files in its own way, given the folder or file named by the user; left out, by their names.
        split_files: published files of its splits, which are not needed to open it.
        stand_in: the key of the rendered world with the same factors, if there is one.
        conventions: what papers fixed for it.
    """

    title: str
    factors: FactorSpace
    licence: str
    reference: str
    open: Callable[[tuple[Path, ...]], World]
    files: tuple[PublishedFile, ...] = ()
    alternatives: tuple[tuple[PublishedFile, ...], ...] = ()
    find: Callable[[Path | str | None], tuple[Path, ...]] | None = None
    split_files: tuple[PublishedFile, ...] = ()
    stand_in: str = ""
    conventions: Conventions = Conventions()

    @property
    def choices(self) -> tuple[tuple[PublishedFile, ...], ...]:
        """The sets of files any one of which it is read from, the usual one first."""
        return (self.files, *self.alternatives)
