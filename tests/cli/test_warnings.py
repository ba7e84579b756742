"""Warnings on the command line."""

import warnings

import pytest

from unknot import cli
from unknot.errors import UnknotWarning


def test_our_own_warnings_are_one_line_without_a_path(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def command() -> None:
        text = warnings.formatwarning("z3 is\nconstant.", UnknotWarning, "encoding.py", 270, None)
        assert text == "unknot: warning: z3 is constant.\n"
        assert "other.py:7: UserWarning: odd" in warnings.formatwarning("odd", UserWarning, "other.py", 7, "x")

    monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)  # put back in the end
    monkeypatch.setattr(cli, "app", command)
    cli.main()
    assert not capsys.readouterr().err
