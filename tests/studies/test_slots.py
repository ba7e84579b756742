"""Studies of models whose code is a set of slots (n, k, d): scored by metric, put to object algebra, never ranked."""

from pathlib import Path

import pandas as pd
import pytest

from unknot.reports.study_page import write_study_page
from unknot.studies.store import Store
from unknot.studies.study import run_study
from unknot.worlds.scenes.toy_corpus import toy_corpus

from .conftest import Inline, planned

SLOTS = "{slots: 3, slot_size: 8, channels: 4, broadcast: 8, full_layers: 0, iterations: 1}"
STUDY = f"""\
name: slots
worlds: WORLD
models:
  slot_attention: {SLOTS}
seeds: 2
steps: 1
batch_size: 2
image_size: 32
rows: 60
"""


def test_metrics_of_slots_score_their_mean_or_say_why_not(tmp_path: Path) -> None:
    text = STUDY.replace("WORLD", "dsprites_rendered") + "metrics: [mig, linear_accuracy, rankme]\n"
    plan = planned(tmp_path, text)
    state = run_study(plan, tmp_path / "study", engine=Inline())
    assert not state.failures
    scores = pd.read_parquet(tmp_path / "study" / "tables" / "scores.parquet")
    known = scores[scores["value"].notna()]
    assert set(known["metric"].str.partition("[")[0]) == {"linear_accuracy", "rankme"} and len(known) < len(scores)
    store = Store(tmp_path / "study", plan)
    assert all(not store.unscored(run) for run in plan.runs)  # refusals are results: nothing is done twice
    assert not store.planned_rankings  # slots have no order by which they could be compared
    page = write_study_page(tmp_path / "page.html", tmp_path / "study").read_text()
    assert "linear_accuracy" in page


def test_a_study_without_metrics_is_of_its_tasks_alone(tmp_path: Path) -> None:
    corpus = toy_corpus(tmp_path / "corpus", n=16, size=32)
    algebra = f"{{corpus: {corpus.folder}, minibatch: 8, clear: false, pictures: 0, segmented: 8}}"
    text = STUDY.replace("WORLD", "scenes_rendered") + f"metrics: []\ntasks:\n  algebra: {algebra}\n"
    engine = Inline()
    state = run_study(planned(tmp_path, text), tmp_path / "study", engine=engine)
    assert not state.failures and "score" not in engine.kinds()
    tasks = pd.read_parquet(tmp_path / "study" / "tables" / "tasks.parquet")
    assert {"l2_coat", "l2_coat_tidied", "fg_ari"} <= set(tasks["name"])
    assert "algebra.l2_coat" in write_study_page(tmp_path / "page.html", tmp_path / "study").read_text()


@pytest.mark.parametrize("metrics", ["", "metrics: all\n"])
def test_without_a_word_all_metrics_that_apply_are_meant(tmp_path: Path, metrics: str) -> None:
    plan = planned(tmp_path, STUDY.replace("WORLD", "scenes_rendered") + metrics)
    assert {id_.partition("[")[0] for run in plan.runs for id_ in run.metrics} >= {"rankme", "effective_rank"}
