"""Processes of this machine, as Linux lists them."""

from collections.abc import Iterator
from pathlib import Path


def family(pid: int) -> set[int]:
    """A process and all that it has started, as long as those in between live."""
    parents = {child: int(state[1]) for child, state in _all()}
    members = {pid}
    while more := {child for child, parent in parents.items() if parent in members} - members:
        members |= more
    return members


def session(leader: int) -> list[int]:
    """The processes of a session that still run."""
    return [pid for pid, state in _all() if int(state[3]) == leader and state[0] != "Z"]


def alive(pid: int) -> bool:
    """Whether a process still runs."""
    return any(other == pid and state[0] != "Z" for other, state in _all())


def title(pid: int) -> str:
    """What a process calls itself; empty if it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def _all() -> Iterator[tuple[int, list[str]]]:
    """Every process, with its state, parent, group, session, ..."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                yield int(folder.name), (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
