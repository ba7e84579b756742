"""What a reasoner sees of a panel: a code looked up in a table, or the image itself.

| input | of a panel |
|---|---|
| representation | the code of a frozen encoder |
| onehot | one-hot classes of all factors, side by side |
| integer | class / (n - 1) - 0.5 of each factor |
| cnn | the image |

Codes are computed once for all combinations of classes, so that a batch of puzzles costs a few rows of a table.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.encoders.source import Source
from unknot.errors import UnknotError, unknown
from unknot.factors import Classes, FactorSpace, space
from unknot.progress import Progress
from unknot.reading.arrays import as_array
from unknot.representation import Representation
from unknot.runs.workspace import ARRAYS, Workspace
from unknot.tasks.reasoning.options import WHO, ReasoningOptions
from unknot.worlds.puzzles.quantised import Quantised, kept_classes, usual_classes

Codes = NDArray[np.float32]
MOST_CLASSES = 1_000_000  # of a factor


@dataclass(frozen=True)
class CodeTable:
    """Codes of every combination of classes, one or several of each.

    Attributes:
        factors: of the panels.
        codes: (rows, d), those of one combination next to each other, combinations in the order of the grid.
        starts: (factors.size + 1,) the first row of each combination, and the end.
    """

    factors: FactorSpace
    codes: Codes
    starts: NDArray[np.int64]

    @property
    def width(self) -> int:
        """Numbers in a code."""
        return int(self.codes.shape[1])

    def look_up(self, classes: NDArray[np.int64], rng: np.random.Generator) -> Codes:
        """Codes (..., d) of classes (..., f); of several codes of a combination, one is drawn."""
        cells = classes @ self.factors.strides
        rows = self.starts[cells]
        counts = self.starts[cells + 1] - rows
        if len(self.codes) > self.factors.size:
            rows = rows + rng.integers(0, counts)
        codes: Codes = self.codes[rows]
        return codes


Panels = CodeTable | Quantised


def grid_of(source: Source, options: ReasoningOptions) -> Panels:
    """What puzzles are made from: the world of a source with a few classes of each factor, or all rows of a file."""
    if source.representation is not None:
        return representation_table(source.representation, options.classes, key=source.world_name)
    return Quantised(source.world, options.classes)


def panels_of(
    source: Source, grid: Panels, options: ReasoningOptions, workspace: Workspace, progress: Progress
) -> Panels:
    """What a reasoner sees of the panels of a grid."""
    if isinstance(grid, CodeTable) or options.input == "cnn":
        return grid
    if options.input == "onehot":
        return onehot_table(grid.factors)
    if options.input == "integer":
        return integer_table(grid.factors)
    return encoded_table(source, grid, options.views, options.seed, workspace, progress)


def onehot_table(factors: FactorSpace) -> CodeTable:
    """Ground truth, one-hot.

    >>> from unknot.factors import space
    >>> table = onehot_table(space({"shape": 3, "x": 2}))
    >>> table.look_up(np.array([2, 1]), np.random.default_rng(0)).tolist()
    [0.0, 0.0, 1.0, 0.0, 1.0]
    """
    classes = factors.classes(np.arange(factors.size))
    codes = np.concatenate([classes[:, [i]] == np.arange(n) for i, n in enumerate(factors.shape)], axis=1)
    return _alike(factors, codes.astype(np.float32))


def integer_table(factors: FactorSpace) -> CodeTable:
    """Ground truth as one number in [-0.5, 0.5] a factor; factors of one class are left out.

    >>> from unknot.factors import space
    >>> table = integer_table(space({"shape": 3, "x": 2}))
    >>> table.look_up(np.array([2, 0]), np.random.default_rng(0)).tolist()
    [0.5, -0.5]
    """
    classes = factors.classes(np.arange(factors.size))
    varying = factors.sizes > 1
    return _alike(factors, (factors.scaled(classes)[:, varying] - 0.5).astype(np.float32))


def encoded_table(
    source: Source, grid: Quantised, views: int, seed: int, workspace: Workspace, progress: Progress
) -> CodeTable:
    """Codes of all combinations by a frozen encoder, kept in a workspace.

    Where the world has random parts, which the seed decides, there are several `views` of each combination.
    """
    n, views = grid.factors.size, views if grid.stochastic else 1
    classes = grid.full(grid.factors.classes(np.arange(n)))

    def encoded() -> dict[str, NDArray[Any]]:
        codes = [
            # Each view draws random parts of its own.
            source.latents(classes, seed=[seed * 1000 + i, 0], progress=_part(progress, i * n, views * n))
            for i in range(views)
        ]
        return {"codes": np.stack([code.reshape(n, -1) for code in codes], axis=1).reshape(n * views, -1)}

    random = [views, seed] if grid.stochastic else []
    key = [source.record, source.fingerprint, source.world_name, [kept.tolist() for kept in grid.kept], random]
    return _alike(grid.factors, workspace.kept("codes", key, encoded, ARRAYS)["codes"])


def _part(progress: Progress, before: int, total: int) -> Progress:
    """Progress of one of several rounds of the same work."""

    def told(stage: str, done: int, _: int, /, **facts: Any) -> None:
        progress(stage, before + done, total, **facts)

    return told


def representation_table(
    representation: Representation, classes: Mapping[str, int] | None = None, *, key: str = ""
) -> CodeTable:
    """Codes from a file of latents and factor classes, which must hold every combination that puzzles use.

    Args:
        representation: latents and factors; several rows of a combination are several images of it.
        classes: factor -> how many classes it keeps; as published if left out.
        key: of the world they come from, if it is in the catalogue.
    """
    if representation.factors is None:
        raise UnknotError(f"{WHO}: the representation has no factors; puzzles are made from them.")
    rows = _classes(representation)
    factors = space(dict(zip(representation.factor_names, (rows.max(axis=0) + 1).tolist(), strict=True)))
    for name in classes or ():
        if name not in factors.names:
            raise unknown("factor", name, factors.names, field="classes")
    wanted = classes if classes is not None else usual_classes(factors, key)
    kept = [kept_classes(factor.size, wanted.get(factor.name, factor.size)) for factor in factors]
    coarse = space({factor.name: len(some) for factor, some in zip(factors, kept, strict=True)})
    places = np.stack([np.searchsorted(some, rows[:, i]) for i, some in enumerate(kept)], axis=1)
    inside = np.all([np.isin(rows[:, i], some) for i, some in enumerate(kept)], axis=0)
    cells = places[inside] @ coarse.strides
    counts = np.bincount(cells, minlength=coarse.size)
    if not counts.all():
        raise UnknotError(
            f"{WHO}: {int((counts == 0).sum()):,} of the {coarse.size:,} combinations that puzzles are made from have "
            "no row in the representation; encode all of them (--rows all), or keep fewer classes.",
            field="classes",
        )
    latents = as_array(representation.flattened().latents, WHO)
    codes = latents[inside][np.argsort(cells, kind="stable")].astype(np.float32)
    return CodeTable(coarse, codes, np.concatenate([[0], np.cumsum(counts)]))


def _classes(representation: Representation) -> Classes:
    """The classes of the rows of a representation."""
    rows = np.asarray(representation.factors)
    if not rows.size:
        raise UnknotError(
            f"{WHO}: the representation has {len(rows)} rows and {rows.shape[1]} factors; puzzles need both."
        )
    if rows.dtype.kind == "f" and not (np.isfinite(rows).all() and (rows == np.floor(rows)).all()):
        raise UnknotError(f"{WHO}: factors of the representation are not classes (whole numbers from 0 up).")
    low, high = rows.min(), rows.max()
    if low < 0 or high >= MOST_CLASSES:
        wrong = low if low < 0 else high
        raise UnknotError(
            f"{WHO}: a factor of the representation is {wrong:.0f}; classes count from 0 up to {MOST_CLASSES:,}."
        )
    rows = rows.astype(np.int64)
    return rows


def _alike(factors: FactorSpace, codes: Codes) -> CodeTable:
    """A table with the same number of codes for each combination."""
    each = len(codes) // factors.size
    return CodeTable(factors, codes, np.arange(factors.size + 1, dtype=np.int64) * each)
