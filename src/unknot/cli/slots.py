"""`unknot slots`: slots over the features of a frozen encoder."""

from dataclasses import MISSING, dataclass
from pathlib import Path

from unknot.cli.bar import progress_bar
from unknot.cli.options import DATA, DEVICE, LAYER, POOL, argument, option, takes
from unknot.cli.output import echo, stoppable


@dataclass(frozen=True)
class SlotsOptions:
    """What slots are trained on, and how."""

    encoder: str = argument("The folder of a run, package.module:function, timm:NAME or hf:NAME.")
    output: Path = option(
        MISSING, "Folder for features and weights; slots:FOLDER is an encoder then.", "--output", "-o"
    )
    world: str = option("", "Images; those the run was trained on if left out.")
    grid: int = option(0, "Encode so many windows along each side of an image; 0: the places the encoder has.")
    slots: int = option(7, "How many slots.")
    slot_size: int = option(64, "Numbers in a slot.")
    n: int = option(5_000, "Images whose features are computed.")
    steps: int = option(5_000, "Steps of training.")
    batch_size: int = option(64, "Images of a step.")
    lr: float = option(4e-4, "The highest learning rate.")
    seed: int = option(0, "Decides images, weights and batches.")
    pool: str = option("", POOL)
    layer: str = option("", LAYER)
    image_size: int | None = option(None, "For timm and hf: resize images to so many pixels.")
    device: str = option("cpu", DEVICE)
    data: Path | None = option(None, DATA)


@takes(SlotsOptions)
def slots(options: SlotsOptions) -> None:
    """Train slots on the features of a frozen encoder, as DINOSAUR does; says how well their masks fit.

    Tokens of a transformer: unknot slots timm:NAME --pool slots. Any other encoder: --grid 8.
    """
    with stoppable(f"{options.output}: interrupted; features are kept."), progress_bar() as progress:
        from unknot.encoders.encoder import Opening
        from unknot.encoders.feature_slots import FeatureSlotOptions, train_feature_slots
        from unknot.encoders.source import Source
        from unknot.runs.meters import has_masks

        names = ("slots", "slot_size", "n", "steps", "batch_size", "lr", "grid", "seed")
        how = FeatureSlotOptions(**{name: vars(options)[name] for name in names})
        opening = Opening(options.device, options.data, options.pool, options.image_size, options.layer)
        source = Source.of(options.encoder, options.world or None, opening, who="slots")
        trained = train_feature_slots(
            source, folder=options.output, options=how, opening=opening, progress=progress
        )
        fit = trained.segmentation(source.world) if has_masks(source.world) else {}
    echo(f"loss {trained.losses[0]:.4f} to {trained.losses[-1]:.4f} of {how.steps:,} steps")
    echo(", ".join(f"{name} {value:.3f}" for name, value in fit.items()) or "no true masks, so no ARI")
    echo(f"slots:{options.output}")
