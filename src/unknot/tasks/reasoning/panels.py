"""What a reasoner sees of a panel: a code looked up in a table, or the image itself.

| input | of a panel |
|---|---|
| representation | the code of a frozen encoder |
| onehot | one-hot classes of all factors, side by side |
| integer | class / (n - 1) - 0.5 of each factor |
| cnn | the image |

Codes are computed once for all combinations of classes, so that a batch of puzzles costs a few rows of a table.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.factors import Classes, Factor, FactorSpace, Kind
from unknot.progress import counted
from unknot.representation import Representation
from unknot.worlds.puzzles.quantised import Quantised, kept_classes, published_classes

Codes = NDArray[np.float32]
INPUTS = ("representation", "onehot", "integer", "cnn")


@dataclass(frozen=True)
class CodeTable:
    """Codes of every combination of classes, one or several of each.

    Attributes:
        space: of the panels.
        codes: (rows, d), those of one combination next to each other, combinations in the order of the grid.
        starts: (space.size + 1,) the first row of each combination, and the end.
    """

    space: FactorSpace
    codes: Codes
    starts: NDArray[np.int64]

    @property
    def width(self) -> int:
        """Numbers in a code."""
        return int(self.codes.shape[1])

    def look_up(self, classes: NDArray[np.int64], rng: np.random.Generator) -> Codes:
        """Codes (..., d) of classes (..., f); of several codes of a combination, one is drawn."""
        cells = classes @ self.space.strides
        rows = self.starts[cells]
        counts = self.starts[cells + 1] - rows
        if len(self.codes) > self.space.size:
            rows = rows + rng.integers(0, counts)
        found: Codes = self.codes[rows]
        return found


def onehot_table(space: FactorSpace) -> CodeTable:
    """Ground truth, one-hot.

    >>> from unknot.factors import space
    >>> table = onehot_table(space({"shape": 3, "x": 2}))
    >>> table.look_up(np.array([2, 1]), np.random.default_rng(0)).tolist()
    [0.0, 0.0, 1.0, 0.0, 1.0]
    """
    classes = space.classes(np.arange(space.size))
    codes = np.concatenate([classes[:, [i]] == np.arange(n) for i, n in enumerate(space.shape)], axis=1)
    return _one_each(space, codes.astype(np.float32))


def integer_table(space: FactorSpace) -> CodeTable:
    """Ground truth as one number in [-0.5, 0.5] a factor; factors of one class are left out.

    >>> from unknot.factors import space
    >>> table = integer_table(space({"shape": 3, "x": 2}))
    >>> table.look_up(np.array([2, 0]), np.random.default_rng(0)).tolist()
    [0.5, -0.5]
    """
    classes = space.classes(np.arange(space.size))
    varying = space.sizes > 1
    return _one_each(space, (space.scaled(classes)[:, varying] - 0.5).astype(np.float32))


def encoded_table(
    encoder: Any,
    world: Quantised,
    *,
    views: int,
    seed: int = 0,
    watch: Callable[[int, int], None] | None = None,
    **how: Any,
) -> tuple[CodeTable, Mapping[str, Any]]:
    """Codes of all combinations by a frozen encoder, and what is known of the encoder.

    Args:
        encoder: anything that `unknot.encode` takes.
        world: with the classes that puzzles use.
        views: images of each combination, for worlds with random parts; 1 elsewhere.
        seed: of the random parts.
        watch: told images done, and in all.
        how: device, data and such, for `unknot.encode`.
    """
    from unknot.encoders.encoding import encode

    n = world.factors.size
    rounds: list[Codes] = []
    source: Mapping[str, Any] = {}
    for i in range(views):

        def tell(done: int, total: int, before: int = i * n) -> None:
            if watch is not None:
                watch(before + done, n * views)

        # Each round draws random parts of its own.
        made = encode(encoder, world, rows="all", seed=seed * 1000 + i, progress=counted(tell), **how).flattened()
        rounds.append(made.latents.astype(np.float32, copy=False))
        source = made.source
    codes = np.stack(rounds, axis=1).reshape(n * views, -1)
    return CodeTable(world.factors, codes, np.arange(n + 1, dtype=np.int64) * views), source


def representation_table(made: Representation, classes: Mapping[str, int] | None = None) -> CodeTable:
    """Codes from a file of latents and factor classes, which must hold every combination that puzzles use.

    Args:
        made: latents and factors; several rows of a combination are several images of it.
        classes: factor -> how many classes it keeps; as published if left out.
    """
    made = made.flattened()
    if made.factors is None:
        raise UnknotError("reasoning: the representation has no factors; puzzles are made from them.")
    space, rows = _space(made)
    wanted = classes if classes is not None else published_classes(space)
    kept = [kept_classes(f.size, wanted.get(f.name, f.size)) for f in space]
    coarse = FactorSpace(
        tuple(
            Factor(f.name, len(k), f.kind if len(k) > 1 else "constant") for f, k in zip(space, kept, strict=True)
        )
    )
    found = np.stack([np.searchsorted(k, rows[:, i]) for i, k in enumerate(kept)], axis=1)
    inside = np.ones(len(rows), dtype=np.bool_)
    for i, k in enumerate(kept):
        inside &= k[np.minimum(found[:, i], len(k) - 1)] == rows[:, i]
    cells = found[inside] @ coarse.strides
    counts = np.bincount(cells, minlength=coarse.size)
    if not counts.all():
        raise UnknotError(
            f"reasoning: {int((counts == 0).sum()):,} of the {coarse.size:,} combinations that puzzles are made from "
            "have no row in the representation; encode all of them (--rows all), or keep fewer classes."
        )
    codes = made.latents[inside][np.argsort(cells, kind="stable")].astype(np.float32)
    return CodeTable(coarse, codes, np.concatenate([[0], np.cumsum(counts)]))


def _space(made: Representation) -> tuple[FactorSpace, Classes]:
    rows = np.asarray(made.factors)
    if rows.dtype.kind == "f" and not (np.isfinite(rows).all() and (rows == np.floor(rows)).all()):
        raise UnknotError("reasoning: factors of the representation are not classes (whole numbers from 0 up).")
    rows = rows.astype(np.int64)
    if rows.min() < 0:
        raise UnknotError(f"reasoning: a factor of the representation is {rows.min()}; classes count from 0 up.")
    sizes = rows.max(axis=0) + 1
    kinds: list[Kind] = ["ordinal" if n > 1 else "constant" for n in sizes]
    names = zip(made.factor_names, sizes, kinds, strict=True)
    return FactorSpace(tuple(Factor(name, int(n), kind) for name, n, kind in names)), rows


def _one_each(space: FactorSpace, codes: Codes) -> CodeTable:
    return CodeTable(space, codes, np.arange(space.size + 1, dtype=np.int64))
