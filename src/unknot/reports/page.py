"""One self-contained HTML page: sections of text, tables and pictures, no network needed to read it."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from unknot import __version__
from unknot.atomic import written_whole
from unknot.errors import UnknotError


@dataclass(frozen=True)
class Picture:
    """A PNG with its caption."""

    png: bytes
    caption: str
    pixelated: bool = False  # keep small images sharp when a browser enlarges them

    @property
    def source(self) -> str:
        """The picture as a data address."""
        return "data:image/png;base64," + base64.b64encode(self.png).decode("ascii")


@dataclass(frozen=True)
class Grid:
    """A table; cells that are numbers are set right-aligned."""

    header: Sequence[str]
    rows: Sequence[Sequence[str | float | int]]
    caption: str = ""


@dataclass(frozen=True)
class Section:
    """A titled part of the page."""

    title: str
    paragraphs: Sequence[str] = field(default_factory=tuple)
    contents: Sequence[Picture | Grid] = field(default_factory=tuple)

    @property
    def anchor(self) -> str:
        """What links to the section point at."""
        return "".join(c if c.isalnum() else "-" for c in self.title.lower())


def write_page(path: Path | str, title: str, lead: str, sections: Sequence[Section]) -> Path:
    """Write the page; everything that comes from data is escaped."""
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError:
        raise UnknotError("report: writing pages needs an extra: pip install unknot[report].") from None
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.tests["picture"] = lambda item: isinstance(item, Picture)
    environment.tests["numeric"] = lambda cell: isinstance(cell, int | float)
    environment.filters["number"] = lambda cell: f"{cell:,}"
    template = environment.from_string((files("unknot.reports") / "page.html").read_text(encoding="utf-8"))
    html = template.render(title=title, lead=lead, sections=sections, version=__version__)
    with written_whole(path) as beside:
        beside.write_text(html, encoding="utf-8")
    return Path(path)
