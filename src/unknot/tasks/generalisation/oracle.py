"""Is the readout to blame? It is given the true factors, or their negatives, in place of latents.

If it reads them on every split, then what fails behind an encoder is the encoder.

Reference: Schott et al. 2022, arXiv:2107.08221, appendix A, Table 1.
"""

import time
from collections.abc import Sequence

import numpy as np

from unknot.factors import FactorSpace
from unknot.tasks.generalisation.constant_baselines import CHUNK, Baselines, constant_baselines
from unknot.tasks.generalisation.readout import BATCH, EPOCHS, Recipe, train_readout
from unknot.tasks.generalisation.split_errors import SplitErrors, mean_known
from unknot.tasks.generalisation.split_points import check_rows, chunks, part_points
from unknot.tasks.generalisation.task import KINDS, ROWS
from unknot.tasks.result import Cell, Table, TaskResult
from unknot.worlds import WORLDS, conventions, open_world
from unknot.worlds.splits.named import named_split
from unknot.worlds.splits.split import Split

INPUTS = {"true factors": 1.0, "sign-flipped": -1.0}


def oracle(
    world: str,
    split: str | Sequence[str] = "all",
    *,
    rows: int | str = ROWS,
    train_rows: int | str = "all",
    steps: int | None = None,
    recipe: Recipe = "paper",
    seed: int = 0,
) -> TaskResult:
    """R² of the readout on the true factors, scaled to [0, 1], and on the same with their signs flipped.

    No image is rendered. The paper has at least 0.996 on every split of dSprites, Shapes3D and MPI3D.

    Args:
        world: its name; only the factors are needed, no file.
        split: a kind of split, several, or "all".
        rows: test points, or "all".
        train_rows: training points, or "all".
        steps: of the readout; left out, as many as 8 epochs over the whole training part take (recipe "paper").
        recipe: of the readout, "paper" or "quick".
        seed: decides the points and the readout.

    >>> found = oracle("dsprites", "extrapolation", rows=2000, train_rows=20_000, steps=4000, recipe="quick")
    >>> all(value > 0.99 for value in found.values.values())
    True
    """
    began = time.monotonic()
    check_rows("oracle", rows=rows, train_rows=train_rows)
    if world in WORLDS:
        key, space = world, WORLDS[world].factors
    else:
        opened = open_world(world)
        key, space = opened.key, opened.factors
    names = [split] if isinstance(split, str) else list(split)
    names = list(KINDS) if "all" in names else names
    table: Table = []
    for name in names:
        made = named_split(name, space, conventions(key).rule)
        baselines = constant_baselines(made)
        for what, sign in INPUTS.items():
            errors = _read(made, baselines, sign, rows, train_rows, steps, recipe, seed)
            table.append(_row(name, what, space, errors, mean_known(baselines.train.r2)))
    return TaskResult(
        task="oracle",
        source="readout of the true factors",
        world=world,
        values={
            f"{row['split']}_{str(row['input']).replace(' ', '_').replace('-', '_')}": float(str(row["r2"]))
            for row in table
        },
        tables={"oracle": table},
        settings={"rows": rows, "train_rows": train_rows, "steps": steps, "recipe": recipe, "seed": seed},
        notes=["The readout is given factors, not an encoder's latents: what it can read at best."],
        seconds=time.monotonic() - began,
    )


def _read(
    made: Split,
    baselines: Baselines,
    sign: float,
    rows: int | str,
    train_rows: int | str,
    steps: int | None,
    recipe: Recipe,
    seed: int,
) -> SplitErrors:
    """Errors of the readout of factors times a sign."""
    training = part_points(made, None, "train", train_rows, np.random.default_rng([seed, 0, 2]))
    targets = np.concatenate([made.space.scaled(classes) for classes in chunks(made, None, training, CHUNK)])
    if steps is None and recipe == "paper":
        steps = EPOCHS * -(-made.n_train // BATCH["paper"])
    readout = train_readout(
        sign * targets, targets, steps=steps, rng=np.random.default_rng([seed, 3]), recipe=recipe
    )
    errors = SplitErrors(baselines.variance, baselines.train_mean)
    test = part_points(made, None, "test", rows, np.random.default_rng([seed, 1, 2]))
    for classes in chunks(made, None, test, CHUNK):
        wanted = made.space.scaled(classes)
        errors.add(readout.predict(sign * wanted), wanted, made.ood(classes))
    return errors


def _row(name: str, what: str, space: FactorSpace, errors: SplitErrors, constant: float) -> dict[str, Cell]:
    worst = int(np.nanargmin(errors.r2))
    return {
        "split": name,
        "input": what,
        "r2": mean_known(errors.r2),
        "worst_factor": space.names[worst],
        "worst_r2": float(errors.r2[worst]),
        "constant_train_mean": constant,
        "rows": errors.rows,
    }
