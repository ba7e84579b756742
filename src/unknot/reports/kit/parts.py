"""The templates, scripts and styles of pages."""

from importlib.resources import files


def part(name: str, package: str = "unknot.reports.kit") -> str:
    """A file beside the modules of a package."""
    return (files(package) / name).read_text(encoding="utf-8")


def script(name: str, package: str = "unknot.reports.kit") -> str:
    """A script, after what all scripts use."""
    return part("make.js") + part(name, package)
