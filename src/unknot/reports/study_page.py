"""A study as one page: what `unknot report STUDY` writes. Reads the study's tables and its runs' folders only."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from unknot.errors import UnknotError
from unknot.papers import PAPERS
from unknot.reports.correlation_table import Correlations, correlate
from unknot.reports.kit.charts import CLEAR, CROWD, Dot, box_plot, heat_map
from unknot.reports.kit.page import (
    Cell,
    Command,
    Content,
    Drawing,
    Gallery,
    Grid,
    Line,
    LineChart,
    Link,
    Listing,
    Section,
    anchor,
    write_page,
)
from unknot.reports.run_page import latents_of, run_lines, run_section
from unknot.reports.score_page import score_grid
from unknot.reports.study_ranking import ranking_sections, rankings
from unknot.reports.study_words import mean_places, place_ranges, spoken, summary
from unknot.reports.task_page import task_section
from unknot.runs.run import Run
from unknot.scoring.score_row import ScoreRow
from unknot.statistics.places import in_words
from unknot.studies.folder import StudyFolder
from unknot.studies.measures import Measure
from unknot.tasks import Task, find_task
from unknot.tasks.result import TaskResult

SHOWN = 24  # runs with a section of their own
PHONE = 2  # headline scores that a phone shows of the leaderboard
MEDIANS = 4  # of measures that a phone shows of each setting
LOGS = 20  # failed runs whose log's end is shown


def write_study_page(path: Path | str, folder: Path | str, *, shown: int = SHOWN) -> Path:
    """Write the page of a study.

    Args:
        path: of the page.
        folder: of the study.
        shown: so many runs get a section of their own: the best for each number of informative latents, then the best
            of the leaderboard. All runs are in the tables.
    """
    if shown < 0:
        raise UnknotError(f"report: --runs is {shown}; expected 0 or more.")
    study = StudyFolder(folder)
    about = str(study.record.get("about") or "").strip()
    done = int((study.runs["status"] == "done").sum())
    lead = f"{about} {len(study.runs):,} runs, {done:,} of them done, from {study.folder}.".strip()
    return write_page(path, f"Study: {study.name}", lead, study_sections(study, shown))


def study_sections(study: StudyFolder, shown: int = SHOWN) -> list[Section]:
    """The sections of a study, for a page of its own or a larger one."""
    return _Sections(study, shown).all()


class _Sections:
    """The sections of one study."""

    def __init__(self, study: StudyFolder, shown: int) -> None:
        self.study, self.places = study, mean_places(study)
        self.order = [*self.places, *(id_ for id_ in study.runs["id"] if id_ not in self.places)]
        best = [id_ for ranking in rankings(study) for id_ in ranking.best["id"]]
        on_disk = (id_ for id_ in dict.fromkeys([*best, *self.order]) if study.run(id_))
        self.shown = set(islice(on_disk, shown))
        self.related = {name: correlate(study.measures, rows["id"]) for name, rows in study.groups.items()}

    def all(self) -> list[Section]:
        return [
            Section("In words", summary(self.study, self.places, self.related)),
            self._leaderboard(),
            self._settings(),
            *ranking_sections(study=self.study, link=self._link, dot=self._dot),
            *self._tasks(),
            *self._correlations(),
            *self._curves(),
            *self._runs(),
            *self._failures(),
            self._origin(),
        ]

    def _leaderboard(self) -> Section:
        study, measures = self.study, self.study.measures
        about = study.runs.set_index("id")
        options = [name for name in study.runs.columns if str(name).startswith("option.")]
        options = [name for name in options if (study.runs.groupby("model")[name].nunique() > 1).any()]
        d, ranges = _informative(study), place_ranges(study)
        latents = ["informative latents"] if d else []
        named = ["model", "setting", "seed", *self._several("world", "split")]
        rows: list[list[Cell]] = []
        for id_ in self.order:
            run = about.loc[id_]
            about_run = [
                self._link(id_),
                *(_cell(run[c]) for c in named),
                _number(self.places.get(id_)),
                *([in_words(ranges[id_]) if id_ in ranges else None] if ranges else []),
                *([d.get(id_)] if d else []),
            ]
            values = [_number(m.values.get(id_)) for m in measures]
            rows.append([*about_run, *values, *(_cell(run[c]) for c in (*options, "status"))])
        about_runs = ["run", *named, "mean place", *(["places"] if ranges else []), *latents]
        start = len(about_runs)
        ends = [*(str(name).removeprefix("option.") for name in options), "status"]
        header = [*about_runs, *(self._head(m) for m in measures), *ends]
        exact = [*about_runs, *(_exact(m) for m in measures), *ends]
        headlines = [start + i for i, m in enumerate(measures) if m.kind == "score" and m.counted][:PHONE]
        kept = {header.index(name) for name in ("run", "setting", "seed", "mean place")} | set(headlines)
        minor = set(range(len(header))) - kept
        words = (
            "Mean place: within a world and split, the mean over questions (what is measured) of the mean place over "
            "the metrics that ask it; 1 is best. It sums up, it is not a measurement: sort by the metric you need."
        )
        if ranges:
            words += (
                " Places: the best and the worst it may have, as far as the metrics agree, drawn anew 200 times."
            )
        file = Run.at(self.study.folder / "runs" / "RUN").latents
        command = Command(("unknot", "score", str(file), "--metrics", "METRIC"), "makes any score of the table")
        best = self._best_cells(rows, start)
        words += " The best of each column is bold." if best else ""
        return Section(
            "Leaderboard", [words], [Grid(header, rows, "", "leaderboard", best, exact, minor), command]
        )

    def _best_cells(self, rows: Sequence[Sequence[Cell]], start: int) -> set[tuple[int, int]]:
        """Where the best value of each measure stands, in a table that has them from a column on.

        Those of several worlds are not compared.
        """
        best = set()
        for column, measure in enumerate(self.study.measures if len(self.study.groups) == 1 else (), start):
            if measure.higher_is_better is None:
                continue
            numbers = {i: v for i, row in enumerate(rows) if isinstance(v := row[column], int | float)}
            leading = (max if measure.higher_is_better else min)(numbers.values(), default=None)
            best |= {(i, column) for i, v in numbers.items() if v == leading}
        return best

    def _settings(self) -> Section:
        """Box plots by question, and the medians behind them."""
        settings = self._by_setting()
        measures = sorted(self.study.measures, key=lambda m: m.question)
        drawings = [Drawing(box_plot(self._head(m), self._rows(m, settings)), m.question) for m in measures]
        words = (
            "A box holds the middle half of a setting's runs, its line is the median, whiskers reach to the last run "
            f"within 1.5 boxes; dots are runs (in charts of more than {CROWD} only those beyond the whiskers)."
        )
        return Section("Settings", [words], [Gallery(drawings), self._medians(settings)])

    def _tasks(self) -> Iterator[Section]:
        """What each task found out about the runs, the best run first."""
        for name in self.study.tasks["task"].unique():
            results = self.study.task_results(name)
            yield task_section([results[id_] for id_ in self.order if id_ in results])
            yield from self._with_scores(find_task(name), results)

    def _with_scores(self, task: Task, results: Mapping[str, TaskResult]) -> Iterator[Section]:
        """What a task has to say about scores and results together, on each world."""
        import pandas as pd

        for name, rows in self.study.groups.items():
            ids = [id_ for id_ in rows["id"] if id_ in results]
            if task.study_page is not None and ids:
                scores = pd.DataFrame({m.column: m.values.reindex(ids) for m in self.study.measures if m.counted})
                scores["reconstruction error"] = [
                    run.reconstruction_error if (run := self.study.run(id_)) else float("nan") for id_ in ids
                ]
                for section in task.study_page(scores, [results[id_] for id_ in ids]):
                    yield replace(section, title=f"{section.title}: {name}")

    def _correlations(self) -> Iterator[Section]:
        contents: list[Content] = []
        for name, related in self.related.items():
            if len(related.names) < 2:
                continue
            text = f"Spearman's rank correlation over the runs on {name}; pale: p is {CLEAR} or more."
            contents.append(
                Drawing(heat_map([self._words[name] for name in related.names], related.rho, related.p), text)
            )
            contents.append(_pairs(name, related))
        if contents:
            words = (
                "Do the measures agree about which runs are better? Measures of which less is better are turned "
                "round first, so plus means agreement. p is for one pair alone; with as many pairs as here, look at "
                "Holm's p in the table, which holds for all of a map together."
            )
            yield Section("Correlations", [words], contents)

    def _curves(self) -> Iterator[Section]:
        """What was measured while training, the curves of all runs that are shown in one chart."""
        panels: dict[str, list[Line]] = {}
        settings = {id_: label for label, ids in self._by_setting().items() for id_ in ids}
        for id_ in self.order:
            run = self.study.run(id_) if id_ in self.shown and id_ in settings else None
            for term, line in run_lines(run, self._label(id_), settings[id_]) if run is not None else ():
                panels.setdefault(term, []).append(line)
        if panels:
            chart = LineChart(
                "curves of the runs", panels, "A colour is a setting; press it to hide or show its runs."
            )
            yield Section("How they learned", contents=[chart])

    def _runs(self) -> Iterator[Section]:
        shown = (id_ for id_ in self.order if id_ in self.shown)
        parts = [self._run(id_, opened=i == 0) for i, id_ in enumerate(shown)]
        if parts:
            left = len(self.study.runs) - len(parts)
            words = f"{left:,} more are in the tables only; unknot report {self.study.folder}/runs/RUN shows one."
            yield Section("Runs", [words] if left else [], parts=parts)

    def _run(self, id_: str, *, opened: bool) -> Section:
        title = self._label(id_)
        run = self.study.run(id_)
        try:
            if run is None:
                raise UnknotError(f"{id_}: its folder is gone.")
            before: list[Content] = []
            if not run.scores:
                table = self.study.scores[self.study.scores["id"] == id_]
                named = ["metric", "part", "value", "measures", "higher_is_better", "version"]
                rows = [ScoreRow(*row) for row in table[named].itertuples(index=False)]
                before = [score_grid(rows, [latents_of(run)], name=f"scores of {id_}")]
            return run_section(run, title, before, opened=opened)
        except UnknotError as error:  # one damaged run does not cost the page
            return Section(title, [str(error)], name=f"run-{id_}")

    def _failures(self) -> Iterator[Section]:
        failed = self.study.runs[self.study.runs["status"] == "failed"]
        if len(failed):
            rows = [
                [self._link(r["id"]), r["model"], r["setting"], _cell(r["seed"]), str(r.get("error") or "")]
                for _, r in failed.iterrows()
            ]
            grid = Grid(("run", "model", "setting", "seed", "error"), rows, name="failures")
            words = f"The whole logs are {self.study.folder}/logs/RUN.log."
            logs = [
                Section(f"What {id_} said last", contents=[Listing(text)], name=f"log-{id_}")
                for id_ in failed["id"][:LOGS]
                if (text := self.study.log(id_))
            ]
            yield Section("Failed runs", [words], [grid], logs)

    def _origin(self) -> Section:
        fields = [
            [key, value if isinstance(value, str) else json.dumps(value)]
            for key, value in self.study.record.items()
            if key != "runs"
        ]
        again = Command(("unknot", "report", str(self.study.folder)), "writes this page again")
        words = (
            "All numbers are read from the study's tables; each run's folder has its spec, weights and latents."
        )
        figures = [
            Command(("unknot", "papers", key, "--study", str(self.study.folder), "--html", f"{key}.html"), words)
            for key, words in ((key, "makes the tables and figures of the paper") for key in PAPERS)
            if self.study.name.startswith(key)
        ]
        table = Grid(("study.json", ""), fields, name="study")
        contents: list[Content] = [again, *figures, table, *self._refused()]
        return Section("Where it comes from", [words], contents)

    def _refused(self) -> Iterator[Grid]:
        """Metrics that could not be computed, and why."""
        scores = self.study.scores
        refused = scores[scores["refused"].fillna("") != ""] if "refused" in scores else scores.head(0)
        if len(refused):
            groups = refused.groupby(["metric", "refused"], sort=False)
            rows: list[list[Cell]] = [[str(metric), str(why), len(runs)] for (metric, why), runs in groups]
            yield Grid(("metric", "why it was refused", "runs"), rows, name="refused")

    def _by_setting(self) -> dict[str, list[str]]:
        """A label for each setting -> its runs; the label says no more than is needed to tell settings apart."""
        several = self._several("world", "split", "model")
        settings: dict[str, list[str]] = {}
        for _, run in self.study.runs[self.study.runs["status"] == "done"].iterrows():
            label = " ".join(filter(None, [*(str(run[c] or "") for c in several), run["setting"]]))
            settings.setdefault(label or run["model"], []).append(run["id"])
        return settings

    def _several(self, *columns: str) -> list[str]:
        """Those of the columns of runs that have more than one value."""
        return [column for column in columns if self.study.runs[column].nunique() > 1]

    def _rows(self, measure: Measure, settings: dict[str, list[str]]) -> list[tuple[str, list[Dot]]]:
        known = measure.values
        dots = [
            (label, [self._dot(i, float(known[i])) for i in ids if i in known]) for label, ids in settings.items()
        ]
        return [(label, marks) for label, marks in dots if marks]

    def _medians(self, settings: dict[str, list[str]]) -> Grid:
        measures = self.study.measures
        rows: list[list[Cell]] = []
        for label, ids in settings.items():
            medians = (m.values.reindex(ids).median() for m in measures)
            rows.append([label, len(ids), *(_number(value) for value in medians)])
        header = ["setting", "runs", *(self._head(m) for m in measures)]
        exact = ["setting", "runs", *(m.column for m in measures)]
        caption, best = "Medians over the runs of a setting.", self._best_cells(rows, 2)
        return Grid(header, rows, caption, "settings", best, exact, minor=range(2 + MEDIANS, len(header)))

    def _dot(self, id_: str, value: float, *, across: float = 0.0) -> Dot:
        return Dot(value, self._label(id_), anchor(f"run-{id_}") if id_ in self.shown else "", across)

    def _label(self, id_: str) -> str:
        return self._labels.get(id_, id_)

    @cached_property
    def _labels(self) -> dict[str, str]:
        runs = self.study.runs[["id", "model", "setting", "seed"]].itertuples(index=False)
        return {id_: f"{model} {setting}, seed {seed}  ({id_})" for id_, model, setting, seed in runs}

    @cached_property
    def _words(self) -> dict[str, str]:
        """Columns of measures as people call them; those that would be called the same keep their names."""
        words = {m.column: spoken(self.study, m.column) for m in self.study.measures}
        counts = Counter(words.values())
        return {column: text if counts[text] == 1 else column for column, text in words.items()}

    def _head(self, measure: Measure) -> str:
        return self._words[measure.column] + _direction(measure)

    def _link(self, id_: str) -> Link | str:
        return Link(id_, anchor(f"run-{id_}")) if id_ in self.shown else id_


def _exact(measure: Measure) -> str:
    return measure.column + _direction(measure)


def _direction(measure: Measure) -> str:
    """What stands beside the name of a measure of which more is not better."""
    return {True: "", False: " (lower is better)", None: " (control)"}[measure.higher_is_better]


def _informative(study: StudyFolder) -> dict[str, int]:
    known = study.ranks.dropna(subset=["informative"]).drop_duplicates("id")
    return {id_: int(d) for id_, d in zip(known["id"], known["informative"], strict=True)}


def _pairs(name: str, related: Correlations) -> Grid:
    rows: list[list[Cell]] = [
        [r.first, r.second, r.r, _number(r.low), _number(r.high), r.p, r.p_adjusted, int(r.n)]
        for r in related.table.itertuples()
    ]
    header = ("measure", "and", "Spearman", "low", "high", "p", "p (Holm)", "runs")
    caption = "Low and high: 95 % interval over resamples of the runs."
    minor = [header.index(each) for each in ("low", "high", "p")]
    return Grid(header, rows, caption, f"correlations on {name}", minor=minor)


def _number(value: Any) -> float | int | None:
    import pandas as pd

    if value is None or pd.isna(value):
        return None
    return int(value) if float(value).is_integer() and not isinstance(value, float) else float(value)


def _cell(value: Any) -> Cell:
    import numpy as np
    import pandas as pd

    if value is None or (not isinstance(value, str) and pd.isna(value)):
        return None
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, int | float) else str(value)
