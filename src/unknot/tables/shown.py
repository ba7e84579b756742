"""Latents and factors as a data frame, and as a picture of the values of each latent."""

from typing import TYPE_CHECKING, Any

import numpy as np

from unknot.reading.arrays import as_array
from unknot.tables.labels import Labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

MOST = 40  # latents that are drawn


def latent_frame(latents: Any, labels: Labels | None) -> "DataFrame":
    """Latents z0, z1, ... and factors, words as words."""
    from pandas import DataFrame

    flat = np.asarray(as_array(latents)).reshape(latents.shape[0], -1)
    columns: dict[str, Any] = {f"z{i}": column for i, column in enumerate(flat.T)}
    if labels is None:
        return DataFrame(columns)
    for name, codes in zip(labels.columns, labels.values.T, strict=True):
        words = labels.words.get(name)
        columns[name] = codes if words is None else [words[int(c)] if c >= 0 else None for c in codes]
    return DataFrame(columns)


def draw_latents(latents: Any, axes: "Axes | None" = None) -> "Axes":
    """A box for the values of each latent, of many the first, into axes of matplotlib."""
    from matplotlib import pyplot

    axes = pyplot.gca() if axes is None else axes
    flat = np.asarray(as_array(latents)).reshape(latents.shape[0], -1)
    shown = min(MOST, flat.shape[1])
    axes.boxplot(list(flat[:, :shown].T), showfliers=False)
    axes.set_xticks(range(1, shown + 1), [f"z{i}" for i in range(shown)], rotation=90 if shown > 12 else 0)
    which = f", {shown} of {flat.shape[1]} latents" if shown < flat.shape[1] else ""
    axes.set(ylabel="value", title=f"{flat.shape[0]:,} rows{which}")
    return axes
