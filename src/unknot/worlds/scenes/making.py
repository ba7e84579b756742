"""Making a corpus: its tuples are found and drawn some at a time, each piece with random numbers of its own."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError, unknown
from unknot.progress import Progress, silent
from unknot.worlds.scenes.chunks import (
    alone,
    clear,
    difference,
    fill,
    finish,
    in_items,
    opened,
    progress_of,
    sweep,
)
from unknot.worlds.scenes.corpus import MASKED, ROLES, VERSION, Corpus, open_corpus, write_records
from unknot.worlds.scenes.layouts import Layouts, layouts_of, survey
from unknot.worlds.scenes.placement import MIN_VISIBLE, SETTINGS, SURVEY, sample_scenes
from unknot.worlds.scenes.render import Size, render, scene_masks, window
from unknot.worlds.scenes.scene import Scene
from unknot.worlds.scenes.tuples import (
    COLORED,
    Parts,
    candidates,
    edits,
    occlusion_scores,
    role_scenes,
    tuple_record,
)

PIECE = 16  # tuples
MIN_OVERLAP = 800  # pixels of a main scene that two or more objects cover, of 240 x 240
STRONG, CLEAR = 1400, 400  # scores above, and below: strong occlusion, next to none
MAINS = 16  # main scenes looked for at a time
SEEN = 20  # pixels of a 128 x 128 image in which an added object, or a wrong one, must show
NOTICED = 8  # levels by which a pixel must differ to count
VARIANTS = ("occluded", "clear", "as published", "white")


@dataclass(frozen=True)
class Wish:
    """What decides a corpus, besides its length: see `make_corpus`."""

    size: Size
    variant: str
    seed: int
    per_scene: int

    def plan(self) -> dict[str, Any]:
        """All of it as plain values, with the rules in numbers."""
        height, width, crop = window(self.size)
        clear, published = self.variant == "clear", self.variant == "as published"
        settings = {
            "objects": list(SETTINGS["main"].objects),
            "min_visible": MIN_VISIBLE,
            "min_overlap": MIN_OVERLAP,
            "score_above": None if clear else STRONG,
            "score_below": CLEAR if clear else None,
            "silhouettes": SURVEY,
            "per_scene": self.per_scene,
            "edited_object": "by place in the list" if published else "drawn",
            "changes_must_show": not published,
            "crop": crop,
        }
        return {**asdict(self), "size": [height, width], "settings": settings}


def make_corpus(
    folder: Path | str,
    *,
    n: int = 1600,
    size: int | tuple[int, int] = 128,
    variant: str = "occluded",
    seed: int = 0,
    per_scene: int = 4,
    jobs: int = 1,
    progress: Progress = silent,
) -> Corpus:
    """Find and draw a corpus, or open it if it is there already; one that was interrupted is continued.

    The files are the same, byte for byte, for the same options, whatever the number of processes. While another process
    makes the same corpus, this one waits for it.

    Args:
        folder: for this corpus alone.
        n: tuples.
        size: side of the square images, or (height, width).
        variant: "occluded": tuples whose objects hide each other strongly; "clear": hardly at all; "as published":
            like "occluded", with negatives made as in the published generator, even if the change cannot be seen;
            "white": like "occluded", with A and B on white too.
        seed: decides everything.
        per_scene: tuples at most from one main scene.
        jobs: processes.
        progress: told how many tuples are done.
    """
    folder = Path(folder).expanduser()
    if variant not in VARIANTS:
        raise unknown("variant", variant, VARIANTS)
    if n < 1 or seed < 0 or per_scene < 1:
        raise UnknotError(f"corpus: n {n}, seed {seed}, per_scene {per_scene}; expected at least 1, 0 and 1.")
    wish = Wish(size if isinstance(size, int) else (size[0], size[1]), variant, seed, per_scene)
    height, width, _ = window(size)
    info = {"n": n, **wish.plan()}
    if (folder / "corpus.json").is_file():
        return _already_made(folder, info)
    n_pieces = -(-n // PIECE)
    arrays = {
        "images.npy": ((n, len(ROLES), height, width, 3), "uint8"),
        "masks.npy": ((n, len(MASKED), height, width), "uint8"),
    }
    counted = in_items(progress, "tuples", PIECE, n)
    with alone(folder, lambda: counted("", progress_of(folder) or 0, n_pieces)):
        if (folder / "corpus.json").is_file():  # while this process waited
            return _already_made(folder, info)
        plan, work = {"version": VERSION, **info}, partial(make_piece, wish, n)
        pieces = fill(folder, plan, arrays, n_pieces, work, jobs=jobs, progress=counted)
        tuples: list[dict[str, Any]] = [{} for _ in range(n)]
        for piece in pieces:
            for row, record in zip(piece["rows"], piece["tuples"], strict=True):
                tuples[row] = record
        finish(folder, arrays)
        write_records(folder, tuples, info)
        clear(folder)
    return open_corpus(folder)


def _already_made(folder: Path, wanted: dict[str, Any]) -> Corpus:
    sweep(folder)
    corpus = open_corpus(folder)
    named = difference(corpus.info, wanted)
    if named:
        raise UnknotError(f"{folder}: already holds a corpus with {named}; name another folder.")
    return corpus


def make_piece(wish: Wish, n: int, making: Path, piece: int) -> dict[str, Any]:
    """Write the images and masks of one piece of a corpus of n tuples; its records and the rows they belong to."""
    # Tuples are shuffled, so that those of one scene are not neighbours.
    rows = np.random.default_rng([wish.seed, 0]).permutation(n)[piece * PIECE : (piece + 1) * PIECE]
    images, masks = opened(making, "images.npy"), opened(making, "masks.npy")
    records = []
    tuples = find_tuples(wish, np.random.default_rng([wish.seed, piece + 1]))
    for row, (record, its_images, its_masks) in zip(rows, tuples, strict=False):
        images[row], masks[row] = its_images, its_masks
        records.append(record)
    for array in (images, masks):
        array.flush()  # type: ignore[attr-defined]
    return {"rows": rows.tolist(), "tuples": records}


def find_tuples(
    wish: Wish, rng: np.random.Generator
) -> Iterator[tuple[dict[str, Any], NDArray[np.uint8], NDArray[np.uint8]]]:
    """Tuples that keep the wish, endlessly: record, images (10, h, w, 3), masks (4, h, w)."""
    for main, choices in crowded_scenes(wish, rng):
        kept = 0
        for parts, score in choices:
            drawn = _drawn_tuple(wish, main, parts, score, rng)
            if drawn is not None:
                yield drawn
                kept += 1
                if kept == wish.per_scene:
                    break


def crowded_scenes(wish: Wish, rng: np.random.Generator) -> Iterator[tuple[Scene, list[tuple[Parts, int]]]]:
    """Main scenes that show every object and hide enough of some, with their tuples in random order."""
    while True:
        mains = sample_scenes(MAINS, SETTINGS["main"], rng, passes=_crowded)
        for main, histogram in zip(mains, survey(layouts_of(mains), SURVEY, SURVEY).histogram, strict=True):
            count = len(main.objects)
            scores = occlusion_scores(histogram[: 2**count], count)
            passing = np.flatnonzero(scores < CLEAR if wish.variant == "clear" else scores > STRONG)
            if len(passing):
                everything = candidates(count)
                yield main, [(everything[c], int(scores[c])) for c in rng.permutation(passing)]


def _crowded(layouts: Layouts) -> NDArray[np.bool_]:
    """Whether every object of each scene shows, and enough of it is covered twice."""
    pixels = survey(layouts, SURVEY, SURVEY)
    return pixels.all_seen(layouts.counts, MIN_VISIBLE) & (pixels.overlap > MIN_OVERLAP)


def _drawn_tuple(
    wish: Wish, main: Scene, parts: Parts, score: int, rng: np.random.Generator
) -> tuple[dict[str, Any], NDArray[np.uint8], NDArray[np.uint8]] | None:
    """Draw a tuple with its negatives; None if something that should be seen is not."""
    published = wish.variant == "as published"
    height, width, _ = window(wish.size)
    enough = max(1, round(SEEN * height * width / 128**2))
    roles = parts.roles()
    color = COLORED[rng.integers(len(COLORED))]  # drawn for all variants, so that white has the tuples of occluded
    scenes = role_scenes(main, parts, "white" if wish.variant == "white" else color)
    labels = [[i + 1 for i in roles[role]] for role in MASKED]
    masks = scene_masks([scenes[role] for role in MASKED], wish.size, labels=labels)
    if not published and any((masks[c] == i + 1).sum() < enough for c in (1, 3) for i in parts.added):
        return None
    shown: dict[str, tuple[Scene, tuple[int, ...]]] = {role: (scenes[role], roles[role]) for role in MASKED}
    images = np.empty((len(ROLES), height, width, 3), dtype=np.uint8)
    render([scenes[role] for role in MASKED], wish.size, out=images[: len(MASKED)])
    changes = {}
    for column, negative in enumerate(ROLES[len(MASKED) :], len(MASKED)):
        for edit in edits(main, parts, negative, rng, published=published):
            render(edit.scene, wish.size, out=images[column : column + 1])
            if published or differing(images[column], images[3]) >= enough:
                shown[negative], changes[negative] = (edit.scene, edit.indices), edit.change
                break
        else:
            return None
    return tuple_record(shown, parts, changes, score), images, masks


def differing(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> int:
    """How many pixels of two images differ visibly."""
    apart = np.abs(one.astype(np.int16) - other.astype(np.int16)).max(axis=-1)
    return int((apart >= NOTICED).sum())
