"""Van Steenkiste et al. 2019 from one's own study: Figures 2 to 20, and results of reasoners on other inputs."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from unknot.errors import UnknotError
from unknot.progress import silent
from unknot.reports.kit.charts import Dot, box_plot, heat_map, scatter
from unknot.reports.kit.page import Cell, Content, Drawing, Gallery, Grid, Picture
from unknot.reports.kit.step_charts import Curve, step_curves
from unknot.reports.papers.figures.figure import Figure, Pieces, cell, mean_and_spread
from unknot.reports.papers.figures.own import Lacks, Own, published_world
from unknot.reports.papers.vansteenkiste2019 import figure8
from unknot.statistics.correlations import correlation, correlations
from unknot.tasks.reasoning.curves import accuracies_of
from unknot.tasks.reasoning.options import WHO
from unknot.tasks.reasoning.page import LEAST, SHORTCUTS, study_section
from unknot.tasks.reasoning.task import REASONING
from unknot.tasks.result import TaskResult
from unknot.worlds.puzzles.puzzles import CHANCE, Relations

REASONERS = 30  # of the paper for each input that is not learnt
STEPS = (1_000, 5_000, 10_000, 100_000)  # of the scatter plots of the paper
# Name in Figure 8 -> metric, in the order of the paper; the reconstruction error is read from the runs.
METRICS = {
    "beta_vae_score": "beta_vae_score",
    "factor_vae_score": "factor_vae_score",
    "mig": "mig",
    "dci_disentanglement": "dci",
    "sap": "sap",
    "gbt10000": "gbt_accuracy",
    "lr10000": "lr_accuracy",
}
RECONSTRUCTION = "reconstruction"
INPUTS = ("onehot", "integer", "cnn")
FIXED: tuple[Relations, ...] = (1, 2, 3)  # factors in each row of a puzzle


def inputs(own: Own) -> Pieces:
    """Accuracy over training for each kind of input, all reasoners on one chart."""
    worlds: dict[str, dict[str, list[TaskResult]]] = {}
    for _, result in own.all_results(WHO):
        kind = str(result.settings.get("input", "representation"))
        worlds.setdefault(result.world, {}).setdefault(kind, []).append(result)
    if not worlds:
        raise Lacks(f"no run was put to the task {WHO}", f"tasks: {{{WHO}: {{draws: 10, search: paper}}}}")
    yield (
        f"The mean over reasoners of all representations, and over those of each input that is not learnt; bands hold "
        f"the middle half. The paper has {REASONERS} reasoners for each of these inputs, ten for each representation."
    )
    for world, kinds in worlds.items():
        curves = []
        lines: list[list[Cell]] = []
        for i, (kind, results) in enumerate(kinds.items()):
            steps, values = _reasoners(results)
            low, high = np.quantile(values, [0.25, 0.75], axis=0).tolist()
            curves.append(Curve(kind, steps, values.mean(axis=0).tolist(), low, high, dashes=i))
            last = mean_and_spread(values[:, -1], digits=3)
            lines.append([kind, len(results), len(values), last, int(steps[-1])])
        shortcuts = next(iter(kinds.values()))[0].values
        references = {words: shortcuts[name] for name, words in SHORTCUTS.items() if name in shortcuts}
        chart = step_curves(world, curves, references=references | {"chance": CHANCE}, bounds=(0.1, 1.0))
        yield Gallery([Drawing(chart, "Grey: what needs no learning.")])
        header = ("input", "results", "reasoners", "accuracy at the end", "steps")
        yield Grid(header, lines, f"{world}: mean ± standard deviation over reasoners.", f"own inputs {world}")
        if absent := [kind for kind in INPUTS if kind not in kinds]:
            yield (
                f"{world}: no reasoner saw {', '.join(absent)}. unknot task {WHO} --world {world} --input {absent[0]} "
                f"--draws {REASONERS} -o FOLDER teaches them; name FOLDER with another --study."
            )


def over_training(own: Own) -> Pieces:
    """What scores tell about accuracy at each step: correlations, quarters, halves, best and worst half."""
    results, there = own.task_results(WHO), False
    for world, rows in _worlds(own):
        ids = [id_ for id_ in rows["id"] if id_ in results]
        if len(ids) >= LEAST:
            there = True
            section = study_section(
                _scores(own, rows[rows["id"].isin(ids)]), *accuracies_of([results[i] for i in ids])
            )
            yield f"{world}: {section.paragraphs[0]}"
            yield from section.parts
    if not there:
        raise Lacks(
            f"fewer than {LEAST} representations of a world were put to the task", "seeds, or values of options,"
        )


def reconstructions(own: Own) -> Pieces:
    """Reconstruction errors by model, and what the best, the middle and the worst run make of images."""
    pictures: list[Content] = []
    for world, rows in _worlds(own):
        known = rows.assign(error=_errors(own, rows)).dropna(subset=["error"]).sort_values("error", kind="stable")
        if not len(known):
            continue
        boxes = [
            (
                str(model),
                [Dot(float(e), f"{model}, {s}") for e, s in zip(runs["error"], runs["setting"], strict=True)],
            )
            for model, runs in known.groupby("model", sort=False)
        ]
        chart = Drawing(box_plot("reconstruction error", boxes), f"{world}, at the end of training.")
        pictures.append(Gallery([chart]))
        places = {0: "best", len(known) // 2: "middle", len(known) - 1: "worst"}
        for place, word in places.items():
            row = known.iloc[place]
            run = own.run(str(row["id"]))
            if run is not None and run.picture("reconstructions").is_file():
                who = f"{row['model']}, {row['setting']}"
                caption = f"{world}, {word} by reconstruction error ({row['error']:.1f}): {who}."
                pictures.append(Picture(run.picture("reconstructions").read_bytes(), caption))
    if not pictures:
        raise Lacks("no model of the study reconstructs its input", "models, with a VAE,")
    yield (
        "The error at the end of training, which training minimised among other things, by model; a dot is a run. Then "
        "images of training, and below each what the best, the middle and the worst run make of it."
    )
    yield from pictures


def agreement(own: Own) -> Pieces:
    """Rank correlation of metrics with each other and with the reconstruction error, beside the published ones."""
    yield "Spearman's correlation over representations of a world; pale where p is 0.05 or more; errors as they are."
    for world, rows in _worlds(own):
        scores = _scores(own, rows)
        names = [name for name in scores if scores[name].nunique() > 1]
        if len(names) < 2:
            continue
        pairs: Any = correlations(scores, names, bootstraps=0)
        rho, p = np.full((len(names),) * 2, np.nan), np.full((len(names),) * 2, np.nan)
        for pair in pairs.itertuples():
            i, j = names.index(str(pair.first)), names.index(str(pair.second))
            rho[i, j] = rho[j, i] = pair.r
            p[i, j] = p[j, i] = pair.p
        yield Drawing(heat_map(names, rho, p), f"{world}, {len(rows)} representations of one's own.")
        published = _figure8(published_world(world))
        lines = [
            [r.first, r.second, cell(r.r), cell(r.p), int(r.n), cell(published.get((str(r.first), str(r.second))))]
            for r in pairs.itertuples()
        ]
        header = ("metric", "and", "own", "p", "representations", "published")
        yield Grid(header, lines, f"{world}.", f"own figure8 {world}")
        if absent := [name for name in (*METRICS, RECONSTRUCTION) if name not in names]:
            words = f"{world}: without {', '.join(absent)}, which no run has or all share"
            yield f"{words}; metrics in the file of the study adds it."


def distributions(own: Own) -> Pieces:
    """Scores of all representations by model."""
    yield "A dot is a representation; boxes hold the middle half of those of a model, all settings together."
    for world, rows in _worlds(own):
        scores = _scores(own, rows)
        drawings = []
        for name in scores:
            values = scores[name].to_numpy()
            boxes = [
                (model, [Dot(float(v), model) for v in values[(rows["model"] == model).to_numpy()] if v == v])
                for model in dict.fromkeys(rows["model"])
            ]
            drawings.append(Drawing(box_plot(str(name), boxes), f"{world}."))
        yield Gallery(drawings)


def scatters(own: Own) -> Pieces:
    """Each score beside accuracy, early in training and late."""
    results = own.task_results(WHO)
    for world, rows in _worlds(own):
        rows = rows[rows["id"].isin(results)]
        accuracies, steps = accuracies_of([results[id_] for id_ in rows["id"]])
        shown = [t for t, step in enumerate(steps) if step in STEPS] or _spread_out(len(steps))
        if absent := [step for step in STEPS if step not in steps]:
            words = ", ".join(f"{step:,}" for step in absent)
            yield (
                f"{world}: accuracy is not known after {words} steps, which the paper draws; steps: {max(STEPS)} and "
                f"at: {list(STEPS)} of the task {WHO} give them."
            )
        drawings = []
        for name, values in _scores(own, rows).items():
            for t in shown:
                dots = [
                    Dot(float(a), f"{model}, {setting}", across=float(v))
                    for a, v, model, setting in zip(
                        accuracies[:, t], values, rows["model"], rows["setting"], strict=True
                    )
                ]
                r = correlation(values, accuracies[:, t], bootstraps=0)
                caption = (
                    f"{world}: rank correlation {r.r:.2f}, p = {r.p:.2g}." if r.r == r.r else f"{world}: {r.note}."
                )
                drawings.append(
                    Drawing(scatter(f"after {steps[t]:,} steps", dots, str(name), "accuracy"), caption)
                )
        yield Gallery(drawings)


def puzzles(own: Own) -> Pieces:
    """Puzzles in which one, two and three factors are fixed along rows, with their answers, the right one marked."""
    results = own.task_results(WHO)
    shown = {result.world: result for result in results.values()}
    yield (
        "Three rows of panels, the last panel of which is asked for, and six answers; the right one is marked. Drawn "
        "as the puzzles of the study were, with one, two and three factors that stay the same along each row."
    )
    for world, result in shown.items():
        kept = ("alternatives", "reject_distinct", "classes")
        options = {name: result.settings[name] for name in kept if name in result.settings}
        try:
            source = REASONING.source_of(None, world)
            for fixed in FIXED:
                chosen = REASONING.options(input="onehot", solved=True, relations=fixed, **options)
                if REASONING.preview is not None:
                    drawn = REASONING.preview(source, chosen, silent)
                    yield Picture.of(drawn, f"{world}: {fixed} factor{'s' * (fixed != 1)} fixed in each row.")
        except UnknotError as error:
            yield f"{world}: no puzzles are drawn ({error})"


FIGURES = (
    Figure("Figures 2 and 11", "accuracy over training, by what a reasoner sees", inputs),
    Figure("Figures 3 to 6 and 14 to 17", "which scores foretell how fast reasoning is learnt", over_training),
    Figure("Figure 7", "reconstruction errors, and reconstructions", reconstructions),
    Figure("Figure 8", "rank correlation of metrics", agreement),
    Figure("Figures 9 and 10", "scores by model", distributions),
    Figure("Figures 12 and 13", "scores beside accuracy", scatters),
    Figure("Figures 18 to 20", "puzzles with one, two and three fixed factors", puzzles),
)


def _reasoners(results: Sequence[TaskResult]) -> tuple[list[float], Any]:
    """Steps that all reasoners have, and the accuracy (m, t) of each reasoner there."""
    curves: list[dict[float, float]] = []
    for result in results:
        by_draw: dict[Any, dict[float, float]] = {}
        for row in result.tables["curve"]:
            by_draw.setdefault(row["draw"], {})[float(row["step"] or 0)] = float(row["accuracy"] or 0)
        curves += by_draw.values()
    steps = sorted(set.intersection(*(set(curve) for curve in curves)))
    return steps, np.array([[curve[step] for step in steps] for curve in curves])


def _worlds(own: Own) -> Iterator[tuple[str, Any]]:
    for world, rows in own.table.groupby("world", sort=False):
        yield str(world), rows


def _scores(own: Own, rows: Any) -> Any:
    """One row a run: the metrics of Figure 8 that there are, and the reconstruction error."""
    import pandas as pd

    columns = own.columns(list(METRICS.values()))
    scores = {name: rows[columns[metric]].to_numpy() for name, metric in METRICS.items() if metric in columns}
    return pd.DataFrame(scores | {RECONSTRUCTION: _errors(own, rows)})


def _errors(own: Own, rows: Any) -> list[float]:
    runs = [own.run(id_) for id_ in rows["id"]]
    return [np.nan if run is None else run.reconstruction_error for run in runs]


def _figure8(dataset: str) -> dict[tuple[str, str], float]:
    names, rho = figure8(dataset)
    return {(a, b): float(rho[i, j]) for i, a in enumerate(names) for j, b in enumerate(names)}


def _spread_out(n: int) -> list[int]:
    """At most four places among n, the first and the last among them."""
    return sorted({int(i) for i in np.linspace(0, n - 1, min(4, n))})
