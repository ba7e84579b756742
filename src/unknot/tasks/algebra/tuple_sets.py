"""Which tuples object algebra is done with: corpora that are there or are made now, or a list of one's own images."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, cast

import numpy as np

from unknot.errors import UnknotError
from unknot.metrics.coat import ALPHA, check_codes
from unknot.progress import Progress, named
from unknot.tasks.algebra.options import WHO, AlgebraOptions
from unknot.tasks.algebra.quadruples import CorpusTuples, Quadruples, Tuples, read_quadruples
from unknot.worlds.published.data_folders import cache_folder
from unknot.worlds.scenes.corpus import MASKED, Corpus, open_corpus
from unknot.worlds.scenes.making import make_corpus

T = TypeVar("T")


@dataclass(frozen=True)
class TupleSet:
    """Tuples under the name of their corpus.

    Attributes:
        name: variant of the corpus, or name of a file.
        tuples: images.
        first: whether headline numbers are of these.
    """

    name: str
    tuples: Tuples
    first: bool = True

    @property
    def suffix(self) -> str:
        """What the names of its values end in."""
        return "" if self.first else f"_{self.name}"


@dataclass(frozen=True)
class PlannedTuples:
    """Tuples that are there, or will be once they are opened.

    Attributes:
        name: variant of the corpus, or name of a file.
        n: how many.
        image_shape: of their images.
        option: that asked for them, for messages.
        opened: called to have them; a corpus that is not there is made then.
    """

    name: str
    n: int
    image_shape: tuple[int, int, int]
    option: str
    opened: Callable[[Progress], Tuples]


def planned_tuples(options: AlgebraOptions, data: Path | None = None) -> list[PlannedTuples]:
    """What the options ask for, the one that headline numbers are of first; nothing is made yet.

    Where no folder is named, corpora will be made in that of data files.
    """
    if options.quadruples is not None:
        if options.corpus is not None:
            raise UnknotError(
                f"{WHO}: quadruples take the place of a corpus; leave one of the two out.", field="quadruples"
            )
        own = _read("quadruples", options.quadruples, Quadruples, read_quadruples)
        return [_there(own.file.name, own, "quadruples")]
    place = options.corpus
    if isinstance(place, Corpus) or (place is not None and _holds_corpus(Path(place).expanduser())):
        planned = [_corpus_there(_read("corpus", place, Corpus, open_corpus), "corpus")]
    else:
        variants = [options.variant, "clear"] if options.clear is True else [options.variant]
        planned = [_to_be_made(variant, options, data) for variant in dict.fromkeys(variants)]
    if not isinstance(options.clear, bool):
        planned.append(_corpus_there(_read("clear", options.clear, Corpus, open_corpus), "clear"))
    _must_differ_in_name_alone(planned)
    return planned


def must_be_scorable(planned: Sequence[PlannedTuples], options: AlgebraOptions) -> None:
    """An error if there are too few tuples for the minibatches asked for."""
    for tuples in planned:
        codes = {role: np.zeros((tuples.n, 1)) for role in MASKED}
        try:
            check_codes(codes, options.norm, options.chance, options.minibatch, ALPHA)
        except UnknotError as error:
            raise error.within("minibatch") from None


def _holds_corpus(folder: Path) -> bool:
    """Whether a folder holds a corpus, whole or not, rather than several; a file is no place for any."""
    return folder.is_file() or any((folder / name).is_file() for name in ("corpus.json", "images.npy"))


def _read(option: str, value: T | Path | str, kind: type[T], read: Callable[[Path | str], T]) -> T:
    if isinstance(value, kind):
        return value
    try:
        return read(cast(Path | str, value))
    except UnknotError as error:
        raise error.within(option) from None


def _there(name: str, tuples: Tuples, option: str) -> PlannedTuples:
    return PlannedTuples(name, len(tuples), tuples.image_shape, option, lambda progress: tuples)


def _corpus_there(corpus: Corpus, option: str) -> PlannedTuples:
    return _there(str(corpus.info.get("variant", "corpus")), CorpusTuples(corpus), option)


def _to_be_made(variant: str, options: AlgebraOptions, data: Path | None) -> PlannedTuples:
    n, size, seed = options.tuples, options.size, options.corpus_seed
    home = Path(data or cache_folder()) / "coat" if options.corpus is None else Path(str(options.corpus))
    folder = home.expanduser() / f"{variant.replace(' ', '_')}-{n}-{size}-seed{seed}"

    def opened(progress: Progress) -> Tuples:
        told = named(progress, f"making the {variant} corpus in {folder}")
        return CorpusTuples(
            make_corpus(folder, n=n, size=size, variant=variant, seed=seed, jobs=options.jobs, progress=told)
        )

    return PlannedTuples(variant, n, (size, size, 3), "size", opened)


def _must_differ_in_name_alone(planned: Sequence[PlannedTuples]) -> None:
    first, *others = planned
    for other in others:
        if other.name == first.name:
            raise UnknotError(
                f"{WHO}: both corpora are of variant '{first.name}'; expected two different ones.", field="clear"
            )
        if other.image_shape != first.image_shape:
            raise UnknotError(
                f"{WHO}: images of the corpus '{other.name}' are {other.image_shape}, those of the first "
                f"{first.image_shape}.",
                field="clear",
            )
