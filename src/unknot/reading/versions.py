"""Files that another version of Unknot wrote."""

import re
from typing import Any

from unknot import __version__


def newer(record: Any, version: str = __version__) -> str:
    """What to add to an error about a record that a newer version wrote; empty if this one could have written it.

    Args:
        record: of a run or a study, whatever it holds.
        version: this one.

    >>> newer({"versions": {"unknot": "0.10.2"}}, "0.9.1")
    ' It was written by Unknot 0.10.2, which is newer than this one (0.9.1): update Unknot.'
    >>> newer({"versions": {"unknot": "0.9.0"}}, "0.9.1"), newer({}, "0.9.1")
    ('', '')
    """
    versions = record.get("versions") if isinstance(record, dict) else None
    writer = str(versions.get("unknot", "")) if isinstance(versions, dict) else ""
    if release(writer) <= release(version):
        return ""
    return f" It was written by Unknot {writer}, which is newer than this one ({version}): update Unknot."


def release(version: str) -> list[int]:
    """The numbers of a version, to be compared.

    >>> release("1.10.2.dev0"), release("")
    ([1, 10, 2], [])
    >>> release("9" * 5000)  # of a stranger's file: more digits than Python makes a number of
    [999999999]
    """
    head = re.match(r"\d{1,9}(\.\d{1,9})*", version)
    return [int(number) for number in head[0].split(".")] if head else []
