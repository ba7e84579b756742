"""Whether a data file is the published one: its arrays, their types and shapes, its checksum, its mean colour."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.factors import FactorSpace
from unknot.progress import Progress, silent
from unknot.worlds.array_world import ranked
from unknot.worlds.catalogue import WORLDS
from unknot.worlds.entry import PublishedFile
from unknot.worlds.published import hdf5
from unknot.worlds.published.download import checksum
from unknot.worlds.published.forms import Arrays, Form


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    what: str
    expected: str
    found: str
    passed: bool


@dataclass(frozen=True)
class Checked:
    """A file, the world it belongs to, and everything that was looked at."""

    path: Path
    world: str
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    @property
    def verified(self) -> bool:
        """Whether every check passed and a checksum was among them: byte for byte the published file."""
        return self.passed and any(check.what in ("sha256", "md5") for check in self.checks)


@dataclass(frozen=True)
class Candidate:
    """A published file that a file may be."""

    world: str
    file: PublishedFile
    form: Form


def check(
    path: Path | str,
    *,
    quick: bool = False,
    files: Mapping[str, Sequence[PublishedFile]] | None = None,
    progress: Progress = silent,
) -> Checked:
    """Look at one file and compare it with what was published.

    Args:
        path: the file.
        quick: leave out the checksum and the mean colour, for which every byte is read.
        files: those that are known, by world; left out, those of the catalogue.
        progress: told what is being done and how far it is.

    Raises:
        UnknotError: the file is not there, is none that is known, or needs a package that is missing.
    """
    path = Path(path)
    if not path.is_file():
        raise UnknotError(f"{path}: no such file.")
    if hdf5.is_hdf5(path):
        hdf5.reader(path)  # a package that is missing is no flaw of the file
    known = _known(_published() if files is None else files)
    candidates = recognise(path, known)
    if not candidates:
        worlds = ", ".join(dict.fromkeys(candidate.world for candidate in known))
        raise UnknotError(
            f"{path}: is no published file that is known, neither by its name nor by its arrays. Known are the files "
            f"of {worlds}, and split files like celeb_glow_random_train_images.npz."
        )
    likely = candidates[0] if len(candidates) == 1 else _nearest(path, candidates, quick, progress)
    checks = list(_content(path, likely.form, quick, progress))
    if not quick:
        checks += _bytes(path, likely.file, progress)
    return Checked(path, likely.world, tuple(checks))


def recognise(path: Path, known: Sequence[Candidate]) -> list[Candidate]:
    """What a file may be: one by its name, else those whose arrays it has; none if it is not known."""
    named = [candidate for candidate in known if candidate.file.name == path.name]
    if named:
        return named
    alike = [c for c in known if c.form.images and path.suffix in c.form.container.suffixes]
    try:
        shapes = {key: shape for key, (shape, _) in alike[0].form.container.arrays(path).items()} if alike else {}
    except UnknotError:
        return []
    return [c for c in alike if all(shapes.get(key) == shape for key, (shape, _) in c.form.arrays.items())]


def _published() -> dict[str, list[PublishedFile]]:
    return {
        key: [file for choice in (*entry.choices, entry.split_files) for file in choice]
        for key, entry in WORLDS.items()
    }


def _known(files: Mapping[str, Sequence[PublishedFile]]) -> list[Candidate]:
    """Every file of a known form once, as that of the first world that has it: variants share the file of dSprites."""
    known: dict[str, Candidate] = {}
    for world, its in files.items():
        for file in its:
            if file.form is not None:
                known.setdefault(file.name, Candidate(world, file, file.form))
    return list(known.values())


def _content(path: Path, form: Form, quick: bool, progress: Progress) -> Iterator[Check]:
    try:
        arrays = form.container.arrays(path) if form.arrays else {}
        checks = [_array_check(key, form, arrays) for key in form.arrays]
        yield from checks
        if not all(c.passed for c in checks):
            return
        if form.labels and form.space:
            yield _labels_check(form.container.read(path, form.labels), form.space, form.shuffled)
        if form.means and not quick:
            means = _means(path, form, progress)
            near = np.abs(means - form.means).max() <= form.tolerance
            yield Check("mean colour", _words(form.means), _words(means), bool(near))
    except UnknotError as error:
        yield Check("can be read", "yes", str(error).removeprefix(f"{path}: "), False)


def _array_check(key: str, form: Form, arrays: Arrays) -> Check:
    shape, kind = form.arrays[key]
    expected = f"{kind} {shape}"
    if key not in arrays:
        return Check(f"array '{key}'", expected, f"missing; there are {', '.join(arrays) or 'none'}", False)
    actual, dtype = arrays[key]
    right = actual == shape and dtype.name.startswith(kind)
    return Check(f"array '{key}'", expected, f"{dtype.name} {actual}", right)


def _labels_check(labels: NDArray[Any], space: FactorSpace, shuffled: bool) -> Check:
    if shuffled:
        inside = bool(((labels >= 0) & (labels < space.sizes)).all())
        extent = "yes" if inside else f"from {labels.min(axis=0).tolist()} to {labels.max(axis=0).tolist()}"
        return Check("labels lie in the grid", f"0 to {(space.sizes - 1).tolist()}", extent, inside)
    if labels.shape[1] == len(space) + 1:  # the constant colour of dSprites
        labels = labels[:, 1:]
    _, classes = ranked(labels, "labels")
    same = classes.shape[0] == space.size and bool((classes == space.classes(np.arange(space.size))).all())
    return Check("labels count the grid", "yes", "yes" if same else "no", same)


def _means(path: Path, form: Form, progress: Progress) -> NDArray[np.float64]:
    """Mean of each channel over all images, on the scale 0..1."""
    total, n = np.zeros(len(form.means), dtype=np.int64), 0
    n_images = form.arrays[form.images][0][0] if form.arrays else form.space.size if form.space else 0
    for block in form.container.blocks(path, form.images, form.container.block):
        columns = block.reshape(len(block), -1).sum(axis=0, dtype=np.uint32)
        total += columns.reshape(-1, len(form.means)).sum(axis=0, dtype=np.int64)
        n += block.size // len(form.means)
        progress("mean colour", n // (block.shape[1] * block.shape[2]), n_images)
    means: NDArray[np.float64] = total / (n * form.white)
    return means


def _bytes(path: Path, file: PublishedFile, progress: Progress) -> Iterator[Check]:
    size = path.stat().st_size
    if file.size is not None:
        yield Check("bytes", f"{file.size:,}", f"{size:,}", size == file.size)
    for kind, expected in (("sha256", file.sha256), ("md5", file.md5)):
        if expected:
            digest = checksum(path, kind, progress)
            yield Check(kind, expected, digest, digest == expected)
            return


def _nearest(path: Path, candidates: Sequence[Candidate], quick: bool, progress: Progress) -> Candidate:
    """Files with the same arrays (the MPI3D family) are told apart by their mean colour."""
    if quick:
        worlds = ", ".join(candidate.world for candidate in candidates)
        raise UnknotError(f"{path}: may be any of {worlds}; leave out --quick, or give it its published name.")
    means = _means(path, candidates[0].form, progress)

    def distance(candidate: Candidate) -> float:
        return float(np.abs(means - candidate.form.means).max()) if candidate.form.means else np.inf

    return min(candidates, key=distance)


def _words(means: Iterable[float]) -> str:
    return ", ".join(f"{mean:.6f}" for mean in means)
