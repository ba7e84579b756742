"""Every tracker gets the numbers, under names that it takes.

MLflow, W&B and trackio are asked where they are installed: they are too large to install for one test, and trackio does
not go with the pillow of the lock.
"""

import re
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

from unknot.cli import app
from unknot.errors import UnknotError
from unknot.integrations.trackers import check_tracker, tracked_name, tracking
from unknot.metrics import METRICS, identity

MLFLOW_TAKES = re.compile(r"[\w\-. :/]+")  # what its documentation allows in the name of a metric


def tensorboard_values(folder: Path) -> dict[str, list[tuple[int, float]]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder))
    events.Reload()
    return {
        tag: [(e.step, pytest.approx(e.value)) for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]
    }


def test_the_loss_of_a_run_goes_to_tensorboard(tmp_path: Path) -> None:
    small = ["--world", "dsprites_rendered", "--image-size", "32", "--batch-size", "4", "--steps", "2"]
    words = ["train", *small, "--output", str(tmp_path / "runs"), "--log", f"tensorboard:{tmp_path / 'tb'}"]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0
    (run,) = (tmp_path / "tb").iterdir()
    assert run.name.startswith("beta_vae") and [step for step, _ in tensorboard_values(run)["loss"]] == [2]


def test_every_metric_has_a_name_that_all_trackers_take() -> None:
    names = {tracked_name(identity(metric)) for metric in METRICS.values()}
    assert len(names) == len(METRICS) and all(MLFLOW_TAKES.fullmatch(name) for name in names)


def test_scores_go_to_tensorboard(tmp_path: Path) -> None:
    words = ["score", "example", "--metrics", "mig,r2", "--log", f"tensorboard:{tmp_path / 'tb'}"]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0
    values = tensorboard_values(tmp_path / "tb" / "example")
    assert set(values) == {"mig.bins_20", "r2.linear"} and [step for step, _ in values["r2.linear"]] == [0]


@pytest.mark.parametrize("tracker", ["mlflow", "wandb", "trackio"])
def test_the_numbers_of_a_run_reach_a_tracker(
    tracker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the tracker's own code where it is installed, else by the calls that its documentation asks for."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    calls: list[tuple[object, ...]] = []
    if find_spec(tracker) is None:
        monkeypatch.setitem(sys.modules, tracker, stand_in(tracker, calls))
    with tracking(f"{tracker}:place", "beta 4, seed 0", {"beta": 4}) as log:
        log({"mig[bins=20]": 0.25, "r2": float("nan")}, 100)
    assert not capsys.readouterr().out, "standard output is for `--json -`"
    if calls:
        assert calls[-2:] == [("log", {"mig.bins_20": 0.25}, 100), ("end",)]
    elif tracker == "mlflow":
        assert next(Path("place").rglob("mig.bins_20")).read_text().split()[1:] == ["0.25", "100"]


def test_a_step_without_numbers_is_not_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Training says where it is before it has a loss, and trackio kept an empty row of that."""
    calls: list[tuple[object, ...]] = []
    monkeypatch.setitem(sys.modules, "trackio", stand_in("trackio", calls))
    with tracking("trackio:place", "beta 4, seed 0") as log:
        for step, values in enumerate(({}, {"loss": float("nan")}, {"loss": 2.0})):
            log(values, step)
    assert calls[1:] == [("log", {"loss": 2.0}, 2), ("end",)]


def stand_in(tracker: str, calls: list[tuple[object, ...]]) -> ModuleType:
    """A module with the documented calls of a tracker."""
    module = ModuleType(tracker)

    def note(word: str) -> Callable[..., None]:
        def called(*words: object, **_: object) -> None:
            sys.stdout.write(f"* {word}\n")  # as trackio does
            calls.append((word, *words))

        return called

    class Client:
        def __init__(self, tracking_uri: str) -> None:
            assert tracking_uri.startswith("file://")

        get_experiment_by_name = staticmethod(lambda name: None)
        create_experiment = staticmethod(lambda name: "1")
        log_param = staticmethod(note("param"))

        def create_run(self, experiment: str, run_name: str) -> object:
            return type("Run", (), {"info": type("Info", (), {"run_id": "r"})})

        def log_metric(self, run: str, key: str, value: float, step: int) -> None:
            calls.append(("log", {key: value}, step))

        def set_terminated(self, run: str) -> None:
            calls.append(("end",))

    members = {
        "__spec__": object(),  # so that it is found
        "MlflowClient": Client,
        "init": note("init"),
        "log": lambda values, step: calls.append(("log", values, step)),
        "finish": note("end"),
    }
    vars(module).update(members)
    return module


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("tensorbord:x", "unknown tracker 'tensorbord'; did you mean 'tensorboard'"),
        ("tensorboard", "where to? Expected tensorboard:DIR"),
    ],
)
def test_an_address_is_refused_before_any_work(address: str, message: str) -> None:
    with pytest.raises(UnknotError, match=re.escape(message)):
        check_tracker(address)


def test_a_tracker_that_is_not_installed_is_named_before_any_work(tmp_path: Path) -> None:
    program = "import sys; sys.modules['wandb'] = None; from unknot.cli import main; main()"
    words = ["score", "example", "--log", "wandb:mine", "--json", "scores.json"]
    done = subprocess.run([sys.executable, "-c", program, *words], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and not list(tmp_path.iterdir())
    assert "--log wandb:mine needs wandb, which is not installed; pip install wandb." in done.stderr
