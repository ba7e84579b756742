"""Object algebra (COAT) measured while a model trains.

The rows have the names and, for the same weights and tuples, the numbers of `unknot task algebra`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unknot.encoders.encoder import Encoder, model_encode
from unknot.errors import UnknotError
from unknot.metrics.coat import MINIBATCH, coat
from unknot.runs.curve import Row
from unknot.tasks.algebra.baselines import pixel_codes
from unknot.tasks.algebra.codes import EncoderCodes, tuple_codes
from unknot.tasks.algebra.decoder import Decoder
from unknot.tasks.algebra.options import AlgebraOptions, TupleSet
from unknot.tasks.algebra.quadruples import CorpusTuples
from unknot.tasks.algebra.scores import ResultParts, score_encoder
from unknot.worlds.scenes.corpus import open_corpus
from unknot.worlds.world import World

if TYPE_CHECKING:
    import torch

    from unknot.models.model import Model

MEASURED = 128  # tuples: two minibatches


@dataclass(frozen=True)
class CoatMeter:
    """What measures COAT on the first tuples of a corpus.

    Attributes:
        tuples: those it is measured on.
        image_size: that images are resized to before the model sees them, if any.
        every: steps between two measurements.
        pixels: scores of the images themselves.
        name: of the table of its rows.
    """

    tuples: CorpusTuples
    image_size: int | None
    every: int
    pixels: Row
    name: str = "coat"

    @property
    def identity(self) -> str:
        """Of the tuples: one curve is of the same ones throughout."""
        return self.tuples.identity

    @property
    def about(self) -> dict[str, Any]:
        """The corpus in plain values."""
        return self.tuples.about

    def row(self, model: "Model", device: "torch.device") -> Row:
        """Scores and passes of a model in evaluation mode, beside those of pixels; no random numbers are drawn.

        NaN stands where all codes are alike. Slots are scored as they are, and tidied where the model can draw them. Of
        every negative it has the share of tuples in which it does worse than D, such as `l2_p_hat_color`.
        """
        encoder = Encoder("model", model_encode(model, self.image_size, device), {"kind": "run"})
        decoder = Decoder(model, self.image_size, device)
        codes = EncoderCodes("model", tuple_codes(encoder, self.tuples), decoder)
        parts = ResultParts()
        variants = score_encoder(parts, codes, TupleSet("", self.tuples), _options(self.tuples))
        endings = {name: ending for ending, (name, _) in variants.items()}
        shares = {
            f"{row['loss']}_p_hat_{row['negative']}{endings[str(row['representation'])]}": float(row["p_hat"] or 0)
            for row in parts.negatives
        }
        return {**parts.values, **self.pixels, **shares}


def coat_meter(
    folder: Path | str, world: World, image_size: int | None, *, every: int = 1000, n: int = MEASURED
) -> CoatMeter:
    """The meter on the first n tuples of the corpus in a folder; an error if a model of this world cannot see them."""
    corpus = open_corpus(folder)
    tuples = CorpusTuples(corpus.first(n))
    if len(tuples) < 2:
        raise UnknotError(f"{folder}: has {len(tuples)} tuple; COAT needs two or more for chance.")
    theirs, ours = tuples.image_shape, world.image_shape
    if theirs[2] != ours[2] or (theirs[:2] != ours[:2] and image_size is None):
        shapes = [" x ".join(map(str, shape)) for shape in (theirs, ours)]
        raise UnknotError(
            f"{folder}: images of this corpus are {shapes[0]}, those of {world.name} are {shapes[1]}; make a corpus of "
            f"that size (unknot data corpus --size {ours[0]}), or train with an image size, which resizes both."
        )
    parts = ResultParts()
    parts.add_values(coat(pixel_codes(tuples), groups=tuples.scenes, **_options(tuples).coat), prefix="pixels_")
    pixels = {name: value for name, value in parts.values.items() if name.endswith("_coat")}
    return CoatMeter(tuples, image_size, every, pixels)


def _options(tuples: CorpusTuples) -> AlgebraOptions:
    """As `unknot task algebra` has them; few tuples are one minibatch."""
    return AlgebraOptions(minibatch=min(MINIBATCH, len(tuples)))
