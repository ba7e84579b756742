"""Does UDR prefer representations from which an agent learns in fewer steps? Duan et al. 2020, section 5, in small."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from reproduce import correlated, table

if TYPE_CHECKING:
    from pandas import DataFrame

    from unknot import TaskResult
    from unknot.studies.folder import StudyFolder

PUBLISHED = 0.56  # Duan et al. 2020: UDR among seeds of a setting, with how few steps the agent needs
TINY = {"initialisations": 1, "exploration": 1, "rounds": 2, "episodes": 2, "steps": 5}
ENDS = {"true factors": "factors", "shuffled code": "shuffled"}
UDR = {"udr_spearman/setting": "UDR, seeds of a beta", "udr_spearman/all": "UDR, all runs"}
VALUES = {
    "agent.steps_to_90": "steps to 90 %",
    "agent.reached_90": "reached it",
    "agent.success": "last success",
    "agent.area": "area",
}


def run(folder: Path, jobs: int, *, tiny: bool = False) -> str:
    """Steps to 90 % of every run beside its UDR, their correlation, the two ends, and `curves.png`."""
    from rich.console import Console

    from unknot import agent
    from unknot.studies.folder import StudyFolder
    from unknot.studies.live import shown
    from unknot.studies.plan import plan_study
    from unknot.studies.results import results
    from unknot.studies.spec import read_spec
    from unknot.studies.study import run_study

    file = Path(__file__).with_suffix(".yaml")
    options: Mapping[str, Any] = yaml.safe_load(file.read_text())["tasks"]["agent"]
    if tiny:
        folder, options = folder.with_name(f"{folder.name}_tiny"), TINY
        file = _tiny_file(file, folder.with_suffix(".yaml"))
    with shown(Console(stderr=True)) as progress:
        run_study(plan_study(read_spec(file)), folder, jobs=jobs, progress=progress)
    study = StudyFolder(folder)
    wide = results(study).sort_values(["option.beta", "seed"])
    ends = {name: agent(input=which, folder=folder / "ends", **options) for name, which in ENDS.items()}
    _draw(study, wide, ends, folder / "curves.png")
    mig = next(name for name in wide.columns if name.startswith("mig"))
    columns = {**UDR, mig: "MIG", **VALUES}
    rows: list[dict[str, Any]] = [
        {
            "representation": f"beta {row['option.beta']:g}, seed {row['seed']}",
            **{words: float(row[name]) for name, words in columns.items()},
        }
        for _, row in wide.iterrows()
    ]
    for name, end in ends.items():
        rows.append({"representation": name, **{words: end.values.get(key[6:]) for key, words in columns.items()}})
    return f"{table(rows)}\n{table(_correlations(wide, mig))}"


def _tiny_file(file: Path, target: Path) -> Path:
    record = yaml.safe_load(file.read_text())
    record |= {"steps": 3, "rows": 200, "seeds": 2, "tasks": {"agent": TINY}}
    target.write_text(yaml.safe_dump(record))
    return target


def _correlations(wide: "DataFrame", mig: str) -> list[dict[str, Any]]:
    """Spearman's correlations with what became of the agents; of a dozen runs, so that intervals are wide."""
    outcomes = {
        "few steps to 90 %": -wide["agent.steps_to_90"],
        "area": wide["agent.area"],
        "last success": wide["agent.success"],
    }
    rows = []
    for name, words in {**UDR, mig: "MIG"}.items():
        row: dict[str, Any] = {"of": words}
        for outcome, values in outcomes.items():
            differ = min(wide[name].nunique(), values.nunique()) > 1
            row[outcome] = correlated(wide[name], values) if differ else None
        published = PUBLISHED if name.endswith("/setting") else None
        rows.append({**row, "runs": len(wide), "published, few steps": published})
    return rows


def _draw(study: "StudyFolder", wide: "DataFrame", ends: Mapping[str, "TaskResult"], path: Path) -> None:
    """A panel for each beta with the curve of every agent, a colour for each seed, and true factors in grey."""
    from unknot.reports.kit.figure import figure_in

    betas, found = sorted(wide["option.beta"].unique()), study.task_results("agent")
    with figure_in(path, (9, 2.8)) as figure:
        panels = figure.subplots(1, len(betas), sharex=True, sharey=True, squeeze=False)[0]
        for panel, beta in zip(panels, betas, strict=True):
            panel.axhline(0.9, color="black", linewidth=0.6, linestyle=":")
            for end, style in zip(ends.values(), ("-", "--"), strict=True):
                _lines(panel, end, color="0.6", linestyle=style, label=end.source)
            for _, row in wide[wide["option.beta"] == beta].iterrows():
                _lines(panel, found[row["id"]], color=f"C{row['seed']}", marker=".", label=f"seed {row['seed']}")
            panel.set(title=f"beta {beta:g}", xlabel="steps of the task", ylim=(0, 1.02))
        panels[0].set_ylabel("episodes solved")
        figure.legend(*panels[-1].get_legend_handles_labels(), loc="outside right center", frameon=False)


def _lines(panel: Any, result: "TaskResult", *, label: str, **style: Any) -> None:
    curve = result.tables["curve"]
    for number in dict.fromkeys(row["initialisation"] for row in curve):
        own = [row for row in curve if row["initialisation"] == number]
        steps, success = ([row[name] for row in own] for name in ("steps", "success"))
        panel.plot(steps, success, linewidth=1, label="" if number else label, **style)
