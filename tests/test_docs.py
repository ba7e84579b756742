"""Every Python snippet and every `$ unknot` command in the README and the docs runs."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def _blocks(page: Path, language: str) -> list[str]:
    """Blocks of a language; one marked `not run` (a download, say) is left out."""
    found = FENCE.findall(page.read_text(encoding="utf-8"))
    return [body for name, mark, body in found if name == language and "not run" not in mark]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a page's reader stands: an empty folder with the shipped example in it."""
    from unknot.examples import example_file

    (tmp_path / "latents.npz").write_bytes(example_file().read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_snippets_of_a_page_run_one_after_the_other(page: Path, folder: Path) -> None:
    # Left at once: on a busy machine threads of Arrow may abort a process that is being torn down after its last line.
    program = "\n".join([*_blocks(page, "python"), "import os, sys", "sys.stdout.flush()", "os._exit(0)"])
    environment = os.environ | {"MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_of_a_page_succeed(page: Path, folder: Path) -> None:
    for block in _blocks(page, "console"):
        for line in block.splitlines():
            if line.startswith("$ unknot"):
                words = shlex.split(line[2:], comments=True)
                done = subprocess.run(
                    [sys.executable, "-m", "unknot", *words[1:]], cwd=folder, capture_output=True, text=True
                )
                assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
