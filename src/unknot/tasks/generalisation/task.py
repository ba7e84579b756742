"""Systematic generalisation: are factors still predicted where training never was?

    def predict(images):                       # uint8 (n, h, w, c)
        return my_network(images)              # (n, n_factors), each factor from 0 (first class) to 1 (last class)

    unknot.generalisation(predict, "dsprites_rendered", "extrapolation")

Reference: Schott et al. 2022, Visual Representation Learning Does Not Generalize Strongly Within the Same Domain,
arXiv:2107.08221.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from unknot.encoders.encoding import world_split
from unknot.errors import UnknotError, unknown
from unknot.representation import Representation
from unknot.runs.run import Run
from unknot.runs.training_world import open_training_world
from unknot.tasks.generalisation.coded_world import CodedWorld, as_representation
from unknot.tasks.generalisation.predictors import Scale, find_predictor, must_share_factors, needs_readout
from unknot.tasks.generalisation.readout import Recipe
from unknot.tasks.generalisation.split_points import check_rows
from unknot.tasks.generalisation.split_work import PROBE, SplitWork, Watch
from unknot.tasks.options import Untrained
from unknot.tasks.result import TaskResult
from unknot.worlds import WORLDS, open_world
from unknot.worlds.splits.named import COMBINATION, canonical_split
from unknot.worlds.splits.rules import published_rule
from unknot.worlds.splits.split import Split
from unknot.worlds.world import World

KINDS = ("random", "composition", "interpolation", "extrapolation")
ROWS = 50_000  # test images; R² of a factor is then known to about 0.005


def generalisation(
    model: Run | Representation | Path | str | Callable[..., Any],
    world: World | Path | str | None = None,
    split: str | Split | Sequence[str] = "",
    *,
    readout: bool | None = None,
    rows: int | str = ROWS,
    train_rows: int | str = ROWS,
    steps: int | None = None,
    recipe: Recipe = "paper",
    scale: Scale = "unit",
    name: str = "",
    seed: int = 0,
    device: str = "cpu",
    data: Path | None = None,
    folder: Path | str | None = None,
    watch: Watch | None = None,
) -> TaskResult:
    """R² of each factor on images unlike those of training, beside what a constant would score.

    R²_j = 1 - mean_test (f_j(x) - y_j)² / variance_j,     R² = mean_j R²_j,     in (-inf, 1]

    y_j is class / (number of classes - 1), also of categorical factors; its variance is that of the whole dataset.
    Where interpolation or extrapolation leaves exactly one factor with an unseen value, its R² (ood) stands apart from
    that of the others (id); the ratio |f - mean| / |y - mean| says how far extrapolation is drawn to the training mean.

        extrapolation_r2            as above; the same for each split
        extrapolation_r2_clipped    each R²_j no lower than 0, as the paper draws them
        extrapolation_r2_constant   of always saying the mean of the training part
        extrapolation_r2_id, _ood   mean over factors, on images with one unseen value
        extrapolation_ratio         median

    Edge cases: constant factors are left out; random and composition splits have no unseen value.
    Departs from the paper: 50,000 test and 50,000 readout images by default; "all" takes all.

    Args:
        model: a function from uint8 images (n, h, w, c) to predictions (n, n_factors); a run of a supervised network;
            or a run or an encoder of latents, from which a readout trained on the training part predicts; or a
            `Representation` with factors, or a file of one, whose rows are shared out among the two parts.
        world: a world or its name; left out, the one a run was trained on, or that a file says it comes from.
        split: a kind of split, several, "all", or a `Split`; left out, the one a run was trained inside, and all four
            for encoders.
        readout: whether `model` gives latents to read factors from; left out, see `find_predictor`.
        rows: test images, drawn without replacement; "all" for the whole test part.
        train_rows: training images of the readout; "all" for the whole training part.
        steps: of the readout; left out, as many as 8 epochs over the whole training part take (recipe "paper").
        recipe: of the readout, "paper" or "quick".
        scale: "unit" if predictions are in [0, 1], "classes" if they are class numbers.
        name: what results call the model.
        seed: decides which images, and the readout.
        device: of runs and networks.
        data: folder of data files.
        folder: keeps the splits that are done, so that the same call goes on; for runs and named networks.
        watch: called with the number of images done and of images in all.

    >>> import numpy as np
    >>> def half(images):
    ...     return np.full((len(images), 5), 0.5)
    >>> found = generalisation(half, "dsprites_rendered", "extrapolation", rows=1000)
    >>> round(found.values["extrapolation_r2"], 1), round(found.values["extrapolation_r2_constant"], 3)
    (-0.1, -0.388)
    """
    began = time.monotonic()
    _check(rows, train_rows, steps, seed)
    made = as_representation(model)
    if made is None:
        opened, key = _world(model, world, data)
    else:
        opened, key = _coded(made, world, data)
    _must_have_factors(opened)
    if isinstance(opened, CodedWorld):
        predictor = opened.predictor(Path(model).stem if isinstance(model, str | Path) else "", readout, scale)
    else:
        which: Any = model  # no representation, which would be a coded world
        predictor = find_predictor(which, opened, readout=readout, scale=scale, device=device, data=data)
    predictor = replace(predictor, name=name or predictor.name)
    splits = _splits(split, predictor.trained_in, predictor.needs_readout, key, opened)
    settings: dict[str, Any] = {"rows": rows, "seed": seed, "scale": scale, "readout": predictor.needs_readout}
    if predictor.needs_readout:
        settings |= {"train_rows": train_rows, "steps": steps, "recipe": recipe}
    work = SplitWork(predictor, opened, key, settings, None if folder is None else Path(folder), watch)
    return _joined(work.results(splits), time.monotonic() - began)


def check(
    run: Untrained,
    *,
    split: str | Sequence[str],
    readout: bool | None,
    rows: int | str,
    train_rows: int | str,
    steps: int | None,
    seed: int,
    **_: Any,
) -> None:
    """Refuse options that no run can be put to the task with, before there is one."""
    _check(rows, train_rows, steps, seed)
    _must_have_factors(run.world)
    reads = needs_readout(run.spec, readout, run.spec.title)
    if not reads:
        must_share_factors(run.spec.title, run.spec, run.home, run.world)
    _splits(split, run.spec.split, reads, run.key, run.world)


def _check(rows: int | str, train_rows: int | str, steps: int | None, seed: int) -> None:
    check_rows("generalisation", rows=rows, train_rows=train_rows)
    if steps is not None and steps < 1:
        raise UnknotError(f"generalisation: steps is {steps}; the readout needs at least one.")
    if seed < 0:
        raise UnknotError(f"generalisation: the seed is {seed}; seeds are whole numbers from 0 up.")


def _must_have_factors(world: World) -> None:
    if world.factors.names == ("image",):
        raise UnknotError(f"generalisation: {world.name} has no factors to predict; choose a world that has.")


def _world(model: Any, world: World | Path | str | None, data: Path | None) -> tuple[World, str]:
    """The world, opened, and its name in the catalogue, by which its published splits are known."""
    if world is None:
        is_folder = isinstance(model, Path) or (isinstance(model, str) and Path(model).is_dir())
        run = model if isinstance(model, Run) else Run(model) if is_folder else None
        if run is None:
            raise UnknotError(
                "generalisation: a model of one's own needs a world; name one, such as dsprites_rendered."
            )
        return open_training_world(run, data=data), run.spec.world
    if isinstance(world, str | Path):
        return open_world(world, data=data), str(world)
    return world, _key(world)


def _key(world: World) -> str:
    return next((key for key, entry in WORLDS.items() if entry.title == world.name), world.name)


def _coded(made: Representation, world: World | Path | str | None, data: Path | None) -> tuple[World, str]:
    """The rows of a representation as a world, and the name by which its published splits are known."""
    named = made.source.get("world", "") if world is None else world
    if not named:
        raise UnknotError(
            "generalisation: which world do the latents come from? Name it, such as dsprites_rendered: it says which "
            "classes each factor has, and which of them each split keeps for testing."
        )
    if isinstance(named, str) and named in WORLDS:  # its grid is known without its file
        return CodedWorld(made, WORLDS[named].factors, named, "generalisation"), named
    opened = open_world(named, data=data) if isinstance(named, str | Path) else named
    key = str(named) if isinstance(named, str | Path) else _key(opened)
    return CodedWorld(made, opened.factors, opened.name, "generalisation"), key


def _splits(
    wanted: str | Split | Sequence[str], trained_in: str | None, reads: bool, key: str, world: World
) -> Mapping[str, Split]:
    """Label -> split, in the order asked for."""
    if isinstance(wanted, Split):
        if wanted.space.shape != world.factors.shape:
            theirs, ours = wanted.space.shape, world.factors.shape
            raise UnknotError(
                f"generalisation: the split is of a grid of {theirs}; that of {world.name} is {ours}."
            )
        return {_label(wanted, key, world): wanted}
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    if names == [""]:
        if trained_in is None and not reads:
            raise UnknotError(
                "generalisation: inside which split was the model trained? A function cannot say; name one of "
                f"{', '.join(KINDS)}, or all."
            )
        names = [trained_in or "all"]
    names = list(KINDS) if "all" in names else names
    for name in names:
        if name not in KINDS and not name.startswith(COMBINATION):
            raise unknown("split", name, (*KINDS, "all"))
    return {name: world_split(key, world, name) for name in map(canonical_split, names)}


def _label(made: Split, key: str, world: World) -> str:
    """What results call a split made by hand: where there is a published one of its kind, it must not pass for that."""
    if made.kind not in KINDS or published_rule(key, world.factors) is None:
        return made.kind
    return made.kind if made == world_split(key, world, made.kind) else f"own_{made.kind}"


def _joined(parts: Sequence[TaskResult], seconds: float) -> TaskResult:
    """Results on single splits as one."""
    tables = dict.fromkeys(name for part in parts for name in part.tables)
    return replace(
        parts[0],
        values={name: value for part in parts for name, value in part.values.items()},
        tables={name: [row for part in parts for row in part.tables.get(name, [])] for name in tables},
        settings={**parts[0].settings, "splits": [label for part in parts for label in part.settings["splits"]]},
        notes=_shared_notes(parts),
        seconds=seconds,
    )


def _shared_notes(parts: Sequence[TaskResult]) -> list[str]:
    """The notes of all parts; what is said of several splits is said once."""
    said: dict[str, list[str]] = {}
    for part in parts:
        for note in part.notes:
            label, colon, text = note.partition(": ")
            named = bool(colon) and label in part.settings["splits"]
            said.setdefault(text if named else note, []).extend([label] if named else [])
    return [f"{', '.join(labels)}: {text}" if labels else text for text, labels in said.items()]


__all__ = ["KINDS", "PROBE", "ROWS", "generalisation"]
