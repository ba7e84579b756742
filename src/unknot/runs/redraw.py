"""The pictures of a finished run, drawn again."""

from pathlib import Path

from unknot.representation import Representation
from unknot.runs.pictures import draw, draw_hinton, shown_images
from unknot.runs.run import Run
from unknot.runs.training import feed, load_model
from unknot.runs.training_world import open_training_world


def draw_run(run: Run | Path | str, representation: Representation, *, data: Path | None = None) -> list[Path]:
    """Draw all pictures of a finished run, with the representation it was encoded to."""
    run = run if isinstance(run, Run) else Run(run)
    world = open_training_world(run, data=data)
    model = load_model(run, world=world)
    images, title = shown_images(feed(run.spec, model, world)), run.spec.title
    written = draw(model, images, run.pictures, kl=representation.kl, title=title, animated=True)
    return written + draw_hinton(representation, run.pictures, title=title)
