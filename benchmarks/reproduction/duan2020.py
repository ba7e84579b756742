"""Does a ranking without labels agree with the metrics that need them?"""

from pathlib import Path
from typing import TYPE_CHECKING

from reproduce import correlated, table

if TYPE_CHECKING:
    from pandas import DataFrame

METRICS = {
    "beta_vae_score": "BetaVAE",
    "factor_vae_score": "FactorVAE",
    "mig": "MIG",
    "dci": "DCI",
    "fairness.unfairness": "unfairness",
}


def run(folder: Path, jobs: int) -> str:
    """The 90 short runs."""
    return agreement(Path(__file__).with_suffix(".yaml"), folder, jobs)


def agreement(study: Path | str, folder: Path, jobs: int) -> str:
    """How rankings go with metrics over the runs of a study, and what one would have kept."""
    from rich.console import Console

    from unknot.studies.folder import StudyFolder
    from unknot.studies.live import shown
    from unknot.studies.plan import plan_study
    from unknot.studies.results import results
    from unknot.studies.spec import read_spec
    from unknot.studies.study import run_study

    with shown(Console(stderr=True)) as progress:
        run_study(plan_study(read_spec(study)), folder, jobs=jobs, progress=progress)
    wide = results(StudyFolder(folder))
    rows = [
        {"runs of": name, **row}
        for name, runs in [("all models", wide), *wide.groupby("model")]
        for row in _correlations(runs)
    ]
    return table(rows) + "\n" + table(_picks(wide))


def _correlations(runs: "DataFrame") -> list[dict[str, object]]:
    """Spearman's correlation of each ranking with each metric, with a 95 % interval by resampling runs."""
    rows = []
    for ranking in (name for name in runs.columns if name.startswith("udr_")):
        row: dict[str, object] = {"ranking": ranking}
        for column in runs.columns:
            if (short := column.partition("[")[0]) in METRICS:
                row[METRICS[short]] = correlated(runs[ranking], runs[column])
        rows.append(row | {"runs": int(runs[ranking].notna().sum())})
    return rows


def _picks(wide: "DataFrame") -> list[dict[str, object]]:
    """The metrics of the run that each ranking would keep, beside the median and the best of all runs."""
    columns = [column for column in wide.columns if column.partition("[")[0] in METRICS]
    picks = {name: wide.loc[wide[name].idxmax(), columns] for name in wide.columns if name.startswith("udr_")}
    best = {c: wide[c].min() if c.endswith("unfairness") else wide[c].max() for c in columns}
    picks |= {"median run": wide[columns].median(), "best run by each metric": best}
    return [
        {"keep the best by": name, **{METRICS[c.partition("[")[0]]: float(row[c]) for c in columns}}
        for name, row in picks.items()
    ]
