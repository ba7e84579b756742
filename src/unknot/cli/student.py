"""`unknot student`: a student of pasted objects, which tells apart what slots could not."""

from dataclasses import MISSING, dataclass
from pathlib import Path

from unknot.cli.bar import progress_bar
from unknot.cli.options import DATA, argument, option, takes
from unknot.cli.output import echo, stoppable


@dataclass(frozen=True)
class StudentCommand:
    """What a student is trained on, and how."""

    run: Path = argument("The folder of a finished run of slots, or zoo:NAME.")
    output: Path = option(MISSING, "Folder for the student.", "--output", "-o")
    world: str = option("", "Measure masks on this world; on the run's own if left out.")
    n: int = option(4_000, "Images from which objects are cut.")
    pasted: int = option(16_000, "Scenes that are put together.")
    fewest: int = option(3, "Objects that a scene is begun with, at least.")
    most: int = option(6, "And at most.")
    steps: int = option(2_000, "Steps of training.")
    batch_size: int = option(32, "Scenes of a step.")
    lr: float = option(2e-3, "The highest learning rate.")
    seed: int = option(0, "Decides images, scenes, weights and batches.")
    data: Path | None = option(None, DATA)


@takes(StudentCommand)
def student(options: StudentCommand) -> None:
    """Train a student of a run's masks: it tells apart objects that touch, from lone ones cut out and pasted together.

    No label is used; where the world knows its objects, says how well masks of slots and of the student fit.
    """
    with (
        stoppable(f"{options.output}: interrupted; masks of slots are kept once all are there."),
        progress_bar() as progress,
    ):
        from unknot.runs.meters import has_masks
        from unknot.runs.run import Run
        from unknot.runs.segmentation import prepared
        from unknot.runs.training_world import open_training_world
        from unknot.students.student import StudentOptions, train_student
        from unknot.worlds.catalogue import open_world

        names = ("n", "pasted", "fewest", "most", "steps", "batch_size", "lr", "seed")
        how = StudentOptions(**{name: vars(options)[name] for name in names})
        run = Run(options.run)
        if options.world:
            world = open_world(options.world, data=options.data)
        else:
            world = open_training_world(run, data=options.data)
        slots = prepared(run, world, data=options.data) if has_masks(world) else None
        trained = train_student(run, options.output, options=how, data=options.data, progress=progress)
        rows = {} if slots is None else {"slots": slots(), "student": trained.segmentation(world)}
    cut_outs, losses = trained.record["cut_outs"], trained.losses
    echo(f"{cut_outs:,} cut-outs, loss {losses[0]:.3f} to {losses[-1]:.3f} of {how.steps:,} steps")
    for name, fit in rows.items():
        echo(f"{name}: " + ", ".join(f"{measure} {value:.3f}" for measure, value in fit.items()))
    if not rows:
        echo("no true masks, so no ARI")
    echo(str(options.output))
