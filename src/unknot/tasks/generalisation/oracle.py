"""Is the readout to blame? It is given the true factors, or their negatives, in place of latents.

If it reads them on every split, then what fails behind an encoder is the encoder.

Reference: Schott et al. 2022, arXiv:2107.08221, appendix A, Table 1.
"""

import numpy as np

from unknot.encoders.source import Source
from unknot.errors import UnknotError
from unknot.progress import Progress, silent
from unknot.runs.workspace import Workspace
from unknot.tasks.generalisation.options import WHO, GeneralisationOptions
from unknot.tasks.generalisation.readout import steps_over, train_readout
from unknot.tasks.generalisation.split_errors import (
    CHUNK,
    Baselines,
    SplitErrors,
    chunks,
    constant_baselines,
    mean_known,
    part_points,
)
from unknot.tasks.options import Rows
from unknot.tasks.result import Cell, Table, TaskResult, as_number
from unknot.worlds.splits.split import Split

INPUTS = {"true factors": 1.0, "sign-flipped": -1.0}
WORDS = {"true factors": "true_factors", "sign-flipped": "sign_flipped"}  # in names of values


def oracle(
    source: Source, options: GeneralisationOptions, workspace: Workspace, progress: Progress = silent
) -> TaskResult:
    """R² of the readout on the true factors, scaled to [0, 1], and on the same with their signs flipped.

    No image is rendered, and of a world of the catalogue no file is needed. The paper has at least 0.996 on every split
    of dSprites, Shapes3D and MPI3D.

    >>> quick = {"rows": 2000, "train_rows": 20_000, "steps": 4000, "recipe": "quick"}
    >>> options = GeneralisationOptions(oracle=True, split="extrapolation", **quick)
    >>> min(oracle(Source.of(None, "dsprites"), options, Workspace()).values.values()) > 0.99
    True
    """
    if not source.world_name:
        raise UnknotError(
            f"{WHO}: the oracle reads the true factors of a world; name one, such as dsprites_rendered.",
            field="world",
        )
    space = source.known_factors or source.world.factors
    train_rows = options.train_rows or "all"
    settings = {"oracle": True, "rows": options.rows, "steps": options.steps, "recipe": options.recipe}
    settings |= {"seed": options.seed, "train_rows": train_rows}
    splits, table = options.splits("all", space, source.conventions.rule), []
    for i, (label, split) in enumerate(splits.items()):
        progress("readout of the true factors", i, len(splits))

        def rows(label: str = label, split: Split = split) -> Table:
            baselines = constant_baselines(split)
            return [
                _row(label, name, split, _errors(split, baselines, sign, train_rows, options), baselines)
                for name, sign in INPUTS.items()
            ]

        table += workspace.kept(f"{WHO} oracle {label}", [source.world_name, settings, split.as_json()], rows)
    progress("readout of the true factors", len(splits), len(splits))
    return TaskResult(
        task=WHO,
        source=options.name or "readout of the true factors",
        world=source.world_name,
        values={f"{row['split']}_{WORDS[str(row['input'])]}": as_number(row["r2"]) for row in table},
        tables={"oracle": table},
        settings=settings,
        notes=["The readout is given factors, not an encoder's latents: what it can read at best."],
    )


def _errors(
    split: Split, baselines: Baselines, sign: float, train_rows: Rows, options: GeneralisationOptions
) -> SplitErrors:
    """Errors of the readout of factors times a sign."""
    seed, space = options.seed, split.space
    training = part_points(split, None, "train", train_rows, np.random.default_rng([seed, 0, 2]))
    targets = np.concatenate([space.scaled(classes) for classes in chunks(split, None, training, CHUNK)])
    readout = train_readout(
        sign * targets,
        targets,
        steps=options.steps or steps_over(split.n_train, options.recipe),
        rng=np.random.default_rng([seed, 3]),
        recipe=options.recipe,
    )
    errors = SplitErrors(baselines.variance, baselines.train_mean)
    test = part_points(split, None, "test", options.rows, np.random.default_rng([seed, 1, 2]))
    for classes in chunks(split, None, test, CHUNK):
        targets = space.scaled(classes)
        errors.add(readout.predict(sign * targets), targets, split.ood(classes))
    return errors


def _row(label: str, name: str, split: Split, errors: SplitErrors, baselines: Baselines) -> dict[str, Cell]:
    worst = int(np.nanargmin(errors.r2))
    return {
        "split": label,
        "input": name,
        "r2": mean_known(errors.r2),
        "worst_factor": split.space.names[worst],
        "worst_r2": float(errors.r2[worst]),
        "constant_train_mean": mean_known(baselines.train.r2),
        "rows": errors.rows,
    }
