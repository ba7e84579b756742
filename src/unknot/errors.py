"""The one kind of error a caller can mend, and how it is worded.

Every message says who complains, what was wrong with which value, what was expected, and what to do.
The command line prints it without a traceback and exits with code 2.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class UnknotError(ValueError):
    """A mistake in what the caller passed: a name, a file, a value, a shape."""


class UnknotWarning(UserWarning):
    """Something was left out or assumed; the result says what."""


def unknown(kind: str, name: str, known: Iterable[str]) -> UnknotError:
    """The error for a name that is not in a registry, with the nearest one that is.

    >>> unknown("metric", "migs", ["dci", "mig", "sap"])
    UnknotError("unknown metric 'migs'; did you mean 'mig'? Known: dci, mig, sap.")
    """
    choices = sorted(known)
    nearest = get_close_matches(name, choices, n=1, cutoff=0.5)
    hint = f"; did you mean '{nearest[0]}'?" if nearest else "."
    return UnknotError(f"unknown {kind} '{name}'{hint} Known: {', '.join(choices)}.")
