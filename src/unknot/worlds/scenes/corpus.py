"""The corpus that object algebra is measured on: tuples of images with z(B) - z(A) + z(C) = z(D) if codes compose.

A folder with `images.npy` (n, 10, h, w, 3) uint8, one column for each of `ROLES`; `masks.npy` (n, 4, h, w) uint8, which
object each pixel of A, B, C, D sees; `tuples.json`, the scenes; and `corpus.json`, which is written last and says how
all was made.

Reference: Xie et al. 2022, COAT: Measuring Object Compositionality in Emergent Representations, ICML.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.factors import Factor, FactorSpace
from unknot.files import write_json, written_whole
from unknot.reading.guard import load_json
from unknot.worlds.array_world import ArrayWorld
from unknot.worlds.scenes.chunks import mapped, progress_of

ROLES = ("A", "B", "C", "D", "drop", "object", "color", "material", "shape", "size")
MASKED = ROLES[:4]
VERSION = 4  # rises when the same seed gives other tuples or other pixels


@dataclass(frozen=True)
class Corpus:
    """Tuples of images, their masks and their scenes.

    Attributes:
        folder: where it is kept.
        images: uint8 (n, 10, h, w, 3), a memory map; columns are `ROLES`.
        masks: uint8 (n, 4, h, w) for A, B, C, D: 0 for background, i + 1 for object i of the main scene.
        tuples: for each tuple, `scenes` (role -> scene in CLEVR's JSON, with `indices` of its objects in the main
            scene), `added` (indices of the objects that B has and A lacks), `edits` (negative -> what was changed)
            and `score` (pixels in which occlusion breaks the algebra of silhouettes). Of imported pictures, no scenes,
            but `main` (the name of the main scene) and `files`.
        info: version, seed, variant, n, size, settings.
    """

    folder: Path
    images: NDArray[np.uint8]
    masks: NDArray[np.uint8]
    tuples: list[dict[str, Any]]
    info: dict[str, Any]

    def __len__(self) -> int:
        return len(self.images)

    @property
    def has_scenes(self) -> bool:
        """Whether it is known what each image shows; of imported pictures it is not."""
        return all(record["scenes"] for record in self.tuples)

    @property
    def has_masks(self) -> bool:
        """Whether it is known which object each pixel sees."""
        return bool(self.info.get("settings", {}).get("masks", True))

    def first(self, n: int) -> "Corpus":
        """The same corpus with its first n tuples alone, or all if it has fewer."""
        n = min(n, len(self))
        images, masks, tuples = self.images[:n], self.masks[:n], self.tuples[:n]
        return replace(self, images=images, masks=masks, tuples=tuples, info={**self.info, "n": n})


def open_corpus(folder: Path | str) -> Corpus:
    """The corpus in a folder; anything missing, cut short or of another size is an error that says what."""
    folder = Path(folder).expanduser()
    if not folder.is_dir():
        raise UnknotError(f"{folder}: no such folder; a corpus is made by make_corpus or `unknot task algebra`.")
    info = _read_json(folder, "corpus.json", dict)
    version = info.get("version")
    if version != VERSION:
        raise UnknotError(
            f"{folder}: is a corpus of version {version}; this program reads version {VERSION}. Make it again in "
            "another folder, and compare scores of one version only."
        )
    tuples = _read_json(folder, "tuples.json", list)
    n, height, width = len(tuples), *_size(info, folder)
    if n != info.get("n"):
        raise UnknotError(f"{folder}: tuples.json has {n} tuples, corpus.json says {info.get('n')}.")
    images = _read_array(folder, "images.npy", (n, len(ROLES), height, width, 3))
    masks = _read_array(folder, "masks.npy", (n, len(MASKED), height, width))
    return Corpus(folder, images, masks, tuples, info)


def corpus_world(folder: Path) -> ArrayWorld:
    """The images of a corpus as a complete grid of tuples and roles."""
    corpus = open_corpus(folder)
    n = len(corpus)
    tuples = Factor("tuple", n, "categorical" if n > 1 else "constant")
    space = FactorSpace((tuples, Factor("role", len(ROLES), "categorical", ROLES)))
    images = corpus.images.reshape(-1, *corpus.images.shape[2:])
    return ArrayWorld(images, space=space, name=f"corpus, {corpus.info.get('variant', 'scenes')}")


def write_corpus(
    folder: Path | str,
    images: NDArray[np.uint8],
    masks: NDArray[np.uint8],
    tuples: Sequence[dict[str, Any]],
    **info: Any,
) -> Corpus:
    """Write a corpus from arrays: one's own renders, or a few tuples for a test.

    Args:
        folder: gets the four files.
        images: uint8 (n, 10, h, w, 3).
        masks: uint8 (n, 4, h, w).
        tuples: one dict each: see `Corpus`.
        **info: more for corpus.json: seed, variant, settings.
    """
    folder = Path(folder)
    if images.ndim != 5 or images.shape[1] != len(ROLES) or images.shape[4] != 3 or images.dtype != np.uint8:
        raise UnknotError(
            f"write_corpus: images are {images.dtype} of shape {images.shape}; expected uint8 (n, {len(ROLES)}, h, w, "
            f"3), columns {', '.join(ROLES)}."
        )
    n, _, height, width, _ = images.shape
    if masks.shape != (n, len(MASKED), height, width) or masks.dtype != np.uint8 or len(tuples) != n:
        raise UnknotError(
            f"write_corpus: masks are {masks.dtype} of shape {masks.shape} and there are {len(tuples)} tuples for {n} "
            f"rows of images; expected uint8 ({n}, {len(MASKED)}, {height}, {width}) and {n}."
        )
    for name, array in (("images.npy", images), ("masks.npy", masks)):
        with written_whole(folder / name) as beside, beside.open("wb") as file:
            np.save(file, array, allow_pickle=False)
    write_records(folder, tuples, {"n": n, "size": [height, width], **info})
    return open_corpus(folder)


def write_records(folder: Path, tuples: Sequence[dict[str, Any]], info: dict[str, Any]) -> None:
    """Write tuples.json and then corpus.json, whose presence says that all is complete."""
    with written_whole(folder / "tuples.json") as beside:
        beside.write_text(json.dumps(list(tuples), separators=(",", ":")) + "\n", encoding="utf-8")
    write_json(folder / "corpus.json", {"version": VERSION, **info})


def _size(info: dict[str, Any], folder: Path) -> tuple[int, int]:
    try:
        height, width = (int(side) for side in np.broadcast_to(info["size"], 2))
    except (KeyError, ValueError, TypeError, OverflowError) as error:
        raise UnknotError(f"{folder / 'corpus.json'}: has no usable size ({error}).") from None
    return height, width


def _read_json(folder: Path, name: str, kind: type) -> Any:
    if not (folder / name).exists():
        done = progress_of(folder)
        if done is not None:
            raise UnknotError(
                f"{folder}: making this corpus was interrupted ({done} pieces are done); make it again with the same "
                "options and it goes on from there."
            )
        raise UnknotError(f"{folder}: has no {name}, so it is no corpus, or not a whole one.")
    record = load_json(folder / name, hint="Make the corpus again.")
    if not isinstance(record, kind):
        raise UnknotError(f"{folder / name}: holds a {type(record).__name__}; expected a {kind.__name__}.")
    return record


def _read_array(folder: Path, name: str, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    if not (folder / name).exists():
        raise UnknotError(f"{folder}: has no {name}; copy it again, or make the corpus again.")
    return mapped(folder / name, shape, "Copy or make the corpus again.")
