"""Results of tasks in a run's folder."""

import os
from dataclasses import replace
from pathlib import Path

from unknot import Run, RunSpec, TaskResult
from unknot.files import write_json
from unknot.tasks.kept_results import keep_result, kept_results
from unknot.tasks.result import read_result

RESULT = TaskResult("fairness", "a run", "dsprites_rendered", {"unfairness": 0.25}, settings={"rows": 100})


def test_which_result_counts_does_not_depend_on_the_times_of_files(tmp_path: Path) -> None:
    run = Run.create(tmp_path, RunSpec(world="dsprites_rendered", steps=2))
    old = replace(RESULT, version="0.0.9").write(run.result_of("fairness", "study"))
    new = keep_result(run, replace(RESULT, version="0.0.10"))
    for times in [(1, 2), (2, 1)]:
        for path, seconds in zip([old, new], times, strict=True):
            os.utime(path, (seconds, seconds))
        assert list(kept_results(run)[0]) == [new]


def test_a_result_with_fields_of_a_newer_version_is_read(tmp_path: Path) -> None:
    path = write_json(
        tmp_path / "fairness.json", {"task": "fairness", "source": "", "world": "", "values": {}, "mood": 1}
    )
    assert read_result(path).task == "fairness"
