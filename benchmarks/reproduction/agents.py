"""Does UDR prefer representations from which an agent learns in fewer steps? Duan et al. 2020, section 5, in small."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from reproduce import table

if TYPE_CHECKING:
    from pandas import DataFrame

PUBLISHED = 0.56  # Duan et al. 2020: correlation of UDR with how few steps the agent needs
TINY = {"initialisations": 1, "exploration": 1, "rounds": 2, "episodes": 2, "steps": 5, "size": 64}
ENDS = {"true factors": "factors", "shuffled code": "shuffled"}


def run(folder: Path, jobs: int, *, tiny: bool = False) -> str:
    """Steps to 90 % of every run beside its UDR, their correlation, and the two ends."""
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
    wide = results(StudyFolder(folder))
    rows: list[dict[str, Any]] = [
        {"representation": f"beta {row['option.beta']:g}, seed {row['seed']}", "UDR": row[_udr(wide)], **_of(row)}
        for _, row in wide.sort_values(["option.beta", "seed"]).iterrows()
    ]
    for name, which in ENDS.items():
        end = agent(input=which, folder=folder / "ends", **options)
        rows.append({"representation": name, "UDR": None, **_of({f"agent.{k}": v for k, v in end.values.items()})})
    return f"{table(rows)}\n{table(_correlations(wide))}"


def _tiny_file(file: Path, target: Path) -> Path:
    record = yaml.safe_load(file.read_text())
    record |= {"steps": 3, "rows": 200, "seeds": 2, "tasks": {"agent": TINY}}
    target.write_text(yaml.safe_dump(record))
    return target


def _udr(wide: "DataFrame") -> str:
    return next(name for name in wide.columns if name.startswith("udr_"))


def _of(row: Mapping[str, Any]) -> dict[str, float]:
    names = {
        "agent.steps_to_90": "steps to 90 %",
        "agent.reached_90": "reached it",
        "agent.success": "last success",
    }
    return {words: float(row[name]) for name, words in names.items()}


def _correlations(wide: "DataFrame") -> list[dict[str, Any]]:
    """Spearman's correlation of UDR with few steps and with success; of a handful of runs, so the interval is wide."""
    from unknot.statistics.correlations import correlation

    rows = []
    for words, values in (("few steps to 90 %", -wide["agent.steps_to_90"]), ("success", wide["agent.success"])):
        known = wide[_udr(wide)].notna() & values.notna()
        udr, outcome = wide.loc[known, _udr(wide)], values[known]
        here = None
        if min(udr.nunique(), outcome.nunique()) > 1 and len(udr) > 2:
            found = correlation(udr, outcome)
            here = f"{found.r:.2f} [{found.low:.2f}, {found.high:.2f}]"
        published = PUBLISHED if words.startswith("few") else None
        rows.append({"UDR and": words, "here": here, "runs": int(known.sum()), "published": published})
    return rows
