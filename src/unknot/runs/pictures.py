"""The pictures of a run, in its folder `pictures/`:

    reconstructions.png  images and what the model makes of them
    traversals.png       one row for each latent, the most informative first and 24 at most, switched-off ones greyed
    traversals.gif       the same as a film
    hinton.png           which latent knows which factor, from the run's representation
    slots.png            for models of objects, in place of traversals: who owns which pixel, and what each slot draws

The first two and the last are drawn at every checkpoint while a run trains, all but the Hinton diagram when it ends.
"""

import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unknot.models.codes import represent
from unknot.models.model import Model
from unknot.reports.kit.hinton import hinton_figure
from unknot.reports.kit.latent_pictures import (
    film,
    plan_traversal,
    reconstructions,
    traversals,
    write_film,
    write_picture,
)
from unknot.reports.kit.slot_pictures import slot_sheet
from unknot.representation import Representation
from unknot.runs.batches import Feed
from unknot.runs.run import PICTURES, Run
from unknot.runs.trainer import Draw

SHOWN_SLOTS = 10  # images on the sheet of slots
SHOWN = 36  # images reconstructed; the first of them is the one that is traversed
MOVED = 24  # latents traversed, the most informative ones; 256 of 128 pixels took minutes at every checkpoint
MEASURED = 256  # images that decide how far latents without a KL are moved


@torch.no_grad()
def draw(
    model: Model,
    images: Tensor,
    folder: Path,
    *,
    kl: NDArray[np.float64] | None = None,
    title: str = "",
    animated: bool = False,
) -> list[Path]:
    """Draw reconstructions and traversals of a model, or what its slots do; nothing if it has no decoder.

    The model is left in the mode it was in, and no random numbers are drawn.

    Args:
        model: in any mode.
        images: (n, c, h, w) in [0, 1], on the model's device, as it sees them.
        folder: where pictures go.
        kl: of each latent, if known.
        title: of the traversals.
        animated: write a film of the traversals too.
    """
    if not model.decodes or images.shape[1] not in (1, 3):
        return []

    def decode(latents: NDArray[np.float32]) -> NDArray[np.float32]:
        return _channels_last(model.decode(torch.from_numpy(latents).to(images.device)))

    training = model.training
    model.eval()
    try:
        if model.decodes_slots:
            return _draw_slots(model, images[:SHOWN], folder, title)
        means = represent(model, images).mean.cpu().numpy()
        seen = (_channels_last(images[:SHOWN]) * 255).round().astype(np.uint8)
        plan = plan_traversal(means, kl)
        plan = replace(plan, order=plan.order[:MOVED])
        written = [
            write_picture(reconstructions(seen, decode(means[:SHOWN])), folder / PICTURES["reconstructions"]),
            write_picture(traversals(decode, means[0], plan, title=title), folder / PICTURES["traversals"]),
        ]
        if animated:
            written.append(write_film(film(decode, means[0], plan), folder / PICTURES["film"]))
    finally:
        model.train(training)
    return written


def _draw_slots(model: Model, images: Tensor, folder: Path, title: str) -> list[Path]:
    """Reconstructions, and what each slot makes of the first images."""
    drawn = model.slots_decoded(represent(model, images).mean)
    seen = (_channels_last(images) * 255).round().astype(np.uint8)
    pictures = drawn.pictures[:SHOWN_SLOTS].float().permute(0, 1, 3, 4, 2).cpu().numpy()
    sheet = slot_sheet(seen[:SHOWN_SLOTS], pictures, drawn.masks[:SHOWN_SLOTS].float().cpu().numpy(), title=title)
    return [
        write_picture(
            reconstructions(seen, _channels_last(drawn.combined())), folder / PICTURES["reconstructions"]
        ),
        write_picture(sheet, folder / PICTURES["slots"]),
    ]


def shown_images(feed: Feed) -> Tensor:
    """The training images that the pictures of a run show: the same at every step of a seed."""
    rng = np.random.default_rng([feed.seed, 2**33])
    return feed.tensor(feed.region.sample(MEASURED, rng), rng)


def pictures_of(run: Run, feed: Feed, device: torch.device) -> Draw:
    """Draws the pictures of a run while it trains."""

    def draw_step(model: Model, step: int, *, kl: NDArray[np.float64] | None, animated: bool) -> list[Path]:
        images, title = shown_images(feed).to(device), f"{run.spec.title}, step {step:,}"
        return draw(model, images, run.pictures, kl=kl, title=title, animated=animated)

    return draw_step


def draw_hinton(representation: Representation, folder: Path, *, title: str = "") -> list[Path]:
    """Draw which latent of a representation knows which factor; nothing if it has no factors."""
    from unknot.metrics.inputs import prepare
    from unknot.metrics.verdict import information_shares

    if representation.factors is None:
        return []
    latents, names = representation.flattened().latents, representation.factor_names
    rows = prepare("hinton", latents, representation.factors, None, None, names=names)
    names = tuple(rows.names[j] for j in rows.kept)
    title = textwrap.fill(title, 40)  # as wide as ten latents
    return [hinton_figure(information_shares(rows), names, folder / PICTURES["hinton"], title=title)]


def draw_run(run: Run, model: Model, feed: Feed, representation: Representation) -> list[Path]:
    """Draw all pictures of a finished run: its model, what that was fed with, what it was encoded to."""
    images, title = shown_images(feed).to(next(model.parameters()).device), run.spec.title
    written = draw(model, images, run.pictures, kl=representation.kl, title=title, animated=True)
    return written + draw_hinton(representation, run.pictures, title=title)


def _channels_last(images: Tensor) -> NDArray[np.float32]:
    array: NDArray[np.float32] = images.float().permute(0, 2, 3, 1).cpu().numpy()
    return array
