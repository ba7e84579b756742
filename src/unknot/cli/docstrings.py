"""Docstrings as text for a terminal that is narrower than they were written for."""

import re
import textwrap
from collections.abc import Iterator

FULL = 80  # a docstring's line of this length goes on in the next one
FORMULA = re.compile(r"\S {2,}\S")
ITEM = re.compile(r' *("?\w+"?|Edge cases): |Departs |- ')  # begins on a line of its own


def joined(doc: str) -> str:
    r"""A docstring with each paragraph in one line.

    >>> joined("What it does.\n\nMore about\nit.")
    'What it does.\n\nMore about it.'
    """
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in doc.split("\n\n"))


def reflowed(doc: str, width: int) -> str:
    """A docstring for a terminal: paragraphs too wide for it are filled anew, formulas stay, tables become lists."""
    lines = list(_without_tables(doc))
    if max(map(len, lines), default=0) < width:
        return "\n".join(lines)
    paragraphs: list[str] = []
    open_ended = False
    for line in lines:
        item = ITEM.match(line) and not (paragraphs and paragraphs[-1][-1:].isalpha())  # none in mid-sentence
        if open_ended and line.strip() and not FORMULA.search(line) and not item:
            paragraphs[-1] += " " + line.strip()
        else:
            paragraphs.append(line)
        open_ended = len(line) >= FULL and not FORMULA.search(line)
    return "\n".join(_filled(text, width) for text in paragraphs)


def _without_tables(doc: str) -> Iterator[str]:
    """The lines of a docstring; a row of a Markdown table reads "- first: second, third", and its head is left out."""
    lines = doc.splitlines()
    for line, below in zip(lines, [*lines, ""][1:], strict=True):
        if not line.startswith("|"):
            yield line
        elif not line.startswith("|-") and not below.startswith("|-"):
            first, *rest = (cell.strip() for cell in line.strip("|").split(" | "))
            yield f"- {first}: {', '.join(rest)}"


def _filled(text: str, width: int) -> str:
    indent = len(text) - len(text.lstrip())
    hanging = " " * (indent + 4 if indent or FORMULA.search(text) else 2 if text.startswith("- ") else 0)
    if len(text) < width:
        return text
    if FORMULA.search(text):  # its parts, which wide gaps separate, go under one another
        return f"\n{hanging}".join(re.split(r" {2,}", text.strip()))
    return textwrap.fill(text, width - 1, subsequent_indent=hanging, break_on_hyphens=False)
