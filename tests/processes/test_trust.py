"""Names of Python objects that stand in files run no code unless the user allows it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import unknot.processes.trust
from unknot.cli import app
from unknot.errors import UnknotError
from unknot.processes.trust import VARIABLE, imported, read_from, trust

EVIL = """from pathlib import Path
Path("ran").touch()
from unknot.models.beta_vae import VAE as X
"""
SPEC = {"world": "dsprites_rendered", "model": "evilmod:X", "steps": 2, "image_size": 32, "batch_size": 2}
STUDY = f"worlds: dsprites_rendered\nmodels: {SPEC['model']}\nsteps: 2\nimage_size: 32\nseeds: 2\nmetrics: [mig]\n"


@pytest.fixture(autouse=True)
def nothing_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(unknot.processes.trust, "_files", {})
    monkeypatch.setattr(unknot.processes.trust, "_given", set())


@pytest.fixture(scope="module")
def strangers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run and a study that name a model which lies beside them."""
    folder = tmp_path_factory.mktemp("strangers")
    (folder / "evilmod.py").write_text(EVIL)
    (folder / "study.yaml").write_text(STUDY)
    words = [word for name, value in SPEC.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    done = _unknot(folder, "train", *words, "-o", "runs")
    assert done.returncode == 0, done.stderr  # a name that is typed is imported
    (run,) = (folder / "runs").iterdir()
    run.rename(folder / "run")
    (folder / "ran").unlink()
    return folder


def _unknot(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    command = [sys.executable, "-m", "unknot", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)


@pytest.mark.parametrize(
    ("words", "file"),
    [
        (["encode", "run"], "run/run.json"),
        (["score", "run"], "run/run.json"),
        (["explore", "run"], "run/run.json"),
        (["task", "fairness", "run"], "run/run.json"),
        (["study", "study.yaml", "--dry-run"], "study.yaml"),
    ],
)
def test_the_model_of_a_strangers_file_is_not_imported(words: list[str], file: str, strangers: Path) -> None:
    done = _unknot(strangers, *words)
    assert done.returncode == 2, done.stderr
    assert not (strangers / "ran").exists()
    for part in (file, "evilmod:X", "evilmod.py", "--trust", "unknot.trust('evilmod:X')"):
        assert part in done.stderr
    assert "Traceback" not in done.stderr


def test_a_trusted_study_is_done_by_all_its_processes(strangers: Path) -> None:
    done = _unknot(strangers, "study", "study.yaml", "-o", "done", "--jobs", "2", "--trust")
    assert done.returncode == 0, done.stderr
    assert (strangers / "ran").exists()
    (strangers / "ran").unlink()


def test_a_name_that_is_typed_is_trusted(strangers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(strangers)
    read_from("run.json", ["elsewhere:X", "json:loads", "beta_vae"])
    CliRunner().invoke(app, ["models", "--", "elsewhere:X"])
    assert "elsewhere:X" not in os.environ.get(VARIABLE, "")
    CliRunner().invoke(app, ["train", "--model=elsewhere:X"])
    assert os.environ[VARIABLE] == "elsewhere:X"
    with pytest.raises(UnknotError, match="cannot be imported"):
        imported("elsewhere:X", "model")


def test_what_is_imported_already_runs_no_code(strangers: Path) -> None:
    read_from("run.json", ["json:loads", "evilmod:X"])
    assert imported("json:loads", "model") is json.loads
    with pytest.raises(UnknotError, match="would run the code of the module 'evilmod'") as refused:
        imported("evilmod:X", "model")
    assert refused.value.field == ("model",)


def test_a_loaded_function_is_no_encoder_because_a_file_says_so(strangers: Path) -> None:
    """It would be called with images of a stranger, which may be a pickle."""
    read_from("feature_slots.json", ["pickle:loads"])
    with pytest.raises(UnknotError, match="names the encoder 'pickle:loads'"):
        imported("pickle:loads", "encoder")


def test_one_name_or_all_can_be_allowed(strangers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(strangers)
    read_from("run.json", ["evilmod:X"])
    trust("another:X")
    with pytest.raises(UnknotError, match="--trust"):
        imported("evilmod:X", "model")
    trust()
    try:
        assert imported("evilmod:X", "model").__name__ == "VAE"
    finally:
        sys.modules.pop("evilmod", None)
