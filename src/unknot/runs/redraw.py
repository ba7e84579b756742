"""The pictures of a finished run, drawn again."""

from pathlib import Path

from unknot.models.model import Model
from unknot.representation import Representation
from unknot.runs.pictures import draw, draw_hinton, shown_images
from unknot.runs.run import Run
from unknot.runs.training import feed
from unknot.worlds.world import World


def draw_run(run: Run, model: Model, world: World, representation: Representation) -> list[Path]:
    """Draw all pictures of a finished run: its model, the world it was trained on, what it was encoded to."""
    images, title = shown_images(feed(run.spec, model, world)), run.spec.title
    images = images.to(next(model.parameters()).device)
    written = draw(model, images, run.pictures, kl=representation.kl, title=title, animated=True)
    return written + draw_hinton(representation, run.pictures, title=title)
