"""Mahon et al. 2024 from one's own study: Tables 2 to 4 and 6 to 8, Figures 1 and 3 to 13."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from unknot.papers import table
from unknot.reports.kit.charts import Dot, hinton, scatter
from unknot.reports.kit.page import Drawing, Gallery, Grid
from unknot.reports.papers.figures.figure import Figure, Pieces, cell, mean_and_spread, printed
from unknot.reports.papers.figures.own import Lacks, Own, published_world
from unknot.reports.papers.mahon_averages import PAPER
from unknot.scoring.kept_scores import kept_records
from unknot.statistics.correlations import correlation
from unknot.tasks.combinations.heads import BOTH
from unknot.worlds.catalogue import conventions

SECOND = {name: name for name in ("snc", "nk", "linear_accuracy", "mlp_accuracy")}
SEVENTH = {
    **{name: name for name in ("snc", "nk", "mig", "sap", "irs", "med")},
    "dci_d": "dci",
    "dci_c": "dci.completeness",
    "dci_i": "dci.informativeness",
}
# Of a metric, the part that has a value for each factor, and what Tables 6 and 8 call products and means of it.
BY_FACTOR = {
    "snc": ("snc", "per_factor"),
    "nk": ("nk", "per_factor"),
    "mig": ("mig", "per_factor"),
    "sap": ("sap", "per_factor"),
    "dci_c": ("dci", "per_factor"),
    "dci_i": ("dci", "informativeness_per_factor"),
}
# Setting in Table 3 -> kind of heads and test rows of the task.
THIRD = {"cg": ("mlp", "novel"), "cg_linear": ("linear", "novel"), "normal_test_set": ("mlp", "random")}
TARGET = f"combinations.mlp_novel_{BOTH}"
DRAWN = 12  # runs whose alignment is drawn


def second(own: Own) -> Pieces:
    """SNC, NK, linear and MLP accuracy."""
    yield from _beside(own, "table2", SECOND)


def third(own: Own) -> Pieces:
    """Accuracy on novel combinations and on random test sets, above chance."""
    results = own.task_results("combinations")
    rows = own.table[own.table["id"].isin(results)]
    left_out = rows["split"].str.startswith("combination")
    yield "Accuracy above chance in percent: mean ± standard deviation over runs, how many in brackets."
    if left_out.any():
        rows = rows[left_out]
    else:
        yield (
            "All models saw all images; only heads have not seen the novel combination. The paper trains models "
            "without it: splits: ['combination:scale=0,shape=0', ...] does so."
        )
    yield (
        "Published as printed, by rules that differ from cell to cell (see Table 3 below); that the paper exchanged "
        "the headings of shape and size is an inference, and undone here."
    )
    published = table(PAPER, "table3").set_index(["dataset", "model", "setting", "factor"])["value"]
    lines = []
    for (world, model), part in rows.groupby(["world", "model"], sort=False):
        size, shape = _pair(world)
        for setting, (heads, test) in THIRD.items():
            line: list[Any] = [world, model, setting]
            for factor, heading in ((shape, "size"), (size, "shape"), (BOTH, "size_and_shape")):
                column = f"combinations.{heads}_{test}_{factor}"
                line.append(mean_and_spread(part[column], 100) if column in part else None)
                line.append(printed(published.get((_dataset(world), model, setting, heading))))
            lines.append(line)
    names = ("shape", "size", "both")
    header = ["world", "model", "test", *(head for name in names for head in (name, f"{name}, published"))]
    yield Grid(header, lines, "", "own table3")


def fourth(own: Own) -> Pieces:
    """Pearson's correlation of each metric with accuracy on novel combinations, over models."""
    values, sixth = _variants(own), table(PAPER, "table6")
    accuracy = _target(own)
    published = {(row.scope, row.metric): row.value for row in sixth.itertuples()}
    published |= {(row.scope, row.metric): row.value for row in table(PAPER, "table4").itertuples()}
    scopes: dict[str, list[Any]] = {}
    for place in accuracy.index:
        scopes.setdefault(place[0], []).append(place)
    if len(scopes) > 1:
        scopes["all_datasets"] = list(accuracy.index)
    yield (
        "A point is a model on a dataset, the mean over its runs; SNC and NK are products over the two factors of the "
        "combination, as in Table 8. By rank too, for one extreme point can make a correlation. With few points p is "
        "large whatever r."
    )
    lines: list[list[Any]] = []
    charts = []
    for scope, places in scopes.items():
        target = accuracy[places]
        for name, of_metric in values.items():
            scores = of_metric.reindex(places)
            if scores.notna().sum() < 3:
                continue
            r = correlation(scores, target, method="pearson", bootstraps=500)
            rank = correlation(scores, target, bootstraps=0)
            ends = [cell(number) for number in (r.low, r.high, r.p)]
            lines.append([scope, name, cell(r.r), *ends, cell(rank.r), r.n, cell(published.get((scope, name)))])
            if name in ("snc", "nk"):
                dots = [Dot(float(target[p]), " ".join(p), across=float(scores[p])) for p in places]
                charts.append(Drawing(scatter(f"{name}, {scope}", dots, name, "novel combinations")))
    if not lines:
        raise Lacks(
            "correlations need three models that were scored and put to the task", "models, with three or more,"
        )
    header = ("over", "metric", "Pearson", "low", "high", "p", "rank", "points", "published")
    yield Grid(header, lines, "Low and high: 95 % interval over resamples of points.", "own table4")
    yield Gallery(charts)


def seventh(own: Own) -> Pieces:
    """Scores of nine metrics over all factors."""
    yield from _beside(own, "table7", SEVENTH)


def eighth(own: Own) -> Pieces:
    """Variants of the metrics that look at the two factors of the combination alone."""
    published: Any = table(PAPER, "table8")
    published["fraction"] = published["value"] / np.where(published["unit"] == "percent", 100, 1)
    printed_values = published.set_index(["dataset", "model", "metric"])["fraction"]
    variants = _variants(own)
    lines = [
        [dataset, model, name, cell(value), cell(printed_values.get((dataset, model, name)))]
        for name, values in variants.items()
        for (dataset, model), value in values.items()
    ]
    yield (
        "2p: the product over the two factors of the published combinations (such as size and shape), 2m: their mean; "
        "without either, over all factors, but for SNC and NK, which are products in this table. Means over runs."
    )
    yield Grid(("dataset", "model", "metric", "own", "published"), lines, "", "own table8")


def alignments(own: Own) -> Pieces:
    """Two factors whose best latent is the same one, and the latents that they get when each has its own."""
    yield (
        "MIG, SAP and DCI take the best latent of each factor, which may be the same for two; SNC and NK give each a "
        "latent of its own. Runs with two factors on one latent, as in the figures; latents count from 0. In the "
        "charts the area of a square is what a latent knows of a factor."
    )
    lines: list[list[Any]] = []
    charts: list[Drawing] = []
    runs = 0
    for row in own.table.itertuples():
        run = own.run(row.id)
        record = next((r for r in kept_records(run) if r.get("information_shares")), None) if run else None
        if record is None:
            continue
        runs += 1
        shares = np.array(record["information_shares"], dtype=np.float64)
        shared = list(_shared(shares, record["alignment"]))
        lines += [[row.world, row.model, f"{row.setting}, seed {row.seed}", *pair] for pair in shared]
        if shared and len(charts) < DRAWN:
            names = list(record["alignment"])
            charts.append(
                Drawing(hinton(shares, names), f"{row.world}: {row.model}, {row.setting}, seed {row.seed}.")
            )
    if not runs:
        raise Lacks("no run has scores by labels", "metrics: [snc]")
    header = ("world", "model", "run", "factor a", "factor b", "best latent of both", "own latent of a", "of b")
    yield f"{len({tuple(line[:3]) for line in lines})} of {runs} runs have such a pair of factors."
    if lines:
        yield Grid(header, lines, "", "own alignments")
        yield Gallery(charts)


FIGURES = (
    Figure("Table 2", "SNC, NK, linear and MLP accuracy", second),
    Figure("Table 3", "novel combinations", third),
    Figure("Tables 4 and 6", "which metrics foretell accuracy on novel combinations", fourth),
    Figure("Table 7", "scores over all factors", seventh),
    Figure("Table 8", "scores over two factors", eighth),
    Figure("Figures 1 and 3 to 13", "factors that share a latent", alignments),
)


def _dataset(world: str) -> str:
    """What the paper calls a world."""
    return "mpi3d" if world.startswith("mpi3d") else published_world(world)


def _pair(world: str) -> tuple[str, str]:
    """The factors of the published combinations of a world: size, then shape."""
    published = conventions(world).combinations
    if not published:
        raise Lacks(f"the paper has no combinations of {world}", "worlds: [dsprites, shapes3d, mpi3d_toy]")
    first, second = published[0]
    return first, second


def _scored(own: Own) -> Any:
    """Runs that saw all images; all of them if none did."""
    whole = own.table[own.table["split"] == ""]
    return whole if len(whole) else own.table


def _beside(own: Own, name: str, metrics: Mapping[str, str]) -> Pieces:
    """Own scores in percent beside a published table of dataset, model and metric."""
    columns = own.columns(list(metrics.values()))
    published: Any = table(PAPER, name).set_index(["dataset", "model", "metric"])
    there = {label: columns[metric] for label, metric in metrics.items() if metric in columns}
    lines = []
    for (world, model), part in _scored(own).groupby(["world", "model"], sort=False):
        line: list[Any] = [world, model]
        for label, column in there.items():
            place = (_dataset(world), model, label)
            known: Any = published.loc[place] if place in published.index else {}
            text = printed(known.get("value"), known.get("spread"))
            line += [mean_and_spread(part[column], 100), text]
        lines.append(line)
    yield "In percent: mean ± standard deviation over runs, how many in brackets; published as printed."
    if absent := [metric for metric in metrics.values() if metric not in columns]:
        words = ", ".join(absent)
        yield f"No run was scored by {words}; metrics: [{words}] in the file of the study adds it."
    header = ["world", "model", *(head for label in there for head in (label, f"{label}, published"))]
    yield Grid(header, lines, "", f"own {name}")


def _target(own: Own) -> Any:
    """(dataset, model) -> accuracy on novel combinations above chance, the mean over runs."""
    own.task_results("combinations")
    rows = own.table[own.table[TARGET].notna()]
    left_out = rows["split"].str.startswith("combination")
    rows = rows[left_out] if left_out.any() else rows
    return (
        rows.assign(dataset=rows["world"].map(_dataset)).groupby(["dataset", "model"], sort=False)[TARGET].mean()
    )


def _variants(own: Own) -> dict[str, Any]:
    """Name in Table 8 -> (dataset, model) -> value, the mean over runs."""
    import pandas as pd

    rows = []
    for run in _scored(own).itertuples():
        folder = own.run(run.id)
        records = kept_records(folder) if folder else []
        scores = {
            id_.partition("[")[0]: score for record in reversed(records) for id_, score in record["scores"].items()
        }
        rows.append({"dataset": _dataset(run.world), "model": run.model, **_of_run(scores, _pair(run.world))})
    values = pd.DataFrame(rows)
    if len(values.columns) <= 2:
        raise Lacks("no run was scored by a metric of the table", f"metrics: [{', '.join(BY_FACTOR)}]")
    means = values.groupby(["dataset", "model"], sort=False).mean()
    return {str(name): means[name].dropna() for name in means}


def _of_run(scores: Mapping[str, Any], pair: Sequence[str]) -> dict[str, float]:
    """The variants of one run."""
    values: dict[str, float] = {}
    for name, (metric, part) in BY_FACTOR.items():
        if metric not in scores or part not in scores[metric]["parts"]:
            continue
        parts = scores[metric]["parts"]
        by_factor = dict(zip(parts["factor_names"], parts[part], strict=True))
        two = [float(by_factor[factor]) for factor in pair if by_factor.get(factor) is not None]
        if len(two) == 2:
            product, mean = float(np.prod(two)), float(np.mean(two))
            values |= {name: product} if name in ("snc", "nk") else {f"{name}_2p": product, f"{name}_2m": mean}
    for name in ("mig", "sap", "irs", "med"):
        if name in scores:
            values[name] = float(scores[name]["value"])
    if "dci" in scores:
        d, parts = scores["dci"]["value"], scores["dci"]["parts"]
        values |= {"dci_d": d, "dci_c": parts["completeness"], "dci_i": parts["informativeness"]}
        values["dci"] = float(np.mean([values[name] for name in ("dci_d", "dci_c", "dci_i")]))
    return values


def _shared(shares: Any, alignment: Mapping[str, int | None]) -> Iterator[tuple[str, str, int, Any, Any]]:
    """Pairs of factors whose best latent is the same: their names, that latent, and the latent of each of its own."""
    best, names = shares.argmax(axis=0).tolist(), list(alignment)
    for i, first in enumerate(names):
        for j, second in enumerate(names[:i]):
            if best[i] == best[j]:
                yield second, first, best[i], alignment[second], alignment[first]
