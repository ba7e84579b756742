"""Xie et al. 2022 from results of `unknot task algebra` and runs of one's own: Tables 1 and 2, and the curves."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from unknot.files import read_json
from unknot.reports.kit.page import Drawing, Gallery, Grid
from unknot.reports.kit.step_charts import Curve, step_curves
from unknot.reports.papers.figures.figure import Figure, Pieces
from unknot.reports.papers.figures.own import Lacks, Own
from unknot.runs.labels import settings as settings_of
from unknot.runs.run import Run
from unknot.tasks.algebra.options import LOSSES, WHO
from unknot.tasks.algebra.page import needed, score_text
from unknot.tasks.algebra.published import published_rows
from unknot.tasks.result import TaskResult
from unknot.worlds.scenes.scenes_rendered import KEYS

VARIANTS = {"": "", "_no_duplicates": " without duplicates", "_tidied": " without duplicates and invisible slots"}
CURVES = {"ari": "ARI", "fg_ari": "FG-ARI"}
SETS = {"iid": "IID", "corr": "CORR"}  # the paper's names of what models are trained on


@dataclass
class _Model:
    """Runs that differ in their seed alone, or one source that is no run, with their results on one set of tuples."""

    label: str
    results: list[TaskResult] = field(default_factory=list)

    @property
    def corpora(self) -> dict[str, str]:
        """Name of each set of tuples -> what the names of its values end in."""
        names = dict.fromkeys(str(row["corpus"]) for row in self.results[0].tables["scores"])
        return {name: "" if i == 0 else f"_{name}" for i, name in enumerate(names)}

    @property
    def first(self) -> str:
        """The set of tuples that all measures are of."""
        return next(iter(self.corpora))

    def text(self, name: str, times: float = 1.0) -> str | None:
        """Mean and standard error of a value over results."""
        return _over_seeds((result.values.get(name, np.nan) for result in self.results), times)

    def score(self, loss: str, ending: str) -> str | None:
        """A score in percent, in brackets unless all results pass the test on wrong pictures."""
        text = self.text(f"{loss}_coat{ending}", 100)
        passed = [result.values.get(f"{loss}_passed{ending}", 1.0) for result in self.results]
        return text if text is None or all(passed) else f"({text})"


def first(own: Own) -> Pieces:
    """ARI, L2-COAT and acos-COAT beside pixels and beside the published rows."""
    models = _models(own)
    yield (
        "In percent, 100 is perfect and 0 is chance: mean ± standard error over runs that differ in their seed alone, "
        "how many in brackets. A score in brackets fails the test on wrong pictures in one run at least. Published "
        "rows are of other renders: compare a model with the pixels of its own corpus. What the paper calls ARI is "
        "that of the pixels of objects, FG-ARI, on images of CLEVR; one's own is on images of the corpus."
    )
    lines: list[list[Any]] = []
    for model in models:
        fg_ari, ari = (model.text(name, 100) for name in ("fg_ari", "ari"))
        for corpus, at in model.corpora.items():
            for ending, words in VARIANTS.items():
                scores = [model.score(loss, ending + at) for loss in LOSSES]
                if any(scores):
                    lines.append([model.label + words, corpus, fg_ari, *scores, ari])
    for corpus, at, model in {
        corpus: (corpus, at, m) for m in models for corpus, at in m.corpora.items()
    }.values():
        values = model.results[0].values
        pixels = [_over_seeds([values.get(f"pixels_{loss}_coat{at}", np.nan)], 100) for loss in LOSSES]
        lines.append(["pixels", corpus, None, *pixels, None])
    header = ("representation", "corpus", "FG-ARI", *(f"{name}-COAT" for name in LOSSES.values()))
    yield Grid((*header, "ARI"), lines, "One's own.", "own table1")
    rows = [
        row
        for row in published_rows()
        if any(row[loss] is not None or row[f"{loss}_passed"] is not None for loss in LOSSES)
    ]
    published = [
        [
            row["representation"],
            str(row["corpus"]).partition(" ")[0],
            _published(row, "ari", "ari_error"),
            *(score_text(row, loss) for loss in LOSSES),
        ]
        for row in rows
    ]
    words = (
        "Published: Table 1, standard errors over five seeds. That the test of the row at 83.84 is clear is an "
        "inference; it is printed as occluded."
    )
    yield Grid(header, published, words, "published table1")


def second(own: Own) -> Pieces:
    """Tree reconstruction error, of which less is better."""
    lines = [
        [model.label + words, model.first, text, model.text(f"tre_normalised{ending}")]
        for model in _models(own)
        for ending, words in VARIANTS.items()
        if (text := model.text(f"tre{ending}"))
    ]
    if not lines:
        raise Lacks(
            "no result has a tree reconstruction error", remedy="unknot task algebra --tuples 256 gives it."
        )
    yield (
        "Less is better, and its scale is that of the codes, so compare variants of one model. One's own error is that "
        "of the mean over slots with an additive composition; the normalised one, of which more is better, is the "
        "share of variance that is composed. The paper composes with a transformer of which no detail is published "
        "(--tre transformer trains ours)."
    )
    header = ("representation", "corpus", "TRE")
    yield Grid((*header, "normalised"), lines, "One's own: mean ± standard error over seeds.", "own table2")
    published = [
        [row["representation"], row["corpus"], text]
        for row in published_rows()
        if (text := _published(row, "tre", "tre_spread"))
    ]
    yield Grid(header, published, "Published: Table 2.", "published table2")


def curves(own: Own) -> Pieces:
    """COAT and the fit of masks while runs train."""
    groups: dict[str, list[Run]] = {}
    for run, label in _labels(own):
        groups.setdefault(label, []).append(run)
    drawings = []
    for loss, title in LOSSES.items():
        column = f"{loss}_coat"
        lines = [curve for label, runs in groups.items() for curve in _curve(label, runs, "coat", column)]
        pixels = [table[f"pixels_{column}"].iloc[-1] for run, _ in _labels(own) for table in _table(run, "coat")]
        if lines:
            chart = step_curves(
                f"{title}-COAT", lines, references={"pixels": float(np.mean(pixels)), "chance": 0.0}
            )
            drawings.append(Drawing(chart, "The mean over seeds; the band is from the worst to the best."))
    for label, runs in groups.items():
        for loss, title in LOSSES.items():
            lines = [
                replace(curve, name=column.removeprefix(f"{loss}_p_hat_"))
                for column in _p_hat_columns(runs, loss)
                for curve in _curve(label, runs, "coat", column)
            ]
            if lines:
                n = min(int((run.record.get("coat") or {}).get("n") or 1) for run in runs)
                chart = step_curves(f"{title}: {label}", lines, references=needed(n), bounds=(0.0, 1.0))
                drawings.append(Drawing(chart, "Share of tuples in which each wrong picture does worse than D."))
    for column, title in CURVES.items():
        lines = [curve for label, runs in groups.items() for curve in _curve(label, runs, "segmentation", column)]
        if lines:
            drawings.append(Drawing(step_curves(title, lines), "How well masks fit the true objects."))
    if not drawings:
        raise Lacks("no run was measured while it trained", remedy="unknot train --coat CORPUS measures COAT.")
    yield "All curves are one's own: those of the paper stand in figures, without numbers."
    yield Gallery(drawings)


FIGURES = (
    Figure("Table 1", "object algebra, beside pixels", first),
    Figure("Table 2", "tree reconstruction error", second),
    Figure("Figures A5 to A17", "COAT over training", curves),
)


def _models(own: Own) -> list[_Model]:
    models: dict[tuple[str, str], _Model] = {}
    labels = {run.folder: label for run, label in _labels(own)}
    for run, result in own.all_results(WHO):
        if any(row["kind"] == "encoder" for row in result.tables.get("scores", [])):
            label = result.source if run is None else labels[run.folder]
            models.setdefault((label, result.world), _Model(label)).results.append(result)
    if not models:
        remedy = "unknot task algebra RUN keeps it with the run, -o FOLDER in a folder; name either with --study."
        raise Lacks("there is no result of the task algebra", remedy=remedy)
    return list(models.values())


def _labels(own: Own) -> list[tuple[Run, str]]:
    """Every run, with a label that those share which differ in their seed alone."""
    runs = [*own.runs, *(run for study in own.studies for id_ in study.runs["id"] if (run := study.run(id_)))]
    told = settings_of([run.spec for run in runs])
    return [
        (run, f"{run.spec.model} ({_trained_on(run)})" + (f", {words}" if words != "default" else ""))
        for run, words in zip(runs, told, strict=True)
    ]


def _trained_on(run: Run) -> str:
    """The training set in the paper's words, if it is one of its two: drawn when asked for, or from a folder."""
    settings = {key: setting for setting, key in KEYS.items()}
    written = read_json(Path(run.spec.world) / "dataset.json").get("setting", "")
    return SETS.get(settings.get(run.spec.world, written), Path(run.spec.world).name)


def _table(run: Run, name: str) -> list[Any]:
    """What a run measured over steps under this name, if it did."""
    return [run.table(name)] if (run.folder / f"{name}.parquet").is_file() else []


def _p_hat_columns(runs: list[Run], loss: str) -> list[str]:
    """The shares of codes as they are that runs measured, in order."""
    columns = [column for run in runs for table in _table(run, "coat") for column in table]
    own = [column for column in columns if column.startswith(f"{loss}_p_hat_")]
    return [column for column in dict.fromkeys(own) if not column.endswith(("_tidied", "_no_duplicates"))]


def _curve(label: str, runs: list[Run], name: str, column: str) -> Iterator[Curve]:
    """The mean over runs at the steps that all of them have."""
    tables = [table.set_index("step")[column] for run in runs for table in _table(run, name) if column in table]
    if tables:
        steps = sorted(set.intersection(*(set(table.index) for table in tables)))
        values = np.array([table.loc[steps] for table in tables])
        low, high = (values.min(axis=0).tolist(), values.max(axis=0).tolist()) if len(tables) > 1 else ((), ())
        yield Curve(label, steps, values.mean(axis=0).tolist(), low, high)


def _over_seeds(values: Iterable[float], times: float) -> str | None:
    known = np.array([value for value in values if value == value]) * times
    if not len(known):
        return None
    error = f" ± {known.std(ddof=1) / np.sqrt(len(known)):.2f} ({len(known)})" if len(known) > 1 else ""
    return f"{known.mean():.2f}{error}"


def _published(row: Any, value: str, spread: str) -> str | None:
    return None if row[value] is None else f"{row[value]:.2f} ± {row[spread]:.2f}"
