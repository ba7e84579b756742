"""Latents and factors as a data frame, and as a picture of the values of each latent."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from unknot.reading.arrays import as_array
from unknot.tables.labels import Labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

MOST = 40  # latents that are drawn


def latent_frame(latents: Any, labels: Labels | None) -> "DataFrame":
    """Latents z0, z1, ... and factors, words as words."""
    from pandas import DataFrame

    flat = as_array(latents).reshape(latents.shape[0], math.prod(latents.shape[1:]))
    columns: dict[str, Any] = {f"z{i}": column for i, column in enumerate(flat.T)}
    if labels is None:
        return DataFrame(columns)
    for name, codes in zip(labels.columns, labels.values.T, strict=True):
        words = labels.words.get(name)
        columns[name] = codes if words is None else [_word(words, code) for code in codes]
    return DataFrame(columns)


def _word(words: Sequence[str], code: float) -> str | None:
    """What a class is called; its number, if it is called nothing."""
    if not code >= 0:
        return None
    return words[int(code)] if code < len(words) else f"{code:g}"


def draw_latents(latents: Any, axes: "Axes | None" = None) -> "Axes":
    """A box for the values of each latent, of many the first, into axes of matplotlib."""
    from matplotlib import pyplot

    axes = pyplot.gca() if axes is None else axes
    n, width = latents.shape[0], math.prod(latents.shape[1:])
    shown = min(MOST, width)
    few = latents[:, :shown] if len(latents.shape) == 2 else latents.reshape(n, width)[:, :shown]
    axes.boxplot(list(as_array(few).T), showfliers=False)
    axes.set_xticks(range(1, shown + 1), [f"z{i}" for i in range(shown)], rotation=90 if shown > 12 else 0)
    which = f", {shown} of {width} latents" if shown < width else ""
    axes.set(ylabel="value", title=f"{n:,} rows{which}")
    return axes
