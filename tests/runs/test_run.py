"""Specs and the folders of runs."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unknot.errors import UnknotError
from unknot.runs.run import Run, RunBusyError
from unknot.runs.spec import RunSpec

SPEC = RunSpec(world="dsprites_rendered", options={"beta": 4.0}, steps=10)


@settings(max_examples=30, deadline=None)
@given(
    beta=st.floats(0, 1e6),
    steps=st.integers(1, 10**7),
    lr=st.floats(1e-9, 1e3),
    seed=st.integers(0, 2**63),
    flag=st.booleans(),
)
def test_a_spec_is_the_same_after_json(beta: float, steps: int, lr: float, seed: int, flag: bool) -> None:
    spec = RunSpec(world="w", options={"beta": beta, "flag": flag, "n": 3}, steps=steps, lr=lr, seed=seed)
    again = RunSpec(**json.loads(json.dumps(spec.model_dump())))
    assert again == spec
    assert again.id == spec.id
    assert type(again.options["flag"]) is bool
    assert type(again.options["n"]) is int


def test_the_name_of_a_folder_changes_with_every_field() -> None:
    changes = {
        "world": "other",
        "model": "vae",
        "options": {"beta": 5.0},
        "latents": 9,
        "architecture": "burgess64",
        "decoder": "gaussian",
        "init": "torch",
        "steps": 11,
        "batch_size": 32,
        "lr": 1e-3,
        "precision": "bfloat16",
        "image_size": 32,
        "split": "random",
        "pairs": "laplace",
        "seed": 1,
    }
    assert set(changes) == set(RunSpec.model_fields)
    ids = {SPEC.id, *(SPEC.replace(**{name: value}).id for name, value in changes.items())}
    assert len(ids) == 1 + len(changes)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "run: world is missing"),
        ({"latents": 0}, "run: latents is 0; input should be greater than or equal to 1"),
        ({"steps": 0}, "run: steps is 0"),
        ({"batch_size": 1}, "run: batch_size is 1"),
        ({"lr": 0.0}, "run: lr is 0.0; input should be greater than 0"),
        ({"lr": math.inf}, "run: lr is inf; input should be a finite number"),
        ({"seed": -1}, "run: seed is -1"),
        ({"precision": "float16"}, "run: precision is 'float16'; input should be 'float32' or 'bfloat16'"),
        ({"decoder": "laplace"}, "run: decoder is 'laplace'"),
        ({"options": {"beta": [1]}}, r"run: options\.beta is \[1\]"),
        ({"options": {"beta": math.nan}}, r"run: options\.beta is nan; expected a finite number"),
        ({"latnets": 4}, "unknown field of a run 'latnets'; did you mean 'latents'"),
    ],
)
def test_a_wrong_field_is_named(fields: dict[str, object], message: str) -> None:
    world = {"world": "dsprites_rendered"} if fields else {}
    with pytest.raises(UnknotError, match=message):
        RunSpec(**world, **fields)


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


@pytest.mark.parametrize("content", ["", "{", "[]", '{"spec": 3}', '{"spec": {"world": "w", "no": 1}}', "\udcff"])
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
    with run.locked(), pytest.raises(RunBusyError, match="another process is training this run"):
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
