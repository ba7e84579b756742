"""Finished combinations on disk, so that a task killed half-way does only what is missing."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unknot import __version__
from unknot.files import written_whole
from unknot.tasks.result import Table
from unknot.worlds.splits.combinations import combination_name


def part_path(folder: Path | None, combination: Mapping[str, int], decided: Mapping[str, Any]) -> Path | None:
    """Where what was found out about one combination is kept: another file for other settings."""
    if folder is None:
        return None
    text = json.dumps({**decided, "combination": combination_name(combination), "by": __version__}, sort_keys=True)
    return folder / "parts" / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"


def read_part(path: Path | None) -> dict[str, Table] | None:
    """What is kept there, if anything."""
    if path is None or not path.is_file():
        return None
    try:
        part: dict[str, Table] = json.loads(path.read_text(encoding="utf-8"))
        return {"answers": part["answers"], "mistakes": part["mistakes"]}
    except (OSError, ValueError, KeyError, TypeError):
        return None  # damaged: found out anew


def write_part(path: Path | None, part: Mapping[str, Table]) -> None:
    """Keep it, if there is a place."""
    if path is not None:
        with written_whole(path) as beside:
            beside.write_text(json.dumps(part, indent=1) + "\n", encoding="utf-8")
