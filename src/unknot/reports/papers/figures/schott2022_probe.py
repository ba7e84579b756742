"""What readouts say of single images, beside the truth: Schott et al. 2022, Figures 6, 15, 16 and 18."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from unknot.errors import UnknotError
from unknot.factors import space
from unknot.reports.kit.charts import Dot
from unknot.reports.kit.latent_pictures import reconstructions
from unknot.reports.kit.page import Picture
from unknot.tasks.result import TaskResult, as_number
from unknot.worlds.catalogue import conventions, open_world
from unknot.worlds.splits.named import named_split

SHOWN = 400  # dots of a chart of predictions
PICTURES = 12  # images of a picture of predictions


class Probe:
    """The predictions that a result keeps for single images of a split, (n, k), and what is true.

    Args:
        result: of the task.
        split: which of its splits.
        table: its rows of single images.
        all_factors: whether all factors count where no image has exactly one unseen.
    """

    def __init__(self, result: TaskResult, split: str, table: list[Any], *, all_factors: bool) -> None:
        factors = result.settings["factors"]
        grid = space(factors)
        self.split = named_split(split, grid, conventions(result.world).rule)
        self.names = grid.names
        self.classes = grid.classes(np.array([int(row["point"]) for row in table]))
        self.truth = grid.scaled(self.classes)
        self.predicted = np.array([[as_number(row[f"predicted {name}"]) for name in factors] for row in table])
        unseen = self.split.one_ood_factor(self.classes)
        rows = np.flatnonzero(unseen >= 0)
        if len(rows) or not all_factors:
            self.rows, self.columns = rows, unseen[rows]
        else:
            varied = np.flatnonzero(grid.sizes > 1)
            self.rows = np.repeat(np.arange(len(table)), len(varied))
            self.columns = np.tile(varied, len(table))

    def ratios(self, mean: Any) -> Any:
        """How far from the mean predictions go, relative to how far they should."""
        predicted, truth = self.predicted[self.rows, self.columns], self.truth[self.rows, self.columns]
        away = np.abs(truth - mean[self.columns])
        known = away > 1e-12
        return np.abs(predicted - mean[self.columns])[known] / away[known]

    def dots(self) -> list[Dot]:
        """Predictions by truth, a dot each."""
        every = max(1, len(self.rows) // SHOWN)
        return [
            Dot(float(self.predicted[i, j]), self.names[j], across=float(self.truth[i, j]))
            for i, j in zip(self.rows[::every].tolist(), self.columns[::every].tolist(), strict=True)
        ]

    @property
    def shown(self) -> Any:
        """Some of the images."""
        rows = np.unique(self.rows)
        return rows[np.linspace(0, len(rows) - 1, min(PICTURES, len(rows))).astype(int)]

    def nearest(self) -> Any:
        """The classes nearest to what was predicted of the images shown."""
        sizes = self.split.space.sizes - 1
        return np.clip(np.rint(self.predicted[self.shown] * sizes), 0, sizes).astype(np.int64)


def probe_of(result: TaskResult, split: str, *, all_factors: bool = False) -> Probe | None:
    """What a result keeps of single images of a split; None if it keeps none."""
    table = [row for row in result.tables.get("probe", []) if row["split"] == split]
    probe = Probe(result, split, table, all_factors=all_factors) if table else None
    return probe if probe is not None and len(probe.rows) else None


def pictures_of(world: str, probe: Probe, caption: str) -> Iterator[Picture]:
    """Test images over those of what was predicted, where the images of the world are here."""
    try:
        opened = open_world(world)
        above, below = opened.images(probe.classes[probe.shown]), opened.images(probe.nearest())
    except UnknotError:
        return
    yield Picture.of(reconstructions(above, below / 255), caption)
