"""What people install: the wheel and the source archive hold what they should, and work in a new environment."""

import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest
from packaging.metadata import Metadata

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of both."""
    folder = tmp_path_factory.mktemp("built")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", str(folder)], cwd=ROOT, check=True)
    return folder


def test_the_wheel_works_where_only_its_dependencies_are(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (text,) = [name for name in archive.namelist() if name.endswith("METADATA")]
        metadata = Metadata.from_email(archive.read(text), validate=True)
        files = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert str(metadata.requires_python) == ">=3.11"
    assert f"\nversion: {metadata.version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    source = ROOT / "src"
    kept = subprocess.run(["git", "ls-files", "src"], cwd=ROOT, capture_output=True, text=True).stdout.splitlines()
    there = kept or [str(path.relative_to(ROOT)) for path in source.rglob("*") if path.is_file()]
    assert files >= {name.removeprefix("src/") for name in there if "__pycache__" not in name}

    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    python = str(environment / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, str(wheel)], check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    where = [python, "-c", "import unknot; print(unknot.__file__)"]
    assert subprocess.run(where, capture_output=True, text=True, cwd=tmp_path, env=alone).stdout.startswith(
        str(packages)
    )
    command = [
        str(environment / "bin" / "unknot"),
        "score",
        "example",
        "--metrics",
        "mig,mcc",
        "--html",
        "page.html",
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=alone)
    assert done.returncode == 0, done.stderr
    assert "0.041" in done.stdout and (tmp_path / "page.html").is_file()
    alone["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    load = (
        "import time; from unknot.runs.run import Run; from unknot.runs.training import load_model; "
        "began = time.process_time(); load_model(Run('zoo:beta_tc_vae_dsprites')); print(time.process_time() - began)"
    )
    done = subprocess.run([python, "-c", load], capture_output=True, text=True, cwd=tmp_path, env=alone)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 2  # seconds, once torch is imported


def test_the_source_archive_can_be_tested(built: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    assert names >= {
        "Makefile",
        "pyproject.toml",
        "requirements.lock",
        "tests/conftest.py",
        "docs/index.md",
        "LICENSE",
    }
    assert names >= {"src/unknot/examples/example.npz", "tests/goldens/goldens.json"}
