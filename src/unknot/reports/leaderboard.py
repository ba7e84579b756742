"""Published R² of the benchmark of systematic generalisation beside anyone's own results.

The shipped numbers are those of the benchmark's public leaderboard and the two of the paper's Table 5 that correct it.
The rest of the paper's Tables 5 to 10 is not shipped; a CSV of them with the same columns can be added.

Reference: Schott et al. 2022, Visual Representation Learning Does Not Generalize Strongly Within the Same Domain,
arXiv:2107.08221; github.com/bethgelab/InDomainGeneralizationBenchmark.
"""

import csv
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import count
from pathlib import Path

from unknot.errors import Note, UnknotError, unknown
from unknot.files import read_json
from unknot.studies.folder import StudyFolder
from unknot.studies.paths import StudyPaths
from unknot.tasks.generalisation.options import WHO
from unknot.tasks.generalisation.predicted_split import HAS_SEEN, SEEN
from unknot.tasks.generalisation.split_errors import constant_baselines, mean_known
from unknot.tasks.result import TaskResult, as_number, read_result
from unknot.worlds import WORLDS
from unknot.worlds.splits.named import named_split

COLUMNS = ("world", "split", "model", "r2", "source", "note")
MISSING = (
    "Shipped are the numbers of the benchmark's public leaderboard (extrapolation) and two of Table 5; the rest of "
    "Tables 5 to 10 of Schott et al. 2022 is not. Add them as a CSV with the columns " + ", ".join(COLUMNS) + "."
)
CONSTANT = "always the training mean"


@dataclass(frozen=True)
class BoardEntry:
    """One number of a board.

    Attributes:
        world: the published dataset of the board, such as "dsprites".
        images: where this number's images come from; a rendered stand-in says so.
        split: random, composition, interpolation or extrapolation.
        model: whose number.
        r2: mean over factors, unclipped.
        own: whether it is a result of one's own.
        source: paper, page or file.
        note: what a reader must know.
        rank: among numbers on the same images; 0 for what takes no part.
    """

    world: str
    images: str
    split: str
    model: str
    r2: float
    own: bool
    source: str
    note: str = ""
    rank: int = 0


def published(path: Path | str | None = None) -> list[BoardEntry]:
    """Numbers from the literature: the shipped ones, or those of a CSV with the same columns.

    >>> [entry.model for entry in published() if entry.world == "shapes3d"]
    ['RN101', 'RN50']
    """
    shipped = files("unknot.tasks.generalisation") / "published_r2.csv"
    try:
        text = (shipped if path is None else Path(path)).read_text(encoding="utf-8")
        rows = list(csv.DictReader(text.splitlines()))
        return [_published(row) for row in rows]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UnknotError(
            f"leaderboard: {path} cannot be read ({error!r}); expected a CSV with the columns {', '.join(COLUMNS)}, "
            "R² as 0.667."
        ) from None


def _published(row: dict[str, str]) -> BoardEntry:
    world, r2 = row["world"], float(row["r2"])
    if not r2 <= 1:
        raise UnknotError(
            f"leaderboard: R² of {row['model']} is {row['r2']}; it is at most 1. Divide per cent by 100."
        )
    images = WORLDS[world].title if world in WORLDS else world
    return BoardEntry(world, images, row["split"], row["model"], r2, False, row["source"], row.get("note") or "")


def own_results(paths: Iterable[Path | str]) -> list[tuple[TaskResult, str]]:
    """Results of the task generalisation in JSON files, in those of a folder, or of the runs of a study.

    Each comes with the name of its file, or of the study's folder.
    """
    results = []
    for path in map(Path, paths):
        if not path.is_dir():
            result = read_result(path)
            if result.task != WHO:
                raise UnknotError(f"{path}: is a result of the task {result.task}; expected {WHO}.")
            results.append((result, str(path)))
            continue
        if StudyPaths(path).record.is_file():
            inside = [(result, str(path)) for result in StudyFolder(path).task_results(WHO).values()]
        else:
            inside = [(read_result(file), str(file)) for file in sorted(path.glob("*.json")) if _is_result(file)]
        if not inside:
            raise UnknotError(f"{path}: holds no result of unknot task {WHO}.")
        results += inside
    return results


def _is_result(path: Path) -> bool:
    """Whether a file of a folder is one of ours; there may be other JSON beside them."""
    record = read_json(path)
    return record.get("task") == WHO and "values" in record


def leaderboard(
    results: Sequence[TaskResult | tuple[TaskResult, str]] = (),
    *,
    world: str = "",
    split: str = "",
    more: Sequence[Path | str] = (),
) -> list[BoardEntry]:
    """Published numbers and one's own, best first, board by board.

    Numbers on a rendered stand-in stand below those on the published images and are ranked among themselves, since
    the two are not the same. What a constant scores stands among them, without a rank.

    Args:
        results: of `generalisation`, or of `own_results`.
        world: only this board; a stand-in names the board of its dataset.
        split: only this split.
        more: CSV files of further published numbers.

    >>> best = leaderboard(world="mpi3d_real")[0]
    >>> best.model, best.r2, best.rank
    ('RN50 (ImageNet-21k)', 0.541, 1)
    """
    entries = [entry for path in (None, *more) for entry in published(path)]
    for item in results:
        result, source = item if isinstance(item, tuple) else (item, "")
        entries += _own(result, source)
    boards = {entry.world for entry in entries}
    if world and board_of(world) not in boards:
        raise unknown("world of the leaderboard", world, boards)
    if split and split not in {entry.split for entry in entries}:
        raise unknown("split of the leaderboard", split, {entry.split for entry in entries})
    kept = [e for e in entries if (not world or e.world == board_of(world)) and (not split or e.split == split)]
    return _ranked([*kept, *_constants(kept)])


def board_of(world: str) -> str:
    """The published dataset whose board a world belongs to; itself if there is none.

    >>> board_of("dsprites_rendered"), board_of("mpi3d_rendered"), board_of("cars3d")
    ('dsprites', 'mpi3d_real', 'cars3d')
    """
    known = dict.fromkeys(entry.world for entry in published())
    stands_for = {WORLDS[name].stand_in: name for name in known if WORLDS[name].stand_in}
    return stands_for.get(world, world)


def _own(result: TaskResult, source: str) -> list[BoardEntry]:
    images = WORLDS[result.world].title if result.world in WORLDS else result.world
    seen = _seen(result)
    entries = []
    for row in result.tables.get("splits", []):
        split, rows, there = str(row["split"]), int(row["rows"] or 0), int(row["test_part"] or 0)
        notes = [HAS_SEEN] if split in seen else []
        notes += [f"over {rows:,} of {there:,} test images"] if rows < there else []
        r2, note = as_number(row["r2"]), "; ".join(notes)
        entries.append(BoardEntry(board_of(result.world), images, split, result.source, r2, True, source, note))
    return entries


def _seen(result: TaskResult) -> set[str]:
    """The splits of whose test images a run has seen some; notes of older results are sentences that begin with them.

    >>> older = f"random, extrapolation: the run was trained on all of its world, so it {HAS_SEEN}."
    >>> sorted(_seen(TaskResult(WHO, "", "", {}, notes=[older, Note(SEEN, "composition", "")])))
    ['composition', 'extrapolation', 'random']
    """
    seen = {note.about for note in result.notes if isinstance(note, Note) and note.kind == SEEN}
    older = [note for note in result.notes if isinstance(note, str) and HAS_SEEN in note]
    return seen.union(*(note.partition(": ")[0].split(", ") for note in older))


def _constants(entries: Sequence[BoardEntry]) -> list[BoardEntry]:
    """What a constant scores on each split that has entries, by dataset; its factors are enough to know."""
    constants = []
    for world, images, name in dict.fromkeys((entry.world, entry.images, entry.split) for entry in entries):
        if world in WORLDS and not name.startswith("own_"):  # a split by hand is not known here
            split = named_split(name, WORLDS[world].factors, WORLDS[world].conventions.rule)
            r2 = mean_known(constant_baselines(split).train.r2)
            constants.append(BoardEntry(world, images, name, CONSTANT, r2, False, "computed from the split"))
    return constants


def _ranked(entries: Sequence[BoardEntry]) -> list[BoardEntry]:
    def place(entry: BoardEntry) -> tuple[object, ...]:
        missing = math.isnan(entry.r2)
        where = entry.world, entry.split, "rendered" in entry.images, entry.images
        return (*where, missing, 0.0 if missing else -entry.r2, entry.model)

    ranks: dict[tuple[str, str, str], Iterator[int]] = defaultdict(lambda: count(1))
    return [
        entry
        if entry.model == CONSTANT
        else replace(entry, rank=next(ranks[entry.world, entry.split, entry.images]))
        for entry in sorted(entries, key=place)
    ]
