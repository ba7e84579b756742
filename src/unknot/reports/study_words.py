"""What a study found: how its runs stand among each other, and that in a few sentences."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from unknot.errors import UnknotError
from unknot.metrics import METRICS
from unknot.reading.pictures import picture
from unknot.reports.correlation_table import Correlations
from unknot.reports.kit.charts import CLEAR
from unknot.reports.kit.page import number
from unknot.runs.run import Run
from unknot.statistics.places import places
from unknot.studies.folder import StudyFolder
from unknot.studies.measures import Measure

ABBREVIATIONS = frozenset({"dci", "gbt", "irs", "lr", "mcc", "med", "mig", "mlp", "nk", "sap", "snc"})
FEWEST_METRICS, DRAWS = 3, 200  # for ranges of places, and how often metrics are drawn
FEW_RUNS = 4  # of a setting; quartiles are told of no fewer
TIE = 1e-9  # values that differ by no more are the same


def mean_places(study: StudyFolder) -> dict[str, float]:
    """Run -> its mean place among runs of its world and split, 1 is best; the best first, runs without one left out.

    The mean over questions of the mean over metrics, so that a question many metrics ask counts once. Without
    labels, the places are those of the rankings.
    """
    found: dict[str, float] = {}
    for by_question in _ranks(study):
        means = [sum(ranks) / len(ranks) for ranks in by_question.values()]
        if means:
            found |= (sum(means) / len(means)).to_dict()
    order = sorted((id_ for id_ in study.runs["id"] if id_ in found), key=lambda id_: found[id_])
    return {id_: found[id_] for id_ in order}


def place_ranges(study: StudyFolder) -> dict[str, tuple[int, int]]:
    """Run -> the best and the worst place it may have among runs of its world and split, as far as metrics agree.

    Metrics are drawn with replacement: a run is ahead of another where its mean place is, in 97.5 % of the draws.
    Nothing of fewer than three metrics.
    """
    found: dict[str, tuple[int, int]] = {}
    for by_question in _ranks(study):
        of_question = [(question, ranks) for question, own in by_question.items() for ranks in own]
        if len(of_question) < FEWEST_METRICS:
            continue
        table = np.stack([ranks.to_numpy(dtype=np.float64) for _, ranks in of_question])
        counts = np.random.default_rng(len(table)).multinomial(
            len(table), np.full(len(table), 1 / len(table)), size=DRAWS
        )
        total, asked = np.zeros((DRAWS, table.shape[1])), np.zeros((DRAWS, 1))
        for question in by_question:
            own = [at for at, (name, _) in enumerate(of_question) if name == question]
            drawn = counts[:, own].sum(axis=1, keepdims=True)
            total += counts[:, own] @ table[own] / np.maximum(drawn, 1)
            asked += drawn > 0
        found |= zip(map(str, of_question[0][1].index), places(-(total / asked).T), strict=True)
    return found


def _ranks(study: StudyFolder) -> Iterator[dict[str, list[Any]]]:
    """For each world and split: question -> places of the runs by each metric that asks it."""
    counted = [m for m in study.measures if m.counted] or [m for m in study.measures if m.kind == "ranking"]
    measured = {run for m in counted for run in m.values.index}
    for rows in study.groups.values():
        ids = rows["id"][rows["id"].isin(measured)]
        by_question: dict[str, list[Any]] = {}
        for measure in counted:
            values = measure.values.reindex(ids)
            if values.notna().any():
                ranks = values.rank(ascending=not measure.higher_is_better, na_option="bottom")
                by_question.setdefault(measure.question, []).append(ranks)
        yield by_question


def summary(study: StudyFolder, places: Mapping[str, float], related: Mapping[str, Correlations]) -> list[str]:
    """How many runs of what; which is best, with labels and without; whether the two agree.

    Args:
        study: its folder.
        places: of its runs, from `mean_places`.
        related: world and split -> how its measures agree.
    """
    return [_size(study), *_found(study, places), *_agreement(study, related)]


def answer(study: StudyFolder) -> list[str]:
    """Which run and which setting to keep, with labels and without; empty where nothing was scored."""
    return _found(study, mean_places(study))


def _found(study: StudyFolder, places: Mapping[str, float]) -> list[str]:
    labelled = _labelled_settings(study, places)
    return [*_best(study, places), *labelled, *_settings(study), *_failed(study)]


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
        first = [id_ for id_ in ids if places[id_] == places[ids[0]]]
        share = "share" if len(first) > 1 else "has"
        text = f"{where}{_listed(study, first)} {share} the best mean place ({number(places[ids[0]])}) {basis}."
        without = []
        counted = [m for m in study.measures if m.counted and m.values.reindex(ids).notna().any()]
        leads = [m for m in counted if ids[0] in _leaders(m, ids)]
        if len(counted) > 1 and len(first) == 1:
            tied = sum(len(_leaders(m, ids)) > 1 for m in leads)
            named = ", ".join(spoken(study, m.column) for m in leads[:4])
            text += f" It leads in {len(leads)} of {len(counted)} metrics"
            text += f" ({named}{', ...' if len(leads) > 4 else ''})" if leads else ""
            text += f", in {tied} of them in a tie." if tied else "."
        for m in study.measures:
            leaders = _leaders(m, ids) if m.kind == "ranking" else []
            if not leaders:
                continue
            value = number(float(m.values[leaders[0]]))
            what = f"by {spoken(study, m.column)},"
            if len(leaders) > 1:
                without.append(f"{what} {_listed(study, leaders)} tie as the best ({value})")
                continue
            who = f"the same run{' as with labels' * labelled}" if leaders == first else _named(study, leaders[0])
            place = sum(places[i] < places[leaders[0]] for i in ids) + 1
            of = f", number {place} of {len(ids)} with labels" if labelled and leaders[0] not in first else ""
            without.append(f"{what} {who} is the best ({value}{of})")
        yield text
        if without:
            yield _sentence(where, f"Without labels: {'; '.join(without)}.")


def _labelled_settings(study: StudyFolder, places: Mapping[str, float]) -> Iterator[str]:
    """The best setting by the mean place of its runs, and whether the next one's runs stand apart from them."""
    for where, rows in _where(study) if any(m.counted for m in study.measures) else ():
        known = rows[rows["id"].isin(places)]
        of = {
            f"{model} {setting}": [places[id_] for id_ in ids]
            for (model, setting), ids in known.groupby(["model", "setting"], sort=False)["id"]
        }
        if len(of) < 2 or max(map(len, of.values())) < 2:
            continue
        first, second, *_ = sorted(of, key=lambda name: float(np.mean(of[name])))
        told = [
            f"{name} ({number(float(np.mean(of[name])))} over {_count(len(of[name]), 'run')}, from "
            f"{number(min(of[name]))} to {number(max(of[name]))})"
            for name in (first, second)
        ]
        if np.mean(of[first]) == np.mean(of[second]):
            yield _sentence(where, f"With labels, {told[0]} and {told[1]} tie as the best setting by mean place.")
            continue
        text = f"With labels, the best setting by the mean place of its runs is {told[0]}; next is {told[1]}."
        if max(of[first]) >= min(min(own) for name, own in of.items() if name != first):
            text += " Runs of other settings are among its own, so this may be luck."
        elif len(of[first]) == 1:
            text += " A single run may be luck."
        yield _sentence(where, text)


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
        few = len(scores) < FEW_RUNS
        low, middle, high = np.quantile(scores, [0, 0.5, 1] if few else [0.25, 0.5, 0.75])
        yield _sentence(
            where,
            f"Without labels, {spoken(study, ranking.column)} would choose the setting {model} {setting}: "
            f"median {number(float(middle))}, {'all' if few else 'half'} of its {_count(len(scores), 'run')} between "
            f"{number(float(low))} and {number(float(high))}.",
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
                f"{spoken(study, label)} agrees best with {spoken(study, pairs.names[strongest])} "
                f"(rank correlation {pairs.rho[i, strongest]:.2f}, p = {pairs.p[i, strongest]:.2g}, "
                f"{_count(int(pairs.n[i, strongest]), 'run')}; significant with {clear} of "
                f"{_count(len(with_labels), 'metric')})"
            )
        if sentences:
            told = "; ".join(sentences)
            text = f"Of the metrics that need labels, {told}. Significant means p < {CLEAR}, each on its own."
            yield _sentence(where, text)


def _where(study: StudyFolder) -> Iterator[tuple[str, Any]]:
    """The start of a sentence about a world, which is not named again if there is only one; and its runs."""
    for name, rows in study.groups.items():
        yield (f"On {name}, " if len(study.groups) > 1 else ""), rows


def _sentence(where: str, text: str) -> str:
    """A sentence about a world, whose name comes first if it is told."""
    return where + text[0].lower() + text[1:] if where else text


def _leaders(measure: Measure, ids: list[str]) -> list[str]:
    """The runs with the best value, several if they tie."""
    values = measure.values.reindex(ids).dropna()
    if not len(values):
        return []
    best = values.max() if measure.higher_is_better else values.min()
    return [str(id_) for id_ in values.index[(values - best).abs() <= TIE]]


def spoken(study: StudyFolder, column: str) -> str:
    """A measure as a sentence names it; the variant of a metric only where there are several.

    `mig[bins=20]` is MIG, `udr_lasso[alpha=0.1]/setting` UDR (Lasso) within settings.
    """
    if "/" in column:
        method, _, scope = column.partition("/")
        kind, _, variant = method.rstrip("]").partition("[")
        methods = {m.column.partition("/")[0] for m in study.measures if "/" in m.column}
        several = variant and sum(other.partition("[")[0] == kind for other in methods) > 1
        known = {"udr_lasso": "Lasso", "udr_spearman": "Spearman"}
        title = f"UDR ({known[kind]}{f', {variant}' if several else ''})" if kind in known else method
        scopes = {"setting": " within settings", "all": " among all runs"}
        return title + scopes.get(scope, f" {scope}")
    metric, _, rest = column.partition("[")
    variant, _, part = rest.partition("]") if rest else ("", "", "")
    if not rest:
        metric, _, part = column.partition(".")
    if metric not in METRICS:
        return column
    others = {m.column.partition("]")[0] for m in study.measures if m.column.partition("[")[0] == metric}
    words = " ".join(word.upper() if word in ABBREVIATIONS else word for word in metric.split("_"))
    return (
        words + (f" ({variant})" if len(others) > 1 and variant else "") + (f" {part.strip('.')}" if part else "")
    )


def _failed(study: StudyFolder) -> Iterator[str]:
    """Runs that learned nothing: no informative latent, or one picture for every image."""
    ranks = study.ranks
    silent = [] if ranks.empty else list(map(str, ranks.loc[ranks["informative"] == 0, "id"].unique()))
    if silent:
        verb = "has" if len(silent) == 1 else "have"
        yield (
            f"{_count(len(silent), 'run')} {verb} collapsed: no latent of {_listed(study, silent)} says anything about "
            "the image."
        )
    blank = [id_ for id_ in study.runs["id"] if (run := study.run(id_)) is not None and _draws_alike(run)]
    if blank:
        whose = "its" if len(blank) == 1 else "their"
        yield f"{_listed(study, blank)}: {whose} reconstructions are the same picture for every image."


def _draws_alike(run: Run) -> bool:
    from unknot.reports.kit.latent_pictures import drawn_alike

    try:
        with picture(run.picture("reconstructions")) as sheet:
            return drawn_alike(sheet)
    except UnknotError:  # none, or a damaged one
        return False


def _listed(study: StudyFolder, ids: Sequence[str]) -> str:
    """Runs by name, the first three of many."""
    named = [_named(study, id_) for id_ in ids[:3]]
    more = [f"{len(ids) - 3} more"] if len(ids) > 3 else []
    *before, last = [*named, *more]
    return f"{'; '.join(before)} and {last}" if before else last


def _named(study: StudyFolder, id_: str) -> str:
    run = study.runs[study.runs["id"] == id_].iloc[0]
    return f"{run['model']} {run['setting']}, seed {run['seed']} (run {id_})"


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
