"""Names from strangers, as they may be shown: nothing in them is obeyed by a terminal or a spreadsheet."""

import codecs
import csv
import io
import re
from collections.abc import Iterable
from typing import Any

# Control characters, separators of lines, and marks that turn the direction of writing; a new line is let through.
_OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_FORMULA = ("=", "+", "-", "@")


def visible(text: str) -> str:
    r"""A text in which control characters and escape sequences are seen instead of obeyed.

    >>> print(visible("a \x1b[31mred\x07 name"))
    a \x1b[31mred\x07 name
    """
    return _OBEYED.sub(lambda found: ascii(found[0])[1:-1], text)


def as_cell(value: Any) -> Any:
    r"""A value as a cell of a CSV: visible, and with an apostrophe in front of what a spreadsheet takes for a formula.

    >>> as_cell("=1+1"), as_cell("-0.5"), as_cell("shape"), as_cell(-0.5), as_cell("\t=1")
    ("'=1+1", '-0.5', 'shape', -0.5, '\\t=1')
    """
    if not isinstance(value, str):
        return value
    text = visible(value)
    return f"'{text}" if text.startswith(_FORMULA) and not _is_number(text) else text


def csv_text(rows: Iterable[Iterable[Any]], end: str = "\r\n") -> str:
    """Rows as CSV in which no name is a formula."""
    text = io.StringIO()
    csv.writer(text, lineterminator=end).writerows([as_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _escaped(error: UnicodeError) -> tuple[str | bytes, int]:
    """What an output cannot take: bytes of a name that is no text are given as they are, characters as escapes."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    parts = error.object[error.start : error.end]
    if all("\udc80" <= character <= "\udcff" for character in parts):
        return parts.encode("utf-8", "surrogateescape"), error.end
    return codecs.backslashreplace_errors(error)


ERRORS = "unknot.reading.names"  # how outputs treat what they cannot take
codecs.register_error(ERRORS, _escaped)
