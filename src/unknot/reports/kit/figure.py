"""Figures drawn by matplotlib, in files that appear whole."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from unknot.errors import UnknotError
from unknot.files import written_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")


def figure_path(who: str, path: Path | str) -> Path:
    """The path, if its suffix is one that figures are written with; `who` asks, for messages."""
    target = Path(path)
    if target.suffix not in FORMATS:
        raise UnknotError(f"{who}: cannot write '{target.name}'; end its name in {', '.join(FORMATS)}.")
    return target


@contextmanager
def figure_in(path: Path, size: tuple[float, float], *, letters: float = 9) -> Iterator["Figure"]:
    """A figure of so many inches to draw, which is in its file, whole, when the block ends well."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"svg.hashsalt": "unknot", "font.size": letters}):
        figure = Figure(figsize=size, layout="constrained")
        yield figure
        with written_whole(path) as beside:
            figure.savefig(beside, dpi=150, format=path.suffix[1:] or "png")
