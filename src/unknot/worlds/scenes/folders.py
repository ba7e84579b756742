"""Which kind of scenes a folder holds, so that it opens like any world."""

from pathlib import Path

from unknot.factors import Factor, FactorSpace
from unknot.worlds.array_world import ArrayWorld
from unknot.worlds.world import World


def scene_folder(path: Path) -> World | None:
    """The world in a folder that Unknot wrote scenes or a corpus to, or of CLEVR; None if it is none of these."""
    from unknot.worlds.scenes.chunks import MAKING

    if (path / "corpus.json").is_file():
        return corpus_world(path)
    if (path / "dataset.json").is_file() or (path / MAKING / "plan.json").is_file():
        from unknot.worlds.scenes.dataset import open_scenes

        return open_scenes(path)
    if (path / "images").is_dir() and any((path / "scenes").glob("CLEVR_*_scenes.json")):
        from unknot.worlds.scenes.clevr import read_clevr

        return read_clevr(path)
    return None


def corpus_world(path: Path) -> ArrayWorld:
    """The images of a corpus as a complete grid of tuples and roles."""
    from unknot.worlds.scenes.corpus import ROLES, open_corpus

    corpus = open_corpus(path)
    n = len(corpus)
    tuples = Factor("tuple", n, "categorical" if n > 1 else "constant")
    space = FactorSpace((tuples, Factor("role", len(ROLES), "categorical", ROLES)))
    images = corpus.images.reshape(-1, *corpus.images.shape[2:])
    return ArrayWorld(images, space=space, name=f"corpus, {corpus.info.get('variant', 'scenes')}")
