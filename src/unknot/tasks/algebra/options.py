"""The options of object algebra, and the tuples they name: corpora, there or made now, or a list of own images."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

import numpy as np
from pydantic import InstanceOf

from unknot.errors import UnknotError
from unknot.files import cache_folder
from unknot.metrics.coat import ALPHA, MINIBATCH, check_codes
from unknot.metrics.coat_losses import Chance, Norm
from unknot.metrics.slots import DUPLICATE, Blank
from unknot.metrics.tre import Composition
from unknot.progress import Progress, named
from unknot.tasks.algebra.quadruples import CorpusTuples, Quadruples, Tuples, read_quadruples
from unknot.tasks.options import Options, option
from unknot.worlds.scenes.corpus import MASKED, Corpus, open_corpus
from unknot.worlds.scenes.making import make_corpus

T = TypeVar("T")
WHO = "algebra"
LOSSES = {"l2": "L2", "acos": "acos"}  # of COAT, and what tables call them


class AlgebraOptions(Options):
    """The options of object algebra."""

    task = WHO
    # Of the images, settings say what they are and not how they were asked for: see `corpora` there.
    corpus: InstanceOf[Corpus] | str | Path | None = option(
        None, "Folder of a corpus, or where corpora are made and kept; the data folder if left out.", decides=False
    )
    tuples: int = option(1600, "Tuples of a corpus that is made.", ge=2, le=10**9, decides=False)
    size: int = option(128, "Pixels of its images.", ge=1, decides=False)
    variant: Literal["occluded", "clear", "as published", "white"] = option(
        "occluded", "occluded, clear, 'as published', or white (A and B on white too).", decides=False
    )
    corpus_seed: int = option(0, "Decides its scenes.", ge=0, decides=False)
    jobs: int = option(1, "Processes that make a corpus; its files do not depend on it.", ge=1, decides=False)
    clear: bool | InstanceOf[Corpus] | str | Path = option(
        True,
        "Where corpora are made, also score one whose objects hardly hide each other. In Python, such a corpus.",
        decides=False,
    )
    quadruples: InstanceOf[Quadruples] | str | Path | None = option(
        None, "Instead of a corpus: a list of one's own images (.csv, .json, .txt).", decides=False
    )
    norm: Norm = option("squared", "squared as the published code, or l2 as the paper.")
    chance: Chance | None = option(None, "shuffle_ab or shuffle_d; as the published code if left out.")
    minibatch: int = option(MINIBATCH, "Tuples that chance is averaged over.", ge=2)
    threshold: float = option(DUPLICATE, "Half chord below which two slots are duplicates.", ge=0)
    blank: Blank = option("corpus", "What replaces them: mean slot of the corpus, or of a batch.")
    composition: Composition = option("add", "Composition of TRE: add or transformer (minutes).", flag="--tre")
    segmented: int = option(320, "Images whose masks are compared with the true ones.", ge=0)
    pictures: int = option(4, "Tuples that are drawn.", ge=0, decides=False)
    batch_size: int = option(64, "Images an encoder sees at a time.", ge=1, decides=False)
    seed: int = option(0, "Decides minibatches, the bootstrap and the projection.", ge=0)

    @property
    def coat(self) -> dict[str, Any]:
        """Those of the metric."""
        return {"norm": self.norm, "chance": self.chance, "minibatch": self.minibatch, "rng": self.seed}


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
        codes = {role: np.broadcast_to(0.0, (tuples.n, 1)) for role in MASKED}
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
