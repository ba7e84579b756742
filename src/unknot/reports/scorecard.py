"""A scorecard as plain values: JSON with everything needed to reproduce it, and a flat table."""

import csv
import hashlib
import io
import json
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from unknot import __version__
from unknot.metrics import METRICS
from unknot.metrics.verdict import as_record
from unknot.scoring.scoring import Record, Scorecard

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")


def scorecard_record(card: Scorecard, files: Sequence[Path | str] = ()) -> dict[str, Any]:
    """The scorecard as JSON-ready values. NaN becomes null; an infinite number becomes "inf" or "-inf"."""
    plan = card.plan
    rep, rows = plan.representation, plan.rows
    record = {
        "unknot": __version__,
        "versions": {"python": platform.python_version()} | {name: _version(name) for name in LIBRARIES},
        "input": {
            "files": [{"name": Path(f).name, "sha256": _sha256(Path(f))} for f in files],
            "n_rows": len(rep.latents),
            "n_test_rows": 0 if rep.latents_test is None else len(rep.latents_test),
            "n_latents": int(rep.latents.shape[1]),
            "factor_names": list(rep.factor_names),
            "skipped_factors": {} if rows is None else rows.skipped,
            "notes": list(plan.notes),
        },
        "seed": plan.seed,
        "parameters": {"metrics": plan.ids, "limit": plan.limit, "bootstrap": plan.bootstrap},
        "complete": len(card.records) == len(plan.tasks),
        "verdicts": [as_record(verdict) for verdict in card.verdicts],
        "information_shares": card.shares,
        "alignment": _alignment(card),
        "scores": {id_: _score(r) for id_, r in card.records.items() if r.score is not None},
        "refused": {id_: r.refused for id_, r in card.records.items() if r.score is None},
    }
    plain: dict[str, Any] = _plain(record)
    return plain


def _alignment(card: Scorecard) -> dict[str, int | None]:
    """Factor -> the latent of its own that it gets when all factors together are served best."""
    if card.shares is None:
        return {}
    from unknot.metrics.alignment import UNALIGNED, align

    latents = align(card.shares).latents
    pairs = zip(card.verdicts, latents.tolist(), strict=True)
    return {verdict.factor: None if latent == UNALIGNED else latent for verdict, latent in pairs}


def to_json(record: dict[str, Any]) -> str:
    """The record as text."""
    return json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def to_csv(card: Scorecard) -> str:
    """One row for each number of the terminal table."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["metric", "part", "value", "low", "high", "measures", "version", "seconds", "refused"])
    for record in card.records.values():
        facts = METRICS[record.name].facts
        low, high = record.interval or ("", "")
        value = "" if record.score is None else record.score.value
        writer.writerow(
            [record.id, "", value, low, high, facts.measures, facts.version, record.seconds, record.refused]
        )
        for part, measures in facts.also.items():
            if record.score is not None and part in record.score.parts:
                writer.writerow(
                    [record.id, part, record.score.parts[part], "", "", measures, facts.version, "", ""]
                )
    return text.getvalue()


def _score(record: Record) -> dict[str, Any]:
    score = record.score
    return {
        "value": None if score is None else score.value,
        "interval": record.interval,
        "version": METRICS[record.name].facts.version,
        "seconds": round(record.seconds, 4),
        "options": dict(record.options),
        "warnings": list(record.warnings),
        "parts": {} if score is None else dict(score.parts),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None if np.isnan(value) else "inf" if value > 0 else "-inf"
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
