"""One self-contained HTML page: sections of text, tables, charts and pictures, no network needed to read it.

Everything that comes from data is escaped, and the page forbids itself every address and every script but its own.
Tables with a name can be sorted, filtered and saved as CSV; `page.html#table=NAME&sort=-3&filter=WORDS` opens
one sorted downwards by its third column with only the rows that hold all words.
"""

import base64
import hashlib
import io
import json
import math
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unknot import __version__
from unknot.errors import UnknotError, extras
from unknot.files import written_whole
from unknot.reading.guard import must_fit

if TYPE_CHECKING:
    from markupsafe import Markup
    from PIL.Image import Image

KIT = "unknot.reports.kit"
KINDS = {b"\x89PNG": "png", b"GIF8": "gif"}  # how files that may be shown begin
WIDE = 7  # columns; the heads of numbers stand upright in tables that have more


@dataclass(frozen=True)
class Picture:
    """A PNG or GIF with its caption."""

    png: bytes
    caption: str

    @classmethod
    def of(cls, image: "Image", caption: str) -> "Picture":
        """An image of PIL with its caption."""
        file = io.BytesIO()
        image.save(file, format="PNG")
        return cls(file.getvalue(), caption)

    @classmethod
    def read(cls, path: Path, caption: str) -> "Picture | None":
        """The picture in a file, if it is one that may be shown."""
        try:
            must_fit(path, path.stat().st_size)
            content = path.read_bytes()
        except (OSError, UnknotError):  # none, or one that nobody drew
            return None
        return cls(content, caption) if content[:4] in KINDS else None

    @property
    def source(self) -> str:
        """The picture as a data address."""
        kind = KINDS.get(self.png[:4], "png")
        return f"data:image/{kind};base64," + base64.b64encode(self.png).decode("ascii")


@dataclass(frozen=True)
class Drawing:
    """A chart as inline SVG, from `unknot.reports.kit.charts`, which escapes what it is given."""

    svg: str
    caption: str = ""


@dataclass(frozen=True)
class Line:
    """Values over steps; lines of one group have one colour, and are hidden together."""

    name: str
    group: str
    steps: Sequence[float]
    values: Sequence[float]


@dataclass(frozen=True)
class LineChart:
    """Lines that the reader chooses among, points at and zooms into; which of the `panels` is drawn is chosen too."""

    title: str
    panels: Mapping[str, Sequence[Line]]
    caption: str = ""

    @property
    def data(self) -> str:
        """What the script draws, as JSON."""
        panels = [
            {
                "name": name,
                "lines": [
                    {
                        "name": line.name,
                        "group": line.group,
                        "x": list(line.steps),
                        "y": [float(f"{v:.5g}") if math.isfinite(v) else None for v in line.values],
                    }
                    for line in lines
                ],
            }
            for name, lines in self.panels.items()
        ]
        return json.dumps({"panels": panels}, separators=(",", ":"))


@dataclass(frozen=True)
class Gallery:
    """Charts side by side, as many as the width allows."""

    drawings: Sequence[Drawing]


@dataclass(frozen=True)
class Link:
    """Text that leads to the section with that anchor."""

    text: str
    anchor: str


@dataclass(frozen=True)
class Command:
    """What to type in a terminal to get a number again."""

    words: tuple[str, ...]
    caption: str = ""

    @property
    def text(self) -> str:
        """The command, quoted for a shell."""
        return shlex.join(self.words)


@dataclass(frozen=True)
class Listing:
    """Text set as it is, such as the end of a log."""

    text: str


Cell = str | float | int | None | Link | Command


@dataclass(frozen=True)
class Grid:
    """A table; cells that are numbers are right-aligned, None is a gap. With a name, it has tools.

    Attributes:
        header: of its columns.
        rows: of cells.
        caption: above it.
        name: by which it is found and saved.
        best: positions (row, column) of cells that are marked as the best of their column.
        exact: names of the columns for programs, where heads are for people; saved files have them.
        minor: columns that a phone does not show until it is asked to.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    name: str = ""
    best: Collection[tuple[int, int]] = ()
    exact: Sequence[str] = ()
    minor: Collection[int] = ()

    @property
    def upright(self) -> list[bool]:
        """For each column, whether its head stands upright: it is one of many, and over numbers."""
        numbers = [
            any(isinstance(cell, int | float) for cell in column) for column in zip(*self.rows, strict=True)
        ]
        return [number and len(self.header) > WIDE for number in numbers] or [False] * len(self.header)


Content = Picture | Drawing | LineChart | Gallery | Grid | Command | Listing


@dataclass(frozen=True)
class Section:
    """A titled part of the page.

    Attributes:
        title: its heading.
        paragraphs: of text, first.
        contents: then.
        parts: smaller sections, folded but for those that are `open`.
        name: what its anchor is made of, if not the title.
        open: whether a part is unfolded to begin with.
    """

    title: str
    paragraphs: Sequence[str] = field(default_factory=tuple)
    contents: Sequence[Content] = field(default_factory=tuple)
    parts: Sequence["Section"] = field(default_factory=tuple)
    name: str = ""
    open: bool = False

    @property
    def anchor(self) -> str:
        """What links to the section point at."""
        return anchor(self.name or self.title)


def anchor(text: str) -> str:
    """Text as an anchor: letters and digits stay.

    >>> anchor("run-0a1b <i>")
    'run-0a1b--i-'
    """
    return "".join(c if c.isalnum() else "-" for c in text.lower())


def write_page(path: Path | str, title: str, lead: str, sections: Sequence[Section]) -> Path:
    """Write the page; everything that comes from data is escaped."""
    html, _ = render(
        "page", "report: writing pages", title=title, lead=lead, sections=sections, style=part("page.css")
    )
    with written_whole(path) as beside:
        # The script's hash is of these line ends.
        beside.write_text(html, encoding="utf-8", errors="backslashreplace", newline="\n")
    return Path(path)


def render(name: str, who: str, package: str = KIT, shared: str = "chart.js", **values: Any) -> tuple[str, str]:
    """NAME.html of a package, with NAME.js in it, and the hash of that, the one script which the page permits itself.

    Args:
        name: of the template and of the script, which follows what all scripts use.
        who: needs it, for messages.
        package: whose files they are.
        shared: the script that those of the package build on.
        values: that the template names.
    """
    with extras(who):
        from jinja2 import Environment, StrictUndefined
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    for kind in (Picture, Drawing, LineChart, Gallery, Command, Link, Listing):
        environment.tests[kind.__name__.lower()] = lambda item, kind=kind: isinstance(item, kind)
    environment.tests["numeric"] = lambda cell: isinstance(cell, int | float)
    environment.filters |= {"number": number, "exact": _exact, "prose": prose}
    script = part("make.js") + part(shared, package) + part(f"{name}.js", package)
    permitted = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    template = environment.from_string(part(f"{name}.html", package))
    return template.render(version=__version__, script=script, permitted=permitted, **values), permitted


def part(name: str, package: str = KIT) -> str:
    """A template, script or style beside the modules of a package."""
    return (files(package) / name).read_text(encoding="utf-8")


def prose(text: str) -> "Markup":
    """Text with what stands between backticks set as code; all of it is escaped.

    >>> prose("run `unknot <x>`")
    Markup('run <code>unknot &lt;x&gt;</code>')
    """
    from markupsafe import Markup, escape

    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def number(value: float | int) -> str:
    """A number as a table shows it.

    >>> [number(x) for x in (1234567, 0.12345, 0.000012, 4820.5, float("nan"))]
    ['1,234,567', '0.123', '1.2e-05', '4,820.5', 'undefined']
    """
    if isinstance(value, int):
        return f"{value:,}"
    if not math.isfinite(value):
        return "undefined" if math.isnan(value) else "∞" if value > 0 else "-∞"
    if 0 < abs(value) < 0.0005:
        return f"{value:.1e}"
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:,.1f}"


def _exact(value: float | int) -> str:
    """All digits, for sorting and for CSV."""
    return "" if isinstance(value, float) and math.isnan(value) else repr(value)
