"""Numbers in the trackers that people have open: TensorBoard, MLflow, Weights & Biases, trackio.

A tracker has an address: `tensorboard:DIR`, `mlflow:DIR`, `wandb:PROJECT`, `trackio:PROJECT`. A score has the same name
in all of them, `mig.bins_20` for `mig[bins=20]`: MLflow takes no brackets, and TensorBoard would blur them.
"""

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from math import isfinite
from pathlib import Path
from typing import Any, Protocol

from unknot.errors import UnknotError, must_have, unknown
from unknot.reading.arguments import checked

TRACKERS = ("tensorboard", "mlflow", "wandb", "trackio")
Log = Callable[[Mapping[str, float], int], None]


class _Open(Protocol):
    """Opens a run of a tracker at a place, by its name and what it was made with."""

    def __call__(self, place: str, name: str, about: Mapping[str, Any], /) -> tuple[Log, Callable[[], None]]:
        """What logs values at a step, and what ends the run."""


def tracked_name(identity: str) -> str:
    """The name of a number in every tracker.

    >>> tracked_name("mig[bins=20]"), tracked_name("udr_lasso[alpha=0.1]/setting"), tracked_name("dci[lasso]")
    ('mig.bins_20', 'udr_lasso.alpha_0.1/setting', 'dci.lasso')
    """
    return re.sub(r"[^\w./-]", "_", re.sub(r"\[(.*?)\]", r".\1", identity))


@checked
def check_tracker(address: str) -> tuple[str, str]:
    """Tracker and place of an address; refuses what could only be refused after hours of work."""
    tracker, colon, place = address.partition(":")
    if tracker not in TRACKERS:
        raise unknown("tracker", tracker, TRACKERS, field="log")
    if not colon or not place:
        raise UnknotError(f"--log {address}: where to? Expected {tracker}:DIR or {tracker}:PROJECT.", field="log")
    must_have(f"--log {address}", tracker)
    return tracker, place


@contextmanager
def tracking(address: str, name: str, about: Mapping[str, Any] | None = None) -> Iterator[Log]:
    """A function that logs values at a step, to one run of a tracker; numbers that are not finite are left out.

    Args:
        address: `tensorboard:DIR`, `mlflow:DIR`, `wandb:PROJECT` or `trackio:PROJECT`.
        name: of the run.
        about: what it was made with, for trackers that keep settings.
    """
    tracker, place = check_tracker(address)
    with redirect_stdout(sys.stderr):  # where some say what they do; standard output may be somebody's JSON
        log, close = _OPEN[tracker](place, name, {key: str(value) for key, value in (about or {}).items()})

    def logged(values: Mapping[str, float], step: int) -> None:
        known = {tracked_name(n): v for n, v in values.items() if isfinite(v)}
        with redirect_stdout(sys.stderr):
            if known:
                log(known, step)

    try:
        yield logged
    finally:
        with redirect_stdout(sys.stderr):
            close()


def _tensorboard(place: str, name: str, about: Mapping[str, Any]) -> tuple[Log, Callable[[], None]]:
    with warnings.catch_warnings(action="ignore"):  # of its own dependencies
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(str(Path(place) / re.sub(r"[^\w.,=-]+", "_", name)))

    def log(values: Mapping[str, float], step: int) -> None:
        parts = [Summary.Value(tag=tag, simple_value=value) for tag, value in values.items()]
        writer.add_event(Event(step=step, summary=Summary(value=parts)))

    return log, writer.close


def _mlflow(place: str, name: str, about: Mapping[str, Any]) -> tuple[Log, Callable[[], None]]:
    os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")  # newer versions ask for consent
    with warnings.catch_warnings(action="ignore"):
        from mlflow import MlflowClient

        client = MlflowClient(tracking_uri=place if "://" in place else Path(place).resolve().as_uri())
        experiment = client.get_experiment_by_name("unknot")
        number = client.create_experiment("unknot") if experiment is None else experiment.experiment_id
        run = client.create_run(number, run_name=name).info.run_id
    for key, value in about.items():
        client.log_param(run, tracked_name(key), value)

    def log(values: Mapping[str, float], step: int) -> None:
        for key, value in values.items():
            client.log_metric(run, key, value, step=step)

    return log, lambda: client.set_terminated(run)


def _session(tracker: str, place: str, name: str, about: Mapping[str, Any]) -> tuple[Log, Callable[[], None]]:
    """W&B and trackio, which have one interface; W&B stays offline unless WANDB_MODE says otherwise."""
    from importlib import import_module

    library: Any = import_module(tracker)
    more = {"mode": os.environ.get("WANDB_MODE", "offline")} if tracker == "wandb" else {}
    library.init(project=place, name=name, config=dict(about), **more)
    return lambda values, step: library.log(dict(values), step=step), library.finish


_OPEN: Mapping[str, _Open] = {
    "tensorboard": _tensorboard,
    "mlflow": _mlflow,
    "wandb": lambda *words: _session("wandb", *words),
    "trackio": lambda *words: _session("trackio", *words),
}
