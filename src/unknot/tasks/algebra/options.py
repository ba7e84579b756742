"""The options of object algebra."""

from pathlib import Path
from typing import Any, Literal

from pydantic import InstanceOf

from unknot.metrics.coat import MINIBATCH
from unknot.metrics.coat_losses import Chance, Norm
from unknot.metrics.slots import DUPLICATE, Blank
from unknot.metrics.tre import Composition
from unknot.tasks.algebra.quadruples import Quadruples
from unknot.tasks.options import Options, option
from unknot.worlds.scenes.corpus import Corpus

WHO = "algebra"
LOSSES = {"l2": "L2", "acos": "acos"}  # of COAT, and what tables call them


class AlgebraOptions(Options):
    """The options of object algebra."""

    task = WHO
    # Of the images, settings say what they are and not how they were asked for: see `corpora` there.
    corpus: InstanceOf[Corpus] | str | Path | None = option(
        None,
        "Folder of a corpus, or where corpora are made and kept; the data folder if left out.",
        decides=False,
    )
    tuples: int = option(1600, "Tuples of a corpus that is made.", ge=2, decides=False)
    size: int = option(128, "Pixels of its images.", ge=1, decides=False)
    variant: Literal["occluded", "clear", "as published"] = option(
        "occluded", "occluded, clear or 'as published'.", decides=False
    )
    corpus_seed: int = option(0, "Decides its scenes.", ge=0, decides=False)
    jobs: int = option(1, "Processes that make a corpus; its files do not depend on it.", ge=1, decides=False)
    clear: bool | InstanceOf[Corpus] | str | Path = option(
        True,
        "Where corpora are made, also score one whose objects hardly hide each other. In Python, such a corpus.",
        decides=False,
    )
    quadruples: InstanceOf[Quadruples] | str | Path | None = option(
        None, "Instead of a corpus: a list of one's own images (.csv, .json, .txt).", decides=False
    )
    norm: Norm = option("squared", "squared as the published code, or l2 as the paper.")
    chance: Chance | None = option(None, "shuffle_ab or shuffle_d; as the published code if left out.")
    minibatch: int = option(MINIBATCH, "Tuples that chance is averaged over.", ge=2)
    threshold: float = option(DUPLICATE, "Half chord below which two slots are duplicates.", ge=0)
    blank: Blank = option("corpus", "What replaces them: mean slot of the corpus, or of a batch.")
    composition: Composition = option("add", "Composition of TRE: add or transformer (minutes).", flag="--tre")
    segmented: int = option(320, "Images whose masks are compared with the true ones.", ge=0)
    pictures: int = option(4, "Tuples that are drawn.", ge=0, decides=False)
    batch_size: int = option(64, "Images an encoder sees at a time.", ge=1, decides=False)
    seed: int = option(0, "Decides minibatches, the bootstrap and the projection.", ge=0)

    @property
    def coat(self) -> dict[str, Any]:
        """Those of the metric."""
        return {"norm": self.norm, "chance": self.chance, "minibatch": self.minibatch, "rng": self.seed}
