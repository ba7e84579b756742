"""Codes of the images of tuples that somebody made elsewhere: role -> array, an `.npz`, or a folder of `.npy`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.files import array_hash, json_hash
from unknot.metrics.inputs import as_array
from unknot.tasks.algebra.quadruples import PIXEL
from unknot.worlds.scenes.corpus import MASKED


@dataclass(frozen=True)
class CodesElsewhere:
    """Codes by the name of their role.

    Attributes:
        arrays: role -> (n, d) or (n, k, d); or `latents` with a row for every image, tuple after tuple, each in the
            order of the roles, where a row more for each tuple is the pixel negative.
        path: the file or folder they were read from, if any.
    """

    arrays: Mapping[str, Any]
    path: str = ""

    @property
    def label(self) -> str:
        """What results call them."""
        return self.path or "codes"

    @property
    def record(self) -> dict[str, Any]:
        """What results say about them."""
        return {"kind": "codes"} | ({"file": Path(self.path).name} if self.path else {})

    @property
    def fingerprint(self) -> str:
        """Of all numbers."""
        return json_hash({role: array_hash(as_array(codes)) for role, codes in self.arrays.items()})

    def codes(self, roles: tuple[str, ...], n: int) -> dict[str, Any]:
        """Role -> codes of n tuples; further arrays of a file are something else, those of a mapping are negatives."""
        if "latents" in self.arrays and "A" not in self.arrays:
            return self._split(as_array(self.arrays["latents"]), roles, n)
        known = (*roles, PIXEL) if self.path else tuple(self.arrays)
        codes = {role: self.arrays[role] for role in known if role in self.arrays}
        lacking = [role for role in MASKED if role not in codes]
        if lacking:
            names = ", ".join(self.arrays) or "nothing"
            raise UnknotError(f"{self.label}: has no codes for {', '.join(lacking)}; it holds {names}.")
        for role, code in codes.items():
            rows = np.shape(code)[0]
            if rows != n:
                raise UnknotError(f"{self.label}: {rows} codes for {role}; the corpus has {n} tuples.")
        return codes

    def _split(self, latents: NDArray[Any], roles: tuple[str, ...], n: int) -> dict[str, NDArray[Any]]:
        for names in (roles, (*roles, PIXEL)):
            if len(latents) == n * len(names):
                whole = latents.reshape(n, len(names), *latents.shape[1:])
                return {role: whole[:, i] for i, role in enumerate(names)}
        raise UnknotError(
            f"{self.label}: has {len(latents)} rows of latents; {n} tuples of {len(roles)} images need "
            f"{n * len(roles)}, tuple after tuple ({', '.join(roles)}), or {n * (len(roles) + 1)} with the pixel "
            "negative."
        )


def read_codes(source: Any) -> CodesElsewhere | None:
    """The codes that a source is; None if it is something else.

    >>> read_codes("timm:resnet50.tv_in1k") is None
    True
    """
    if isinstance(source, Mapping):
        return CodesElsewhere(source)
    if not isinstance(source, str | Path):
        return None
    path = Path(source)
    if path.suffix == ".npz":
        return CodesElsewhere(_read_archive(path), str(source))
    if (path / "A.npy").is_file():
        arrays = {file.stem: _read_array(file) for file in sorted(path.glob("*.npy"))}
        return CodesElsewhere(arrays, str(source))
    return None


def _read_archive(path: Path) -> dict[str, NDArray[Any]]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return {str(name): archive[name] for name in archive.files}
    except Exception as error:  # of many kinds: no zip file, a pickle, a cut-off member
        raise UnknotError(f"{path}: cannot be read as an .npz of numbers ({error}).") from None


def _read_array(path: Path) -> NDArray[Any]:
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise UnknotError(f"{path}: cannot be read as an array of numbers ({error}).") from None
    return array
