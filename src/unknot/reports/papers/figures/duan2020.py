"""Duan et al. 2020 from one's own study: Tables 1, 2 and 7, Figures 4 to 6, 11 and 12."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from unknot.errors import UnknotError, UnknotWarning
from unknot.metrics.udr import Method, informative
from unknot.metrics.udr import similarity as similarity_of
from unknot.papers import table
from unknot.ranking.model_choice import SIZES, partner_stability
from unknot.ranking.ranking import ROWS, rank
from unknot.reports.kit.charts import Dot, box_plot, heat_map, scatter
from unknot.reports.kit.matrix_chart import matrix_chart
from unknot.reports.kit.page import Cell, Drawing, Gallery, Grid
from unknot.reports.papers.figures.figure import Figure, Pieces, cell, printed
from unknot.reports.papers.figures.own import Lacks, Own, published_world
from unknot.representation import read_representation
from unknot.statistics.correlations import correlation, correlations

PAPER = "duan2020"
VERSIONS: dict[str, Method] = {"udr_l": "lasso", "udr_s": "spearman"}
SCOPES = {"": "setting", "_a2a": "all"}
SUPERVISED = ("beta_vae_score", "factor_vae_score", "mig", "dci")
MOST = 100  # runs that Table 2 compares with each other
DRAWS = 20  # random subsets of partners, as in the paper
FAIRNESS = "fairness.unfairness"


def first(own: Own) -> Pieces:
    """Rank correlation of each version of UDR with MIG, by world and model."""
    versions, mig = _versions(own), own.column("mig")
    published = table(PAPER, "table1").set_index(["dataset", "model", "udr_version"])["value"]
    yield _WHAT
    lines = []
    for (world, model), part in _classes(own):
        line: list[Any] = [world, model, len(part)]
        for name, column in versions.items():
            line.append(cell(correlation(part[column], part[mig], bootstraps=0).r))
            line.append(cell(published.get((published_world(world), model, name))))
        lines.append(line)
    header = ["world", "model", "runs", *(head for name in versions for head in (name, f"{name}, published"))]
    yield Grid(
        header,
        lines,
        "Spearman's correlation with MIG; a gap where fewer than three runs have both.",
        "own table1",
    )


def second(own: Own) -> Pieces:
    """How well UDR agrees with a supervised metric as models are compared with more others."""
    _versions(own)
    metric = own.columns(["beta_vae_score", "mig"])
    name, column = next(iter(metric.items()))
    (world, model), part = max(_classes(own), key=lambda group: (group[0][1] == "beta_vae", len(group[1])))
    part = part[part[column].notna()].head(MOST)
    stability = _stability(own, part, column)
    published = table(PAPER, "table2").set_index("pairwise_comparisons")
    yield (
        f"Rank correlation of UDR-L with {name} over {len(part)} runs of {model} on {world}, all settings together: "
        f"each run is compared with P others drawn at random, {DRAWS} times; ± is the standard deviation over draws."
    )
    lines: list[list[Cell]] = []
    for i, size in enumerate(stability.sizes):
        known: Any = published.loc[size] if size in published.index else {}
        own_value = f"{stability.mean[i]:.2f} ± {stability.std[i]:.2f}"
        lines.append([int(size), own_value, printed(known.get("value"), known.get("spread"))])
    yield Grid(
        ("P", "own", "published"), lines, "Published: beta-VAE on dSprites with the BetaVAE score.", "own table2"
    )


def seventh(own: Own) -> Pieces:
    """Mean rank correlation of each version with supervised metrics, and of these with each other."""
    versions, metrics = _versions(own), own.columns(SUPERVISED)
    published = table(PAPER, "table7").set_index("udr_version")
    found: dict[str, list[float]] = {name: [] for name in (*versions, "")}
    for _, part in _classes(own):
        supervised = list(metrics.values())
        for name, column in versions.items():
            found[name] += [correlation(part[column], part[metric], bootstraps=0).r for metric in supervised]
        if len(supervised) > 1:
            found[""] += correlations(part, supervised, bootstraps=0)["r"].tolist()
    yield _WHAT
    if absent := [name for name in SUPERVISED if name not in metrics]:
        yield f"Without {', '.join(absent)}, which no run was scored by; metrics in the file of the study adds it."
    lines: list[list[Any]] = []
    for name, values in found.items():
        known = np.array([value for value in values if value == value])
        row: Any = published.loc[name] if name in published.index else {}
        own_value = f"{known.mean():.2f} ± {known.std():.2f} ({len(known)})" if len(known) else None
        lines.append([name or "supervised metrics", own_value, printed(row.get("value"), row.get("spread"))])
    caption = "Means over worlds, models and metrics ± standard deviation, how many in brackets."
    yield Grid(("version", "own", "published"), lines, caption, "own table7")


def similarity(own: Own) -> Pieces:
    """How alike single latents of two runs are: of the run that UDR likes best, and of the one it likes least."""
    column = _versions(own)
    name, ranked = next(iter(column.items()))
    rows = own.table[own.table[ranked].notna()].sort_values(ranked, kind="stable")
    yield (
        "The paper explains by these figures how two models are compared. Two runs that disentangle the same factors "
        "have a matrix with one strong cell in each row and column. Rows are the informative latents of the run with "
        f"the highest, and of that with the lowest {name}, columns those of another seed of its setting; by Lasso, and "
        "by Spearman's correlation."
    )
    drawn = False
    for word, row in (("highest", rows.iloc[-1:]), ("lowest", rows.iloc[:1])):
        for id_ in row["id"]:
            drawings = list(_matrices(own, str(id_), word, ranked))
            if drawings:
                drawn = True
                yield Gallery(drawings)
    if not drawn:
        raise Lacks("no two runs of one setting have informative latents", "seeds, with two or more,")


def agreement(own: Own) -> Pieces:
    """Rank correlations of all versions of UDR and all supervised metrics, for each model and world."""
    columns = _versions(own) | own.columns([*SUPERVISED, "sap", "modularity"])
    there = False
    yield "Spearman's correlation over the runs of a model on a world; pale where p is 0.05 or more."
    for (world, model), part in _classes(own):
        varying = {name: part[column] for name, column in columns.items() if part[column].nunique() > 1}
        if len(varying) > 1 and len(part) > 2:
            names = list(varying)
            rho, p = np.full((len(names),) * 2, np.nan), np.full((len(names),) * 2, np.nan)
            for pair in correlations(varying, bootstraps=0).itertuples():
                i, j = names.index(str(pair.first)), names.index(str(pair.second))
                rho[i, j] = rho[j, i] = pair.r
                p[i, j] = p[j, i] = pair.p
            there = True
            yield Drawing(heat_map(names, rho, p), f"{model} on {world}, {len(part)} runs.")
    if not there:
        raise Lacks("no model has three runs on a world", "seeds, or values of an option,")


def tasks(own: Own) -> Pieces:
    """UDR beside the fairness of predictions; the agent of the paper is not here."""
    own.task_results("fairness")
    versions, text = _versions(own), table(PAPER, "text")
    name, column = next(iter(versions.items()))
    average = text[text["quantity"] == "average correlation with fairness"]["value"].iloc[0]
    yield (
        f"UDR beside unfairness, of which less is better: correlations below zero say that UDR finds fair models. The "
        f"paper gives {average} on average, with the sign turned. Its right half, the data efficiency of an agent "
        "(COBRA), needs that agent and cannot be made from a study."
    )
    lines: list[list[Any]] = []
    drawings = []
    for (world, model), part in _classes(own):
        outcome = correlation(part[column], part[FAIRNESS], bootstraps=0)
        lines.append([world, model, len(part), cell(-outcome.r), cell(outcome.p), outcome.note])
        dots = [
            Dot(float(row[FAIRNESS]), f"{row['setting']}, seed {row['seed']}", across=float(row[column]))
            for _, row in part.iterrows()
            if row[column] == row[column]
        ]
        if dots:
            drawings.append(Drawing(scatter(f"{model} on {world}", dots, name, "unfairness")))
    header = ("world", "model", "runs", "Spearman, sign turned", "p", "")
    yield Grid(header, lines, f"{name} and fairness.", "own fairness")
    yield Gallery(drawings)


def by_setting(own: Own) -> Pieces:
    """UDR of the settings of each model."""
    versions = _versions(own)
    name = "udr_s" if "udr_s" in versions else next(iter(versions))
    yield f"{name} by setting; the paper draws beta-VAEs on CelebA and ImageNet so, where nothing but UDR can choose."
    drawings = []
    for (world, model), part in _classes(own):
        rows = [
            (
                str(setting),
                [
                    Dot(float(v), f"{setting}, seed {s}")
                    for v, s in zip(runs[versions[name]], runs["seed"], strict=True)
                ],
            )
            for setting, runs in part.groupby("setting", sort=False)
        ]
        drawings.append(Drawing(box_plot(f"{model} on {world}", rows)))
    yield Gallery(drawings)


FIGURES = (
    Figure("Table 1", "UDR and MIG", first),
    Figure("Table 2", "how many comparisons are needed", second),
    Figure("Table 7", "UDR and supervised metrics", seventh),
    Figure("Figures 4 and 5", "similarity of the latents of two runs", similarity),
    Figure("Figure 6", "rank correlations of UDR and supervised metrics", agreement),
    Figure("Figure 11", "UDR and what a code is good for", tasks),
    Figure("Figure 12", "UDR by setting", by_setting),
)

_WHAT = (
    "udr_l is UDR by Lasso among runs of one setting, udr_s by rank correlation; a2a compares runs of all settings, "
    "here those of all models of a world, in the paper those of a model."
)


def _versions(own: Own) -> dict[str, str]:
    """Version of UDR as the paper calls it -> column."""
    versions: dict[str, str] = {}
    for column in own.table:
        method, _, scope = str(column).rpartition("/")
        for name, word in VERSIONS.items():
            for ending, of in SCOPES.items():
                if method.startswith(f"udr_{word}") and scope == of:
                    versions.setdefault(name + ending, str(column))
    if not versions:
        raise Lacks(
            "the study ranks no runs", "ranking: {methods: [udr_lasso, udr_spearman], scopes: [setting, all]}"
        )
    return dict(sorted(versions.items()))


def _classes(own: Own) -> Iterator[tuple[tuple[str, str], Any]]:
    """World and model -> rows of its runs."""
    for (world, model), part in own.table.groupby(["world", "model"], sort=False):
        yield (str(world), str(model)), part


def _stability(own: Own, part: Any, column: str) -> Any:
    folders = {
        id_: run.latents for id_ in part["id"] if (run := own.run(id_)) is not None and run.latents.is_file()
    }
    numbers = part.set_index("id")[column].reindex(list(folders)).to_numpy()
    try:
        with warnings.catch_warnings(action="ignore", category=UnknotWarning):  # runs without a score are left out
            ranking = rank(dict(folders), groups=["all"] * len(folders), all_to_all=True)
        fewest = int(ranking.compared[ranking.compared > 0].min(initial=len(folders)))
        sizes = SIZES if fewest >= min(SIZES) else range(1, fewest + 1)
        return partner_stability(ranking, numbers, sizes=sizes, draws=DRAWS)
    except UnknotError as error:
        raise Lacks(f"runs cannot be compared ({error})", "seeds, with more of them,") from None


def _matrices(own: Own, id_: str, word: str, column: str) -> Iterator[Drawing]:
    """Similarity of the latents of a run to those of the next of its setting, by both methods."""
    runs = own.table.set_index("id")
    run = runs.loc[id_]
    alike = runs[
        (runs["world"] == run["world"]) & (runs["split"] == run["split"]) & (runs["model"] == run["model"])
    ]
    partners = alike[(alike["setting"] == run["setting"]) & (alike.index != id_) & alike[column].notna()].index
    folders = [own.run(name) for name in (id_, *partners[:1])]
    if len(folders) < 2 or any(folder is None or not folder.latents.is_file() for folder in folders):
        return
    read = [read_representation(folder.latents) for folder in folders if folder is not None]
    for method in VERSIONS.values():
        models = [informative(r.latents[: ROWS[method]], r.kl, method=method) for r in read]
        matrix, _ = similarity_of(*models)
        if matrix.size:
            rows, columns = ([f"z{i}" for i in np.flatnonzero(model.mask)] for model in models)
            chart = matrix_chart(f"{word} UDR, {method}", rows, columns, matrix.tolist(), colour="up")
            who = f"{run['model']}, {run['setting']} on {run['world']}"
            yield Drawing(chart, f"{who}: runs {id_} and {partners[0]}; UDR of the first {run[column]:.2f}.")
