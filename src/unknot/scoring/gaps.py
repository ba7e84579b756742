"""Scores where labels are missing: each factor on the rows that have it, or all on the rows that have all."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from unknot.errors import UnknotError
from unknot.metrics.inputs import MissingLabelsError
from unknot.metrics.score import Facts, Score
from unknot.scoring.rows import Data

Call = Callable[[Data], Score]
FEWEST = 10  # complete rows that a joint metric needs to say anything


def score_with_gaps(who: str, facts: Facts, data: Data, call: Call, *, at_once: Call | None = None) -> Score:
    """The score of rows in which labels are missing.

    Args:
        who: the metric's full name.
        facts: of the metric: whether each factor is scored by itself.
        data: all rows.
        call: scores rows without gaps.
        at_once: scores all rows, where the metric itself can look at each factor in the rows that have it.
    """
    if facts.per_factor:
        if at_once is not None:
            with suppress(MissingLabelsError):
                return at_once(data)
        return _each_alone(who, data, call, facts.also)
    complete = data.complete()
    if complete.n < FEWEST:
        raise UnknotError(
            f"{who}: only {complete.n} of {data.n} rows have a label of every factor, and it looks at all factors "
            "together; name factors that are known in the same rows (--factors)."
        )
    score = call(complete)
    note = f"used the {complete.n} of {data.n} rows whose labels are all known."
    return Score(score.value, {**score.parts, "notes": [*score.parts.get("notes", []), note]}, score.by_factor)


def _each_alone(who: str, data: Data, call: Call, also: Iterable[str]) -> Score:
    """Every factor's number on the rows that have it, and their mean."""
    names = () if data.factors is None else data.factors.columns
    scores: list[tuple[list[int], Score]] = []
    skipped: dict[str, str] = {}
    for columns, part in data.of_each_factor():
        try:
            scores.append((columns, call(part)))
        except UnknotError as error:
            skipped |= {names[j]: str(error) for j in columns}
    if not scores:
        raise UnknotError(
            f"{who}: no factor can be scored on the rows that have it: {next(iter(skipped.values()))}"
        )
    parts = _gathered(scores, names, also)
    parts["skipped"] = skipped | parts["skipped"]
    return Score(float(np.nanmean(parts["per_factor"])), parts, scores[0][1].by_factor)


def _gathered(
    scores: Sequence[tuple[list[int], Score]], names: Sequence[str], also: Iterable[str]
) -> dict[str, Any]:
    """The parts of scores of some factors each, as those of all: what has a value for each factor, and their means."""
    first = scores[0][1]
    gathered: dict[str, Any] = {name: part for name, part in first.parts.items() if isinstance(part, str | int)}
    for part in first.by_factor:
        whole = np.full((*np.shape(first.parts[part])[:-1], len(names)), np.nan)
        for columns, score in scores:
            whole[..., columns] = score.parts[part]
        gathered[part] = whole
    for part in (part for part, value in first.parts.items() if isinstance(value, Mapping)):
        gathered[part] = {name: value for _, score in scores for name, value in score.parts[part].items()}
    weights = [np.isfinite(score.parts["per_factor"]).sum() for _, score in scores]
    for part in also:
        gathered[part] = float(np.average([score.parts[part] for _, score in scores], weights=weights))
    gathered["factor_names"] = list(names)
    gathered["notes"] = list(dict.fromkeys(note for _, score in scores for note in score.parts["notes"]))
    for count in ("n_rows", "n_test_rows"):
        counts = {names[j]: score.parts[count] for columns, score in scores for j in columns}
        gathered |= {count: min(counts.values()), f"{count}_per_factor": counts}
    return gathered
