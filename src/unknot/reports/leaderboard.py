"""Published R² of the benchmark of systematic generalisation beside anyone's own results.

The shipped numbers are all cells of the paper's Tables 5 to 10, from `unknot.papers`; a CSV may add others.

Reference: Schott et al. 2022, Visual Representation Learning Does Not Generalize Strongly Within the Same Domain,
arXiv:2107.08221; github.com/bethgelab/InDomainGeneralizationBenchmark.
"""

import csv
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import get_args

import numpy as np

from unknot.errors import Note, UnknotError, unknown
from unknot.files import read_json
from unknot.papers import table
from unknot.reading.guard import must_fit, parsing
from unknot.studies.folder import StudyFolder
from unknot.studies.paths import StudyPaths
from unknot.tasks.generalisation.options import WHO
from unknot.tasks.generalisation.predicted_split import HAS_SEEN, SEEN
from unknot.tasks.generalisation.split_errors import constant_r2
from unknot.tasks.result import TaskResult, as_number, read_result
from unknot.worlds import WORLDS
from unknot.worlds.splits.named import named_split
from unknot.worlds.splits.rules import SplitKind

COLUMNS = ("world", "split", "model", "r2", "source", "note")  # of a CSV; `spread` may be there too
TABLES = tuple(f"table{number}" for number in range(5, 11))
OWN_SPLIT = "own_"  # how names of splits by hand begin
CONSTANT = "always the training mean"


@dataclass(frozen=True)
class BoardEntry:
    """One number of a board.

    Attributes:
        world: the published dataset of the board, such as "dsprites".
        images: where this number's images come from; a rendered stand-in says so.
        split: random, composition, interpolation or extrapolation.
        model: whose number.
        r2: mean over factors, unclipped; of one's own, the mean over seeds.
        own: whether it is a result of one's own.
        source: paper, page or file.
        note: what a reader must know.
        rank: among numbers on the same images; 0 for what takes no part.
        spread: what is printed after ±, or the standard deviation over one's own seeds; NaN if there is none.
        seeds: how many runs of one's own it is the mean of.
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
    spread: float = math.nan
    seeds: int = 0


@dataclass(frozen=True)
class OwnResult:
    """A result of the task generalisation, the file or study it is from, and the model it counts for: all its seeds."""

    result: TaskResult
    source: str
    model: str


def published(path: Path | str | None = None) -> list[BoardEntry]:
    """Numbers from the literature: the 408 shipped ones, or those of a CSV.

    >>> len(published()), next(entry.r2 for entry in published() if entry.model == "SlowVAE")
    (408, 0.867)
    """
    if path is None:
        return [entry for name in TABLES for entry in _shipped(name)]
    hint = f"Expected are the columns {', '.join(COLUMNS)}, R² as 0.667."
    with parsing(path, "a CSV of published numbers", hint):
        must_fit(path, 8 * Path(path).stat().st_size)
        rows = list(csv.DictReader(Path(path).read_text(encoding="utf-8").splitlines()))
        return [_published(row, path) for row in rows]


@cache
def _shipped(name: str) -> tuple[BoardEntry, ...]:
    rows = table("schott2022", name)
    rows[["value", "spread"]] = (rows[["value", "spread"]] / 100).round(4)
    cells = rows[["dataset", "split", "printed", "value", "spread", "source", "doubt"]]
    return tuple(
        BoardEntry(world, _images(world), split, model, r2, False, source, doubt, spread=spread)
        for world, split, model, r2, spread, source, doubt in cells.itertuples(index=False, name=None)
    )


def _published(row: dict[str, str | None], path: Path | str) -> BoardEntry:
    cells = {name: row[name] or "" for name in COLUMNS if name != "note"}
    if not all(cells.values()):
        lacking = next(name for name, cell in cells.items() if not cell)
        raise UnknotError(
            f"{path}: a row has no {lacking} ({', '.join(filter(None, cells.values())) or 'empty'})."
        )
    world, r2, model = cells["world"], float(cells["r2"]), cells["model"]
    if not r2 <= 1:
        raise UnknotError(f"{path}: R² of {model} is {cells['r2']}; it is at most 1. Divide per cent by 100.")
    entry = BoardEntry(world, _images(world), _split(cells["split"]), model, r2, False, cells["source"])
    return replace(entry, note=row.get("note") or "", spread=float(row.get("spread") or "nan"))


def _images(world: str) -> str:
    return WORLDS[world].title if world in WORLDS else world


def own_results(paths: Iterable[Path | str]) -> list[OwnResult]:
    """Results of the task generalisation in JSON files, in those of a folder, or of the runs of a study."""
    results = []
    for path in map(Path, paths):
        if not path.is_dir():
            result = read_result(path)
            if result.task != WHO:
                raise UnknotError(f"{path}: is a result of the task {result.task}; expected {WHO}.")
            results.append(OwnResult(result, str(path), result.source))
            continue
        if StudyPaths(path).record.is_file():
            inside = _of_study(StudyFolder(path))
        else:
            files = [file for file in sorted(path.glob("*.json")) if _is_result(file)]
            inside = [
                OwnResult(result, str(file), result.source) for file in files for result in [read_result(file)]
            ]
        if not inside:
            raise UnknotError(f"{path}: holds no result of unknot task {WHO}.")
        results += inside
    return results


def _of_study(study: StudyFolder) -> list[OwnResult]:
    """The results of a study; the runs of a setting count for one model."""
    models = dict(zip(study.runs["id"], study.runs["model"] + ", " + study.runs["setting"], strict=True))
    results = study.task_results(WHO)
    return [OwnResult(result, str(study.folder), models[id_]) for id_, result in results.items()]


def _is_result(path: Path) -> bool:
    """Whether a file of a folder is one of ours; there may be other JSON beside them."""
    record = read_json(path)
    return record.get("task") == WHO and "values" in record


def leaderboard(
    results: Sequence[TaskResult | OwnResult] = (),
    *,
    world: str = "",
    split: str = "",
    more: Sequence[Path | str] = (),
) -> list[BoardEntry]:
    """Published numbers and one's own, best first, board by board.

    Numbers on a rendered stand-in stand below those on the published images and are ranked among themselves, since
    the two are not the same. Runs that differ in their seed alone are one row, with mean and standard deviation. A
    number that two sources have stands once. What a constant scores stands among them, without a rank.

    Args:
        results: of `generalisation`, or of `own_results`.
        world: only this board; a stand-in names the board of its dataset.
        split: only this split.
        more: CSV files of further published numbers.

    >>> best = leaderboard(world="mpi3d_real", split="extrapolation")[0]
    >>> best.model, best.r2, best.spread, best.rank
    ('RN50 (ImageNet-21k)', 0.541, 0.019, 1)
    """
    entries = _once([entry for path in (None, *more) for entry in published(path)])
    own = [each if isinstance(each, OwnResult) else OwnResult(each, "", each.source) for each in results]
    entries += _over_seeds([entry for each in own for entry in _own(each)])
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
    boards = dict.fromkeys(entry.world for entry in published())
    return next((name for name in boards if world == WORLDS[name].stand_in), world)


def _once(entries: Sequence[BoardEntry]) -> list[BoardEntry]:
    """The entries, those of the same model and number only once, with all their sources."""
    once: dict[tuple[str, str, str, float], BoardEntry] = {}
    for entry in entries:
        key = entry.world, entry.split, entry.model.casefold(), round(entry.r2, 4)
        first = once.setdefault(key, entry)
        if entry.source not in first.source.split("; "):
            once[key] = replace(first, source=f"{first.source}; {entry.source}")
    return list(once.values())


def _own(own: OwnResult) -> list[BoardEntry]:
    result = own.result
    world, images, seen = board_of(result.world), _images(result.world), _seen(result)
    entries = []
    with parsing(own.source or own.model, f"a result of the task {WHO}", "unknot task makes it anew."):
        for row in result.tables.get("splits", []):
            split, rows, there = _split(row["split"]), int(row["rows"] or 0), int(row["test_part"] or 0)
            notes = [HAS_SEEN] if split in seen else []
            notes += [f"over {rows:,} of {there:,} test images"] if rows < there else []
            r2, note = as_number(row["r2"]), "; ".join(notes)
            entries.append(BoardEntry(world, images, split, own.model, r2, True, own.source, note, seeds=1))
    return entries


def _split(name: object) -> str:
    """The name of a split that is one."""
    known = str(name).partition(":")[0] in get_args(SplitKind) or str(name).startswith(OWN_SPLIT)
    if not known:
        raise ValueError(f"'{name}' is no split")
    return str(name)


def _over_seeds(entries: Sequence[BoardEntry]) -> list[BoardEntry]:
    """One entry for each model of a study or file, the mean over its runs."""
    groups: dict[tuple[str, ...], list[BoardEntry]] = {}
    for entry in entries:
        groups.setdefault((entry.world, entry.images, entry.split, entry.model, entry.source), []).append(entry)
    means = []
    for group in groups.values():
        values = np.array([entry.r2 for entry in group])
        spread = float(values.std(ddof=1)) if len(values) > 1 else math.nan
        notes = "; ".join(dict.fromkeys(entry.note for entry in group if entry.note))
        means.append(replace(group[0], r2=float(values.mean()), spread=spread, note=notes, seeds=len(group)))
    return means


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
        if world in WORLDS and not name.startswith(OWN_SPLIT):  # a split by hand is not known here
            r2 = _constant(world, name)
            constants.append(BoardEntry(world, images, name, CONSTANT, r2, False, "computed from the split"))
    return constants


@cache
def _constant(world: str, split: str) -> float:
    """What a constant scores; a second or two, however many boards it stands on."""
    return constant_r2(named_split(split, WORLDS[world].factors, WORLDS[world].conventions.rule))


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
