"""COAT's published list of tests: ten pictures on a line, under the paths of the machine that made it.

`CLEVR_test_cases_hard.csv` has no header, and lies beside the folders `images`, `bgs`, `color`, `material`, `shape` and
`size` that it names by absolute paths. Its first two pictures are swapped, since its code calls A what the paper
calls B.

Reference: Xie et al. 2022, COAT: Measuring Object Compositionality in Emergent Representations, ICML, and its code.
"""

import csv
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from unknot.errors import UnknotError, check_known
from unknot.files import file_hash
from unknot.progress import Progress, silent
from unknot.reading.guard import must_fit, parsing
from unknot.worlds.scenes.chunks import alone, clear, difference, fill, finish, in_items, opened
from unknot.worlds.scenes.clevr import WINDOWS, cut
from unknot.worlds.scenes.corpus import MASKED, ROLES, VERSION, Corpus, open_corpus, write_records

ORDER = ("B", "A", *ROLES[2:])
PIECE = 16  # tuples
SHOWN = 3  # missing pictures that a message names

Row = Mapping[str, Path]  # role -> picture


def read_coat_list(file: Path | str, images: Path | str | None = None) -> list[Row]:
    """The pictures of every test, by role and in the paper's order.

    Paths that are not here lose as many of their first folders as it takes to find the pictures of the first line below
    `images`, or below the folder of the list.
    """
    file = Path(file).expanduser()
    root = file.parent if images is None else Path(images).expanduser()
    with parsing(file, "a list of tests"):
        must_fit(file, 8 * file.stat().st_size)
        lines = [_cells(line) for line in file.read_text(encoding="utf-8-sig").splitlines()]
    rows = []
    for number, cells in enumerate(lines, 1):
        if cells and len(cells) != len(ORDER):
            raise UnknotError(f"{file}: line {number} names {len(cells)} images; expected {len(ORDER)}.")
        if cells:
            rows.append([Path(cell) for cell in cells])
    if not rows:
        raise UnknotError(f"{file}: lists no tuples; expected {len(ORDER)} images on each line.")
    skipped = _folders_elsewhere(root, rows[0])
    found = [[root.joinpath(*path.parts[skipped:]) for path in row] for row in rows]
    missing = [path for row in found for path in row if not path.is_file()]
    if missing:
        names = ", ".join(map(str, missing[:SHOWN])) + (", ..." if len(missing) > SHOWN else "")
        raise UnknotError(
            f"{file}: {len(missing)} of its {len(found) * len(ORDER)} images do not exist: {names}. Name the folder "
            "that its images lie in (images, --images).",
            field="images",
        )
    named = [dict(zip(ORDER, row, strict=True)) for row in found]
    return [{role: row[role] for role in ROLES} for row in named]


def import_coat(
    tests: Path | str,
    folder: Path | str,
    *,
    images: Path | str | None = None,
    size: int = 128,
    window: str = "coat",
    jobs: int = 1,
    progress: Progress = silent,
) -> Corpus:
    """Make a corpus of COAT's published pictures, or of any pictures listed in the same way.

    The result has no masks (all 0) and no scenes: scores that need them are left out. One that was interrupted is
    continued.

    Args:
        tests: the list: see `read_coat_list`; its cells may be parted by commas, tabs or spaces.
        folder: where the corpus is written.
        images: folder that the pictures lie in, at whatever depth of their paths; else that of the list.
        size: side of the images.
        window: as in `read_clevr`.
        jobs: processes.
        progress: told how many tuples are done.
    """
    folder, tests = Path(folder).expanduser(), Path(tests).expanduser()
    check_known("window", window, WINDOWS)
    rows = read_coat_list(tests, images)
    n = len(rows)
    settings = {"tests": tests.name, "list": file_hash(tests), "window": window, "masks": False}
    info = {"n": n, "size": [size, size], "seed": None, "variant": "imported", "settings": settings}
    arrays = {
        "images.npy": ((n, len(ROLES), size, size, 3), "uint8"),
        "masks.npy": ((n, len(MASKED), size, size), "uint8"),
    }
    with alone(folder):
        if (folder / "corpus.json").is_file():
            corpus = open_corpus(folder)
            if named := difference(corpus.info, info):
                raise UnknotError(f"{folder}: already holds a corpus with {named}; name another folder.")
            clear(folder)
            return corpus
        work, counted = partial(_cut_piece, rows, size, window), in_items(progress, "tuples", PIECE, n)
        fill(folder, {"version": VERSION, **info}, arrays, -(-n // PIECE), work, jobs=jobs, progress=counted)
        finish(folder, arrays)
        write_records(folder, [_record(row) for row in rows], info)
        clear(folder)
    return open_corpus(folder)


def _cells(line: str) -> list[str]:
    cells = next(csv.reader([line]), []) if "," in line else line.split()
    return [cell.strip() for cell in cells]


def _folders_elsewhere(root: Path, paths: Sequence[Path]) -> int:
    """How many first parts of some paths are to be left out, so that most of them exist."""
    depths = range(min(len(path.parts) for path in paths))
    return max(depths, key=lambda k: (sum(root.joinpath(*path.parts[k:]).is_file() for path in paths), -k))


def _cut_piece(rows: Sequence[Row], size: int, window: str, making: Path, piece: int) -> dict[str, Any]:
    images = opened(making, "images.npy")
    for i in range(piece * PIECE, min((piece + 1) * PIECE, len(rows))):
        images[i] = np.stack([cut(rows[i][role], (size, size), window) for role in ROLES])
    images.flush()  # type: ignore[attr-defined]
    return {}


def _record(row: Row) -> dict[str, Any]:
    """What tuples.json says of a test; pictures of one main scene are told apart by a last number."""
    main = row["D"].stem.rpartition("_")[0]
    files = {role: "/".join(path.parts[-2:]) for role, path in row.items()}
    return {"scenes": {}, "added": [], "edits": {}, "score": None, "main": main, "files": files}
