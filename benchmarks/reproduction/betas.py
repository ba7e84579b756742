"""The known effect of beta, in small: fewer informative latents, blurrier images, higher MIG."""

from pathlib import Path

from reproduce import table


def run(folder: Path, jobs: int) -> str:
    """Medians over five seeds for each beta, and the least and the greatest MIG."""
    from rich.console import Console

    from unknot.runs.run import Run
    from unknot.studies.live import shown
    from unknot.studies.plan import plan
    from unknot.studies.spec import read_study
    from unknot.studies.store import StudyFolder
    from unknot.studies.study import run_study
    from unknot.studies.tables import results

    with shown(Console(stderr=True)) as watch:
        run_study(plan(read_study(Path(__file__).with_suffix(".yaml"))), folder, jobs=jobs, watch=watch)
    study = StudyFolder(folder)
    wide = results(study).merge(study.table("ranks").drop_duplicates("id")[["id", "informative"]], on="id")
    wide["reconstruction"] = [
        Run(folder / "runs" / id_).curve()["reconstruction"].tail(10).mean() for id_ in wide["id"]
    ]
    rows = []
    for beta, runs in wide.groupby("option.beta"):
        numbers = {
            name: float(runs[name].median()) for name in runs.columns if "[" in name or name.endswith("_score")
        }
        mig = runs["mig[bins=20]"]
        rows.append(
            {
                "beta": f"{beta:g}",
                "informative latents": " ".join(str(n) for n in sorted(runs["informative"])),
                "reconstruction": round(float(runs["reconstruction"].median()), 1),
                **numbers,
                "MIG, least to greatest": f"{mig.min():.3f} to {mig.max():.3f}",
            }
        )
    return table(rows)
