"""One scored representation as part of a page, or as a page: what `unknot score --html` writes.

Everything is read from the record of a scorecard: what `unknot score --json` writes and `scores.json` in a run holds.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from unknot.reading.guard import load_json, parsing
from unknot.reports.commands import score_command
from unknot.reports.kit.charts import hinton
from unknot.reports.kit.page import Cell, Content, Drawing, Grid, Section, write_page
from unknot.scoring.answers import Answer, answers, in_a_sentence
from unknot.scoring.record import score_rows
from unknot.scoring.score_row import ScoreRow, said_by

Number = float | Literal["inf", "-inf"] | None  # as JSON has those that it has no number for


class _Strict(BaseModel):
    """Values of the very types that records have: the record is shown as it is, and not as it could be read."""

    model_config = ConfigDict(strict=True)


class _File(_Strict):
    name: str


class _Chosen(_Strict):
    latents: list[str] = []
    factors: list[str] = []
    missing: list[str] = []
    groups: str = ""
    join: str = ""
    flatten_slots: bool = False


class _Input(_Strict):
    files: list[_File] = []
    kinds: dict[str, str] = {}
    chosen: _Chosen = _Chosen()
    skipped_factors: dict[str, str] = {}
    notes: list[str] = []


class _Verdict(_Strict):
    factor: str
    share: float | None
    exclusivity: float | None = None
    text: str


class _Chance(_Strict):
    value: float
    permutations: int
    above: Number
    p: float | None


class _Score(_Strict):
    value: Number
    parts: dict[str, Any]
    version: int | str
    seconds: float = 0.0
    interval: Annotated[list[Number], Field(min_length=2, max_length=2)] | None = None
    drift: Number = None
    chance: _Chance | None = None
    warnings: list[str] = []


class _Record(_Strict):
    """What pages need of a record, to tell a damaged one before any of it is shown."""

    seed: int | None
    input: _Input
    parameters: dict[str, Any]
    scores: dict[str, _Score]
    refused: dict[str, str | None] = {}
    alignment: dict[str, int | None] | None = None
    verdicts: list[_Verdict]


def write_score_page(
    path: Path | str, record: Mapping[str, Any], target: Sequence[str], more: Sequence[Section] = ()
) -> Path:
    """Write the page of one scorecard.

    Args:
        path: of the page.
        record: from `unknot.scoring.record.scorecard_record`.
        target: the files, or the run, as they were named on the command line.
        more: sections that follow the scores.
    """
    about = record["input"]
    lead = (
        f"{about['n_rows']:,} rows of {about['n_latents']} latents, {len(record['scores'])} metrics, "
        f"seed {record['seed']}, Unknot {record['unknot']}."
    )
    files = [[file["name"], file["sha256"]] for file in about["files"]]
    versions = [[name, version] for name, version in record["versions"].items()]
    sections = [
        Section("In words", [*record.get("about_factors", []), *in_words(record)], verdict_contents(record)),
        *([Section("Beware", beware)] if (beware := [each["text"] for each in record.get("advice", [])]) else []),
        Section("Scores", contents=[record_grid(record, target)]),
        *more,
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


def read_scores(path: Path) -> dict[str, Any]:
    """The record of a scorecard in a run's folder."""
    again = f"Move it away and make it again: unknot score {path.parent}."
    with parsing(path, "a record of scores", again):
        record = load_json(path, "a record of scores", hint=again)
        _Record.model_validate(record)
    loaded: dict[str, Any] = record
    return loaded


def in_words(record: Mapping[str, Any]) -> list[str]:
    """What the verdicts come to."""
    return [in_a_sentence(_answers(record)) or "Without factors, only metrics that need none were computed."]


def verdict_contents(record: Mapping[str, Any]) -> list[Content]:
    """Where each factor is: in words, and as a Hinton diagram."""
    verdicts = record["verdicts"]
    if not verdicts:
        return []
    own = (record.get("alignment") or {}).items()
    aligned = {factor: f"z{latent}" for factor, latent in own if latent is not None}
    rows: list[list[Cell]] = [
        [
            a.factor,
            *(value if np.isfinite(value) else None for value in (a.linear, a.mlp, a.chance)),
            a.where,
            a.share,
            a.exclusivity,
            aligned.get(a.factor),
        ]
        for a in _answers(record)
    ]
    header: tuple[str, ...] = (
        "factor",
        "linear",
        "MLP",
        "chance",
        "carried by",
        "known",
        "exclusive",
        "its own latent",
    )
    shown = [i for i in range(len(header)) if any(row[i] is not None for row in rows)]  # no probes, no columns
    header, rows = tuple(header[i] for i in shown), [[row[i] for i in shown] for row in rows]
    probes = "Linear and MLP: how often a linear reader and a small network are right on held-out rows. "
    caption = (probes if "linear" in header or "MLP" in header else "") + (
        "Known: I(latent; factor) / H(factor) of the latent that knows most. Exclusive: how much of what that latent "
        "knows is about this factor. Its own latent: when each factor gets one and all together are served best."
    )
    minor = [i for i, name in enumerate(header) if name in ("exclusive", "its own latent")]
    contents: list[Content] = [Grid(header, rows, caption, name="alignment", minor=minor)]
    shares = _shares(record)
    if shares is not None:
        text = "Who knows what: the area of a square is the share of the factor that the latent knows."
        contents.append(Drawing(hinton(shares, [v["factor"] for v in verdicts]), text))
    return contents


def score_grid(
    rows: Iterable[ScoreRow],
    target: Sequence[str],
    record: Mapping[str, Any] | None = None,
    *,
    name: str = "scores",
) -> Grid:
    """Every number with the command that makes it; refusals are left out."""
    cells: list[list[Cell]] = []
    for row in rows:
        if not row.refused:
            number = float(row.value) if isinstance(row.value, str) else row.value  # "inf" in JSON
            better = "higher" if row.higher_is_better else "lower"
            command = score_command(target, row.metric, record)
            chance = row.chance, row.above_chance
            cells.append([row.metric, row.part, number, *chance, row.measures, better, row.version, command])
    header = ("metric", "part", "value", "chance", "above chance", "measures", "better", "version", "made by")
    return Grid(header, cells, name=name, minor=range(4, len(header)))


def record_grid(record: Mapping[str, Any], target: Sequence[str], name: str = "scores") -> Grid:
    """The numbers of a record; the arguments are those of `score_grid`."""
    return score_grid(score_rows(record), target, record, name=name)


def _answers(record: Mapping[str, Any]) -> list[Answer]:
    return answers(record["verdicts"], {id_: score["parts"] for id_, score in record.get("scores", {}).items()})


def _left_out(record: Mapping[str, Any]) -> Iterator[str]:
    for name, kind in record["input"].get("kinds", {}).items():
        yield f"Factor {name} was scored as {kind}, as --kinds says."
    for name, why in record["input"].get("skipped_factors", {}).items():
        yield f"Factor {name} was left out: {why}."
    general = record["input"].get("notes", [])
    yield from general
    yield from (f"Refused: {why}" for why in record.get("refused", {}).values())  # which begins with the metric
    scores = record["scores"].items()
    own = {metric: [*score.get("warnings", []), *score["parts"].get("notes", [])] for metric, score in scores}
    yield from said_by(own, general)
    if not record.get("complete", True):
        yield "Scoring was interrupted: metrics are missing."


def _shares(record: Mapping[str, Any]) -> Any:
    try:
        shares = np.array(record.get("information_shares"), dtype=np.float64)
    except (TypeError, ValueError):
        return None
    fits = shares.ndim == 2 and shares.shape[1] == len(record["verdicts"]) and np.isfinite(shares).all()
    return shares if fits else None
