"""A ranking as pictures: scores of each setting, and who is like whom."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.ranking.ranking import Ranking
from unknot.reports.kit.figure import figure_in, figure_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DARK, LIGHT, GREY = "#23395b", "#f2a65a", "#5c6b7a"
WHO = "ranking picture"
NAMED = 30  # models whose names fit beside a matrix
MOST = 2000  # models in a matrix; more are finer than a picture can show
LONGEST = 48  # letters of a setting on an axis


def settings_picture(ranking: Ranking, path: Path | str, *, title: str = "") -> Path:
    """Draw the scores of each setting as a box plot, best setting on top; a dot is a model.

    Boxes span the quartiles with the median inside, whiskers reach the farthest model within 1.5 times their
    length. The brighter a dot, the fewer informative latents.
    """
    target = figure_path(WHO, path)
    scored = ~np.isnan(ranking.scores)
    groups = {name: known for name, models in ranking.groups().items() if len(known := models[scored[models]])}
    if not groups:
        raise UnknotError(f"{WHO}: no model has a score.")
    ordered = sorted(groups, key=lambda name: float(np.median(ranking.scores[groups[name]])))

    with figure_in(target, (7.2, 1.4 + 0.42 * len(ordered))) as figure:
        axes = figure.subplots()
        kept = [groups[name] for name in ordered]
        axes.boxplot(
            [ranking.scores[models] for models in kept],
            orientation="horizontal",
            positions=range(len(kept)),
            widths=0.55,
            showfliers=False,
            boxprops={"color": GREY},
            whiskerprops={"color": GREY},
            capprops={"color": GREY},
            medianprops={"color": DARK, "linewidth": 2.5},
        )
        _dots(figure, axes, ranking, kept)
        axes.set_yticks(range(len(ordered)), [_short(name) or "all models" for name in ordered])
        axes.set_ylim(-0.6, len(ordered) - 0.4)
        axes.set_xlabel("UDR (higher is better)")
        axes.grid(axis="x", color="#e3e6e8", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.tick_params(length=0)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
        if title:
            axes.set_title(title, loc="left", fontsize=10)
    return target


def matrix_picture(ranking: Ranking, path: Path | str) -> Path:
    """Draw the pair scores as a heat map, predictors by targets, sorted by setting and score.

    Settings are set apart by lines. Pairs that were not compared stay blank.
    """
    target = figure_path(WHO, path)
    if len(ranking.names) > MOST:
        raise UnknotError(
            f"{WHO}: {len(ranking.names)} models are more than a matrix can show ({MOST}); rank fewer."
        )
    place = {i: p for p, i in enumerate(ranking.order)}
    groups = sorted(
        ranking.groups().values(), key=lambda models: float(np.median([place[int(i)] for i in models]))
    )
    order = [i for models in groups for i in sorted(map(int, models), key=place.__getitem__)]
    values = ranking.matrix()[np.ix_(order, order)]
    n = len(order)

    side = min(9.0, 3.4 + 0.17 * n)
    with figure_in(target, (side + 0.9, side)) as figure:
        axes = figure.subplots()
        axes.set_facecolor("#f4f4f2")
        top = max(1.0, float(np.nanmax(values))) if np.isfinite(values).any() else 1.0
        image = axes.imshow(values, cmap="viridis", vmin=0, vmax=top, interpolation="nearest")
        edges = np.cumsum([len(models) for models in groups])[:-1] - 0.5
        for edge in edges:
            axes.axhline(edge, color="white", linewidth=1.5)
            axes.axvline(edge, color="white", linewidth=1.5)
        places: Sequence[float] = []
        names: list[str] = []
        if n <= NAMED:
            places, names = range(n), [ranking.names[i] for i in order]
        elif 1 < len(groups) <= NAMED:
            sizes = np.array([len(models) for models in groups])
            places = (np.cumsum(sizes) - sizes / 2 - 0.5).tolist()
            names = [ranking.settings[models[0]] for models in groups]
        axes.set_xticks(places, [_short(name, 28) for name in names], rotation=90, fontsize=8)
        axes.set_yticks(places, [_short(name, 28) for name in names], fontsize=8)
        axes.tick_params(length=0)
        axes.set(xlabel="target", ylabel="predictor")
        for spine in axes.spines.values():
            spine.set_visible(False)
        bar = figure.colorbar(image, ax=axes, shrink=0.8, label="pair score")
        bar.outline.set_visible(False)
    return target


def _dots(figure: "Figure", axes: "Axes", ranking: Ranking, kept: Sequence[NDArray[np.int64]]) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    rng = np.random.default_rng(0)  # dots of equal score should not hide each other
    models = np.concatenate(kept)
    height = np.concatenate([p + rng.uniform(-0.17, 0.17, len(m)) for p, m in enumerate(kept)])
    counts = ranking.n_informative[models]
    few, many = int(counts.min()), int(counts.max())
    colors: Any = LinearSegmentedColormap.from_list("d", [LIGHT, DARK], N=max(many - few + 1, 2))
    how: dict[str, Any] = {"s": 18, "alpha": 0.9, "linewidths": 0, "zorder": 3}
    if few == many:
        axes.scatter(ranking.scores[models], height, c=DARK, **how)
    else:
        how |= {"c": counts, "cmap": colors, "vmin": few - 0.5, "vmax": many + 0.5}
        dots = axes.scatter(ranking.scores[models], height, **how)
        step = max(1, (many - few) // 5)
        bar = figure.colorbar(dots, ax=axes, ticks=range(few, many + 1, step), label="informative latents d")
        bar.outline.set_visible(False)


def _short(text: str, most: int = LONGEST) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
