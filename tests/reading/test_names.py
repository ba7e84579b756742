"""Names from strangers, as they may be shown."""

import codecs

import pytest

from unknot.reading.names import ERRORS, as_cell, visible


@pytest.mark.parametrize("name", ["\x1b[31mred", "\x1b]0;title\x07", "a\rb\tc", "\x9b31m", "right \u202eto left"])
def test_nothing_in_a_name_is_obeyed_by_a_terminal(name: str) -> None:
    assert visible(name).isprintable()
    assert visible(name) != name


def test_plain_names_lines_and_bytes_that_are_no_text_stay_as_they_are() -> None:
    for name in ("shape", "名前🎲", "two\nlines", "\udcff", "[/red]"):
        assert visible(name) == name


def test_a_cell_is_visible_and_one_that_begins_a_formula_is_words() -> None:
    assert as_cell("\x1b]0;title\x07") == r"\x1b]0;title\x07" and as_cell("\t=1") == r"\t=1"
    assert [as_cell(name) for name in ("=1+1", "@SUM(A1)", "-x", "+1")] == ["'=1+1", "'@SUM(A1)", "'-x", "+1"]


def test_what_an_output_cannot_take_is_escaped_and_bytes_of_names_survive() -> None:
    assert "a\udcffb".encode("utf-8", ERRORS) == b"a\xffb"
    assert "a\ud800b".encode("utf-8", ERRORS) == b"a\\ud800b"
    assert "é■".encode("ascii", ERRORS) == b"\\xe9\\u25a0"
    with pytest.raises(UnicodeDecodeError):
        codecs.decode(b"\xff", "utf-8", ERRORS)
