"""Schott et al. 2022 from one's own study: Tables 5 to 10, Figures 4 to 7, 11 and 13 to 18."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from unknot.reports.kit.charts import Dot, box_plot, scatter
from unknot.reports.kit.matrix_chart import matrix_chart
from unknot.reports.kit.page import Drawing, Gallery, Grid, Picture
from unknot.reports.kit.split_chart import histogram
from unknot.reports.leaderboard import board_of
from unknot.reports.papers.figures.figure import Figure, Pieces, cell, mean_and_spread, printed
from unknot.reports.papers.figures.own import Lacks, Own
from unknot.reports.papers.figures.schott2022_probe import pictures_of, probe_of
from unknot.reports.papers.schott2022 import r2 as published_r2
from unknot.statistics.correlations import correlations
from unknot.tasks.generalisation.error_similarity import comparable, error_similarity
from unknot.tasks.generalisation.options import KINDS, WHO
from unknot.tasks.generalisation.page import similarity_chart
from unknot.tasks.generalisation.split_errors import constant_baselines
from unknot.tasks.result import TaskResult, as_number

BIN = 0.1  # width of the bins of ratios
TOP = 3.0  # the last of them holds all ratios from here on
OF_SPLIT = ("r2", "r2_clipped", "r2_id", "constant_id", "r2_ood", "constant_ood", "constant_train_mean")


def tables(own: Own) -> Pieces:
    """Model by split, mean ± standard deviation over seeds, beside what the paper prints."""
    rows, how = _chosen(own)
    yield (
        "R² in percent: mean ± standard deviation over runs, how many in brackets; published is what the table of the "
        "dataset prints, on its images and not on a rendered stand-in."
    )
    yield from how
    for (dataset, world), part in rows.groupby(["dataset", "world"], sort=False):
        splits = _ordered(part["split"])
        cells = []
        for label, of_model in part.groupby("label", sort=False):
            line: list[Any] = [label]
            for split in splits:
                line.append(mean_and_spread(of_model[of_model["split"] == split]["r2"], 100))
                line.append(_printed().get((dataset, split, of_model["model"].iloc[0])))
            cells.append(line)
        constant = part.groupby("split")["constant_train_mean"].first()
        cells.append(
            ["always the training mean", *(c for s in splits for c in (f"{100 * constant[s]:.1f}", None))]
        )
        header = ["model", *(head for split in splits for head in (split, f"{split}, published"))]
        yield Grid(header, cells, f"{world} beside {dataset}.", f"own r2 {world}")
        if absent := [kind for kind in KINDS if kind not in splits]:
            yield f"{world}: no run was trained inside {', '.join(absent)}; splits: [{', '.join(KINDS)}] has all."


def by_split(own: Own) -> Pieces:
    """R² of every run by model, for each world and split; as it is, and with no factor below 0."""
    rows, _ = _chosen(own)
    yield "A dot is a run. The paper draws no factor below 0 (the first chart of each split); the second is as it is."
    for (dataset, world, split), part in _groups(rows, "dataset", "world", "split"):
        charts = [Drawing(box_plot(f"{split}: no factor below 0", _boxes(part, "r2_clipped")), f"{world}.")]
        boxes = _boxes(part, "r2")
        for label, model in dict(zip(part["label"], part["model"], strict=True)).items():
            if (text := _printed().get((dataset, split, model))) is not None:
                value = float(text.split()[0]) / 100
                boxes.append((f"{label}, published", [Dot(value, f"published: {text} %")]))
        charts.append(Drawing(box_plot(f"{split}: R²", boxes), f"{world}, beside {dataset} as published."))
        yield Gallery(charts)


def modularity(own: Own) -> Pieces:
    """R² of the one factor with an unseen value and of all others, beside the random split and constants."""
    rows, _ = _chosen(own)
    unseen = rows[rows["r2_ood"].notna()]
    if not len(unseen):
        raise Lacks(
            "no run was tested where exactly one factor is unseen", "splits: [interpolation, extrapolation]"
        )
    yield (
        "On test images with exactly one unseen value: R² of that factor (OOD) and of all others (ID). A modular model "
        "keeps the others as good as on the random split."
    )
    for (_, world, split), part in _groups(unseen, "dataset", "world", "split"):
        lines = []
        boxes: list[tuple[str, list[Dot]]] = []
        for label, of_model in part.groupby("label", sort=False):
            ids = rows[(rows["world"] == world) & (rows["label"] == label) & (rows["split"] == "random")]
            for name, values in (
                ("random", ids["r2"]),
                ("ID", of_model["r2_id"]),
                ("OOD", of_model["r2_ood"]),
            ):
                if len(values):
                    boxes.append((f"{label}, {name}", [Dot(float(v), f"{label}, {name}") for v in values]))
            numbers = [mean_and_spread(values, digits=3) for values in (ids["r2"], of_model["r2_id"])]
            constants = [cell(of_model[name].mean()) for name in ("constant_id", "constant_ood")]
            lines.append(
                [label, *numbers, constants[0], mean_and_spread(of_model["r2_ood"], digits=3), constants[1]]
            )
        yield Gallery([Drawing(box_plot(f"{split}, one factor unseen", boxes), f"{world}.")])
        header = ("model", "random split", "ID factors", "constant: ID", "OOD factor", "constant: OOD")
        yield Grid(header, lines, f"{world}, {split}.", f"own modularity {world} {split}")


def towards_the_mean(own: Own) -> Pieces:
    """How far predictions of unseen values go from the mean, relative to how far they should; pooled over runs."""
    yield (
        "|f - mean| / |y - mean| of the unseen factor, over all runs and factors: 1 is right, below it predictions are "
        "drawn to the mean. By the mean of the training part, and by that of the whole dataset; the paper does not say "
        "which it took. From the 500 test images whose predictions every result keeps."
    )
    there = False
    for world, results in _by_world(own):
        probes = [probe for result in results if (probe := probe_of(result, "extrapolation")) is not None]
        if not probes:
            continue
        split = probes[0].split
        means = {
            "training part": constant_baselines(split).train_mean,
            "whole dataset": np.where(split.space.sizes > 1, 0.5, 0.0),
        }
        drawings = []
        for name, mean in means.items():
            pooled = np.concatenate([probe.ratios(mean) for probe in probes])
            starts = np.arange(0, TOP + BIN / 2, BIN)
            counts = np.bincount((np.minimum(pooled, TOP) / BIN).astype(int), minlength=len(starts))
            chart = histogram(f"by the mean of the {name}", starts.tolist(), counts.tolist(), BIN, 1.0)
            short = 100 * float((pooled <= 1).mean())
            words = f"{world}, {len(probes)} runs: {short:.0f} % go no further than they should; the median is "
            drawings.append(Drawing(chart, f"{words}{np.median(pooled):.2f}."))
        there = True
        yield Gallery(drawings)
    if not there:
        raise Lacks("no run was tested beyond the values of training", "splits: [extrapolation]")


def disentanglement(own: Own) -> Pieces:
    """Spearman's correlation of DCI, and of the other metrics, with R² in each split."""
    rows = _r2_rows(own)
    own.column("dci")
    columns = [
        measure.column
        for measure in (measure for study in own.studies for measure in study.measures)
        if measure.counted and not measure.column.startswith("r2")
    ]
    columns = [name for name in dict.fromkeys(columns) if name in own.table]
    scored = rows.merge(own.table[["id", *columns]], on="id")
    yield (
        "Over the runs of a world and split that were scored. Published: p below 0.01 everywhere but for composition "
        "on Shapes3D (0.14); the correlations themselves stand in the figure only."
    )
    lines: list[list[Any]] = []
    for (_, world, split), part in _groups(scored, "dataset", "world", "split"):
        related: Any = correlations(part, columns, ["r2"], bootstraps=500)
        for row in related.itertuples():
            ends = [cell(row.low), cell(row.high)]
            lines.append([world, split, row.first, cell(row.r), *ends, cell(row.p), int(row.n), row.note])
    header = ("world", "split", "metric", "Spearman", "low", "high", "p", "runs", "")
    yield Grid(header, lines, "Low and high: 95 % interval over resamples of runs.", "own disentanglement")


def by_factor(own: Own) -> Pieces:
    """R² of each factor, the mean over the runs of a model."""
    import pandas as pd

    rows, _ = _chosen(own)
    results = own.task_results(WHO)
    factors = pd.DataFrame(
        [
            {"id": id_, "split": row["split"], "factor": row["factor"], "of_factor": as_number(row["r2"])}
            for id_, result in results.items()
            for row in result.tables.get("factors", [])
        ]
    )
    joined = rows.merge(factors, on=["id", "split"])
    for (_, world, split), part in _groups(joined, "dataset", "world", "split"):
        wide = part.pivot_table(index="label", columns="factor", values="of_factor", sort=False)
        names = [str(name) for name in wide.index], [str(name) for name in wide.columns]
        chart = matrix_chart(f"{split}: R² by factor", *names, wide.to_numpy().tolist(), colour="up")
        yield Drawing(chart, f"{world}; the mean over the runs of a model.")


def predictions(own: Own) -> Pieces:
    """What the first run of each model says of single images, beside what is true."""
    yield (
        "Predictions by truth, both from 0 (first class) to 1 (last class), for the first run of each model: of the "
        "unseen factor where there is exactly one, else of all factors. In pictures: test images, and below each the "
        "image of the classes nearest to what was predicted."
    )
    results = own.task_results(WHO)
    rows, _ = _chosen(own)
    first = rows.sort_values("seed", kind="stable").drop_duplicates(["world", "split", "label"])
    for (_, world, split), part in _groups(first, "dataset", "world", "split"):
        drawings: list[Drawing] = []
        pictures: list[Picture] = []
        for row in part.itertuples():
            probe = probe_of(results[row.id], split, all_factors=True)
            if probe is None:
                continue
            drawings.append(
                Drawing(scatter(f"{split}: {row.label}", probe.dots(), "truth", "predicted"), f"{world}.")
            )
            pictures += pictures_of(world, probe, f"{world}, {split}: {row.label}, run {row.id}.")
        if drawings:
            yield Gallery(drawings)
        yield from pictures


def similarity(own: Own) -> Pieces:
    """How alike architectures predict the one unseen factor, and how alike the truth."""
    there = False
    yield (
        "Pearson's correlation of predictions of the one factor that is unseen, over test images with exactly one: the "
        "mean over pairs of runs of two architectures, never of a run with itself, and of each with the truth."
    )
    for world, results in _by_world(own):
        for split, group, kinds in comparable(results):
            if "ood" in kinds:
                there = True
                yield replace(
                    chart := similarity_chart(error_similarity(group, split)), caption=f"{world}. {chart.caption}"
                )
    if not there:
        raise Lacks(
            "no two runs were tested on unseen values", "splits: [extrapolation], with two seeds or models,"
        )


FIGURES = (
    Figure("Tables 5 to 10", "R² by model and split", tables),
    Figure("Figures 4 and 11", "R² on every split", by_split),
    Figure("Figures 5 and 14", "extrapolation, interpolation and modularity", modularity),
    Figure("Figure 6", "extrapolation towards the mean", towards_the_mean),
    Figure("Figure 7", "disentanglement and R²", disentanglement),
    Figure("Figure 13", "R² of single factors", by_factor),
    Figure("Figures 15, 16 and 18", "predictions beside the truth", predictions),
    Figure("Figure 17", "how alike models are", similarity),
)


def _r2_rows(own: Own) -> Any:
    """One row a run and split it was tested on: id, dataset, world, model, setting, seed, split, and its numbers."""
    import pandas as pd

    about = own.table.set_index("id")
    rows = []
    for id_, result in own.task_results(WHO).items():
        run = about.loc[id_]
        tuned = (
            "option.weights" in about and isinstance(run["option.weights"], str) and bool(run["option.weights"])
        )
        names = {"model": run["model"] + ("_pretrained" if tuned else ""), "world": run["world"]}
        for row in result.tables.get("splits", []):
            numbers = {name: as_number(row[name]) for name in OF_SPLIT}
            rows.append({"id": id_, **names, "setting": run["setting"], "seed": run["seed"], **row, **numbers})
    boards = {world: board_of(world) for world in about["world"].unique()}
    return pd.DataFrame(rows).assign(dataset=lambda rows: rows["world"].map(boards))


def _chosen(own: Own) -> tuple[Any, list[str]]:
    """Rows of the setting of each model with the highest DCI on the training part, split by split; and how."""
    import pandas as pd

    rows = _r2_rows(own)
    dci = None
    if any(name.partition("[")[0] == "dci" for name in own.table):
        dci = own.table.set_index("id")[own.column("dci")]
    kept, unclear = [], []
    chosen: dict[str, list[str]] = {}
    for (world, split, model), part in rows.groupby(["world", "split", "model"], sort=False):
        label = part["model"]
        if part["setting"].nunique() > 1:
            scores = part.assign(dci=np.nan if dci is None else dci.reindex(part["id"]).to_numpy())
            by_setting = scores.groupby("setting")["dci"].mean()
            if by_setting.notna().all():
                setting = by_setting.idxmax()
                part = part[part["setting"] == setting]
                chosen.setdefault(model, []).append(f"{setting} ({world}, {split})")
                label = part["model"]
            else:
                unclear.append(model)
                label = part["model"] + ", " + part["setting"]
        kept.append(part.assign(label=label))
    texts = [
        f"Of the settings of {model} the one with the highest DCI on the training part is shown: {', '.join(settings)}."
        for model, settings in chosen.items()
    ]
    if unclear:
        texts.append(
            f"{', '.join(dict.fromkeys(unclear))}: all settings are shown, for nothing chooses among them; metrics: "
            "[dci] in the file of the study does."
        )
    return pd.concat(kept, ignore_index=True), texts


@cache
def _printed() -> dict[tuple[str, str, str], str | None]:
    """Dataset, split and model -> what the paper prints."""
    return {
        (row.dataset, row.split, row.model): printed(row.value, row.spread) for row in published_r2().itertuples()
    }


def _boxes(part: Any, column: str) -> list[tuple[str, list[Dot]]]:
    return [
        (
            str(label),
            [Dot(float(v), f"{label}, seed {seed}") for v, seed in zip(rows[column], rows["seed"], strict=True)],
        )
        for label, rows in part.groupby("label", sort=False)
    ]


def _groups(rows: Any, *columns: str) -> Iterator[tuple[Any, Any]]:
    """Groups of rows, worlds as they come, splits in the order of the paper."""
    order = {split: i for i, split in enumerate(_ordered(rows["split"]))}
    by_place = rows.assign(place=rows["split"].map(order)).sort_values("place", kind="stable")
    yield from by_place.groupby(list(columns), sort=False)


def _ordered(splits: Any) -> list[str]:
    there = list(dict.fromkeys(splits))
    return [kind for kind in KINDS if kind in there] + [name for name in there if name not in KINDS]


def _by_world(own: Own) -> Iterator[tuple[str, list[TaskResult]]]:
    results = own.task_results(WHO).values()
    for world in dict.fromkeys(result.world for result in results):
        yield world, [result for result in results if result.world == world]
