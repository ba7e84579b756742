"""Anybody's images with anybody's factors: a world from arrays or from one `.npz` or `.npy` file.

An `.npz` holds `images` (n, h, w) or (n, h, w, c) uint8; `factors` (n, f) whole or real numbers; and, if wanted,
`factor_names` (f,) strings and `factor_kinds` (f,) out of ordinal, categorical, circular, continuous, constant. Saved
with `np.savez` (not `savez_compressed`) the images are memory-mapped instead of loaded.
"""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unknot.errors import UnknotError, UnknotWarning
from unknot.factors import Classes, Factor, FactorSpace, Indices, Kind, numbered
from unknot.reading import npz
from unknot.reading.arguments import must_be
from unknot.reading.arrays import as_array
from unknot.tables.arrow import is_table
from unknot.tables.labels import labels_of
from unknot.worlds.pictures import Pictures
from unknot.worlds.world import Images

FEW = 20  # values that are classes however rarely each comes
ROWS_OF_A_VALUE = 4  # below this on average, numbers with fractions are those of a measurement


class ArrayWorld:
    """Images looked up by their factor classes. The grid need not be complete, and combinations may repeat.

    Of several images with the same classes, `rng` draws one; without `rng` it is the first. A combination that no
    image has is an error that names it.

    Args:
        images: uint8 (n, h, w) or (n, h, w, c): an array, a memory map, or anything with shape, dtype and rows.
        factors: (n, f) classes if `space` is given; else any numbers or words, whose sorted distinct values become
            the classes; a table brings its own names. Numbers with fractions that hardly come again are a continuous
            factor, which is scored by its values. None: the images fill `space` in its order, or are told apart
            by number alone.
        names: of the factors, where there is no table.
        space: names, sizes and kinds of the factors.
        name: its title.
        key: in the catalogue, for readers of published files.

    >>> images = np.zeros((3, 8, 8), dtype=np.uint8)
    >>> images[2] = 255
    >>> world = ArrayWorld(images, [[0, 1.5], [0, 2.5], [1, 2.5]], name="three pictures")
    >>> world.factors.shape, len(world.rows)
    ((2, 2), 3)
    >>> int(world.images([[1, 1]]).mean())
    255
    >>> world.images([[1, 0]])
    Traceback (most recent call last):
    unknot.errors.UnknotError: three pictures: no image has factor_0 = 1, factor_1 = 1.5; 3 of 4 combinations exist.
    """

    def __init__(
        self,
        images: Pictures | NDArray[Any],
        factors: ArrayLike | None = None,
        *,
        names: Sequence[str] = (),
        space: FactorSpace | None = None,
        name: str = "arrays",
        key: str = "",
    ) -> None:
        must_be("array world", "names", names, Sequence[str])
        for what, value, kind in (("name", name, str), ("key", key, str), ("space", space, FactorSpace | None)):
            must_be("array world", what, value, kind)
        pictures = images if isinstance(images, Pictures) else as_array(images, name, "images")
        _check_pictures(pictures, name)
        _warn_of_black(pictures, name)
        n = pictures.shape[0]
        self.name, self.key = name, key
        self.file_names: tuple[str, ...] = ()  # of pictures in files of their own, in their order
        self.pictures = pictures
        if factors is None:
            self.factors = space or numbered(n)
            if self.factors.size != n:
                raise UnknotError(
                    f"{name}: {n:,} images for a grid of {self.factors.size:,} combinations; give one image for each, "
                    "in storage order, or say with `factors` which are there."
                )
            self._classes: Classes | None = None
        else:
            self.factors, self._classes = _classes_of(factors, n, name, names, space)
        if self._classes is not None and self._in_grid_order():
            self._classes = None

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Height, width, channels."""
        height, width, *channels = self.pictures.shape[1:]
        return height, width, channels[0] if channels else 1

    @property
    def rows(self) -> Classes | None:
        """The classes of every image in file order; None when every combination has an image."""
        return None if self._classes is None or self._n_combinations == self.factors.size else self._classes

    @property
    def stochastic(self) -> bool:
        """Whether some combination has several images, of which `rng` draws one."""
        return self._classes is not None and self._n_combinations < len(self._classes)

    @property
    def labels(self) -> Classes:
        """The classes of every image in file order."""
        return self.factors.classes(np.arange(self.factors.size)) if self._classes is None else self._classes

    def one_by_one(self) -> "ArrayWorld":
        """The same images told apart by number alone."""
        return ArrayWorld(self.pictures, name=self.name)

    def images(self, classes: ArrayLike, *, rng: np.random.Generator | None = None) -> Images:
        """One image for each row of classes."""
        wanted = self.factors.check(classes, self.name) @ self.factors.strides
        rows = wanted if self._classes is None else self._lookup(wanted, rng)
        pictures = np.asarray(self.pictures[rows])
        return pictures if pictures.ndim == 4 else pictures[..., None]

    def _lookup(self, wanted: Indices, rng: np.random.Generator | None) -> Indices:
        order, indices = self._sorted
        first = np.searchsorted(indices, wanted, side="left")
        count = np.searchsorted(indices, wanted, side="right") - first
        if not count.all():
            lacking = self.factors.classes(wanted[np.argmin(count)])[0]
            named = ", ".join(f"{f.name} = {f.label(c)}" for f, c in zip(self.factors, lacking, strict=True))
            raise UnknotError(
                f"{self.name}: no image has {named}; {self._n_combinations:,} of {self.factors.size:,} combinations "
                "exist."
            )
        drawn: Indices = order[first if rng is None else first + rng.integers(0, count)]
        return drawn

    def _in_grid_order(self) -> bool:
        n = self.pictures.shape[0]
        return n == self.factors.size and bool((self._indices == np.arange(n)).all())

    @property
    def _indices(self) -> Indices:
        indices: Indices = cast(Classes, self._classes) @ self.factors.strides
        return indices

    @cached_property
    def _sorted(self) -> tuple[Indices, Indices]:
        order = np.argsort(self._indices, kind="stable")
        return order, self._indices[order]

    @cached_property
    def _n_combinations(self) -> int:
        _, indices = self._sorted
        return int(np.count_nonzero(np.diff(indices))) + 1


def read_arrays(path: Path | str) -> ArrayWorld:
    """A world from a file of `images` (and `factors`): see the module's first lines for its keys."""
    path = Path(path)
    name = path.stem
    if path.suffix == ".npy":
        return ArrayWorld(npz.read_npy(path, mapped=True), name=name)
    members = npz.members(path)
    if "images" not in members:
        raise UnknotError(
            f"{path}: has no array 'images'; it holds {', '.join(members) or 'no arrays'}. Expected 'images' and "
            "'factors' (and 'factor_names'). Published files open by the name of their world: open_world(name, "
            "data=path)."
        )
    arrays = {key: npz.read(path, key) for key in ("factors", "factor_names", "factor_kinds") if key in members}
    images = npz.read(path, "images")
    _check_pictures(images, name)
    if "factors" not in arrays:
        return ArrayWorld(images, name=name)
    names, kinds = (
        [str(word) for word in np.atleast_1d(arrays.get(key, ()))] for key in ("factor_names", "factor_kinds")
    )
    space, classes = ranked(_one_row_each(arrays["factors"], len(images), str(path)), str(path), names, kinds)
    return ArrayWorld(images, classes, space=space, name=name)


def ranked(
    table: NDArray[Any], who: str, names: Sequence[str] = (), kinds: Sequence[str] = ()
) -> tuple[FactorSpace, Classes]:
    """Numbers or words as classes: each column's distinct values, sorted, are counted from 0.

    Words make a factor categorical, numbers ordinal, or continuous where they have fractions and hardly come again, one
    value alone constant, unless `kinds` says otherwise.
    """
    for label, words in (("names", names), ("kinds", kinds)):
        if len(words) not in (0, table.shape[1]):
            raise UnknotError(f"{who}: {len(words)} factor {label} for {table.shape[1]} factors; give one each.")
    if not table.shape[1]:
        raise UnknotError(f"{who}: factors have no columns; leave them out, or give one for each factor.")
    if table.dtype.kind not in "biufUS" or (table.dtype.kind == "f" and not np.isfinite(table).all()):
        raise UnknotError(f"{who}: factors ({table.dtype}) must be finite numbers or words.")
    factors, columns = [], []
    for j in range(table.shape[1]):
        values, column = np.unique(table[:, j], return_inverse=True)
        named = table.dtype.kind in "US"
        counted = not named and bool((values == np.arange(len(values))).all())
        kind = (kinds[j] if kinds else "") or ("categorical" if named else _kind(values, len(table)))
        labels = () if counted else tuple(str(v) if named else float(v) for v in values)
        kind = "constant" if len(values) == 1 else kind
        factors.append((names[j] if len(names) else f"factor_{j}", len(values), cast(Kind, kind), labels))
        columns.append(column.reshape(-1))
    try:
        space = FactorSpace(tuple(Factor(*about) for about in factors))
    except UnknotError as error:
        raise UnknotError(f"{who}: {error}") from None
    return space, np.stack(columns, axis=1).astype(np.int64)


def _kind(values: NDArray[Any], rows: int) -> Kind:
    """Of numbers: whether their distinct values are classes, or those of a measurement."""
    fractions = values.dtype.kind == "f" and bool((values != np.round(values)).any())
    return "continuous" if fractions and len(values) > max(FEW, rows // ROWS_OF_A_VALUE) else "ordinal"


def _classes_of(
    factors: Any, n: int, who: str, names: Sequence[str], space: FactorSpace | None
) -> tuple[FactorSpace, Classes]:
    """The factors of n images and their classes, from classes of a space, numbers, words, or a table of both."""
    if space is not None or not is_table(factors):
        table = _one_row_each(as_array(factors, who, "factors"), n, who)
        return (space, space.check(table, who)) if space else ranked(table, who, names)
    labels = labels_of(factors, who=who)
    words, columns = labels.words, names if len(names) else labels.columns
    kinds = [
        "categorical" if name in words else "continuous" if name in labels.continuous else ""
        for name in labels.columns
    ]
    space, classes = ranked(_one_row_each(labels.values, n, who), who, columns, kinds)
    values = [words.get(name, factor.values) for name, factor in zip(labels.columns, space, strict=True)]
    return FactorSpace(tuple(replace(f, values=tuple(v)) for f, v in zip(space, values, strict=True))), classes


def _one_row_each(table: NDArray[Any], n: int, who: str) -> NDArray[Any]:
    """The factors as (n, f), a single factor as one column."""
    if table.ndim not in (1, 2) or len(table) != n:
        raise UnknotError(
            f"{who}: factors have shape {table.shape} for {n:,} images; expected one row of factors per image."
        )
    return table[:, None] if table.ndim == 1 else table


def _check_pictures(pictures: Pictures, name: str) -> None:
    shape, dtype = pictures.shape, pictures.dtype
    if len(shape) not in (3, 4) or 0 in shape:
        raise UnknotError(
            f"{name}: images have shape {tuple(shape)}; expected (n, height, width) or (n, height, width, channels)."
        )
    if len(shape) == 4 and shape[3] > 4:
        hint = " Move the channels last: np.moveaxis(images, 1, -1)." if shape[1] <= 4 else ""
        raise UnknotError(
            f"{name}: images have {shape[3]} channels (shape {tuple(shape)}); expected 1 to 4.{hint}"
        )
    if dtype != np.uint8:
        hint = " If they lie in [0, 1]: (images * 255).round().astype(np.uint8)." if dtype.kind in "fb" else ""
        raise UnknotError(f"{name}: images are of type {dtype}; expected uint8 with values 0..255.{hint}")


def _warn_of_black(pictures: Pictures, name: str) -> None:
    if isinstance(pictures, np.ndarray) and pictures[:64].max() == 1:
        warnings.warn(
            f"{name}: the first images have no value above 1, so they are all but black; if 1 means white, multiply "
            "by 255.",
            UnknotWarning,
            stacklevel=4,
        )
