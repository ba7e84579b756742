"""Hinton diagrams: one square for each latent and factor, its area the weight."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.reports.kit.figure import figure_in

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PICTURES = (".png", ".svg", ".pdf", ".jpg", ".webp")
LEVELS = " ·▪◾■"  # five sizes of square for the terminal


def hinton_text(weights: NDArray[np.float64], names: Sequence[str]) -> str:
    """The diagram as text, one line for each factor, one character for each latent.

    Args:
        weights: (d, k) non-negative, 1 at most.
        names: of the k factors.

    >>> print(hinton_text(np.array([[1.0, 0.0], [0.1, 0.5]]), ["shape", "x"]))
    shape ■·
        x  ▪
    """
    width = max(map(len, names))
    top = len(LEVELS) - 1
    levels = np.ceil(np.clip(weights, 0, 1) * top - 0.2).astype(int).clip(0, top)
    rows = ("".join(LEVELS[level] for level in column) for column in levels.T)
    return "\n".join(f"{name:>{width}} {row.rstrip()}" for name, row in zip(names, rows, strict=True))


def check_picture(path: Path | str) -> None:
    """Refuse a name whose suffix is not that of a picture, before the scoring rather than after it."""
    suffix = Path(path).suffix.lower()
    if suffix and suffix not in PICTURES:
        raise UnknotError(f"{path}: '{suffix}' is not a picture we can draw; expected {', '.join(PICTURES)}.")


def hinton_figure(
    weights: NDArray[np.float64], names: Sequence[str], path: Path | str, *, title: str = ""
) -> Path:
    """Draw the diagram into a picture file; the suffix decides the format, PNG without one."""
    check_picture(path)
    d, k = weights.shape
    with figure_in(Path(path), (1.6 + 0.34 * d, 1.3 + 0.34 * k), letters=10) as figure:
        draw_hinton(figure.subplots(), weights, names, title=title)
    return Path(path)


def draw_hinton(axes: "Axes", weights: NDArray[np.float64], names: Sequence[str], *, title: str = "") -> None:
    """Draw the diagram into axes."""
    from matplotlib.patches import Rectangle

    d, k = weights.shape
    axes.set_facecolor("#f4f4f2")
    for i in range(d):
        for j in range(k):
            side = 0.92 * float(np.sqrt(np.clip(weights[i, j], 0, 1)))
            axes.add_patch(Rectangle((i - side / 2, j - side / 2), side, side, color="#23395b", lw=0))
    axes.set(xlim=(-0.6, d - 0.4), ylim=(k - 0.4, -0.6), aspect="equal", xlabel="latent", title=title)
    axes.set_xticks(range(d), [str(i) for i in range(d)], fontsize=8 if d > 30 else 10)
    axes.set_yticks(range(k), names)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
