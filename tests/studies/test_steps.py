"""The keys that say whether a result is the one a study wants: they are on disk, so they never change."""

import hashlib
import json
from pathlib import Path
from typing import Any

from unknot.metrics import METRICS
from unknot.runs.run import Run
from unknot.scoring.kept_scores import score_keys
from unknot.studies.steps import Step, perform, task_file
from unknot.studies.store import Store
from unknot.tasks import TASKS

from .conftest import planned


def _key(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def test_scores_and_tasks_have_the_keys_of_earlier_studies() -> None:
    source = {"world": "w", "rows": 120, "encoder": {"weights": "0123"}}
    version = METRICS["mig"].facts.version
    assert score_keys(["mig[bins=20]"], source, 50) == {
        "mig[bins=20]": _key(["mig[bins=20]", version, source, 50])
    }
    options = {"targets": ["shape"], "rows": 200}
    key = _key(["fairness", TASKS["fairness"].version, options, "0123"])
    assert task_file(Run.at(Path("run")), "fairness", options, "0123") == Path(f"run/tasks/fairness-{key}.json")


def test_a_run_with_starts_is_one_step_whose_speed_counts_all_of_them(tmp_path: Path) -> None:
    fields = "world: dsprites_rendered\nmetrics: [mig]\nrecipe: quick\nsteps: 10\nbatch_size: 4\n"
    (planned_run,) = planned(tmp_path, fields + "models: {vae: {starts: 2}}\n").runs
    seen: list[tuple[int, int]] = []
    step = Step("train", planned_run.id, "vae", str(tmp_path / "study"), {"spec": planned_run.spec.model_dump()})
    perform(step, lambda stage, done, total, **facts: seen.append((done, total)))
    assert step.run.finished
    assert len(step.run.starts()) == 4  # after four steps no two are alike, so two more are begun
    assert (seen[0], seen[-1]) == ((0, 14), (22, 22))
    assert step.run.minutes == step.run.minutes_of(22)


def test_rankings_have_the_keys_of_earlier_studies(undisturbed: Path, tmp_path: Path) -> None:
    store = Store(undisturbed, planned(tmp_path))
    (group,) = store.plan.groups
    members = [[run.id, f"beta_vae, {run.setting}"] for run in sorted(store.runs, key=lambda run: run.id)]
    sources = [store.source(run) or {} for run in group.runs]
    weights = [source["encoder"]["weights"] for source in sources]
    key, _ = store.ranking_key(group, "udr_spearman", "all")
    assert key == _key(["udr_spearman", "all", 50, None, 120, members, weights])
    assert store.ranked(key)


def test_a_damaged_ranking_is_made_again(finished: Path, tmp_path: Path) -> None:
    store = Store(finished, planned(tmp_path))
    key, _ = store.ranking_key(store.plan.groups[0], "udr_spearman", "all")
    store.paths.ranking(key).write_text("{")
    assert not store.ranked(key)
