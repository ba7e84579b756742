"""The folders of runs."""

import json
import math
from pathlib import Path

import pytest

from unknot.errors import UnknotError
from unknot.files import write_json, write_parquet
from unknot.runs.run import Run, RunBusyError
from unknot.runs.spec import RunSpec

SPEC = RunSpec(world="dsprites_rendered", options={"beta": 4.0}, steps=10)


def test_a_record_says_what_was_asked_and_what_it_ran_on(tmp_path: Path) -> None:
    run = Run.create(tmp_path, SPEC)
    assert run.folder == tmp_path / SPEC.id
    record = json.loads((run.folder / "run.json").read_text())
    assert RunSpec(**record["spec"]) == SPEC
    assert record["spec"]["seed"] == 0
    assert record["versions"]["torch"]
    assert record["host"]["cores"] >= 1
    assert "git" in record
    assert not run.finished
    assert Run.create(tmp_path, SPEC).record == record


NAMES = [f'{{"spec": {{"world": "{name}"}}}}' for name in ("n" * 300, "n/" * 3000, "~no_such_user/w.npz")]


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"spec": 3}', '{"spec": {"world": "w", "no": 1}}', "\udcff", *NAMES]
)
def test_a_damaged_record_is_an_error_and_mended_by_removing_it(tmp_path: Path, content: str) -> None:
    run = Run.create(tmp_path, SPEC)
    run.weights.write_text("kept")
    path = run.folder / "run.json"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(UnknotError, match=r"run\.json: is damaged .* move that file away"):
        Run.create(tmp_path, SPEC)
    path.unlink()
    assert Run.create(tmp_path, SPEC).weights.read_text() == "kept"


def test_a_folder_that_holds_another_spec_is_refused(tmp_path: Path) -> None:
    run = Run.create(tmp_path, SPEC.replace(seed=1))
    run.folder.rename(tmp_path / SPEC.id)
    with pytest.raises(UnknotError, match=r"holds another spec .*seed 1"):
        Run.create(tmp_path, SPEC)


def test_what_is_no_run_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnknotError, match=r"is not a run; it has no run\.json"):
        Run(tmp_path)
    with pytest.raises(UnknotError, match=r"has no curve\.parquet yet"):
        Run.create(tmp_path, SPEC).curve()
    (tmp_path / "file").touch()
    with pytest.raises(UnknotError, match=r"run\.json: cannot be written \(Not a directory\)"):
        Run.create(tmp_path / "file", SPEC)


def test_only_one_at_a_time_works_on_a_run(tmp_path: Path) -> None:
    run = Run.create(tmp_path, SPEC)
    with run.locked(), pytest.raises(RunBusyError, match=r"process \d+ is training this run"):
        with Run(run.folder).locked():
            pass
    with Run(run.folder).locked():
        pass


def test_a_lock_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    run = Run.create(tmp_path, SPEC)
    (run.folder / "run.lock").mkdir()
    with pytest.raises(UnknotError, match="cannot be written"), run.locked():
        pass


def test_facts_can_be_noted_in_the_record(tmp_path: Path) -> None:
    run = Run.create(tmp_path, SPEC)
    run.note(training_seconds=12.5)
    assert Run(run.folder).record["training_seconds"] == 12.5
    assert Run(run.folder).spec == SPEC


def test_a_run_that_is_not_begun_has_its_paths_and_nothing_in_them(tmp_path: Path) -> None:
    run = Run.at(tmp_path / "abc")
    assert not run.begun and not run.finished
    assert run.scores == run.results() == run.results(by_hand=True) == []
    assert run.latents_source() is None and math.isnan(run.minutes)
    assert Run.inside(tmp_path) == []
    Run.create(tmp_path, SPEC)
    assert [inside.folder.name for inside in Run.inside(tmp_path)] == [SPEC.id]


def test_files_are_where_they_always_were(tmp_path: Path) -> None:
    run = Run.at(tmp_path)
    paths = {
        "weights.safetensors": run.weights,
        "checkpoint.pt": run.checkpoint,
        "latents.npz": run.latents,
        "latents-default.npz": run.latents_of("default"),
        "scores.json": run.scores_of(run.latents),
        "scores-default.json": run.scores_of(run.latents_of("default")),
        "scores-abc.json": run.scores_of(run.latents, "abc"),
        "pictures/hinton.png": run.picture("hinton"),
        "pictures/traversals.gif": run.picture("film"),
        "tasks/fairness-abc.json": run.result_of("fairness", "abc"),
        "tasks/by_hand/fairness-abc.json": run.result_of("fairness", "abc", by_hand=True),
    }
    assert {name: tmp_path / name for name in paths} == paths


def test_results_of_a_study_and_those_made_by_hand_are_told_apart(tmp_path: Path) -> None:
    run = Run.at(tmp_path)
    for task in ("fairness", "algebra"):
        for by_hand in (False, True):
            path = run.result_of(task, "0", by_hand=by_hand)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
    assert run.results("fairness") == [tmp_path / "tasks" / "fairness-0.json"]
    assert [path.name for path in run.results()] == ["algebra-0.json", "fairness-0.json"]
    assert [path.parent.name for path in run.results(by_hand=True)] == ["by_hand"] * 2


def test_the_time_of_all_steps_follows_from_that_of_some(tmp_path: Path) -> None:
    run = Run.create(tmp_path, SPEC)
    run.keep_speed(3.0, 5)
    assert run.minutes == pytest.approx(10 * 3 / 5 / 60)
    run.keep_speed(3.0, 0)
    assert math.isnan(run.minutes)


def test_a_run_of_a_newer_version_is_read_if_it_can_be_and_else_says_so(tmp_path: Path) -> None:
    run = Run.create(tmp_path, SPEC)
    record = run.record
    record["versions"]["unknot"] = "99.1"
    record["mood"] = "good"
    write_json(run.folder / "run.json", record)
    assert Run(run.folder).spec == SPEC
    Run(run.folder).note(training_seconds=1.0)
    assert Run(run.folder).record["mood"] == "good"
    record["spec"]["curriculum"] = "harder"
    write_json(run.folder / "run.json", record)
    with pytest.raises(
        UnknotError, match=r"run.json: cannot be read .*curriculum.* by Unknot 99.1, which is newer"
    ):
        _ = Run(run.folder).spec
    write_json(run.folder / "run.json", {"versions": {"unknot": "99.1"}, "recipe": {}})
    with pytest.raises(UnknotError, match=r"by Unknot 99.1, which is newer than this one .*: update Unknot"):
        _ = Run(run.folder).spec


@pytest.mark.parametrize(
    "took", ['{"seconds": 1, "steps": Infinity}', '{"seconds": 1' + "0" * 400 + ', "steps": 2}', '{"steps": 0}']
)
def test_a_time_that_is_none_is_not_known(tmp_path: Path, took: str) -> None:
    run = Run.create(tmp_path, RunSpec(world="dsprites_rendered"))
    (run.folder / "time.json").write_text(took)
    assert math.isnan(run.minutes)


def test_tables_are_written_below_a_folder_whose_name_is_no_text_and_may_be_empty(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "\udcff", RunSpec(world="dsprites_rendered"))
    run.write_table("curve", [{"step": 1, "reconstruction": 2.0}])
    assert run.reconstruction_error == 2.0
    write_parquet(run.folder / "curve.parquet", run.curve()[:0])
    assert math.isnan(run.reconstruction_error)
