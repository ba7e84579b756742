"""S1: does a ranking without labels agree with the metrics that need them?"""

from pathlib import Path

from reproduce import table

METRICS = {"beta_vae_score": "BetaVAE", "factor_vae_score": "FactorVAE", "mig": "MIG", "dci": "DCI"}


def run(folder: Path, jobs: int) -> str:
    """Spearman's correlation of each ranking with each metric over the 90 runs."""
    from rich.console import Console
    from scipy.stats import spearmanr

    from unknot.studies.live import shown
    from unknot.studies.plan import plan
    from unknot.studies.spec import read_study
    from unknot.studies.store import StudyFolder
    from unknot.studies.study import run_study
    from unknot.studies.tables import results

    study = plan(read_study(Path(__file__).with_suffix(".yaml")))
    with shown(Console(stderr=True)) as watch:
        run_study(study, folder, jobs=jobs, watch=watch)
    wide = results(StudyFolder(folder))
    rankings = [name for name in wide.columns if name.startswith("udr_")]
    rows = []
    for ranking in rankings:
        row: dict[str, object] = {"ranking": ranking}
        for column in wide.columns:
            if (short := column.partition("[")[0]) in METRICS:
                known = wide[[ranking, column]].dropna()
                row[METRICS[short]] = float(spearmanr(known[ranking], known[column]).statistic)
        rows.append(row | {"runs": int(wide[ranking].notna().sum())})
    return table(rows)
