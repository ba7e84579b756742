"""Without an extra: what needs it says which, before any work; everything else works."""

import subprocess
import sys
from pathlib import Path

import pytest

import unknot
from unknot.errors import UnknotError

WITHOUT = "import sys; sys.modules.update(dict.fromkeys(sys.argv[1].split(','))); del sys.argv[1]; "


def _unknot(missing: str, *words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The command where packages are missing."""
    program = f"{WITHOUT}from unknot.cli import main; main()"
    command = [sys.executable, "-c", program, missing, *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("command", "package", "extra"),
    [
        ("train --world dsprites_rendered --model beta_vae --steps 1", "torch", "torch"),
        ("models", "torch", "torch"),
        ("study demo", "torch", "torch"),
        ("demo", "torch", "torch"),
        ("demo", "jinja2", "report"),
        ("explore .", "torch", "torch"),
        ("score example --html page.html", "jinja2", "report"),
        ("task fairness example --html page.html", "jinja2", "report"),
    ],
)
def test_a_command_names_the_extra_it_needs_and_does_nothing(
    command: str, package: str, extra: str, tmp_path: Path
) -> None:
    done = _unknot(package, *command.split(), folder=tmp_path)
    assert done.returncode == 2, done.stderr
    assert f'needs {package}, which is not installed; pip install "unknot[{extra}]".' in done.stderr
    assert not list(tmp_path.iterdir()), "something was made before"


def test_scoring_needs_no_extra(tmp_path: Path) -> None:
    missing = "torch,jinja2,ray,h5py,safetensors,timm,torchvision,transformers,lightgbm"
    done = _unknot(missing, "score", "example", "--metrics", "mig,mcc", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "mig[bins=20]" in done.stdout


def test_python_is_told_too(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("unknot.runs.training")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UnknotError, match=r'unknot.train needs torch, .* pip install "unknot\[torch\]"'):
        _ = unknot.train


def test_a_file_called_example_comes_before_the_shipped_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert unknot.read_representation("example").latents.shape == (6000, 10)
    Path("example").write_text("no latents")
    with pytest.raises(UnknotError, match="is not a representation"):
        unknot.read_representation("example")
