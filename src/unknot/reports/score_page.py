"""One scored representation as part of a page, or as a page: what `unknot score --html` writes.

Everything is read from the record of a scorecard: what `unknot score --json` writes and `scores.json` in a run holds.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unknot.errors import UnknotError
from unknot.metrics import METRICS
from unknot.reports.commands import score_command
from unknot.reports.kit.charts import hinton
from unknot.reports.kit.page import Cell, Content, Drawing, Grid, Section, write_page

KNOWN, CLEARLY = 0.3, 0.8  # share of a factor that one latent knows: partly, clearly


def write_score_page(path: Path | str, record: Mapping[str, Any], target: Sequence[str]) -> Path:
    """Write the page of one scorecard.

    Args:
        path: of the page.
        record: from `unknot.reports.scorecard.scorecard_record`.
        target: the files, or the run, as they were named on the command line.
    """
    about = record["input"]
    lead = (
        f"{about['n_rows']:,} rows of {about['n_latents']} latents, {len(record['scores'])} metrics, "
        f"seed {record['seed']}, Unknot {record['unknot']}."
    )
    files = [[file["name"], file["sha256"]] for file in about["files"]]
    versions = [[name, version] for name, version in record["versions"].items()]
    sections = [
        Section("In words", in_words(record), verdict_contents(record)),
        Section("Scores", contents=[score_grid(score_rows(record), target, record)]),
        Section(
            "Where it comes from",
            [*_left_out(record)],
            [
                Grid(("file", "SHA-256"), files, name="files"),
                Grid(("software", "version"), versions, name="versions"),
            ],
        ),
    ]
    return write_page(path, f"Scores of {' and '.join(Path(word).name for word in target)}", lead, sections)


def read_scores(folder: Path) -> dict[str, Any] | None:
    """The record in a run's folder, if it was scored."""
    path = folder / "scores.json"
    if not path.is_file():
        return None
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        if not all(isinstance(record[key], dict) for key in ("scores", "input", "parameters")):
            raise TypeError("its scores are not in it")
        [(verdict["factor"], verdict["share"], verdict["text"]) for verdict in record["verdicts"]]
        [(score["value"], score["parts"], score["version"]) for score in record["scores"].values()]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnknotError(
            f"{path}: is damaged ({error}); make it again: unknot score {folder} --json {path}."
        ) from None
    loaded: dict[str, Any] = record
    return loaded


def in_words(record: Mapping[str, Any]) -> list[str]:
    """What the verdicts come to."""
    verdicts = record["verdicts"]
    if not verdicts:
        return ["Without factors, only metrics that need none were computed."]
    clear = [v["factor"] for v in verdicts if (v["share"] or 0) >= CLEARLY]
    partly = [v["factor"] for v in verdicts if KNOWN <= (v["share"] or 0) < CLEARLY]
    lost = [v["factor"] for v in verdicts if (v["share"] or 0) < KNOWN]
    said = [
        f"{_listed(factors)} {'is' if len(factors) == 1 else 'are'} {how}"
        for factors, how in (
            (clear, f"clearly in a single latent (it knows {CLEARLY:.0%} of the factor or more)"),
            (partly, "partly in a single latent"),
            (lost, f"in no single latent to speak of (under {KNOWN:.0%})"),
        )
        if factors
    ]
    return ["; ".join(said) + "."]


def verdict_contents(record: Mapping[str, Any]) -> list[Content]:
    """Where each factor is: in words, and as a Hinton diagram."""
    verdicts = record["verdicts"]
    if not verdicts:
        return []
    aligned = record.get("alignment") or {}
    rows: list[list[Cell]] = [
        [v["factor"], v["share"], v.get("exclusivity"), v["text"], _latent(aligned.get(v["factor"]))]
        for v in verdicts
    ]
    header = ("factor", "known", "exclusive", "carried by", "its own latent")
    caption = (
        "Known: I(latent; factor) / H(factor) of the latent that knows most. Exclusive: how much of what that latent "
        "knows is about this factor. Its own latent: when each factor gets one and all together are served best."
    )
    contents: list[Content] = [Grid(header, rows, caption, name="alignment")]
    shares = _shares(record)
    if shares is not None:
        text = "Who knows what: the area of a square is the share of the factor that the latent knows."
        contents.append(Drawing(hinton(shares, [v["factor"] for v in verdicts]), text))
    return contents


def score_rows(record: Mapping[str, Any]) -> Iterator[tuple[str, str, float | None, str, bool, int]]:
    """Metric, part, value, what it measures, whether more is better, version: headline numbers and those beside."""
    for id_, score in record["scores"].items():
        facts = METRICS[name].facts if (name := id_.partition("[")[0]) in METRICS else None
        higher = facts.higher_is_better if facts else True
        yield id_, "", score["value"], facts.measures if facts else "", higher, score["version"]
        for part, measures in (facts.also if facts else {}).items():
            if part in score["parts"]:
                yield id_, part, score["parts"][part], measures, higher, score["version"]


def score_grid(
    rows: Iterator[tuple[str, str, float | None, str, bool, int]] | Sequence[Any],
    target: Sequence[str],
    record: Mapping[str, Any] | None,
    name: str = "scores",
) -> Grid:
    """Every number with the command that makes it."""
    seed, limit = (record["seed"], record["parameters"].get("limit")) if record else (0, None)
    cells: list[list[Cell]] = []
    for metric, part, value, measures, higher, version in rows:
        number = float(value) if isinstance(value, str) else value  # "inf" in JSON
        command = score_command(target, metric, seed=seed, limit=limit)
        cells.append([metric, part, number, measures, "higher" if higher else "lower", version, command])
    header = ("metric", "part", "value", "measures", "better", "version", "made by")
    return Grid(header, cells, name=name)


def _left_out(record: Mapping[str, Any]) -> Iterator[str]:
    for name, why in record["input"].get("skipped_factors", {}).items():
        yield f"Factor {name} was left out: {why}."
    yield from record["input"].get("notes", [])
    for metric, why in record.get("refused", {}).items():
        yield f"{metric} refused: {why}"
    for metric, score in record["scores"].items():
        for text in [*score.get("warnings", []), *score["parts"].get("notes", [])]:
            yield f"{metric}: {text}"
    if not record.get("complete", True):
        yield "Scoring was interrupted: metrics are missing."


def _shares(record: Mapping[str, Any]) -> Any:
    try:
        shares = np.array(record.get("information_shares"), dtype=np.float64)
    except (TypeError, ValueError):
        return None
    fits = shares.ndim == 2 and shares.shape[1] == len(record["verdicts"]) and np.isfinite(shares).all()
    return shares if fits else None


def _latent(latent: int | None) -> str | None:
    return None if latent is None else f"z{latent}"


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
