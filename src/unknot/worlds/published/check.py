"""Whether a data file is the published one: its arrays, their types and shapes, its checksum, its mean colour."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.factors import FactorSpace
from unknot.worlds.array_world import ranked
from unknot.worlds.published import _norb_matrix, cars3d, hdf5, npz, small_norb
from unknot.worlds.published.download import checksum
from unknot.worlds.published.files import bytes_in_words
from unknot.worlds.published.forms import FORMS, Form, recognise

Watch = Callable[[str, int, int | None], None]  # what is being done, how far, out of how much
BLOCK = 2304  # images read at once


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


def check(
    path: Path | str,
    *,
    quick: bool = False,
    forms: tuple[Form, ...] = FORMS,
    watch: Watch = lambda what, done, total: None,
) -> Checked:
    """Look at one file and compare it with what was published.

    Args:
        path: the file.
        quick: leave out the checksum and the mean colour, for which every byte is read.
        forms: the files that are known.
        watch: told what is being done and how far it is.

    Raises:
        UnknotError: the file is not there, is none that is known, or needs a package that is missing.
    """
    path = Path(path)
    if not path.is_file():
        raise UnknotError(f"{path}: no such file.")
    if hdf5.is_hdf5(path):
        hdf5.reader(path)  # a package that is missing is no flaw of the file
    known = recognise(path, forms)
    if not known:
        worlds = dict.fromkeys(form.world for form in forms)
        raise UnknotError(
            f"{path}: is no published file that is known, neither by its name nor by its arrays. Known are the files "
            f"of {', '.join(worlds)}, and split files like celeb_glow_random_train_images.npz."
        )
    if len(known) > 1:
        known = (_nearest(path, known, quick, watch),)
    form = known[0]
    checks = list(_content(path, form, quick, watch))
    if not quick:
        checks += _bytes(path, form, watch)
    return Checked(path, form.world, tuple(checks))


def _content(path: Path, form: Form, quick: bool, watch: Watch) -> Iterator[Check]:
    try:
        if form.container != "cars":
            found = _arrays(path, form)
            checks = [_array_check(key, form, found) for key in form.arrays]
            yield from checks
            if not all(c.passed for c in checks):
                return
        if form.labels and form.space:
            reader = hdf5.read if form.container == "hdf5" else npz.read
            yield _labels_check(reader(path, form.labels), form.space, form)
        if form.means and not quick:
            means = _means(path, form, watch)
            near = np.abs(means - form.means).max() <= form.tolerance
            yield Check("mean colour", _words(form.means), _words(means), bool(near))
    except UnknotError as error:
        yield Check("can be read", "yes", str(error).removeprefix(f"{path}: "), False)


def _arrays(path: Path, form: Form) -> dict[str, tuple[tuple[int, ...], np.dtype[Any]]]:
    if form.container == "npz":
        return {key: (member.shape, member.dtype) for key, member in npz.members(path).items()}
    return hdf5.members(path) if form.container == "hdf5" else {"matrix": _norb_matrix.header(path)}


def _array_check(key: str, form: Form, found: dict[str, tuple[tuple[int, ...], np.dtype[Any]]]) -> Check:
    shape, kind = form.arrays[key]
    expected = f"{kind} {shape}"
    if key not in found:
        return Check(f"array '{key}'", expected, f"missing; there are {', '.join(found) or 'none'}", False)
    right = found[key][0] == shape and found[key][1].name.startswith(kind)
    return Check(f"array '{key}'", expected, f"{found[key][1].name} {found[key][0]}", right)


def _labels_check(labels: NDArray[Any], space: FactorSpace, form: Form) -> Check:
    if form.shuffled:
        inside = bool(((labels >= 0) & (labels < space.sizes)).all())
        found = "yes" if inside else f"from {labels.min(axis=0).tolist()} to {labels.max(axis=0).tolist()}"
        return Check("labels lie in the grid", f"0 to {(space.sizes - 1).tolist()}", found, inside)
    if labels.shape[1] == len(space) + 1:  # the constant colour of dSprites
        labels = labels[:, 1:]
    _, classes = ranked(labels, form.file.name)
    same = classes.shape[0] == space.size and bool((classes == space.classes(np.arange(space.size))).all())
    return Check("labels count the grid", "yes", "yes" if same else "no", same)


def _means(path: Path, form: Form, watch: Watch) -> NDArray[np.float64]:
    """Mean of each channel over all images, on the scale 0..1."""
    total, n = np.zeros(len(form.means), dtype=np.int64), 0
    expected = form.arrays[form.images][0][0] if form.arrays else None
    for block in _images(path, form):
        columns = block.reshape(len(block), -1).sum(axis=0, dtype=np.uint32)
        total += columns.reshape(-1, len(form.means)).sum(axis=0, dtype=np.int64)
        n += block.size // len(form.means)
        watch("mean colour", n // (block.shape[1] * block.shape[2]), expected)
    means: NDArray[np.float64] = total / (n * form.white)
    return means


def _images(path: Path, form: Form) -> Iterable[NDArray[np.uint8]]:
    if form.container == "npz":
        return npz.blocks(path, form.images, BLOCK)
    if form.container == "hdf5":
        return hdf5.blocks(path, form.images, 10 * BLOCK)
    if form.container == "norb":
        return (small_norb.shrunk(pairs[:, 0]) for pairs in _norb_matrix.blocks(path, BLOCK))
    _, models = cars3d.read_models(path, form.space or cars3d.SPACE)
    return (model.reshape(-1, *model.shape[2:]) for model in models.values())


def _bytes(path: Path, form: Form, watch: Watch) -> Iterator[Check]:
    file, size = form.file, path.stat().st_size
    if file.size is not None:
        yield Check("bytes", f"{file.size:,}", f"{size:,}", size == file.size)
    for kind, expected in (("sha256", file.sha256), ("md5", file.md5)):
        if expected:
            found = checksum(
                path, kind, lambda done, total: watch(f"checksum ({bytes_in_words(size)})", done, total)
            )
            yield Check(kind, expected, found, found == expected)
            return


def _nearest(path: Path, forms: tuple[Form, ...], quick: bool, watch: Watch) -> Form:
    """Files with the same arrays (the MPI3D family) are told apart by their mean colour."""
    if quick:
        worlds = ", ".join(form.world for form in forms)
        raise UnknotError(f"{path}: may be any of {worlds}; leave out --quick, or give it its published name.")
    means = _means(path, forms[0], watch)
    return min(forms, key=lambda form: float(np.abs(means - form.means).max()) if form.means else np.inf)


def _words(means: Iterable[float]) -> str:
    return ", ".join(f"{mean:.6f}" for mean in means)
