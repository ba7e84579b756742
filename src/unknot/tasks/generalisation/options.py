"""The options of the generalisation task."""

from collections.abc import Sequence

from unknot.tasks.generalisation.chosen import WHO
from unknot.tasks.generalisation.predictors import Scale
from unknot.tasks.generalisation.readout import Recipe
from unknot.tasks.options import Options, Rows, option
from unknot.worlds.splits.split import Split

ROWS = 50_000  # test images; R² of a factor is then known to about 0.005


class GeneralisationOptions(Options):
    """The options of the generalisation task."""

    task = WHO
    split: str | Split | Sequence[str] = option(
        "", "random, composition, interpolation, extrapolation or all; a run's own if left out. May be repeated."
    )
    readout: bool | None = option(
        None, "Whether a function gives latents to read from, or factors.", flag="--readout/--predicts"
    )
    rows: Rows = option(ROWS, "Test images, drawn without replacement; or all.")
    train_rows: Rows | None = option(
        None, f"Training images of the readout; or all. If left out {ROWS:,}, for the oracle all."
    )
    steps: int | None = option(None, "Of the readout; 8 epochs of the training part if left out.", ge=1)
    recipe: Recipe = option("paper", "Of the readout: paper or quick.")
    scale: Scale = option("unit", "Of predictions: unit for [0, 1], or classes.")
    name: str = option("", "What results call the model.", decides=False)
    oracle: bool = option(False, "Read the true factors of the world instead of a model's latents.")
    seed: int = option(0, "Decides which images, and the readout.", ge=0)
