"""The rows and numbers of object algebra: an encoder's, those beside it, and those of the baselines."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from unknot import __version__
from unknot.metrics.coat import Coat, coat
from unknot.metrics.object_readout import Probe, object_readout
from unknot.metrics.slots import blanked, duplicates, without_duplicates
from unknot.metrics.tre import GROUPS, tre
from unknot.progress import Progress
from unknot.runs.workspace import Workspace
from unknot.tasks.algebra.baselines import attributes, baselines, object_properties
from unknot.tasks.algebra.codes import EncoderCodes
from unknot.tasks.algebra.decoder import segmentation
from unknot.tasks.algebra.options import LOSSES, AlgebraOptions, TupleSet
from unknot.tasks.algebra.quadruples import PIXEL, CorpusTuples, Tuples
from unknot.tasks.algebra.tuple_sheet import drawn_slots, drawn_tuples
from unknot.tasks.result import Cell, Table
from unknot.worlds.scenes.corpus import MASKED

Variants = dict[str, tuple[str, Mapping[str, Any]]]  # ending of the names of values -> name in tables, and codes
BASELINES = 3  # version of the baselines; rises when their numbers change
READ = 1600  # images whose objects are read out
SHEETS = 2  # tuples whose slots are drawn
FEWEST = 32  # tuples of the first point of scores against n


@dataclass
class ResultParts:
    """What will be the values, tables and notes of a result, added to as corpora and codes are scored."""

    values: dict[str, float] = field(default_factory=dict)
    scores: Table = field(default_factory=list)
    negatives: Table = field(default_factory=list)
    against_n: Table = field(default_factory=list)
    objects: Table = field(default_factory=list)
    pictures: Table = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add_rows(self, name: str, kind: str, corpus: str, scores: Coat) -> None:
        """Add the rows of one set of codes: scores in percent, and the share of successes on every negative."""
        whose: dict[str, Cell] = {"representation": name, "kind": kind, "corpus": corpus}
        row = dict(whose)
        for loss, score in zip(LOSSES, scores, strict=True):
            low, high = score.parts["interval"]
            numbers = {"": score.value, "_low": low, "_high": high, "_error": score.parts["error"]}
            row |= {loss + key: None if math.isnan(value) else 100 * value for key, value in numbers.items()}
            row |= {f"{loss}_passed": score.parts["passed"], f"{loss}_collapsed": score.parts["collapsed"]}
            for negative, test in score.parts["negatives"].items():
                low, high = test.interval
                of_test = {"p_hat": test.p_hat, "low": low, "high": high, "z": test.z, "p_value": test.p_value}
                of_test |= {"n": test.n, "passed": test.passed}
                self.negatives.append(whose | {"loss": loss, "negative": negative} | of_test)
        self.against_n += [whose | point for point in _against_n(scores)]
        self.scores.append(row | {"n": scores.l2.parts["n_scored"], "n_invalid": scores.acos.parts["n_invalid"]})

    def add_values(self, scores: Coat, prefix: str = "", suffix: str = "") -> None:
        """Make scores and passes headline numbers."""
        for loss, score in zip(LOSSES, scores, strict=True):
            self.values[f"{prefix}{loss}_coat{suffix}"] = score.value
            if score.parts["passed"] is not None:
                self.values[f"{prefix}{loss}_passed{suffix}"] = float(score.parts["passed"])


def _against_n(scores: Coat) -> Iterator[dict[str, Cell]]:
    """Scores of the first 32, 64, 128, ... tuples and of all, in percent, with chance as in the whole."""
    n = len(scores.l2.parts["ratios"])
    for first in [*(2**k for k in range(n.bit_length()) if FEWEST <= 2**k < n), n]:
        point: dict[str, Cell] = {"n": first}
        for loss, score in zip(LOSSES, scores, strict=True):
            ratios = score.parts["ratios"][:first]
            known = ratios[np.isfinite(ratios)]
            point[loss] = 100 * float(known.mean()) if len(known) else None
            point[f"{loss}_error"] = 100 * float(known.std() / math.sqrt(len(known))) if len(known) else None
        yield point


def score_encoder(
    parts: ResultParts, encoder: EncoderCodes, tuple_set: TupleSet, options: AlgebraOptions
) -> Variants:
    """Rows of the encoder on one corpus: its codes as they are and, for slots, tidied; what was scored."""
    parts.notes += encoder.notes
    if PIXEL not in encoder.codes:
        parts.notes.append("There are no codes of the pixel negative B - A + C; the test is without it.")
    variants = _variants(encoder, options)
    for ending, (name, codes) in variants.items():
        scores = coat(codes, groups=tuple_set.tuples.scenes, **options.coat)
        parts.add_rows(name, "encoder", tuple_set.name, scores)
        parts.add_values(scores, suffix=ending + tuple_set.suffix)
        for score in scores:
            parts.notes += [f"{name}: {note}" for note in score.parts["notes"]]
    return variants


def _variants(encoder: EncoderCodes, options: AlgebraOptions) -> Variants:
    variants: Variants = {"": (encoder.name, encoder.codes)}
    if np.ndim(encoder.codes["A"]) != 3:
        return variants
    alone = without_duplicates(encoder.codes, options.threshold, options.blank)
    variants["_no_duplicates"] = (f"{encoder.name} without duplicates", alone)
    if encoder.decoder is not None and encoder.decoder.model.decodes_slots:
        idle: dict[str, NDArray[np.bool_]] = {
            role: duplicates(encoder.codes[role], options.threshold) | ~encoder.decoder.visible(slots)
            for role, slots in alone.items()
        }
        name = f"{encoder.name} without duplicates and invisible slots"
        variants["_tidied"] = (name, blanked(encoder.codes, idle, options.blank))
    return variants


def score_beside(
    parts: ResultParts, encoder: EncoderCodes | None, variants: Variants, tuples: Tuples, options: AlgebraOptions
) -> None:
    """TRE, measures of masks, and pictures; without an encoder, pictures of the tuples alone."""
    if encoder is not None and isinstance(tuples, CorpusTuples):
        _score_tre(parts, variants, tuples, options)
        _score_objects(parts, encoder.codes, tuples, options)
        if encoder.decoder is not None and encoder.decoder.model.masks_objects and options.segmented:
            if tuples.corpus.has_masks:
                parts.values |= segmentation(encoder.decoder, tuples, options.segmented)
            else:
                parts.notes.append("ARI and overlaps are left out: the corpus has no true masks.")
    if options.pictures:
        parts.pictures.append({"title": "Tuples", "png": drawn_tuples(tuples, options.pictures, encoder)})
        if encoder is not None and encoder.decoder is not None and encoder.decoder.model.decodes_slots:
            for row in range(min(SHEETS, options.pictures, len(tuples))):
                png = drawn_slots(tuples, row, encoder, options.threshold)
                parts.pictures.append({"title": f"Slots of tuple {row}, matched,", "png": png})


def _score_tre(parts: ResultParts, variants: Variants, tuples: CorpusTuples, options: AlgebraOptions) -> None:
    """TRE of codes, of slots as they are and tidied, as in Table 2 of the paper."""
    if not tuples.corpus.has_scenes:
        parts.notes.append("TRE is left out: what the images of the corpus show is not known.")
        return
    scenes = len(np.unique(tuples.scenes))
    if scenes < GROUPS:
        parts.notes.append(
            f"TRE is left out: the corpus was cut from {scenes} main scenes, and at least {GROUPS} are needed to "
            "hold some out. Ask for more tuples."
        )
        return
    by_role = [attributes(tuples.corpus.tuples, role) for role in MASKED]
    scene_parts = [np.concatenate([role[i] for role in by_role]) for i in range(3)]
    groups = np.tile(tuples.scenes, len(MASKED))
    for ending, (_, codes) in variants.items():
        of_images = np.concatenate([np.asarray(codes[role]) for role in MASKED])
        if of_images.ndim == 3:
            of_images = of_images.mean(axis=1)
            parts.notes.append("TRE is of the mean over slots, which does not depend on their order.")
        error = tre(of_images, *scene_parts, composition=options.composition, groups=groups, rng=options.seed)
        parts.values[f"tre{ending}"] = error.value
        if not error.parts["collapsed"]:
            parts.values[f"tre_normalised{ending}"] = error.parts["normalised"]


def _score_objects(
    parts: ResultParts, codes: Mapping[str, Any], tuples: CorpusTuples, options: AlgebraOptions
) -> None:
    """What probes read of each object from slots: what the paper holds its scores against."""
    if np.ndim(codes["A"]) != 3 or not tuples.corpus.has_scenes:
        return
    n = min(len(tuples), READ // len(MASKED))
    if len(np.unique(tuples.scenes[:n])) < GROUPS:
        parts.notes.append(f"Objects are not read out: the corpus was cut from fewer than {GROUPS} main scenes.")
        return
    properties, present = object_properties(tuples.corpus.tuples[:n])
    slots = np.concatenate([np.asarray(codes[role][:n]) for role in MASKED])
    groups = np.tile(tuples.scenes[:n], len(MASKED))
    for probe in get_args(Probe):
        score = object_readout(slots, properties, present, probe=probe, groups=groups, rng=options.seed)
        parts.values[f"objects_read_{probe}"] = score.value
        parts.values[f"objects_recalled_{probe}"] = score.parts["recall"]
        parts.notes += [note for note in score.parts["notes"] if note not in parts.notes]
        floors = {**score.parts["floor"], "all of it": score.parts["recall_floor"]}
        for name, value in {**score.parts["per_property"], "all of it": score.parts["recall"]}.items():
            parts.objects.append({"property": name, "probe": probe, "value": value, "floor": floors[name]})


def score_baselines(
    parts: ResultParts, tuple_set: TupleSet, options: AlgebraOptions, workspace: Workspace, progress: Progress
) -> None:
    """Rows of everything an encoder is compared with, read if they were scored before.

    They belong to a corpus and are kept with it, so that all encoders share them; a corpus may be read-only.
    """
    tuples = tuple_set.tuples
    if isinstance(tuples, CorpusTuples):
        workspace = Workspace(tuples.corpus.folder, must_keep=False)
    key = [tuples.identity, len(tuples), options.coat, tuple_set.first, __version__, BASELINES]
    record = workspace.kept("baselines", key, lambda: _baseline_rows(tuple_set, options, progress))
    parts.scores += record["scores"]
    parts.negatives += record["negatives"]
    parts.against_n += record["against_n"]
    parts.notes += record["notes"]
    pixels = next(row for row in record["scores"] if row["representation"] == "pixels")
    for loss in LOSSES:
        value = math.nan if pixels[loss] is None else pixels[loss] / 100
        parts.values[f"pixels_{loss}_coat{tuple_set.suffix}"] = value


def _baseline_rows(tuple_set: TupleSet, options: AlgebraOptions, progress: Progress) -> dict[str, Any]:
    parts = ResultParts()
    for name, codes in baselines(tuple_set.tuples, seed=options.seed, full=tuple_set.first).items():
        scores = coat(codes(), groups=tuple_set.tuples.scenes, watch=partial(progress, name), **options.coat)
        parts.add_rows(name, "baseline", tuple_set.name, scores)
        if name == "symbolic attributes" and not all(score.value > 1 - 1e-8 for score in scores):
            parts.notes.append(
                f"{tuple_set.name}: symbolic attributes do not add up, so scenes and images of this corpus do not fit."
            )
    return {
        "scores": parts.scores,
        "negatives": parts.negatives,
        "against_n": parts.against_n,
        "notes": parts.notes,
    }
