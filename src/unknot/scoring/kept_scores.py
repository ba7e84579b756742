"""Scores in a run's folder, whoever made them: one record for each file of latents and each setting.

A score has a key, a hash of everything its number depends on; who needs it looks for the key in all records.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from unknot.files import json_hash, read_json, write_json
from unknot.metrics import METRICS
from unknot.metrics.score import parse_identity
from unknot.runs.run import Run
from unknot.scoring.record import scorecard_record
from unknot.scoring.scorecard import Scorecard


def keep_scores(run: Run, card: Scorecard, latents: Path, /, **own: Any) -> Path:
    """Add scores to those of the same latents and setting in a run's folder; returns the file.

    Scores of the same latents with another seed, limit, choice or kinds of columns have a file of their own and
    stay; those of latents that are no more give way.

    Args:
        run: whose latents were scored.
        card: some scores of them, or all.
        latents: the file, in the run's folder.
        own: what was done to the latents before they were scored, such as `factors=["shape"]`, `missing=["?"]`
            or `kinds={"hue": "circular"}`.
    """
    record = scorecard_record(card, [latents], own)
    path = run.scores_of(latents)
    before = _read(path)
    if before and _setting(before) != _setting(record):
        path = run.scores_of(latents, json_hash(_setting(record)))
        before = _read(path)
    if before and before["input"].get("files") != record["input"]["files"]:
        before = {}
    for part in ("scores", "refused"):
        kept = {id_: entry for id_, entry in before.get(part, {}).items() if id_ not in card.records}
        record[part] = kept | record[part]
    own |= {"seed": card.plan.seed} if card.plan.seed else {}
    keys = score_keys(card.records, card.plan.representation.source, card.plan.limit, **own)
    record["keys"] = before.get("keys", {}) | keys
    record["parameters"]["metrics"] = [*record["scores"], *record["refused"]]
    record["complete"] = True  # each entry is there or not
    return write_json(path, record)


def score_keys(metrics: Iterable[str], source: Mapping[str, Any], limit: int | None, **own: Any) -> dict[str, str]:
    """Full name of a metric -> its key.

    Args:
        metrics: full names.
        source: how the latents were made.
        limit: of rows.
        own: whatever else decides the number and is not the default.
    """
    versions = {id_: METRICS[parse_identity(id_, METRICS)[0]].facts.version for id_ in metrics}
    settings = [dict(source), limit, *([own] if own else [])]
    return {id_: json_hash([id_, version, *settings], 16) for id_, version in versions.items()}


def kept_records(run: Run) -> list[dict[str, Any]]:
    """The records in a run's folder that can be read, that of `latents.npz` first."""
    return [record for path in run.scores if (record := _read(path))]


def records_by_key(run: Run) -> dict[str, dict[str, Any]]:
    """Key of a score -> the record that holds it."""
    return {key: record for record in kept_records(run) for key in record.get("keys", {}).values()}


def _read(path: Path) -> dict[str, Any]:
    """A record of scores; nothing if there is none, or none that can be read."""
    record = read_json(path)
    try:
        tables = [record["input"], record["parameters"], record["scores"], *record["scores"].values()]
        tables += [record.get("keys", {}), record.get("refused", {}), record["input"].get("chosen", {})]
        tables += [score["parts"] for score in record["scores"].values()]
        for score in record["scores"].values():
            float(score["seconds"])
        set(record.get("keys", {}).values())
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return {}
    return record if all(isinstance(table, dict) for table in tables) else {}


def _setting(record: Mapping[str, Any]) -> list[Any]:
    """What all scores of a record have in common, but for the latents themselves."""
    about = record["input"]
    told = ("factors", "flatten_slots")  # by the names of factors and the number of latents
    chosen = {name: value for name, value in about.get("chosen", {}).items() if name not in told}
    return [
        record.get("seed"),
        record["parameters"].get("limit"),
        about.get("factor_names"),
        about.get("n_latents"),
        *(each for each in (about.get("kinds"), chosen) if each),
    ]
