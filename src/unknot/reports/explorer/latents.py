"""A file of latents to look into: what each latent knows, its values, and the rows that are nearest to a code."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from unknot.errors import UnknotError
from unknot.factors import FactorSpace, Indices
from unknot.metrics.arrays import Floats
from unknot.metrics.latents import check_latents
from unknot.reports.explorer.knowing import carried, known_shares
from unknot.reports.explorer.row_images import RowImages, row_images
from unknot.reports.explorer.server import Place, Slider, made_place, png
from unknot.reports.kit.charts import hinton
from unknot.representation import Representation

LARGEST = 50_000_000  # numbers kept; of more, rows are chosen at random
SCORED = 20_000  # rows that tell what a latent knows
MOST = 60  # latents that have a slider
BARS = 32  # of a histogram
NEAREST = 9  # rows that are shown
ALONG = 7  # rows that are shown from the lowest to the highest value of a latent


class ExploredLatents:
    """The rows of a representation, and their images if the world is known.

    Attributes:
        about: a sentence or two.
        sliders: of the latents that know most, or vary most where there are no factors.
        n_rows: in the file.
        shares: (latents with a slider, factors that vary), what each knows of each; None without factors.
        factors: names of the factors that vary.
    """

    def __init__(
        self, representation: Representation, *, world: str | Path | None = None, data: Path | None = None
    ) -> None:
        about = []
        if representation.latents.ndim == 3:
            about.append(f"Of its {representation.latents.shape[1]} slots, the mean is shown.")
            representation = replace(representation.pooled(), latents_test=None, factors_test=None)
        self._representation = representation
        self.n_rows, width = representation.latents.shape
        if not (self.n_rows and width):
            raise UnknotError(f"explore: {self.n_rows} rows of {width} latents; expected at least one of each.")
        self._numbers = _chosen(self.n_rows, max(1, LARGEST // width))
        self._latents = check_latents("explore", representation.latents[self._numbers], copy=False)
        spread = self._latents.std(axis=0)
        self._images, self._space = self._open(world, data, about)
        shares, self.factors = self._knows(about)
        by = spread if shares is None or not shares.size else shares.max(axis=1)
        order = np.argsort(-by, kind="stable")[:MOST]
        self.shares = None if shares is None else shares[order]
        self.sliders = tuple(self._slider(int(i), shares) for i in order)
        if width > MOST:
            most = "vary most" if shares is None else "know most of a factor"
            about.append(f"Sliders are of the {MOST} latents that {most}.")
        if len(self._numbers) < self.n_rows:
            about.append(f"Of its rows, {len(self._numbers):,} are here, chosen at random.")
        self.about = " ".join([f"{self.n_rows:,} rows of {width} latents.", *about])

    def near(self, row: int, moved: Mapping[int, float]) -> dict[str, Any]:
        """The rows nearest to that of a number, or the next that is here, with some of its latents moved."""
        place = min(int(np.searchsorted(self._numbers, row)), len(self._numbers) - 1)
        code = self._latents[place].copy()
        code[list(moved)] = list(moved.values())
        distance = np.sqrt(((self._latents - code) ** 2).sum(axis=1))
        nearest = np.argsort(distance, kind="stable")[:NEAREST]
        shown = [f"distance {d:.3g}" if d else "" for d in distance[nearest]]
        places = [slider.index for slider in self.sliders]
        return {
            "row": int(self._numbers[place]),
            "values": code[places].tolist(),
            "rows": self._rows(nearest, shown),
        }

    def along(self, index: int) -> dict[str, Any]:
        """Rows from the lowest to the highest value of a latent, as many rows lying between each and the next."""
        values = self._latents[:, index]
        order = np.argsort(values, kind="stable")
        places = order[np.linspace(0, len(order) - 1, min(ALONG, len(order))).round().astype(int)]
        return {"rows": self._rows(places, [f"{value:.3g}" for value in values[places]])}

    def _rows(self, places: Indices, remarks: Sequence[str]) -> list[dict[str, Any]]:
        numbers = self._numbers[places]
        pictures = None if self._images is None else [png(image / 255) for image in self._images(numbers)]
        return [
            {
                "number": int(number),
                "remark": remark,
                "picture": "" if pictures is None else pictures[i],
                "factors": self._labels(int(number)),
            }
            for i, (number, remark) in enumerate(zip(numbers, remarks, strict=True))
        ]

    def _labels(self, row: int) -> list[tuple[str, str]]:
        """Names and values of a row's factors."""
        names, factors = self._representation.factor_names, self._representation.factors
        if factors is None:
            return []
        return [(name, self._label(name, float(value))) for name, value in zip(names, factors[row], strict=True)]

    def _label(self, name: str, value: float) -> str:
        if np.isnan(value):
            return "unknown"
        words = self._representation.words.get(name, ())
        if not words and self._space is not None and name in self._space.names:
            factor = self._space[name]
            words = tuple(map(factor.label, range(factor.size)))
        return words[int(value)] if value.is_integer() and 0 <= value < len(words) else f"{value:.4g}"

    def _open(
        self, world: str | Path | None, data: Path | None, about: list[str]
    ) -> tuple[RowImages | None, FactorSpace | None]:
        """What draws images, and their factors; where the file alone names a world, it may be elsewhere by now."""
        try:
            known = row_images(self._representation, world, data=data)
        except UnknotError as error:
            if world is not None:
                raise
            about.append(f"Images are not shown: {error}")
            known = None
        if known is None:
            return None, None
        about.append("A picture is the image of its row.")
        return known

    def _knows(self, about: list[str]) -> tuple[Floats | None, list[str]]:
        """The share of each factor that each latent knows, and the factors; None where it cannot be told."""
        representation = self._representation
        if representation.factors is None:
            return None, []
        rows = _chosen(self.n_rows, SCORED)
        try:
            return known_shares(
                replace(
                    representation,
                    latents=representation.latents[rows],
                    factors=representation.factors[rows],
                    latents_test=None,
                    factors_test=None,
                    logvars=None,
                    groups=None,
                )
            )
        except UnknotError as error:
            about.append(f"What latents know is not shown: {error}")
            return None, []

    def _slider(self, index: int, shares: Floats | None) -> Slider:
        values = self._latents[:, index]
        low, high = float(values.min()), float(values.max())
        knows = "" if shares is None else carried(shares[index], self.factors, 3)
        remark = f"{values.mean():z.2f} ± {values.std():.2f}".replace("-", "\N{MINUS SIGN}")
        return Slider(index, f"z{index}", remark, low, high, off=low == high, carries=knows)

    def bars(self, index: int) -> list[int]:
        """How many rows have each value of a latent, from its lowest to its highest."""
        counts: list[int] = np.histogram(self._latents[:, index], bins=BARS)[0].tolist()
        return counts


def _chosen(n: int, most: int) -> Indices:
    """The numbers of so many of n rows, in order: chosen at random, since a step may keep step with a factor."""
    return np.sort(np.random.default_rng(0).choice(n, min(n, most), replace=False))


def latents_place(explored: ExploredLatents, title: str) -> Place:
    """The page of histograms and sliders."""
    sliders = [asdict(slider) | {"bars": explored.bars(slider.index)} for slider in explored.sliders]
    shares = explored.shares
    chart = (
        "" if shares is None else hinton(shares, explored.factors, [slider.index for slider in explored.sliders])
    )
    answers = {path: partial(answer, explored) for path, answer in ANSWERS.items()}
    known = {"sliders": sliders, "rows": explored.n_rows}
    return made_place("latents", answers, known=known, title=title, explored=explored, chart=chart)


def _near(explored: ExploredLatents, asked: Mapping[str, Any]) -> dict[str, Any]:
    row: Any = asked.get("row")
    moved: Any = asked.get("moved")
    if type(row) is not int or not 0 <= row < explored.n_rows:
        raise UnknotError(f"Row {row!r} is not there; expected a number from 0 to {explored.n_rows - 1}.")
    places = {str(slider.index): slider.index for slider in explored.sliders}
    fits = isinstance(moved, dict) and moved.keys() <= places.keys()
    if not fits or not all(type(x) in (int, float) and math.isfinite(x) for x in moved.values()):
        raise UnknotError("The latents that were moved do not fit; expected numbers by the index of a slider.")
    return explored.near(row, {places[name]: float(x) for name, x in moved.items()})


def _along(explored: ExploredLatents, asked: Mapping[str, Any]) -> dict[str, Any]:
    index = asked.get("latent")
    if type(index) is not int or index not in {slider.index for slider in explored.sliders}:
        raise UnknotError(f"Latent {index!r} has no slider here.")
    return explored.along(index)


ANSWERS = {"/near": _near, "/along": _along}
