"""What a split trains on and what it tests on, as a picture: every pair of factors, the others held.

After Figure 2 of Schott et al. 2022, arXiv:2107.08221, which draws three factors as a cube.
"""

from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unknot.reports.kit.figure import figure_in, figure_path
from unknot.worlds.splits.regions import Box
from unknot.worlds.splits.split import Split

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TRAIN, TEST, BOTH_UNSEEN = 0, 1, 2
COLORS = ("#23395b", "#f2a65a", "#c8553d")
MOST_FACTORS = 7
_HELD = {
    "random": "at their first class",
    "composition": "at a class that test has too",
    "combination": "at a class that is held out with them",
    "interpolation": "at a class of training",
    "extrapolation": "at a class of training",
}


def split_picture(split: Split, path: Path | str, *, title: str = "") -> Path:
    """Draw a split into a picture file; the suffix (.png, .svg, .pdf) decides the format.

    One panel for each pair of split factors, one cell for each pair of their classes: training, test, and test
    with both classes unseen. Factors that are not split would be plain stripes and are left out.
    """
    target, shown = figure_path("split picture", path), shown_factors(split)
    side = max(len(shown) - 1, 1)
    size = 2.4 if side == 1 else 1.5  # inches a panel
    with figure_in(target, (max(1.3 + size * side, 5.2), 1.7 + size * side)) as figure:
        _draw(figure, split, shown, title)
    return target


def shown_factors(split: Split) -> list[int]:
    """The columns a picture shows: the split factors, and others if fewer than two are split."""
    names = list(split.exclusive)
    free = [f.name for f in split.space if f.kind != "constant" and f.name not in names]
    if split.kind == "random":
        names = sorted(free, key=lambda name: -split.space[name].size)[:4]
    chosen = {*names, *free[: max(0, 2 - len(names))]}
    return [i for i, name in enumerate(split.space.names) if name in chosen][:MOST_FACTORS]


def pair_map(split: Split, row: int, column: int) -> NDArray[np.int8]:
    """(size of row factor, size of column factor) with TRAIN, TEST or BOTH_UNSEEN in every cell.

    All other factors are held at the first class for which the two at hand decide: inside the part of the split
    that is a product of per-factor sets.
    """
    space = split.space
    held = np.zeros(len(space), dtype=np.int64)
    for region in (split.train_region, split.test_region):
        if isinstance(region, Box):
            held = np.array([int(mask.argmax()) for mask in region.allowed])
    points = np.tile(held, (space.shape[row] * space.shape[column], 1))
    points[:, row], points[:, column] = np.divmod(np.arange(len(points)), space.shape[column])
    codes = np.where(split.contains(points), TRAIN, TEST)
    codes[split.ood(points).sum(axis=1) > 1] = BOTH_UNSEEN
    return codes.astype(np.int8).reshape(space.shape[row], space.shape[column])


def _draw(figure: "Figure", split: Split, shown: list[int], title: str) -> None:
    from matplotlib.patches import Patch

    maps = {pair: pair_map(split, pair[1], pair[0]) for pair in combinations(shown, 2)}
    side = len(shown) - 1
    if not maps:  # one factor alone varies, so the grid is a line: a strip
        strip = np.where(split.contains(split.space.classes(np.arange(split.space.size))), TRAIN, TEST)[None]
        _panel(figure.subplots(), split, None, shown[0], strip.astype(np.int8))
    else:
        axes: Any = figure.subplots(side, side, squeeze=False)
        for i in range(side):
            for j in range(side):
                if j > i:
                    axes[i, j].set_visible(False)
                    continue
                row, column = shown[i + 1], shown[j]
                _panel(axes[i, j], split, row, column, maps[column, row], left=j == 0, bottom=i == side - 1)
    heading = figure.suptitle(_heading(split, title, len(shown)), x=0.02, ha="left", fontsize=9.5)
    heading.set_linespacing(1.5)
    both = any((codes == BOTH_UNSEEN).any() for codes in maps.values())
    new = "test: seen classes, new combinations" if split.kind in ("composition", "combination") else "test"
    words = ["training", "test: one class unseen" if both else new, "test: both classes unseen"]
    patches = [Patch(facecolor=c, label=w) for c, w in zip(COLORS[: 2 + both], words, strict=False)]
    figure.legend(handles=patches, loc="outside lower left", ncols=3, frameon=False, fontsize=9)


def _panel(
    axes: "Axes",
    split: Split,
    row: int | None,
    column: int,
    codes: NDArray[np.int8],
    *,
    left: bool = True,
    bottom: bool = True,
) -> None:
    from matplotlib.colors import ListedColormap

    axes.pcolormesh(
        codes,
        cmap=ListedColormap(COLORS),
        vmin=TRAIN,
        vmax=BOTH_UNSEEN,
        edgecolor="white" if max(codes.shape) <= 16 else "face",
        linewidth=0.8 if max(codes.shape) <= 16 else 0,
    )
    axes.invert_yaxis()  # class 0 on top, as in a table
    names = split.space.names
    _ticks(axes.xaxis, codes.shape[1], names[column] if bottom else "")
    _ticks(axes.yaxis, codes.shape[0] if row is not None else 0, names[row] if left and row is not None else "")
    for spine in axes.spines.values():
        spine.set_visible(False)


def _ticks(axis: Any, size: int, name: str) -> None:
    classes = sorted({0, size - 1}) if size else []
    axis.set_ticks([c + 0.5 for c in classes], [str(c) for c in classes] if name else [""] * len(classes))
    axis.set_tick_params(length=0, labelsize=8, labelcolor="#5c6b7a")
    axis.set_label_text(name, fontsize=9.5)


def _heading(split: Split, title: str, n_shown: int) -> str:
    share = 100 * split.n_train / split.space.size
    lines = [
        f"{title + ': ' if title else ''}{split.kind}",
        f"{split.n_train:,} points for training ({share:.1f} %), {split.n_test:,} for testing ({100 - share:.1f} %)",
    ]
    if split.kind == "combination" and len(split.exclusive) == 2:
        lines.append("whatever the other factors are")
    elif len(split.space) > 2 and n_shown > 1:
        lines.append(f"each panel: two factors by class, the others {_HELD[split.kind]}")
    return "\n".join(lines)
