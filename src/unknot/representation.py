"""A representation on disk: latents (or slots), the factors behind them, and what is known of each latent.

One `.npz` that any framework can write:

| key | shape | |
|---|---|---|
| `latents` | (n, d), or (n, k, d) for slots | required |
| `factors` | (n, f) whole or real numbers | the factor classes of each row |
| `latents_test`, `factors_test` | as above | held-out rows; split off by the metrics when missing |
| `factor_names` | (f,) strings | |
| `kl` | (d,) | mean KL of each latent to its prior |
| `logvars` | as `latents` | log-variances, where `latents` are the means of Gaussians |
| `groups` | (n,) | what each row belongs to, such as a patient; rows of one group are never split up |
| `words` | () string | what the classes of factors are called, as JSON: factor -> words |
| `kinds` | () string | which factors are ordinal, categorical, circular or continuous, as JSON: factor -> kind |
| `source` | () string | how the latents were made, as JSON |

`.safetensors` files use the same keys, with names and source as JSON in the header. A `.csv` or `.parquet` table has
columns `latent_...` and `factor_<name>`, a `.parquet` also words, kinds and source in its metadata; a pair of `.npy`,
`.csv` or `.parquet` files holds latents and factors apart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError, check_known, unknown
from unknot.examples import located
from unknot.factors import Kind
from unknot.reading import npz
from unknot.reading.arguments import checked, must_be
from unknot.reading.arrays import as_array
from unknot.reading.guard import allowing
from unknot.tables.choice import Columns, choose, labelled_frame
from unknot.tables.frames import HDF5, Frame, file_about, file_frame, frame_of
from unknot.tables.labels import Labels, group_codes, labels_of
from unknot.tables.latent_files import (
    ARRAYS,
    TABLES,
    counted_names,
    json_object,
    kinds_in,
    must_exist,
    must_name_columns,
    read_frame,
    read_npz,
    read_safetensors,
    read_side,
    write_arrays,
    write_parquet,
)
from unknot.tables.latents import latents_of
from unknot.tables.metadata import KINDS, About, distinct_words
from unknot.tables.shown import draw_latents, latent_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame


@dataclass(frozen=True)
class Representation:
    """Latents with the factors they came from. See the module's table for what each field holds."""

    latents: Any
    factors: Any = None
    factor_names: tuple[str, ...] = ()
    latents_test: Any = None
    factors_test: Any = None
    kl: NDArray[np.float64] | None = None
    logvars: NDArray[Any] | None = None
    source: Mapping[str, Any] = field(default_factory=dict)
    groups: Any = None
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    kinds: Mapping[str, Kind] = field(default_factory=dict)

    def __repr__(self) -> str:
        """How much of what there is."""
        held_out = "" if self.latents_test is None else f", {self.latents_test.shape[0]} held out"
        shape = " x ".join(map(str, self.latents.shape))
        return f"Representation of {shape} latents{held_out}, factors {', '.join(self.factor_names) or 'none'}"

    def to_frame(self) -> "DataFrame":
        """Latents z0, z1, ... and factors, words as words, as a data frame."""
        return latent_frame(self.latents, self.labels)

    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw the values of each latent into axes of matplotlib."""
        return draw_latents(self.latents, axes)

    def _repr_html_(self) -> str:
        few = latent_frame(self.latents[:5], self.labels and self.labels[:5])
        return f"<p>{escape(repr(self))}</p>{few.to_html(max_cols=20, float_format='{:.3f}'.format)}"

    def __post_init__(self) -> None:
        object.__setattr__(self, "latents", latents_of(self.latents, "representation"))
        if self.latents_test is not None:
            object.__setattr__(self, "latents_test", latents_of(self.latents_test, "representation"))
        must_be("representation", "factor_names", self.factor_names, Sequence[Any])
        must_be("representation", "source", self.source, Mapping[str, Any])
        must_be("representation", "words", self.words, Mapping[str, Sequence[Any]])
        must_be("representation", "kinds", self.kinds, Mapping[str, str])
        for kind in self.kinds.values():
            check_known("kind of factor", kind, KINDS)
        for name in ("kl", "logvars"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, as_array(getattr(self, name), "representation", name))
        shape = np.shape(self.latents)
        if len(shape) not in (2, 3):
            raise UnknotError(
                f"representation: latents has shape {shape}; expected (n_samples, n_latents), or (n, k, d) for slots."
            )
        if self.factors is not None:
            self._take_labels()
        elif self.factors_test is not None:
            raise UnknotError("representation: factors_test without factors; give both or neither.")
        if self.groups is not None:
            if self.latents_test is not None:
                raise UnknotError(
                    "representation: groups beside held-out rows; groups decide which rows are held out, so give one "
                    "or the other."
                )
            object.__setattr__(self, "groups", group_codes(self.groups, "representation"))
            if len(self.groups) != shape[0]:
                raise UnknotError(f"representation: {len(self.groups)} groups for {shape[0]} rows; give one each.")
        if self.logvars is not None and self.logvars.shape != self.latents.shape:
            raise UnknotError(
                f"representation: logvars has shape {self.logvars.shape}, latents {self.latents.shape}; make them one."
            )
        if self.kl is not None and np.shape(self.kl) not in (shape[1:], shape[-1:]):
            raise UnknotError(
                f"representation: kl has shape {np.shape(self.kl)}; expected {shape[-1]} numbers, one per latent."
            )
        shapes = {name: np.shape(array) for name, array in self.arrays.items()}
        for train, test in (("latents", "latents_test"), ("factors", "factors_test")):
            if test in shapes and shapes[test][1:] != shapes[train][1:]:
                raise UnknotError(
                    f"representation: {train} has shape {shapes[train]}, {test} {shapes[test]}; all but the number of "
                    "rows must agree."
                )
        for latents, factors in (("latents", "factors"), ("latents_test", "factors_test")):
            if latents in shapes and factors in shapes and shapes[latents][0] != shapes[factors][0]:
                raise UnknotError(
                    f"representation: {latents} has {shapes[latents][0]} rows, {factors} has {shapes[factors][0]}; "
                    "both need one row per sample. Did a data loader drop its last batch?"
                )

    def _take_labels(self) -> None:
        """Factors of any kind as numbers, with their names and what their classes are called."""
        labels = labels_of(self.factors, who="representation", names=self.factor_names)
        if labels.values.ndim != 2:
            raise UnknotError(
                f"representation: factors has shape {labels.values.shape}; expected (n_samples, n_factors)."
            )
        names, width = tuple(map(str, labels.columns)), labels.values.shape[1]
        if len(names) != width:
            raise UnknotError(
                f"representation: {len(names)} factor names for {width} factors; give one name each."
            )
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise UnknotError(f"representation: factor name(s) {', '.join(twice)} occur twice; give each its own.")
        words = distinct_words("representation", {**self.words, **labels.words}, names)
        labels = replace(labels, words=words)
        if self.factors_test is not None:
            test = labels_of(self.factors_test, who="representation", names=names)
            test = test.like(labels) if test.words else test
            object.__setattr__(self, "factors_test", test.values)
            words |= test.words
        object.__setattr__(self, "factors", labels.values)
        object.__setattr__(self, "factor_names", names)
        object.__setattr__(self, "words", words)
        kinds = {name: kind for name, kind in {**labels.kinds, **self.kinds}.items() if name in names}
        object.__setattr__(self, "kinds", kinds)
        if measured := [name for name in words if kinds.get(name) == "continuous"]:
            raise UnknotError(f"representation: factor '{measured[0]}' is words, which are no measurement.")

    @property
    def labels(self) -> Labels | None:
        """The factors with all that is known of them."""
        return self._labels(self.factors)

    @property
    def labels_test(self) -> Labels | None:
        """Those of the held-out rows."""
        return self._labels(self.factors_test)

    def _labels(self, factors: Any) -> Labels | None:
        return None if factors is None else Labels(factors, self.factor_names, self.words, self.kinds)

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Its arrays of numbers by name, as far as it has them."""
        return {name: array for name, array in vars(self).items() if name in ARRAYS and array is not None}

    def flattened(self) -> "Representation":
        """The same rows with slots (n, k, d) laid side by side as (n, k * d) latents."""

        def flat(rows: NDArray[Any] | None) -> NDArray[Any] | None:
            return rows if rows is None or rows.ndim == 2 else rows.reshape(len(rows), -1)

        kl = None if self.kl is None else np.broadcast_to(self.kl, self.latents.shape[1:]).ravel()
        rows: dict[str, Any] = {name: flat(vars(self)[name]) for name in ("latents", "latents_test", "logvars")}
        return replace(self, **rows, kl=kl)

    def pooled(self) -> "Representation":
        """The same rows with the mean over their slots (n, k, d), which does not depend on the slots' order."""

        def mean(rows: NDArray[Any] | None) -> NDArray[Any] | None:
            return rows if rows is None or rows.ndim == 2 else rows.mean(axis=1)

        if self.latents.ndim == 2:
            return self
        return replace(
            self, latents=mean(self.latents), latents_test=mean(self.latents_test), logvars=None, kl=None
        )

    def with_factors(self, names: Sequence[str]) -> "Representation":
        """The same rows with only the factors named, in that order."""
        if self.factors is None:
            raise UnknotError("representation: has no factors to choose from.")
        for name in names:
            check_known("factor", name, self.factor_names)
        columns = [self.factor_names.index(name) for name in names]
        test = None if self.factors_test is None else self.factors_test[:, columns]
        return replace(self, factors=self.factors[:, columns], factors_test=test, factor_names=tuple(names))

    def with_kinds(self, kinds: Mapping[str, Any]) -> "Representation":
        """The same rows with some factors of other kinds, by name."""
        must_be("representation", "kinds", kinds, Mapping[str, str])
        for name in kinds:
            if name not in self.factor_names:
                raise unknown("factor", name, self.factor_names, field="kinds")
        return replace(self, kinds={**self.kinds, **kinds})

    def write(self, path: Path | str) -> Path:
        """Write one compressed `.npz`, or a `.safetensors` or `.parquet` by its ending, complete or not at all."""
        path = Path(path)
        if path.suffix == ".parquet":
            write_parquet(path, self.arrays, self.labels, self.source)
        else:
            write_arrays(path, self.arrays, self.factor_names, vars(About(self.kinds, self.words, self.source)))
        return path


def mean_kl(means: NDArray[Any], logvars: NDArray[Any]) -> NDArray[np.float64]:
    """KL(q || N(0, 1)) of each latent, averaged over rows, of Gaussians with these means and log-variances."""
    mean, logvar = means.astype(np.float64), logvars.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):  # infinite, which is what it then is
        divergence: NDArray[np.float64] = 0.5 * (mean**2 + np.exp(logvar) - logvar - 1).mean(axis=0)
    return divergence


@checked
def read_representation(
    path: Path | str, factors: Path | str | None = None, *, max_bytes: int | str | None = None
) -> Representation:
    """Read a representation from one file, or latents and factors from two.

    Args:
        path: of the file, or of that of the latents; or `example`, for the one that ships with Unknot.
        factors: the file of the factors, if they have one of their own.
        max_bytes: how much memory a file may take, such as "8GB"; 2 GiB, or UNKNOT_MAX_BYTES, if left out.
    """
    with allowing(max_bytes):
        return _read(located(path), factors)


def _read(path: Path, factors: Path | str | None) -> Representation:
    if factors is not None:
        return _read_pair(path, Path(factors))
    must_exist(path)
    if path.suffix == ".npz":
        return _from_arrays(path, read_npz(path))
    if path.suffix == ".safetensors":
        return _from_arrays(path, read_safetensors(path))
    if path.suffix in TABLES or path.suffix in HDF5:
        must_name_columns(path)
        return from_table(path)
    if path.suffix == ".npy":
        return _from_arrays(path, {"latents": npz.read_npy(path, mapped=True)})
    raise UnknotError(
        f"{path}: a '{path.suffix or 'nameless'}' file is not a representation; expected .npz, .safetensors, .csv, "
        ".parquet, or two files (latents, then factors) of .npy, .csv or .parquet."
    )


def _from_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> Representation:
    names = tuple(map(str, arrays.get("factor_names", np.array([])).ravel()))
    try:
        return Representation(
            latents=arrays["latents"],
            factors=arrays.get("factors"),
            factor_names=names,
            latents_test=arrays.get("latents_test"),
            factors_test=arrays.get("factors_test"),
            kl=arrays.get("kl"),
            logvars=arrays.get("logvars"),
            groups=arrays.get("groups"),
            words=json_object(arrays.get("words")),
            source=json_object(arrays.get("source")),
            kinds=kinds_in(arrays.get("kinds")),
        )
    except UnknotError as error:
        raise UnknotError(f"{path}: {error}") from None


@checked
def from_table(
    source: Any,
    labels: Any = None,
    *,
    latents: Sequence[str] | str = (),
    factors: Sequence[str] | str = (),
    groups: str = "",
    join: str = "",
    missing: Sequence[Any] = (),
    kinds: Mapping[str, str] | None = None,
) -> Representation:
    """A representation from the columns of a table, or of two tables.

    Args:
        source: a table of pandas, polars or Arrow, a Hugging Face dataset, AnnData, or the path of a file.
        labels: a second one that has the factors, row by row or joined.
        latents: columns of numbers, or one that holds a vector in each row; wildcards such as "z*" are allowed.
            Left out: those called `latent_...`, or the only one of vectors.
        factors: columns of labels; left out, those called `factor_...`.
        groups: the column that says what each row belongs to, such as a patient.
        join: the column that both tables are joined by.
        missing: values that stand for an unknown label, besides None, NaN and empty words.
        kinds: factor -> `ordinal`, `categorical`, `circular` or `continuous`; of others, what the file says.

    >>> import pandas as pd
    >>> cells = pd.DataFrame({"z0": [0.1, 0.2], "z1": [1.0, 2.0], "kind": ["B", None], "donor": ["p", "q"]})
    >>> from_table(cells, latents="z*", factors="kind", groups="donor").factors.tolist()
    [[0.0], [nan]]
    """
    columns = Columns(latents, factors, groups, join, missing)
    first, archive = _frame(source)
    second = None if labels is None else _frame(labels)[0]
    chosen = choose(first, second, columns)
    rest = {} if archive is None else _rest(archive, chosen.rows) | _held_out(archive, first, second, columns)
    rest |= {"groups": chosen.groups} if columns.groups else {}
    rest |= {} if archive else {"source": first.about.source}
    read = Representation(chosen.latents, chosen.factors, kinds=chosen.kinds, **rest)
    return read.with_kinds(kinds) if kinds else read


def _frame(source: Any) -> tuple[Frame, Representation | None]:
    """The columns of a table or file, and what a file of arrays holds besides."""
    if not isinstance(source, str | Path):
        return frame_of(source), None
    path = Path(source)
    must_exist(path)
    if path.suffix == ".csv":
        return frame_of(read_frame(path, words=True), str(path)), None
    if path.suffix == ".parquet" or path.suffix in HDF5:
        return file_frame(path), None
    archive = read_representation(path)
    return labelled_frame(str(path), archive.latents, archive.labels), archive


def _rest(archive: Representation, rows: Any) -> dict[str, Any]:
    """What an archive holds besides latents and factors, in some of its rows."""
    by_row = {name: array for name, array in archive.arrays.items() if name in ("groups", "logvars")}
    some = by_row if rows is None else {name: array[rows] for name, array in by_row.items()}
    return {**some, "kl": archive.kl, "source": archive.source}


def _held_out(archive: Representation, first: Frame, second: Frame | None, columns: Columns) -> dict[str, Any]:
    """The held-out rows of an archive, of whose columns the same are chosen."""
    if archive.latents_test is None:
        return {}
    if second is not None:
        raise UnknotError(
            f"{first.who}: has held-out rows (latents_test), for which {second.who} has no labels; write the labels "
            "into the file, as factors and factors_test."
        )
    if archive.labels_test is None:
        return {"latents_test": archive.latents_test}
    test = choose(labelled_frame(first.who, archive.latents_test, archive.labels_test), None, columns)
    return {"latents_test": test.latents, "factors_test": test.factors}


def _read_pair(latents: Path, factors: Path) -> Representation:
    z, latent_names = read_side(latents, "latent_")
    y, names = read_side(factors, "factor_")
    try:
        return Representation(z, y, names, kinds=file_about(factors).kinds)
    except UnknotError as error:
        both = {latents: latent_names, factors: names}.items()
        heads = [(path, own) for path, own in both if own and list(own) == counted_names(own)]
        said = "".join(f" The first line of {p}, {','.join(n)}, was taken for a header." for p, n in heads)
        raise UnknotError(f"{latents}, {factors}: {error}{said}") from None
