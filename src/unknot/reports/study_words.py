"""What a study found: how its runs stand among each other, and that in a few sentences."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from unknot.reports.correlation_table import Correlations
from unknot.reports.kit.charts import CLEAR
from unknot.reports.kit.page import number
from unknot.studies.folder import StudyFolder
from unknot.studies.measures import Measure


def mean_places(study: StudyFolder) -> dict[str, float]:
    """Run -> its mean place among runs of its world and split, 1 is best; the best first, runs without one left out.

    The mean over questions of the mean over metrics, so that a question many metrics ask counts once. Without
    labels, the places are those of the rankings.
    """
    counted = [m for m in study.measures if m.counted] or [m for m in study.measures if m.kind == "ranking"]
    measured = {run for m in counted for run in m.values.index}
    places: dict[str, float] = {}
    for rows in study.groups.values():
        ids = rows["id"][rows["id"].isin(measured)]
        by_question: dict[str, list[Any]] = {}
        for measure in counted:
            values = measure.values.reindex(ids)
            if values.notna().any():
                ranks = values.rank(ascending=not measure.higher_is_better, na_option="bottom")
                by_question.setdefault(measure.question, []).append(ranks)
        means = [sum(ranks) / len(ranks) for ranks in by_question.values()]
        if means:
            places |= (sum(means) / len(means)).to_dict()
    order = sorted((id_ for id_ in study.runs["id"] if id_ in places), key=lambda id_: places[id_])
    return {id_: places[id_] for id_ in order}


def summary(study: StudyFolder, places: Mapping[str, float], related: Mapping[str, Correlations]) -> list[str]:
    """How many runs of what; which is best, with labels and without; whether the two agree.

    Args:
        study: its folder.
        places: of its runs, from `mean_places`.
        related: world and split -> how its measures agree.
    """
    return [_size(study), *_best(study, places), *_settings(study), *_agreement(study, related)]


def answer(study: StudyFolder) -> list[str]:
    """Which run and which setting to keep, with labels and without; empty where nothing was scored."""
    return [*_best(study, mean_places(study)), *_settings(study)]


def _size(study: StudyFolder) -> str:
    runs = study.runs
    counts = runs["status"].value_counts()
    settings = runs.groupby(["world", "model", "setting"]).ngroups
    text = (
        f"{_count(len(runs), 'run')}: {_count(runs['model'].nunique(), 'model')} "
        f"({', '.join(dict.fromkeys(runs['model']))}) in {_count(settings, 'setting')} on "
        f"{' and '.join(study.groups)}; {_count(runs['seed'].nunique(), 'seed')}."
    )
    left = {status: int(n) for status, n in counts.items() if status != "done"}
    if left:
        text += " Not done: " + ", ".join(f"{n} {status}" for status, n in left.items()) + "."
    return text


def _best(study: StudyFolder, places: Mapping[str, float]) -> Iterator[str]:
    labelled = any(m.counted for m in study.measures)
    for where, rows in _where(study):
        here = set(rows["id"])
        ids = [id_ for id_ in places if id_ in here]
        if not ids:
            continue
        basis = "over all metrics that need labels" if labelled else "over the rankings without labels"
        text = f"{where}{_named(study, ids[0])} has the best mean place ({number(places[ids[0]])}) {basis}."
        firsts = [m.column for m in study.measures if m.counted and _leader(m, ids) == ids[0]]
        n = sum(m.counted and m.values.reindex(ids).notna().any() for m in study.measures)
        if n > 1:
            text += f" It leads in {len(firsts)} of {n} metrics"
            text += f" ({', '.join(firsts[:4])}{', ...' if len(firsts) > 4 else ''})." if firsts else "."
        for m in study.measures:
            if m.kind == "ranking" and (leader := _leader(m, ids)) is not None:
                same = "the same run" if leader == ids[0] else _named(study, leader)
                place = sum(places[i] < places[leader] for i in ids) + 1
                of = f"; with labels it is number {place} of {len(ids)}" if labelled and leader != ids[0] else ""
                text += (
                    f" By {m.column}, without labels, the best is {same} ({number(float(m.values[leader]))}){of}."
                )
        yield text


def _settings(study: StudyFolder) -> Iterator[str]:
    """The best setting by the first ranking without labels, with how far its runs scatter."""
    ranking = next((m for m in study.measures if m.kind == "ranking"), None)
    if ranking is None:
        return
    for where, rows in _where(study):
        known = rows.assign(score=ranking.values.reindex(rows["id"]).to_numpy()).dropna(subset=["score"])
        by_setting = known.groupby(["model", "setting"], sort=False)["score"]
        if by_setting.ngroups < 2:
            continue
        (model, setting), scores = max(by_setting, key=lambda item: item[1].median())
        low, middle, high = np.quantile(scores, [0.25, 0.5, 0.75])
        yield (
            f"{where}{ranking.column} would choose the setting {model} {setting}: median {number(float(middle))}, "
            f"half of its {_count(len(scores), 'run')} between {number(float(low))} and {number(float(high))}."
        )


def _agreement(study: StudyFolder, related: Mapping[str, Correlations]) -> Iterator[str]:
    """How well rankings without labels agree with metrics that need them."""
    without = {m.column for m in study.measures if m.kind == "ranking"}
    counted = {m.column for m in study.measures if m.counted}
    for where, pairs in zip((where for where, _ in _where(study)), related.values(), strict=True):
        sentences = []
        for i, label in enumerate(pairs.names):
            known = np.isfinite(pairs.rho[i])
            with_labels = [j for j, other in enumerate(pairs.names) if other in counted and known[j]]
            if label not in without or not with_labels:
                continue
            strongest = max(with_labels, key=lambda j: pairs.rho[i, j])
            clear = sum(bool(pairs.p[i, j] < CLEAR and pairs.rho[i, j] > 0) for j in with_labels)
            sentences.append(
                f"{label} agrees best with {pairs.names[strongest]} (rank correlation {pairs.rho[i, strongest]:.2f}, "
                f"p = {pairs.p[i, strongest]:.2g}, {_count(int(pairs.n[i, strongest]), 'run')}) and significantly with "
                f"{clear} of {_count(len(with_labels), 'metric')} that need labels"
            )
        if sentences:
            yield f"{where}{'; '.join(sentences)}. Significant means p < {CLEAR}, each on its own."


def _where(study: StudyFolder) -> Iterator[tuple[str, Any]]:
    """The start of a sentence about a world, which is not named again if there is only one; and its runs."""
    for name, rows in study.groups.items():
        yield (f"On {name}, " if len(study.groups) > 1 else ""), rows


def _leader(measure: Measure, ids: list[str]) -> str | None:
    values = measure.values.reindex(ids).dropna()
    if not len(values):
        return None
    return str(values.idxmax() if measure.higher_is_better else values.idxmin())


def _named(study: StudyFolder, id_: str) -> str:
    run = study.runs[study.runs["id"] == id_].iloc[0]
    return f"{run['model']} {run['setting']}, seed {run['seed']} (run {id_})"


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
