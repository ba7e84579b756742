"""The command, from its first import on."""

import os
import subprocess
import sys
from pathlib import Path


def test_ctrl_c_ends_a_command_in_words_while_it_is_imported(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("raise KeyboardInterrupt")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run(
        [sys.executable, "-m", "unknot", "metrics"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
    )
    assert (done.returncode, done.stderr) == (130, "unknot: interrupted.\n")
