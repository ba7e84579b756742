"""What a ranking says beyond its scores: the best setting and how sure that is, how many partners would have done,
and whether labels agree.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unknot.errors import UnknotError
from unknot.metrics.arrays import Floats, Ints
from unknot.metrics.correlations import RankCorrelations, rank_correlations
from unknot.metrics.ranks import average_ranks, correlation
from unknot.progress import Progress, silent
from unknot.ranking.candidates import candidates, trained
from unknot.ranking.ranking import Ranking, median
from unknot.reading.arrays import as_array

FEWEST = 3  # models a bootstrap can resample
CELLS = 2**21  # pair scores of resamples in memory at a time
SIZES = tuple(range(5, 50, 5))  # of Table 2 of the paper


@dataclass(frozen=True)
class SettingScore:
    """How one setting of hyper-parameters does.

    Attributes:
        setting: its label.
        models: positions of its models in the ranking.
        score: median UDR of its models; NaN if none has a score.
        interval: 95 % of that median over resampled seeds; NaN where nothing can be resampled.
        best: share of resamples in which no setting did better.
    """

    setting: str
    models: tuple[int, ...]
    score: float
    interval: tuple[float, float]
    best: float


def compare_settings(ranking: Ranking, *, draws: int = 1000, seed: int = 0) -> tuple[SettingScore, ...]:
    """The settings of a ranking, best first, with an interval of each median: a bootstrap over seeds.

    Models of each setting are drawn with replacement, and their scores are taken anew from the pairs among those
    drawn; two copies of one model are not compared. So the interval says how far the median would move had the
    models been trained with other seeds. It needs no more training or encoding.

    Edge cases: models without a score are left out; a setting with fewer than three left has no interval, since
    two models leave nothing to resample. With few seeds intervals are rough.

    Args:
        ranking: of models with several seeds a setting.
        draws: number of resamples.
        seed: decides them.
    """
    if draws < 1:
        raise UnknotError(f"compare_settings: draws is {draws}; expected at least one resample.")
    groups = ranking.groups()
    alive = {name: models[~np.isnan(ranking.scores[models])] for name, models in groups.items()}
    rng = np.random.default_rng(seed)
    picks = {name: np.array([_draw(models, rng) for _ in range(draws)]) for name, models in alive.items()}
    partners = np.concatenate(list(picks.values()), axis=1) if ranking.all_to_all else None
    medians = np.tile([_middle(ranking.scores[models]) for models in groups.values()], (draws, 1))
    for s, (name, targets) in enumerate(picks.items()):
        if len(alive[name]) >= FEWEST:
            medians[:, s] = _medians(ranking, targets, targets if partners is None else partners)
    top = np.where(np.isnan(medians), -np.inf, medians)
    best = (top == top.max(axis=1, keepdims=True)) & np.isfinite(top)
    scores = [
        SettingScore(
            setting=name,
            models=tuple(int(i) for i in models),
            score=_middle(ranking.scores[models]),
            interval=_interval(medians[:, s] if len(alive[name]) >= FEWEST else medians[:0, s]),
            best=float(best[:, s].mean()),
        )
        for s, (name, models) in enumerate(groups.items())
    ]
    return tuple(sorted(scores, key=lambda s: -np.inf if np.isnan(s.score) else s.score, reverse=True))


@dataclass(frozen=True)
class Stability:
    """Rank correlations for each number of partners.

    Attributes:
        sizes: numbers of partners P.
        correlations: (sizes, draws) Spearman correlation of the scores from P partners with the reference.
    """

    sizes: tuple[int, ...]
    correlations: Floats

    @property
    def mean(self) -> Floats:
        """(sizes,) over draws."""
        return np.asarray(self.correlations.mean(axis=1))

    @property
    def std(self) -> Floats:
        """(sizes,) over draws."""
        return np.asarray(self.correlations.std(axis=1))


def partner_stability(
    ranking: Ranking, reference: Any = None, *, sizes: Iterable[int] = SIZES, draws: int = 50, seed: int = 0
) -> Stability:
    """How the ranking would fare with fewer partners: the study of Table 2 of the paper.

    For each P, P partners of each model are drawn from those it was compared with, its score is taken anew, and the
    scores are rank-correlated with `reference`.

    Edge cases: numbers above what every model was compared with are left out of `sizes`; models without a score or
    a reference are left out.

    Args:
        ranking: of all models with as many partners as there are.
        reference: (m,) a supervised score of each model; the ranking's own scores if left out.
        sizes: numbers of partners.
        draws: of partners, for each number.
        seed: decides them.
    """
    target = ranking.scores if reference is None else np.asarray(as_array(reference), dtype=np.float64)
    if target.shape != ranking.scores.shape:
        raise UnknotError(
            f"partner_stability: reference has shape {target.shape}; expected one score for each of the "
            f"{len(ranking.scores)} models."
        )
    kept = np.flatnonzero(~np.isnan(target) & ~np.isnan(ranking.scores))
    if len(kept) < 3:
        raise UnknotError(f"partner_stability: {len(kept)} models have both scores; at least three are needed.")
    of_model = _by_target(ranking, kept)
    fewest = min(len(values) for values in of_model)
    wanted = list(sizes)
    usable = tuple(size for size in wanted if 1 <= size <= fewest)
    if not usable:
        raise UnknotError(
            f"partner_stability: some model was compared with {fewest} others only, and sizes are "
            f"{wanted}; rank with more partners or give smaller sizes."
        )
    rng = np.random.default_rng(seed)
    correlations = np.empty((len(usable), draws))
    for s, size in enumerate(usable):
        for draw in range(draws):
            subset = np.stack([rng.choice(values, size=size, replace=False) for values in of_model])
            pair = average_ranks(np.stack([median(subset), target[kept]], axis=1))
            correlations[s, draw] = correlation(pair[:, :1], pair[:, 1:])[0, 0]
    return Stability(usable, correlations)


def agreement(ranking: Ranking, scores: Any) -> RankCorrelations:
    """Rank correlations of UDR with supervised scores of the same models, and of those with each other.

    Where factors are known this tells whether UDR would have chosen well; the paper's Table 1 is such a table.
    Columns where lower is better come out negative.

    Args:
        ranking: of the models.
        scores: column name -> (m,) scores in the ranking's order; or column name -> {model: score}; or a pandas
            table whose index are the names of the models.
    """
    if hasattr(scores, "reindex"):
        missing = [name for name in ranking.names if name not in scores.index]
        if missing:
            raise UnknotError(f"agreement: the table has no row '{missing[0]}'; its index must name the models.")
        scores = {str(name): column.to_numpy() for name, column in scores.reindex(list(ranking.names)).items()}
    columns: dict[str, Any] = {"udr": ranking.scores}
    for name, column in scores.items():
        values = [column.get(model, np.nan) for model in ranking.names] if isinstance(column, Mapping) else column
        columns[str(name)] = np.asarray(as_array(values), dtype=np.float64)
    return rank_correlations(columns)


def supervised_scores(
    representations: Any, metrics: Sequence[str], *, seed: int = 0, progress: Progress = silent
) -> dict[str, Floats]:
    """Scores of models that come with factors, metric by metric, in the form `agreement` takes.

    Args:
        representations: as given to `rank`.
        metrics: such as `["mig", "dci[lasso]"]`.
        seed: of the metrics.
        progress: told how many models are scored.

    Edge cases: NaN where a metric refused a model; runs that are not trained to their end are left out, as `rank` does.
    """
    from unknot.scoring.scoring import score

    listed = candidates(representations)
    models = [listed[i] for i in trained(listed)]
    columns: dict[str, Floats] = {}
    for i, model in enumerate(models):
        representation = model.load()
        if representation.factors is None:
            raise UnknotError(f"rank: {model.name} has no factors, so nothing to score it against.")
        card = score(representation, metrics=list(metrics), seed=seed)
        for name, value in card.values().items():
            columns.setdefault(name, np.full(len(models), np.nan))[i] = value
        progress("scoring", i + 1, len(models))
    return columns


def _by_target(ranking: Ranking, kept: Sequence[int] | Ints) -> list[Floats]:
    """The pair scores of each model as target, without NaN."""
    order = np.argsort(ranking.pairs[:, 1], kind="stable")
    targets, values = ranking.pairs[order, 1], ranking.pair_scores[order]
    edges = np.searchsorted(targets, np.arange(len(ranking.names) + 1))
    return [v[~np.isnan(v)] for v in (values[edges[i] : edges[i + 1]] for i in kept)]


def _middle(values: Floats) -> float:
    return float(median(values[None])[0])


def _draw(models: Ints, rng: np.random.Generator) -> Ints:
    """As many as there are, with replacement; at least two different ones, so that there is a pair."""
    n = len(models)
    picks = rng.integers(0, n, n) if n else np.empty(0, dtype=np.int64)
    while n > 1 and (picks == picks[0]).all():
        picks = rng.integers(0, n, n)
    return models[picks]


def _medians(ranking: Ranking, targets: Ints, partners: Ints) -> Floats:
    """(draws,) medians over targets (draws, s) of medians over partners (draws, p), which may hold a model twice."""
    members = np.unique(partners)
    table = ranking.matrix(members)
    rows, columns = np.searchsorted(members, partners), np.searchsorted(members, targets)
    step = max(1, CELLS // (rows.shape[1] * columns.shape[1]))
    parts = [slice(start, start + step) for start in range(0, len(targets), step)]
    return np.concatenate([median(median(table[rows[p][:, None, :], columns[p][:, :, None]])) for p in parts])


def _interval(medians: Floats) -> tuple[float, float]:
    if not len(medians) or np.isnan(medians).all():
        return float("nan"), float("nan")
    low, high = np.nanquantile(medians, [0.025, 0.975])
    return float(low), float(high)
