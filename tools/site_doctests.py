"""An extension of griffe, which reads docstrings for the site: examples at their ends are shown as code."""

import re
from typing import Any

from griffe import Extension

# From the first `>>>` of a line to the next empty line, with what it prints.
EXAMPLE = re.compile(r"^(>>> .*(?:\n(?!\s*$).*)*)", re.MULTILINE)


def fenced(text: str) -> str:
    """A docstring with its examples between fences."""
    return EXAMPLE.sub(r"```pycon\n\1\n```", text)


class Doctests(Extension):
    """Puts fences around examples."""

    def on_object(self, *, obj: Any, **more: Any) -> None:
        """Called for every module, class and function."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
