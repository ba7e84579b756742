"""The files of the systematic splits that Schott et al. 2022 published on Zenodo: images and labels of both parts."""

from collections.abc import Sequence

from unknot.factors import FactorSpace
from unknot.worlds.entry import PublishedFile
from unknot.worlds.published.forms import NPZ, Form

SPLITS = ("random", "composition", "interpolation", "extrapolation")
PARTS = ("train", "test")


def split_files(
    dataset: str,
    record: int,
    space: FactorSpace,
    channels: int,
    *,
    composition: Sequence[int],
    others: Sequence[int],
) -> tuple[PublishedFile, ...]:
    """The sixteen files of a dataset.

    Args:
        dataset: what their names begin with.
        record: number on Zenodo.
        space: the grid of their labels, which are shuffled.
        channels: of their images, which have them first.
        composition: rows of the training and of the test part of that split.
        others: likewise of the other three splits, which agree.
    """
    files = []
    for split in SPLITS:
        for part, n in zip(PARTS, composition if split == "composition" else others, strict=True):
            images = Form(NPZ, {"arr_0": ((n, channels, 64, 64), "uint8")})
            classes = {"arr_0": ((n, len(space)), "int")}
            labels = Form(NPZ, classes, labels="arr_0", space=space, shuffled=True)
            for kind, form in (("images", images), ("labels", labels)):
                name = f"{dataset}_{split}_{part}_{kind}.npz"
                url = f"https://zenodo.org/record/{record}/files/{name}?download=1"
                files.append(PublishedFile(name, urls=(url,), form=form))
    return tuple(files)
