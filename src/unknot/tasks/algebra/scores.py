"""The rows and numbers of object algebra: an encoder's, those beside it, and those of the baselines."""

import hashlib
import json
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot import __version__
from unknot.errors import UnknotError
from unknot.files import written_whole
from unknot.metrics.coat import Coat, coat
from unknot.metrics.slots import Blank, blanked, duplicates, without_duplicates
from unknot.metrics.tre import GROUPS, Composition, tre
from unknot.tasks.algebra.codes import Found
from unknot.tasks.algebra.decoder import drawn_columns, segmentation, shown_columns
from unknot.tasks.algebra.quadruples import CorpusTuples, Tuples
from unknot.tasks.algebra.rows import baselines, negative_rows, score_row
from unknot.tasks.algebra.symbols import attributes
from unknot.tasks.algebra.tuple_codes import PIXEL
from unknot.tasks.algebra.tuple_sheet import as_text, tuple_sheet
from unknot.tasks.result import Table
from unknot.tasks.stages import Tell
from unknot.worlds.scenes.corpus import MASKED

Codes = Mapping[str, Any]
VERSION = 2  # of the baselines; rises when their numbers change


@dataclass
class Made:
    """What was found out so far."""

    source: str = ""
    values: dict[str, float] = field(default_factory=dict)
    scores: Table = field(default_factory=list)
    negatives: Table = field(default_factory=list)
    pictures: Table = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    record: Mapping[str, Any] = field(default_factory=dict)

    def add(self, name: str, kind: str, place: str, found: Coat) -> None:
        """Keep the rows of one set of codes."""
        self.scores.append(score_row(name, kind, place, found))
        self.negatives += negative_rows(name, kind, place, found)

    def value(self, found: Coat, prefix: str = "", suffix: str = "") -> None:
        """Make scores and passes headline numbers."""
        for loss, score in (("l2", found.l2), ("acos", found.acos)):
            self.values[f"{prefix}{loss}_coat{suffix}"] = score.value
            if score.parts["passed"] is not None:
                self.values[f"{prefix}{loss}_passed{suffix}"] = float(score.parts["passed"])

    def draw(self, drawn: Mapping[str, NDArray[np.uint8]], tuples: Tuples, n: int) -> None:
        """Draw the first tuples."""
        rows = np.arange(min(n, len(tuples)))
        picture = tuple_sheet({**shown_columns(tuples, rows), **drawn})
        self.pictures.append({"title": "Tuples", "png": as_text(picture)})


def score_encoder(
    made: Made,
    found: Found,
    place: str,
    tuples: Tuples,
    options: Mapping[str, Any],
    threshold: float,
    blank: Blank,
    *,
    first: bool,
) -> None:
    """Rows of the encoder on one corpus: its codes as they are and, for slots, tidied."""
    groups = tuples.scenes if isinstance(tuples, CorpusTuples) else None
    if first:
        made.source, made.record = found.name, found.record
    made.notes += found.notes
    if PIXEL not in found.codes:
        made.notes.append("There are no codes of the pixel negative B - A + C; the test is without it.")
    variants: dict[str, tuple[str, Codes]] = {"": (found.name, found.codes)}
    if np.ndim(found.codes["A"]) == 3:
        alone = without_duplicates(found.codes, threshold, blank)
        variants["_no_duplicates"] = (f"{found.name} without duplicates", alone)
        if found.decoder is not None and found.decoder.draws_slots:
            marked = {
                role: duplicates(found.codes[role], threshold) | ~found.decoder.visible(slots)
                for role, slots in alone.items()
            }
            name = f"{found.name} without duplicates and invisible slots"
            variants["_tidied"] = (name, blanked(found.codes, marked, blank))
    for suffix, (name, codes) in variants.items():
        scored = coat(codes, groups=groups, **options)
        made.add(name, "encoder", place, scored)
        made.value(scored, suffix=suffix + ("" if first else f"_{place}"))
        for score in scored:
            made.notes += [f"{name}: {note}" for note in score.parts["notes"]]


def score_beside(
    made: Made, found: Found, tuples: Tuples, composition: Composition, segmented: int, pictures: int, seed: int
) -> None:
    """TRE, measures of masks, and pictures."""
    if isinstance(tuples, CorpusTuples):
        _score_tre(made, found, tuples, composition, seed)
        if found.decoder is not None and found.decoder.model.masks_objects and segmented:
            made.values |= segmentation(found.decoder, tuples, segmented)
    if pictures:
        rows = np.arange(min(pictures, len(tuples)))
        draws = found.decoder is not None and found.decoder.draws
        made.draw(
            drawn_columns(found.decoder, found.codes, rows) if draws and found.decoder else {}, tuples, pictures
        )


def _score_tre(made: Made, found: Found, tuples: CorpusTuples, composition: Composition, seed: int) -> None:
    scenes = len(np.unique(tuples.scenes))
    if scenes < GROUPS:
        made.notes.append(
            f"TRE is left out: the corpus was cut from {scenes} main scenes, and at least {GROUPS} are needed to "
            "hold some out. Ask for more tuples."
        )
        return
    codes = np.concatenate([np.asarray(found.codes[role]) for role in MASKED])
    if codes.ndim == 3:
        codes = codes.mean(axis=1)
        made.notes.append("TRE is of the mean over slots, which does not depend on their order.")
    said = [attributes(tuples.corpus.tuples, role) for role in MASKED]
    parts = (np.concatenate([scene[i] for scene in said]) for i in range(3))
    error = tre(codes, *parts, composition=composition, groups=np.tile(tuples.scenes, 4), rng=seed)
    made.values["tre"] = error.value
    if not error.parts["collapsed"]:
        made.values["tre_normalised"] = error.parts["normalised"]


def score_baselines(
    made: Made,
    place: str,
    tuples: Tuples,
    options: Mapping[str, Any],
    folder: Path | None,
    tell: Tell,
    *,
    first: bool,
    seed: int,
) -> None:
    """Rows of everything an encoder is compared with, read if they were scored before.

    They belong to the corpus and are kept there, so that all encoders share them.
    """
    text = json.dumps([tuples.identity, len(tuples), {**options}, first, __version__, VERSION], sort_keys=True)
    home = tuples.corpus.folder if isinstance(tuples, CorpusTuples) else folder
    file = home and home / f"baselines-{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"
    record = _read_baselines(file)
    if record is None:
        record = {"scores": [], "negatives": [], "notes": []}
        groups = tuples.scenes if isinstance(tuples, CorpusTuples) else None
        for name, codes in baselines(tuples, seed=seed, full=first).items():

            def watch(done: int, total: int, stage: str = f"{name} ({place})") -> None:
                tell(stage, done, total)

            scored = coat(codes(), groups=groups, watch=watch, **options)
            record["scores"].append(score_row(name, "baseline", place, scored))
            record["negatives"] += negative_rows(name, "baseline", place, scored)
            if name == "symbolic attributes" and not all(score.value > 1 - 1e-8 for score in scored):
                record["notes"].append(
                    f"{place}: symbolic attributes do not add up, so scenes and images of this corpus do not fit."
                )
        if file is not None:
            with suppress(UnknotError), written_whole(file) as beside:  # a corpus may be read-only
                beside.write_text(json.dumps(record) + "\n", encoding="utf-8")
    made.scores += record["scores"]
    made.negatives += record["negatives"]
    made.notes += record["notes"]
    pixels = next(row for row in record["scores"] if row["representation"] == "pixels")
    for loss in ("l2", "acos"):
        value = pixels[loss]
        made.values[f"pixels_{loss}_coat" + ("" if first else f"_{place}")] = (
            math.nan if value is None else value / 100
        )


def _read_baselines(file: Path | None) -> dict[str, Any] | None:
    try:
        record = json.loads(file.read_text(encoding="utf-8")) if file is not None else None
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) and {"scores", "negatives", "notes"} <= set(record) else None
