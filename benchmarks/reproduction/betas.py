"""The known effect of beta, in small: fewer informative latents, blurrier images, higher MIG."""

from pathlib import Path

from reproduce import table


def run(folder: Path, jobs: int) -> str:
    """Medians over five seeds for each beta, and the least and the greatest MIG."""
    from rich.console import Console

    from unknot.runs.run import Run
    from unknot.studies.folder import StudyFolder
    from unknot.studies.live import shown
    from unknot.studies.plan import plan_study
    from unknot.studies.results import results
    from unknot.studies.spec import read_spec
    from unknot.studies.study import run_study

    with shown(Console(stderr=True)) as progress:
        run_study(plan_study(read_spec(Path(__file__).with_suffix(".yaml"))), folder, jobs=jobs, progress=progress)
    study = StudyFolder(folder)
    wide = results(study).merge(study.ranks.drop_duplicates("id")[["id", "informative"]], on="id")
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
