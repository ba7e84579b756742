"""The pool of processes: it survives their deaths, and they do not survive its own."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from unknot.studies.engines import Advance, Outcome
from unknot.studies.local import LocalEngine
from unknot.studies.steps import Step
from unknot.studies.study import StudyState, run_study

from .conftest import TINY, planned, same_tables


def _outcome(engine: LocalEngine) -> Outcome:
    while True:
        for event in engine.wait(1.0):
            if isinstance(event, Outcome):
                return event


def test_an_error_comes_back_with_its_traceback_and_the_process_lives_on(tmp_path: Path) -> None:
    engine = LocalEngine(jobs=1)
    try:
        for id_ in ("a", "b"):
            engine.submit(Step("encode", id_, "no such run", str(tmp_path), {"rows": 10, "split": ""}))
            assert not engine.has_room()
            outcome = _outcome(engine)
            assert outcome.step.id == id_
            assert "is not a run; it has no run.json" in outcome.error
            assert "Traceback" in outcome.log
            assert engine.has_room()
        assert len(engine._pool) == 1
    finally:
        engine.close()


def test_killed_workers_cost_their_step_only_and_the_study_ends_the_same(
    tmp_path: Path, undisturbed: Path
) -> None:
    engine = LocalEngine(jobs=2)
    killed: list[int] = []

    def kill(stage: str, done: int, total: int, *, state: StudyState) -> None:
        """Kill a process in each of three moments: a training, another training, and a scoring."""
        at_work = [worker for worker in engine._pool if worker.step is not None]
        wanted = ["train", "train", "score"][len(killed)] if len(killed) < 3 else ""
        for worker in at_work:
            if worker.step.kind == wanted and worker.step.id not in (step.id for step in hit):
                hit.append(worker.step)
                killed.append(worker.process.pid)
                os.kill(worker.process.pid, signal.SIGKILL)
                return

    hit: list[Step] = []
    try:
        state = run_study(planned(tmp_path), tmp_path / "out", engine=engine, progress=kill, retries=2)
    finally:
        engine.close()
    assert len(killed) == 3
    assert not state.failures
    same_tables(tmp_path / "out", undisturbed)


def test_a_step_whose_process_is_always_killed_is_reported_with_the_signal(tmp_path: Path) -> None:
    made = planned(tmp_path, TINY.replace("beta: [1, 4]", "beta: 1").replace("seeds: 2", "seeds: 1"))
    engine = LocalEngine(jobs=1)

    def kill(stage: str, done: int, total: int, *, state: StudyState) -> None:
        for worker in engine._pool:
            if worker.step is not None and worker.process.is_alive():
                os.kill(worker.process.pid, signal.SIGKILL)

    try:
        state = run_study(made, tmp_path / "out", engine=engine, progress=kill, retries=1)
    finally:
        engine.close()
    ((_, error, log),) = state.failures
    assert error == "its process was killed by SIGKILL (out of memory?)"
    assert "after 2 attempt(s)" in log.read_text()


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes where Linux lists them")
def test_workers_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    program = (
        "import sys, time\n"
        "from unknot.studies.local import LocalEngine\n"
        "from unknot.studies.steps import Step\n"
        "if __name__ == '__main__':\n"
        "    engine = LocalEngine(jobs=1)\n"
        "    engine.submit(Step('encode', 'x', '', sys.argv[1], {}))\n"
        "    engine.wait(60)\n"
        "    print(engine._pool[0].process.pid, flush=True)\n"
        "    time.sleep(600)\n"
    )
    script = tmp_path / "parent.py"
    script.write_text(program)
    with subprocess.Popen([sys.executable, script, str(tmp_path)], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        assert Path(f"/proc/{worker}").exists()
        parent.kill()
    for _ in range(300):
        if not Path(f"/proc/{worker}").exists():
            return
        time.sleep(0.1)
    pytest.fail(f"process {worker} outlived the one that started it")


def test_stopping_lets_training_write_a_checkpoint(tmp_path: Path) -> None:
    (run,) = planned(tmp_path, TINY.replace("beta: [1, 4]", "beta: 1").replace("seeds: 2", "seeds: 1")).runs
    spec = run.spec.replace(steps=10_000_000)
    engine = LocalEngine(jobs=1)
    engine.submit(Step("train", spec.id, "endless", str(tmp_path), {"spec": spec.model_dump()}))
    while not any(isinstance(event, Advance) and event.done > 0 for event in engine.wait(1.0)):
        pass
    engine.close(stop=True)
    assert (tmp_path / "runs" / spec.id / "checkpoint.pt").is_file()


def test_ctrl_c_while_a_process_starts_is_not_its_to_say(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    engine = LocalEngine(jobs=1)
    try:
        engine.submit(Step("encode", "a", "no such run", str(tmp_path), {"rows": 10, "split": ""}))
        for _ in range(5):  # Ctrl-C goes to all of a terminal, to one that still imports too
            os.kill(engine._pool[0].process.pid, signal.SIGINT)
            time.sleep(0.01)
        assert "is not a run" in _outcome(engine).error
    finally:
        engine.close()
    assert capfd.readouterr().err == ""


def test_a_killed_study_leaves_nothing_in_the_folder_of_temporary_files(tmp_path: Path) -> None:
    code = (
        "import os, sys; from unknot.studies.local import LocalEngine; from unknot.studies.steps import Step\n"
        "engine = LocalEngine(jobs=1)\n"
        "engine.submit(Step('encode', 'a', 'no such run', sys.argv[1], {'rows': 10, 'split': ''}))\n"
        "while not engine.wait(1.0): pass\n"
        "os._exit(9)"
    )
    (tmp_path / "temporary").mkdir()
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary")}
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], env=environment)
    assert done.returncode == 9
    assert list((tmp_path / "temporary").iterdir()) == []
