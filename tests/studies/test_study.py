"""Running a study: only what is missing is done, and failures stay where they are."""

import json
import os
import time
from pathlib import Path

import pytest

import unknot
from unknot.errors import UnknotError
from unknot.studies import study
from unknot.studies.folder import StudyFolder
from unknot.studies.steps import Step
from unknot.studies.store import Store
from unknot.studies.study import StudyState, run_study

from .conftest import TINY, Inline, planned, same_tables, tables, write


def test_a_second_run_of_a_finished_study_does_nothing(finished: Path, tmp_path: Path) -> None:
    stamps = {p: p.stat().st_mtime_ns for p in finished.glob("runs/*/*") if p.suffix != ".lock"}
    engine = Inline()
    state = run_study(planned(tmp_path), finished, engine=engine)
    assert engine.steps == []
    assert state.done == state.total == {"train": 4, "encode": 4, "score": 4, "task": 0, "rank": 2}
    assert stamps == {p: p.stat().st_mtime_ns for p in finished.glob("runs/*/*") if p.suffix != ".lock"}


def test_scores_are_those_of_unknot_score(undisturbed: Path) -> None:
    scores = StudyFolder(undisturbed).scores
    id_ = scores["id"][0]
    card = unknot.score(undisturbed / "runs" / id_ / "latents.npz", metrics=["sap", "mig"])
    mine = scores[(scores["id"] == id_) & (scores["part"] == "")].set_index("metric")["value"].to_dict()
    assert mine == card.values()


def test_an_added_metric_is_all_that_is_scored(finished: Path, tmp_path: Path) -> None:
    before = tables(finished)["scores"]
    engine = Inline()
    run_study(planned(tmp_path, TINY.replace("[mig, sap]", "[mig, sap, modularity]")), finished, engine=engine)
    assert engine.kinds() == ["score"] * 4
    after = tables(finished)["scores"]
    kept = after[~after["metric"].str.startswith("modularity")].reset_index(drop=True)
    assert kept.equals(before)
    assert after["metric"].nunique() == 3
    record = json.loads(next(finished.glob("runs/*/scores.json")).read_text())
    assert list(record["keys"]) == ["mig[bins=20]", "sap[classification]", "modularity[bins=20]"]


def test_a_metric_taken_out_leaves_the_tables_but_is_kept_in_the_runs(finished: Path, tmp_path: Path) -> None:
    engine = Inline()
    run_study(planned(tmp_path, TINY.replace("[mig, sap]", "[sap]")), finished, engine=engine)
    assert engine.steps == []
    assert set(tables(finished)["scores"]["metric"]) == {"sap[classification]"}
    run_study(planned(tmp_path), finished, engine=engine)
    assert engine.steps == []


def test_an_added_seed_is_all_that_is_trained_and_ranks_are_made_anew(finished: Path, tmp_path: Path) -> None:
    engine = Inline()
    run_study(planned(tmp_path, TINY.replace("seeds: 2", "seeds: [0, 1, 7]")), finished, engine=engine)
    assert engine.kinds() == ["train", "encode", "score"] * 2 + ["rank"] * 2
    runs = tables(finished)["runs"]
    assert {id_ for kind, id_ in engine.steps if kind == "train"} == set(runs[runs["seed"] == 7]["id"])
    assert len(tables(finished)["ranks"]) == 12
    assert len(list((finished / "ranks").iterdir())) == 2, "rankings of fewer runs are gone"


def test_a_failing_run_is_tried_again_and_then_reported_while_the_rest_goes_on(tmp_path: Path) -> None:
    made = planned(tmp_path, TINY.replace("beta: [1, 4]", "beta: 1").replace("seeds: 2", "seeds: 3"))
    broken = made.runs[0].id

    def sabotage(step: Step) -> None:
        if step.id == broken:
            raise RuntimeError("no space\nleft")

    engine = Inline(sabotage)
    state = run_study(made, tmp_path / "out", engine=engine, retries=1)
    assert [kind for kind, id_ in engine.steps if id_ == broken] == ["train", "train"]
    assert state.retried == 1
    ((title, error, log),) = state.failures
    assert (title, error) == ("train beta_vae, beta 1, dsprites_rendered, seed 0", "RuntimeError: no space left")
    assert "the log" in log.read_text()
    runs = tables(tmp_path / "out")["runs"].set_index("id")
    assert runs.loc[broken, "status"] == "failed"
    assert "no space left" in runs.loc[broken, "error"]
    assert sorted(runs["status"]) == ["done", "done", "failed"]
    assert set(tables(tmp_path / "out")["ranks"]["id"]) == set(runs.index) - {broken}
    mended = Inline()
    state = run_study(made, tmp_path / "out", engine=mended)
    assert mended.kinds() == ["train", "encode", "score", "rank", "rank"]
    assert not log.exists()
    assert set(tables(tmp_path / "out")["runs"]["status"]) == {"done"}


def test_a_failure_that_passes_leaves_the_tables_of_an_undisturbed_study(
    tmp_path: Path, undisturbed: Path
) -> None:
    failed: set[Step] = set()

    def once(step: Step) -> None:
        if step not in failed:
            failed.add(step)
            raise OSError("gone")

    state = run_study(planned(tmp_path), tmp_path / "out", engine=Inline(once))
    assert state.retried == 4 * 3 + 2
    assert not state.failures
    same_tables(tmp_path / "out", undisturbed)


def test_a_step_that_leaves_no_result_has_failed(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unknot.studies.study.SHARED_DISK", 0.0)
    made = planned(tmp_path)
    latents = finished / "runs" / made.runs[0].id / "latents.npz"
    latents.unlink()

    class Careless(Inline):
        def wait(self, timeout: float) -> list:
            events = super().wait(timeout)
            latents.unlink(missing_ok=True)
            return events

    state = run_study(made, finished, engine=Careless())
    assert "its result is not in the study's folder" in state.failures[0][1]


def test_ctrl_c_stops_the_engine_gently_and_writes_the_tables(tmp_path: Path) -> None:
    made = planned(tmp_path, TINY.replace("beta: [1, 4]", "beta: 1"))

    def stop(stage: str, done: int, total: int, *, state: StudyState) -> None:
        if state.done["score"] == 1:
            raise KeyboardInterrupt

    engine = Inline()
    with pytest.raises(KeyboardInterrupt):
        run_study(made, tmp_path / "out", engine=engine, progress=stop)
    assert engine.closed == [True]
    assert sorted(tables(tmp_path / "out")["runs"]["status"]) == ["done", "waiting"]


def test_one_seed_a_setting_has_no_ranking_within_settings_and_a_note_says_so(
    tmp_path: Path, finished: Path
) -> None:
    state = run_study(planned(tmp_path, TINY.replace("seeds: 2", "seeds: 1")), finished, engine=Inline())
    assert state.notes == ["dsprites_rendered: too few runs for a ranking by udr_spearman, scope setting."]
    ranks = tables(finished)["ranks"]
    assert set(ranks["scope"]) == {"all"}
    assert len(ranks) == 2
    assert state.total["rank"] == state.done["rank"] == 1


def test_a_failure_leaves_the_number_of_planned_steps_as_it_was(tmp_path: Path) -> None:
    made = planned(tmp_path, TINY.replace("beta: [1, 4]", "beta: 1"))
    totals = set()

    def sabotage(step: Step) -> None:
        if step.id == made.runs[0].id:
            raise RuntimeError("broken")

    def watch(stage: str, done: int, total: int, *, state: StudyState) -> None:
        totals.add(total)
        assert (stage, done, total) == ("study", sum(state.done.values()), sum(state.total.values()))

    state = run_study(made, tmp_path / "out", engine=Inline(sabotage), retries=0, progress=watch)
    assert totals == {2 * 3 + 2}
    assert len(state.notes) == 2


def test_runs_of_different_splits_are_ranked_apart_and_scored_on_their_test_part(tmp_path: Path) -> None:
    text = TINY.replace("beta: [1, 4]", "beta: 1") + "splits: [random, extrapolation]\n"
    text = text.replace("scopes: [setting, all]", "scopes: [all]").replace("[mig, sap]", "[r2]")
    run_study(planned(tmp_path, text), tmp_path / "out", engine=Inline())
    made = tables(tmp_path / "out")
    assert (made["ranks"]["partners"] <= 1).all()
    assert len(made["ranks"]) == 4
    latents = unknot.read_representation(tmp_path / "out" / "runs" / made["runs"]["id"][3] / "latents.npz")
    assert latents.source["split"] == "extrapolation"
    assert len(latents.latents_test) == 120


def test_a_refused_metric_is_a_result_with_its_reason(finished: Path, tmp_path: Path) -> None:
    made = planned(tmp_path, TINY.replace("[mig, sap]", "[mig, unfairness]"))
    state = run_study(made, finished, engine=Inline())
    assert not state.failures
    scores = tables(finished)["scores"]
    refused = scores[scores["refused"] != ""]
    assert len(refused) == 4
    assert refused["value"].isna().all()
    assert refused["refused"].str.contains("do not hold every combination").all()
    again = Inline()
    run_study(made, finished, engine=again)
    assert again.steps == [], "a refusal is not asked for again"


def test_a_damaged_run_is_reported_not_fatal(finished: Path, tmp_path: Path) -> None:
    made = planned(tmp_path)
    folder = finished / "runs" / made.runs[0].id
    (folder / "weights.safetensors").unlink()
    (folder / "run.json").write_text("{}")
    state = run_study(made, finished, engine=Inline(), retries=0)
    ((_, error, _),) = state.failures
    assert "is damaged" in error
    assert sorted(tables(finished)["runs"]["status"]) == ["done", "done", "done", "failed"]


def test_bad_arguments_are_refused(tmp_path: Path) -> None:
    from unknot.studies.engines import open_engine

    write(tmp_path)
    for wrong, message in (
        ({"name": "locol"}, "did you mean 'local'"),
        ({"jobs": 0}, "jobs is 0"),
        ({"address": "auto"}, "add --engine ray"),
        ({"num_gpus": 1}, "gpus .* is for the engine ray; add --engine ray, or say --device cuda"),
        ({"num_cpus": -1}, "cannot take -1"),
    ):
        with pytest.raises(UnknotError, match=message):
            open_engine(**wrong)


def test_a_study_goes_on_in_another_place_after_the_clock_has_jumped(
    undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed: list[str] = []

    def power_cut(step: Step) -> None:
        killed.append(step.kind)
        if len(killed) == 5:
            raise KeyboardInterrupt

    plan = planned(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run_study(plan, tmp_path / "here", engine=Inline(power_cut))
    for number, path in enumerate(sorted((tmp_path / "here").rglob("*"))):
        os.utime(path, (number * 10**8 % 2**31,) * 2)  # what is newer was written before
    monkeypatch.setattr(time, "time", lambda: 0.0)  # a clock without a battery
    (tmp_path / "here").rename(tmp_path / "there")
    engine = Inline()
    run_study(plan, tmp_path / "there", engine=engine)
    assert len(engine.steps) == 4 * 3 + 2 - 4
    same_tables(undisturbed, tmp_path / "there")
    assert not (tmp_path / "here").exists()
    assert not [
        p for p in (tmp_path / "there").rglob("*") if p.is_file() and os.fsencode(tmp_path) in p.read_bytes()
    ]


def test_tables_that_take_long_are_written_seldom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []

    def slowly(store: Store) -> None:
        written.append(1)
        time.sleep(0.1)

    monkeypatch.setattr(study, "TABLES_EVERY", 0.0)
    monkeypatch.setattr(Store, "write_tables", slowly)
    began = time.monotonic()
    run_study(planned(tmp_path), tmp_path / "out", engine=Inline(lambda step: time.sleep(0.1)))
    took = time.monotonic() - began
    assert 2 <= len(written) <= took * study.TABLES_SHARE / 0.1 + 2  # the first, and that of the end
