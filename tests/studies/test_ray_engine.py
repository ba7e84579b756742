"""Steps on a real Ray cluster of several nodes, which lose processes and machines in the middle of a study."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from unknot.errors import UnknotError
from unknot.studies.engines import Outcome, open_engine
from unknot.studies.ray_engine import RayEngine
from unknot.studies.steps import Step
from unknot.studies.study import Progress, run_study

from .conftest import planned, same_tables

ray = pytest.importorskip("ray")

# Ray leaves sockets and subprocesses to the garbage collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
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

    def disturb(progress: Progress) -> None:
        training = [step for step in progress.running if step.kind == "train"]
        begun = [step for step in training if (tmp_path / "out" / "runs" / step.id / "checkpoint.pt").exists()]
        if not lost and begun:
            lost.append("process")
            os.kill(_worker_pid(begun[0]), signal.SIGKILL)
        elif len(lost) == 1 and progress.done["train"] >= 1 and training:
            lost.append("machine")
            cluster.remove_node(nodes[1], allow_graceful=False)
            cluster.add_node(num_cpus=1, object_store_memory=MEMORY)

    try:
        progress = run_study(planned(tmp_path), tmp_path / "out", engine=engine, checkpoint_every=2, watch=disturb)
    finally:
        engine.close()
    assert lost == ["process", "machine"]
    assert not progress.failures
    assert progress.done == progress.total == {"train": 4, "encode": 4, "score": 4, "task": 0, "rank": 2}
    same_tables(tmp_path / "out", undisturbed)


def _worker_pid(step: Step) -> int:
    """The process of Ray that is on a step, by the title Ray gives it."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                title = (folder / "cmdline").read_bytes().decode()
            except OSError:
                continue
            if title.startswith("ray::") and f"train {step.id}" in title:
                return int(folder.name)
    raise AssertionError(f"no process trains {step.id}")


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
