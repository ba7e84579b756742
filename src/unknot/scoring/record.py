"""A scorecard as plain values: JSON with everything needed to reproduce it, and flat rows."""

import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from unknot import __version__
from unknot.files import file_hash, plain
from unknot.metrics import METRICS
from unknot.reading.names import csv_text
from unknot.scoring.chance import as_fields
from unknot.scoring.score_row import Entry, ScoreRow, rows_of
from unknot.scoring.scorecard import Record, Scorecard

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")
SHA256 = 64  # digits


def score_rows(scores: Scorecard | Mapping[str, Any]) -> Iterator[ScoreRow]:
    """The headline of each metric and the scalars that belong beside it, of a scorecard or of its record."""
    return rows_of(entries(scores))


def entries(scores: Scorecard | Mapping[str, Any]) -> Iterator[Entry]:
    """Full name, facts and parts of each metric."""
    return scores.entries() if isinstance(scores, Scorecard) else _of_record(scores)


def _of_record(record: Mapping[str, Any]) -> Iterator[Entry]:
    for id_, score in record.get("scores", {}).items():
        kept = ("value", "version", "seconds", "interval", "drift")
        about = {name: score[name] for name in kept if name in score} | as_fields(score.get("chance"))
        yield id_, about, score["parts"]
    for id_, why in record.get("refused", {}).items():
        yield id_, {"refused": why}, {}


def scorecard_record(
    card: Scorecard, files: Sequence[Path | str] = (), chosen: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The scorecard as JSON-ready values. NaN becomes null; an infinite number becomes "inf" or "-inf".

    Args:
        card: all of it.
        files: that were scored.
        chosen: what was named for the scores, whatever the files say: `kinds` (factor -> its kind), and columns by
            the options of `unknot.from_table`.
    """
    named = dict(chosen or {})
    kinds = named.pop("kinds", {})
    plan = card.plan
    rep, rows = plan.representation, plan.rows
    record = {
        "unknot": __version__,
        "versions": {"python": platform.python_version()} | {name: _version(name) for name in LIBRARIES},
        "input": {
            "files": [{"name": Path(f).name, "sha256": file_hash(f, SHA256)} for f in files],
            "n_rows": int(rep.latents.shape[0]),
            "n_test_rows": 0 if rep.latents_test is None else int(rep.latents_test.shape[0]),
            "n_latents": int(rep.latents.shape[1]),
            "factor_names": list(rep.factor_names),
            **({"kinds": dict(kinds)} if kinds else {}),
            **({"chosen": named} if named else {}),
            "skipped_factors": {} if rows is None else rows.skipped,
            "missing_labels": [asdict(missing) for missing in plan.missing],
            "notes": list(plan.notes),
        },
        "factor_dependence": plan.dependence,
        "about_factors": list(plan.about_factors),
        "advice": [{**asdict(advice), "text": str(advice)} for advice in plan.advice],
        "seed": plan.seed,
        "parameters": {"metrics": plan.ids, "limit": plan.limit, "bootstrap": plan.bootstrap, "null": plan.null},
        "complete": len(card.records) == len(plan.tasks),
        "verdicts": [asdict(verdict) for verdict in card.verdicts],
        "information_shares": card.shares,
        "alignment": _alignment(card),
        "scores": {id_: _score(r) for id_, r in card.records.items() if r.score is not None},
        "refused": {id_: r.refused for id_, r in card.records.items() if r.score is None},
    }
    jsonable: dict[str, Any] = plain(record)
    return jsonable


def to_csv(card: Scorecard) -> str:
    """One row for each number of the terminal table."""
    numbers = ["value", "low", "high", "drift", "chance", "above_chance"]
    rows: list[list[Any]] = [["metric", "part", *numbers, "measures", "version", "seconds", "refused"]]
    for row in score_rows(card):
        value, interval = "" if row.value is None else row.value, row.interval or ("", "")
        seconds = "" if row.part else row.seconds
        chance = ("" if number is None else number for number in (row.drift, row.chance_level, row.above_chance))
        about = row.measures, row.version, seconds, row.refused
        rows.append([row.metric, row.part, value, *interval, *chance, *about])
    return csv_text(rows)


def _alignment(card: Scorecard) -> dict[str, int | None]:
    """Factor -> the latent of its own that it gets when all factors together are served best."""
    if card.shares is None:
        return {}
    from unknot.metrics.alignment import UNALIGNED, align

    latents = align(card.shares).latents
    pairs = zip(card.verdicts, latents.tolist(), strict=True)
    return {verdict.factor: None if latent == UNALIGNED else latent for verdict, latent in pairs}


def _score(record: Record) -> dict[str, Any]:
    score = record.score
    return {
        "value": None if score is None else score.value,
        "interval": record.interval,
        "drift": record.drift,
        "chance": record.chance_record,
        "version": METRICS[record.name].facts.version,
        "seconds": round(record.seconds, 4),
        "options": dict(record.options),
        "warnings": list(record.warnings),
        "parts": {} if score is None else dict(score.parts),
    }


@cache
def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
