"""The part of a study's page that ranks its runs without labels."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from unknot.reports.commands import rank_command
from unknot.reports.kit.charts import Dot, scatter
from unknot.reports.kit.page import Cell, Drawing, Gallery, Grid, Link, Section
from unknot.reports.study_words import spoken
from unknot.studies.folder import StudyFolder
from unknot.studies.measures import rank_column

WORDS = (
    "UDR asks how alike a model's latents are to those of models trained in the same way: models that disentangle find "
    "the same factors, models that entangle each do it in their own way. Models that leave factors out are alike more "
    "easily, so compare those with the same number of informative latents; and if most models make the same mistake, "
    "they agree about it (the herd effect): look at the traversals. Within settings, runs are compared that differ in "
    "their seed only; among all runs, every run with every other."
)
MANY = 200  # runs; the command that ranks more of them would fill the page
HEADER = ("ranking", "informative latents", "run", "model", "setting", "UDR", "partners")
SHORT = tuple(name.removesuffix(" latents") for name in HEADER)
MINOR = [HEADER.index(name) for name in ("informative latents", "model", "partners")]
MINOR_OF_BEST = [HEADER.index(name) for name in ("model", "setting", "partners")]


@dataclass(frozen=True)
class StudyRanking:
    """The runs of one world and split, ranked in one way.

    Attributes:
        method: such as `udr_lasso[alpha=0.1]`.
        scope: "setting" or "all".
        name: both in words, and the world where there are several.
        ranks: rows of the study's table of ranks.
    """

    method: str
    scope: str
    name: str
    ranks: Any

    @property
    def scored(self) -> Any:
        """Rows with a score, the best first."""
        return self.ranks.dropna(subset=["score"]).sort_values("score", ascending=False, kind="stable")

    @property
    def best(self) -> Any:
        """The best row for each number of informative latents, most latents first."""
        return self.scored.drop_duplicates("informative").sort_values("informative", ascending=False)


def rankings(study: StudyFolder) -> Iterator[StudyRanking]:
    """All rankings of a study, world by world."""
    for group, runs in study.groups.items():
        ranks = study.ranks[study.ranks["id"].isin(runs["id"])]
        for (method, scope), rows in ranks.groupby(["method", "scope"], sort=False):
            where = f", on {group}" if len(study.groups) > 1 else ""
            name = spoken(study, rank_column(str(method), str(scope))) + where
            yield StudyRanking(str(method), str(scope), name, rows)


def ranking_sections(
    study: StudyFolder, link: Callable[[str], Link | str], dot: Callable[..., Dot]
) -> Iterator[Section]:
    """The best model for each number of informative latents, UDR by that number, all scores, and the commands.

    Args:
        study: its folder.
        link: a run's id as a link to its section, if it has one.
        dot: a run and its score as a mark in a chart.
    """
    best: list[list[Cell]] = []
    rows: list[list[Cell]] = []
    drawings, commands, words = [], [], [WORDS]
    silent: dict[tuple[int, int], list[str]] = {}  # runs without a score, of all runs -> rankings
    about = study.runs.drop_duplicates("id").set_index("id")[["model", "setting"]]
    for ranking in rankings(study):
        for table, source in ((best, ranking.best), (rows, ranking.scored)):
            for r in source.itertuples():
                model, setting = about.loc[r.id]
                table.append([ranking.name, int(r.informative), link(r.id), model, setting, float(r.score)])
                table[-1].append(int(r.partners))
        dots = [dot(r.id, float(r.score), across=float(r.informative)) for r in ranking.scored.itertuples()]
        marked = [dot(id_, 0.0).label for id_ in ranking.best["id"]]
        if dots:
            drawings.append(Drawing(scatter(ranking.name, dots, "informative latents", "UDR", marked)))
        ids = ranking.ranks["id"].tolist()
        if len(ids) <= MANY:
            settings = {id_: " ".join(about.loc[id_]) for id_ in ids}
            commands.append(rank_command(study.folder, settings, ranking.method, ranking.scope, study.ranking))
        if unscored := len(ids) - len(ranking.scored):
            silent.setdefault((unscored, len(ids)), []).append(ranking.name)
    for (unscored, n), names in silent.items():
        no_chart = " Without scores there is no chart." if unscored == n else ""
        words.append(
            f"{unscored} of {n} runs have no score, because they have no informative latent or no partner that has "
            f"one: {'; '.join(names)}.{no_chart}"
        )
    caption = "The best model for each number of informative latents."
    first = Grid(SHORT, best, caption, "best by d", exact=HEADER, minor=MINOR_OF_BEST)
    rest = Grid(HEADER, rows, "All models that have a score.", "ranking", minor=MINOR)
    parts = (
        [Section("Commands that make these numbers", contents=commands, name="rank commands")] if commands else []
    )
    if drawings or silent:
        yield Section("Ranking without labels", words, [first, Gallery(drawings), rest] if drawings else [], parts)
