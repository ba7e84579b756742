"""A ranking in the terminal, as JSON and as a table."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from unknot import __version__
from unknot.metrics.correlations import RankCorrelations
from unknot.ranking.model_choice import SettingScore
from unknot.ranking.ranking import Ranking
from unknot.reading.names import csv_text
from unknot.reports.kit.terminal import plain_table
from unknot.statistics.places import in_words

ADVICE = (
    "What this rests on: models that disentangle find the same latents up to order and sign, those that do not "
    "differ each in its own way. So it needs a model and data that favour one set of latents, and latents that "
    "switch off when they are not needed.",
    "The herd decides: scores are medians over partners. A lone good model among bad ones scores low, and models "
    "that all make the same mistake score high. Look at traversals of the best before trusting it.",
    "Models that encode fewer factors are more easily alike: compare models with the same d first. The paper took "
    "scores above 0.4 for high and below 0.3 for low.",
)


BRIEF = 16  # letters of a model's name that is not broken, such as the id of a run


def told_apart(settings: Sequence[str]) -> dict[str, str]:
    """Setting -> what it is called in a table: without what all settings of its model have.

    >>> list(told_apart(["vae, beta 1, anneal 0", "vae, beta 4, anneal 0", "factor_vae, gamma 10"]).values())
    ['vae, beta 1', 'vae, beta 4', 'factor_vae']
    """
    parts = {setting: setting.split(", ") for setting in settings}
    called = {}
    for setting, (model, *options) in parts.items():
        others = [own for first, *own in parts.values() if first == model]
        called[setting] = ", ".join([model, *(each for each in options if not all(each in own for own in others))])
    return called if len(set(called.values())) == len(called) else {setting: setting for setting in settings}


def method_title(ranking: Ranking) -> str:
    """Which variant of UDR it is, with what decides its numbers.

    The penalty is named with its origin, since the paper and its released code differ.
    """
    if ranking.method == "spearman":
        how = "UDR-S, absolute rank correlations"
    elif ranking.alpha == "cv":
        how = "UDR-L, multi-task Lasso with a cross-validated penalty (the paper's)"
    else:
        whose = " (the released code's)" if ranking.alpha == 0.1 else ""
        how = f"UDR-L, Lasso with penalty {ranking.alpha:g}{whose}"
    limit = "all" if ranking.partners is None else f"up to {ranking.partners}"
    if ranking.all_to_all or len(set(ranking.settings)) == 1:
        whom = f"{limit} other models (all-to-all)"
    else:
        whom = f"{limit} other models of the same setting"
    return f"{how}, {ranking.rows:,} rows, against {whom}"


def show_ranking(
    ranking: Ranking,
    console: Console,
    settings: Sequence[SettingScore] = (),
    agreement: RankCorrelations | None = None,
    *,
    top: int = 20,
) -> None:
    """Print the models best first, the best for each number of informative latents, and the settings."""
    console.print(Text(method_title(ranking), style="bold"))
    console.print(_models(ranking, top))
    if len(ranking.names) > top:
        console.print(Text(f"{len(ranking.names) - top} more; --top shows them, --csv writes all.", style="dim"))
    best = ranking.best_by_informative()
    if len(best) > 1:
        console.print(Text("\nBest for each number d of informative latents", style="bold"))
        console.print(_by_informative(ranking, best))
    if len(settings) > 1:
        console.print(Text("\nSettings, by the median of their models", style="bold"))
        console.print(_settings(settings))
    if agreement is not None:
        console.print(Text("\nRank correlation of UDR with scores that know the factors", style="bold"))
        console.print(_agreement(agreement))
    console.print()
    for note in ranking.notes:
        console.print(Text(f"note: {note}", style="yellow"))
    for line in ADVICE:
        console.print(Text(line, style="dim"))


def ranking_record(
    ranking: Ranking, settings: Sequence[SettingScore] = (), agreement: RankCorrelations | None = None
) -> dict[str, Any]:
    """The ranking as JSON-ready values; NaN becomes null."""
    place = {i: p + 1 for p, i in enumerate(ranking.order) if not np.isnan(ranking.scores[i])}
    counts, compared, ranges = ranking.n_informative, ranking.compared, ranking.places()
    models = [
        {
            "name": name,
            "setting": ranking.settings[i],
            "rank": place.get(i),
            "places": list(ranges[i]) if i in place else None,
            "udr": _number(ranking.scores[i]),
            "n_informative": int(counts[i]),
            "informative": np.flatnonzero(ranking.masks[i]).tolist(),
            "n_latents": len(ranking.masks[i]),
            "compared": int(compared[i]),
        }
        for i, name in enumerate(ranking.names)
    ]
    record: dict[str, Any] = {
        "unknot": __version__,
        "title": method_title(ranking),
        "parameters": {
            "method": ranking.method,
            "alpha": ranking.alpha if ranking.method == "lasso" else None,
            "all_to_all": ranking.all_to_all,
            "partners": ranking.partners,
            "rows": ranking.rows,
            "threshold": ranking.threshold,
            "normaliser": ranking.normaliser,
            "seed": ranking.seed,
        },
        "models": models,
        "best": ranking.best if place else None,
        "best_by_informative": {str(d): ranking.names[i] for d, i in ranking.best_by_informative().items()},
        "settings": [
            {
                "setting": s.setting,
                "models": [ranking.names[i] for i in s.models],
                "udr": _number(s.score),
                "interval": [_number(end) for end in s.interval],
                "best": s.best,
            }
            for s in settings
        ],
        "pairs": {
            "predictor": ranking.pairs[:, 0].tolist(),
            "target": ranking.pairs[:, 1].tolist(),
            "score": [_number(value) for value in ranking.pair_scores],
        },
        "notes": list(ranking.notes),
        "advice": list(ADVICE),
    }
    if agreement is not None:
        others = [name for name in agreement.names if name != "udr"]
        record["rank_correlations"] = {name: _number(agreement["udr", name]) for name in others}
    return record


def ranking_csv(ranking: Ranking) -> str:
    """One row for each model, best first."""
    rows: list[list[object]] = [["rank", "model", "setting", "udr", "informative", "compared"]]
    counts, compared = ranking.n_informative, ranking.compared
    for place, i in enumerate(ranking.order, start=1):
        udr = _number(ranking.scores[i])
        cells = ["" if udr is None else place, ranking.names[i], ranking.settings[i], "" if udr is None else udr]
        rows.append([*cells, int(counts[i]), int(compared[i])])
    return csv_text(rows)


def _models(ranking: Ranking, top: int) -> Table:
    several = len(set(ranking.settings)) > 1
    names, numbers = ["model", *["setting"] * several], ("UDR", "places", "quartiles", "d", "partners")
    brief = max(map(len, ranking.names), default=0) <= BRIEF
    whole = (*numbers, *["model"] * brief)
    table = plain_table("", *names, *numbers, right=["", *numbers], whole=whole, fold=names)
    called = told_apart(ranking.settings)
    counts, compared, ranges = ranking.n_informative, ranking.compared, ranking.places()
    for place, i in enumerate(ranking.order[:top], start=1):
        values = ranking.pair_scores[ranking.pairs[:, 1] == i]
        values = values[~np.isnan(values)]
        spread = "{:.3f}..{:.3f}".format(*np.quantile(values, [0.25, 0.75])) if len(values) else ""
        number = "-" if np.isnan(ranking.scores[i]) else str(place)
        about = [Text(ranking.names[i]), *[Text(called[ranking.settings[i]])] * several]
        where = "-" if np.isnan(ranking.scores[i]) else in_words(ranges[i])
        cells = _cell(ranking.scores[i]), where, Text(spread, style="dim"), str(counts[i]), str(compared[i])
        table.add_row(Text(number, style="dim"), *about, *cells)
    return table


def _by_informative(ranking: Ranking, best: dict[int, int]) -> Table:
    table = plain_table("d", "models", "UDR", "best model", right=["d", "models", "UDR"], fold=["best model"])
    for d, i in best.items():
        n = int((ranking.n_informative == d).sum())
        table.add_row(str(d), str(n), _cell(ranking.scores[i]), Text(ranking.names[i]))
    return table


def _settings(settings: Sequence[SettingScore]) -> Table:
    numbers = ("models", "median UDR", "95 % over seeds", "best in")
    table = plain_table("setting", *numbers, right=numbers, whole=numbers, fold=["setting"])
    called = told_apart([s.setting for s in settings])
    for s in settings:
        known = not np.isnan(s.interval[0])
        spread = f"{s.interval[0]:.3f}..{s.interval[1]:.3f}" if known else ""
        share = f"{100 * s.best:.0f} %" if known else ""
        table.add_row(Text(called[s.setting]), str(len(s.models)), _cell(s.score), spread, share)
    return table


def _agreement(agreement: RankCorrelations) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column()
    table.add_column(justify="right")
    table.add_column(style="dim")
    for name in agreement.names:
        if name != "udr":
            j = agreement.names.index(name)
            why = agreement.undefined.get(("udr", name), "")
            table.add_row(Text(name), _cell(agreement["udr", name]), why or f"{agreement.counts[0, j]} models")
    return table


def _cell(value: float) -> Text:
    return Text("undefined" if np.isnan(value) else f"{value:.3f}", style="bold")


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
