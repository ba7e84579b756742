"""A folder that remembers."""

from pathlib import Path

import pytest

from unknot.errors import UnknotError
from unknot.runs import workspace
from unknot.runs.workspace import Workspace


def test_one_at_a_time_works_on_something(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "PATIENCE", 0.0)
    mine, theirs = Workspace(tmp_path), Workspace(tmp_path)
    with mine.locked("reasoner", {"seed": 0}):
        refused = pytest.raises(UnknotError, match=r"reasoner-\w+: process \d+ is at work on it; wait")
        with refused, theirs.locked("reasoner", {"seed": 0}):
            pass
        with theirs.locked("reasoner", {"seed": 1}):
            pass
    with theirs.locked("reasoner", {"seed": 0}):
        pass


def test_what_is_kept_nowhere_is_not_locked_and_a_folder_that_is_none_is_an_error(tmp_path: Path) -> None:
    with Workspace().locked("reasoner", 0), Workspace().locked("reasoner", 0):
        pass
    (tmp_path / "file").write_text("")
    with pytest.raises(UnknotError, match="cannot be written"), Workspace(tmp_path / "file").locked("reasoner", 0):
        pass
    with Workspace(tmp_path / "file", must_keep=False).locked("reasoner", 0):
        pass
