"""The templates, scripts and styles of pages."""

from importlib.resources import files


def part(name: str) -> str:
    """A file of this folder."""
    return (files("unknot.reports") / name).read_text(encoding="utf-8")


def script(name: str) -> str:
    """A script, after what all scripts use."""
    return part("make.js") + part(name)
