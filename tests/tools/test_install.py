"""What `make` installs, and what it does where the lock does not fit."""

import subprocess
from typing import Any

import pytest

from tools import install

LOCKED = ["--require-hashes", "-r", "requirements.lock"]
ITSELF = ["--no-deps", "--no-build-isolation", "-e", "."]
LOOSE = ["-c", "constraints.txt", "-e", ".[dev]"]


@pytest.mark.parametrize(
    ("complaint", "tried", "said"),
    [
        ("", [LOCKED, ITSELF], ""),
        (
            "ERROR: No matching distribution found for torch",
            [LOCKED, LOOSE],
            "does not fit this machine:\nERROR: No",
        ),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.", [LOCKED], ""),
    ],
)
def test_files_are_those_of_the_lock_or_it_says_why_not(
    complaint: str,
    tried: list[list[str]],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    calls: list[list[str]] = []

    def pip(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        calls.append(command[command.index("--quiet") + 1 :])
        failed = complaint if calls[-1] == LOCKED else ""
        return subprocess.CompletedProcess(command, int(bool(failed)), stderr=failed)

    monkeypatch.setattr(install.subprocess, "run", pip)
    with pytest.raises(SystemExit) as end:
        install.main()
    assert calls == tried
    assert end.value.code == (complaint if len(tried) == 1 else 0)
    assert said in capsys.readouterr().out
