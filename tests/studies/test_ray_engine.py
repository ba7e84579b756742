"""Steps on a real Ray cluster of several nodes, which lose processes and machines in the middle of a study."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.family import family, title

import unknot
from unknot.encoders.encoding import encode as encode_run
from unknot.errors import UnknotError
from unknot.representation import Representation, read_representation
from unknot.runs.training import train
from unknot.studies.engines import Outcome, open_engine
from unknot.studies.ray_engine import RayEngine
from unknot.studies.steps import Conditions, Step
from unknot.studies.study import StudyState, run_study

from .conftest import TINY, planned, same_tables

ray = pytest.importorskip("ray")

# Ray leaves sockets and subprocesses to the garbage collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    # These tests have imported Ray before an engine could say where it listens.
    pytest.mark.filterwarnings("ignore:study. Ray listens on:unknot.errors.UnknotWarning"),
]
MEMORY = 80_000_000  # bytes of a node's object store


@pytest.fixture
def cluster() -> Iterator[Any]:
    """A head that does no work, and nothing else yet."""
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "object_store_memory": MEMORY})
    yield made
    ray.shutdown()
    made.shutdown()


def test_a_study_loses_a_process_and_a_machine_and_ends_as_if_it_had_not(
    cluster: Any, tmp_path: Path, undisturbed: Path
) -> None:
    nodes = [cluster.add_node(num_cpus=1, object_store_memory=MEMORY) for _ in range(2)]
    engine = open_engine("ray", address=cluster.address)
    assert engine.workers == 2
    lost: list[str] = []

    def disturb(stage: str, done: int, total: int, *, state: StudyState) -> None:
        training = [step for step in state.running if step.kind == "train"]
        begun = [step for step in training if (tmp_path / "out" / "runs" / step.id / "checkpoint.pt").exists()]
        if not lost and begun:
            lost.append("process")
            os.kill(_worker_pid(begun[0]), signal.SIGKILL)
        elif len(lost) == 1 and state.done["train"] >= 1 and training:
            lost.append("machine")
            cluster.remove_node(nodes[1], allow_graceful=False)
            cluster.add_node(num_cpus=1, object_store_memory=MEMORY)

    try:
        state = run_study(
            planned(tmp_path),
            tmp_path / "out",
            engine=engine,
            conditions=Conditions(checkpoint_every=2),
            progress=disturb,
        )
    finally:
        engine.close()
    assert lost == ["process", "machine"]
    assert not state.failures
    assert state.done == state.total == {"train": 4, "encode": 4, "score": 4, "task": 0, "rank": 2}
    same_tables(tmp_path / "out", undisturbed)


def _worker_pid(step: Step) -> int:
    """The process of Ray that is on a step, by the title Ray gives it."""
    titles = {pid: title(pid) for pid in family(os.getpid())}
    return next(pid for pid, name in titles.items() if name.startswith("ray::") and f"train {step.id}" in name)


def _end(engine: RayEngine, *steps: Step) -> None:
    """Do steps one after the other; each ends well."""
    for step in steps:
        engine.submit(step)
        events: list[Any] = []
        while not events:
            events = engine.wait(1.0)
        assert [event.error for event in events] == [""]


def _mig(latents: Path | Representation) -> float:
    return unknot.score(latents, metrics=["mig"])["mig"].value


def test_latents_come_from_another_machine_s_store_and_from_the_file_once_all_are_lost(
    cluster: Any, tmp_path: Path
) -> None:
    text = TINY.replace("beta: [1, 4]", "beta: 4").replace(
        "rows: 120", "rows: 3000"
    )  # too large to go with a step
    ids = [train(run.spec, tmp_path / "runs").spec.id for run in planned(tmp_path, text).runs]
    encode = [Step("encode", id_, "", str(tmp_path), {"rows": 3000, "split": ""}) for id_ in ids]
    score = Step("score", ids[0], "", str(tmp_path), {"metrics": ["mig[bins=20]"], "limit": None})
    how = {"method": "udr_spearman", "scope": "all", "partners": 5, "rows": 1000}
    rank = Step("rank", "r", "", str(tmp_path), {"members": [(id_, "") for id_ in ids], **how})
    ranks, scores = tmp_path / "ranks" / "r.json", tmp_path / "runs" / ids[0] / "scores.json"
    first = cluster.add_node(num_cpus=1, resources={"first": 1}, object_store_memory=MEMORY)
    engine = RayEngine(address=cluster.address)
    try:
        _end(engine, *encode)
        _end(engine, rank)
        true_ranks = ranks.read_text()
        file = scores.with_name("latents.npz")
        true = read_representation(file)
        other = replace(true, latents=true.latents[::-1].copy())
        other.write(file)  # says that it was made in the same way
        assert _mig(true) != _mig(other)
        ray.remote(num_cpus=1, resources={"first": 1}, max_retries=0)(lambda: time.sleep(600)).remote()
        second = cluster.add_node(num_cpus=1, object_store_memory=MEMORY)
        _end(engine, score, rank)  # on the second machine: the first is taken
        assert json.loads(scores.read_text())["scores"]["mig[bins=20]"]["value"] == _mig(true)
        assert ranks.read_text() == true_ranks
        scores.unlink()
        for node in (first, second):  # which has copies by now
            cluster.remove_node(node, allow_graceful=False)
        cluster.add_node(num_cpus=1, object_store_memory=MEMORY)
        _end(engine, score, rank)
        assert json.loads(scores.read_text())["scores"]["mig[bins=20]"]["value"] == _mig(other)
        assert ranks.read_text() != true_ranks
    finally:
        engine.close()


def test_the_oldest_latents_make_room_and_a_file_made_otherwise_is_preferred(tmp_path: Path) -> None:
    (run,) = planned(tmp_path, TINY.replace("beta: [1, 4]", "beta: 1").replace("seeds: 2", "seeds: 1")).runs
    train(run.spec, tmp_path / "runs")
    encode = Step("encode", run.id, "", str(tmp_path), {"rows": 120, "split": ""})
    score = Step("score", run.id, "", str(tmp_path), {"metrics": ["mig[bins=20]"], "limit": None})
    folder = tmp_path / "runs" / run.id
    engine = RayEngine(jobs=1)
    try:
        _end(engine, encode)
        assert list(engine._shared_with(score)) == [run.id]
        assert engine._shared_with(encode) == {}
        encode_run(folder, rows=60).write(folder / "latents.npz")  # by somebody else
        _end(engine, score)
        value = json.loads((folder / "scores.json").read_text())["scores"]["mig[bins=20]"]["value"]
        assert value == _mig(folder / "latents.npz")
        engine._room = 0
        _end(engine, encode)
        assert engine._shared_with(score) == {}
    finally:
        engine.close()


class Losing:
    """A Ray whose every process dies; it counts how often a step was handed over."""

    exceptions, handed = ray.exceptions, 0

    def options(self, **how: Any) -> "Losing":
        assert (how["num_returns"], how["max_retries"]) == (2, 0)
        return self

    def remote(self, *given: Any) -> tuple[int, int]:
        self.handed += 1
        return self.handed, -self.handed

    def wait(self, references: list[int], **how: Any) -> tuple[list[int], list[int]]:
        return references, []

    def get(self, reference: int) -> None:
        raise ray.exceptions.WorkerCrashedError


def test_an_encoding_whose_process_dies_is_begun_again_three_times() -> None:
    engine, lost = object.__new__(RayEngine), Losing()
    engine._ray = engine._task = lost
    engine._num_cpus, engine._num_gpus, engine._room = 1, 0, 1e9
    engine._under_way, engine._held = {}, {}
    engine.submit(Step("encode", "a", "", ""))
    assert [engine.wait(0) for _ in range(3)] == [[], [], []]
    (outcome,) = engine.wait(0)
    assert isinstance(outcome, Outcome)
    assert outcome.error == "its process or machine was lost (WorkerCrashedError)"
    assert (lost.handed, engine._under_way, engine._held) == (4, {}, {})


def test_a_local_ray_is_started_and_errors_come_back_in_words(tmp_path: Path) -> None:
    engine = RayEngine(jobs=1)
    try:
        engine.submit(Step("encode", "a", "no such run", str(tmp_path), {"rows": 10, "split": ""}))
        assert not engine.has_room()
        events: list[Any] = []
        while not events:
            events = engine.wait(1.0)
        (outcome,) = events
        assert isinstance(outcome, Outcome)
        assert "is not a run; it has no run.json" in outcome.error
        assert "in _encode" in outcome.log
        assert "\x1b" not in outcome.log
        engine.submit(Step("encode", "a", "", str(tmp_path / "elsewhere"), {}))
        while not (events := engine.wait(1.0)):
            pass
        assert "all machines of a cluster must see the study's folder" in events[0].error
    finally:
        engine.close()
    assert not ray.is_initialized()


def test_a_cluster_that_is_not_there_or_lacks_gpus_is_refused() -> None:
    with pytest.raises(UnknotError, match="the Ray cluster at 'nowhere' cannot be joined"):
        RayEngine(address="nowhere")
    with pytest.raises(UnknotError, match="a step asks for 1 GPU"):
        RayEngine(jobs=1, num_gpus=1)
    assert not ray.is_initialized()


OPENED = """
import os
from unknot.studies.engines import open_engine

engine = open_engine("ray", jobs=1)
try:
    import ray
    assert ray.get(ray.remote(lambda: 41 + 1).remote()) == 42
    print(os.environ["RAY_AUTH_MODE"], len(os.environ["RAY_AUTH_TOKEN"]), flush=True)
    input()
finally:
    engine.close()
"""
LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}  # v4, v4 in v6, v6


def test_a_ray_of_its_own_listens_on_the_loopback_address_alone_and_wants_a_token() -> None:
    names = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER")
    environment = {name: value for name, value in os.environ.items() if name not in names}
    command, pipe = [sys.executable, "-c", OPENED], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment) as process:
        assert process.stdout is not None
        token = process.stdout.readline()
        addresses = _listening(family(process.pid))
        process.communicate("\n")
    assert process.returncode == 0
    assert addresses and addresses <= LOOPBACK
    assert token == "token 64\n"


def _listening(members: set[int]) -> set[str]:
    """The addresses at which processes listen, as the system writes them."""
    sockets = set()
    for pid in members:
        with suppress(OSError):  # it has ended
            sockets |= {str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()}
    lines = [
        line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()
    ]
    return {line[1].partition(":")[0] for line in lines if line[3] == "0A" and f"socket:[{line[9]}]" in sockets}


STOPPED = """
import os, signal, time
from unknot.processes.signals import sigterm_is_ctrl_c
from unknot.studies.engines import open_engine

with sigterm_is_ctrl_c():
    engine = open_engine("ray", jobs=1)
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(10)
    except KeyboardInterrupt:
        print("as Ctrl-C")
    finally:
        engine.close()
"""


def test_sigterm_stays_ctrl_c_though_ray_has_a_handler_of_its_own() -> None:
    done = subprocess.run([sys.executable, "-c", STOPPED], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("as Ctrl-C\n", 0), done.stderr
