"""Figure 3 in small: which metric goes with the accuracy of a reasoner, and from which step on?"""

from pathlib import Path

from reproduce import correlated, table


def run(folder: Path, jobs: int) -> str:
    """Spearman's correlation of each metric with accuracy, with intervals, at steps of the reasoner's training."""
    from rich.console import Console

    from unknot.runs.run import Run
    from unknot.studies.folder import StudyFolder
    from unknot.studies.live import shown
    from unknot.studies.plan import plan_study
    from unknot.studies.results import results
    from unknot.studies.spec import read_spec
    from unknot.studies.study import run_study

    study = read_spec(Path(__file__).with_suffix(".yaml"))
    with shown(Console(stderr=True)) as progress:
        run_study(plan_study(study), folder, jobs=jobs, progress=progress)
    wide = results(StudyFolder(folder))
    names = [name for name in wide.columns if name.partition("[")[0] in study.metrics]
    wide["reconstruction error"] = [
        Run(folder / "runs" / id_).curve()["reconstruction"].iloc[-1] for id_ in wide["id"]
    ]
    names.append("reconstruction error")
    steps = study.tasks["reasoning"]["at"]
    rows = []
    for name in names:
        found = {f"{s} steps": correlated(wide[name], wide[f"reasoning.accuracy_{s}"]) for s in steps}
        rows.append({"metric": name, **found})
    accuracy = {f"{s} steps": float(wide[f"reasoning.accuracy_{s}"].mean()) for s in steps}
    return table([*rows, {"metric": "mean accuracy", **accuracy}])
