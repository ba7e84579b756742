"""Novel combinations of familiar features: is a small square recognised by one who only saw other squares?"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np

from unknot.encoders.encoding import ROWS, opened_encoder
from unknot.errors import UnknotError
from unknot.metrics.heads import find_recipe
from unknot.metrics.probes import RecipeName
from unknot.progress import counted
from unknot.representation import Representation
from unknot.runs.run import Run
from unknot.runs.spec import RunSpec
from unknot.tasks.combinations.chosen import chosen_combinations
from unknot.tasks.combinations.heads import BOTH, answer_table, chance_levels, head_answers, mistake_table
from unknot.tasks.combinations.parts import part_path, read_part, write_part
from unknot.tasks.combinations.rows import (
    WHO,
    FileRows,
    Rows,
    WorldRows,
    known_space,
    must_exist,
    seen_and_novel,
)
from unknot.tasks.generalisation.coded_world import as_representation
from unknot.tasks.options import Untrained
from unknot.tasks.pool import Pool
from unknot.tasks.result import Table, TaskResult
from unknot.tasks.stages import Say, Tell, Watch, teller
from unknot.worlds import open_world
from unknot.worlds.splits.combinations import combination_name, parse_combination
from unknot.worlds.splits.named import COMBINATION
from unknot.worlds.world import World

Source = RunSpec | Run | Representation | Path | str | Callable[..., Any]


def combinations(
    encoder: Source,
    world: World | Path | str | None = None,
    *,
    held_out: str | Mapping[str, int] | Sequence[str | Mapping[str, int]] = (),
    pair: Sequence[str] = (),
    limit: int | None = None,
    rows: int | Literal["all"] = ROWS,
    pair_only: bool = False,
    recipe: RecipeName = "converged",
    pool: str = "",
    image_size: int | None = None,
    seed: int = 0,
    device: str = "cpu",
    data: Path | None = None,
    folder: Path | str | None = None,
    watch: Watch | None = None,
    say: Say | None = None,
) -> TaskResult:
    """How well heads read a combination of two factor values when they only know each value from other company.

    All images with one combination, such as the small squares, are set aside. A net with one hidden layer and a
    linear head, one for each factor, learn to read factors from the latents of the others. They are tested on held-out
    rows of those (the random test set) and on the images set aside (the novel combination), and their accuracies a
    are adjusted for chance,

        max(0, (a - r) / (1 - r)),    r = sum of squared class frequencies

    for each factor, and for "both" factors of the combination right at once. r is that of the whole world: 1 / size on
    a complete grid, 1 / (size * size) for both. 0 is guessing, 1 is best. Means and standard deviations are over
    combinations.

    Given a `RunSpec`, one model is trained for each combination on all images but those, so that model and heads
    alike have never seen it: the protocol of the paper. Given an encoder, only the heads have not.

    Args:
        encoder: a `RunSpec` to train by; a run or its folder, a function, a name (see `unknot.encode`); or a
            representation with factors, or its file.
        world: a world or its name; left out, that of the run.
        held_out: the combinations, as "scale=0,shape=0" or {"scale": 0, "shape": 0}; left out, the one a run was
            trained without, else all of `pair`, else the published ones of the world.
        pair: two factors, all combinations of whose classes are tried.
        limit: at most so many combinations, drawn with the seed.
        rows: how many images of the world are encoded, drawn without replacement, and a third as many of each
            combination; or "all". Of the others as many are held out as the combination has, at most a third.
        pair_only: read only the two factors of the combination; else all that vary.
        recipe: how heads are trained, see `mlp_accuracy`.
        pool: of timm and hf networks, see `unknot.encode`.
        image_size: of timm and hf networks.
        seed: draws rows and decides the heads.
        device: "cpu", "cuda" or "mps".
        data: folder of data files.
        folder: where runs and finished combinations are kept, so that a second call does only what is missing; needed
            to train.
        watch: called with how much of a stage (training, encoding, heads) is done, and of how much.
        say: called with the name of each stage as it begins.

    Returns:
        `values`: adjusted means by head, test set and factor, such as "mlp_novel_both"; `tables`: "summary" (means
        and standard deviations), "answers" (every combination, head, test set and factor) and "mistakes" (what heads
        say instead of the novel combination).

    Departs from the paper: heads are trained to convergence by default and one net reads each factor. How large its
    random test sets are the paper does not say.

    Reference: Mahon et al. 2024, Correcting Flaws in Common Disentanglement Metrics, arXiv:2304.02335, section 5.2.

    >>> grid = np.stack(np.meshgrid(range(4), range(3), range(20)), axis=-1).reshape(-1, 3)
    >>> made = Representation(grid[:, :2] * 1.0, grid[:, :2], ("scale", "shape"))
    >>> result = combinations(made, held_out=["scale=0,shape=0", "scale=2,shape=1"])
    >>> result.values["linear_novel_both"]
    1.0
    """
    began = time.perf_counter()
    _check(rows, seed, limit)
    find_recipe(recipe)
    place = None if folder is None else Path(folder)
    tell = teller(watch, say)
    how = {"device": device, "data": data}
    if isinstance(encoder, RunSpec):
        if place is None:
            raise UnknotError(f"{WHO}: training needs a folder, where runs are kept; pass folder='combinations'.")
        spec = _untrained(encoder, world)
        space, name, source = open_world(spec.world, data=data).factors, spec.world, spec.label
        opened = _trained_rows(spec, place, rows, seed, tell, how)
        notes = [f"One {spec.model} was trained for each combination, on all images but those."]
        about: dict[str, Any] = {"spec": spec.model_dump()}
    else:
        made, source, name, about, notes = _given_rows(
            encoder, world, rows, seed, place, pool=pool, image_size=image_size, **how
        )
        space = made.space

        def opened(combination: Mapping[str, int]) -> Rows:
            return made  # the same for every combination

    unseen = about.pop("without", ())
    chosen = chosen_combinations(held_out or (() if pair else unseen), pair, name, space, limit, seed)
    settings = {"rows": rows, "recipe": recipe, "seed": seed, "pair_only": pair_only, **about}
    tables: dict[str, Table] = {"answers": [], "mistakes": []}
    for i, combination in enumerate(chosen):
        what = f"{combination_name(combination)} ({i + 1} of {len(chosen)})"
        rows_of = opened(combination)
        part = _one(rows_of, combination, recipe, pair_only, seed, place, partial(_tell, tell, what))
        for key, table in part.items():
            tables[key] += table
        notes += [note for note in rows_of.notes if note not in notes]
    tables = {"summary": summary(tables["answers"]), **tables}
    settings["combinations"] = [combination_name(c) for c in chosen]
    values = _values(tables["summary"])
    result = TaskResult(
        task="combinations",
        source=source,
        world=name,
        values=values,
        tables=tables,
        settings=settings,
        notes=[*notes, *_words(tables["answers"])],
        lower_is_better=[value for value in values if value.endswith("_drop")],
        seconds=round(time.perf_counter() - began, 2),
    )
    if place is not None:
        result.write(place / "combinations.json")
    return result


def check(
    run: Untrained,
    *,
    held_out: str | Mapping[str, int] | Sequence[str | Mapping[str, int]],
    pair: Sequence[str],
    limit: int | None,
    rows: int | str,
    seed: int,
    **_: Any,
) -> None:
    """Refuse options that no run can be put to the task with, before there is one."""
    _check(rows, seed, limit)
    space, unseen = run.world.factors, _left_out(run.spec.split)
    for one in chosen_combinations(held_out or (() if pair else unseen), pair, run.key, space, limit, seed):
        must_exist(space, run.world.rows, one)


def _one(
    rows: Rows,
    combination: Mapping[str, int],
    recipe: str,
    pair_only: bool,
    seed: int,
    folder: Path | None,
    tell: Tell,
) -> dict[str, Table]:
    """What is found out about one combination, now or by an earlier process."""
    path = part_path(folder, combination, {**rows.identity, "recipe": recipe, "pair_only": pair_only})
    kept = read_part(path)
    if kept is not None:
        return kept
    space = rows.space
    seen = seen_and_novel(rows, combination, seed, partial(tell, "encoding"))
    names = [f.name for f in space if f.name in combination or not (pair_only or f.kind == "constant")]
    answers = head_answers(
        seen, space, names, find_recipe(recipe), [seed, *combination.values()], partial(tell, "heads")
    )
    levels = chance_levels(space, rows.points, combination)
    part = {
        "answers": answer_table(seen, answers, space, levels, combination),
        "mistakes": mistake_table(answers, space, combination),
    }
    write_part(path, part)
    return part


def _tell(tell: Tell, which: str, doing: str, done: int, total: int) -> None:
    tell(f"{doing}, {which}", done, total)


def summary(answers: Table) -> Table:
    """Mean and standard deviation over combinations, for factors in those that they are a part of, and for both."""
    groups: dict[tuple[Any, Any, Any], list[dict[str, Any]]] = {}
    for row in answers:
        if row["in_combination"]:
            groups.setdefault((row["heads"], row["test"], row["factor"]), []).append(row)
    return [
        {
            "heads": heads,
            "test": test,
            "factor": factor,
            "combinations": len(rows),
            **{key: float(np.mean([row[key] for row in rows])) for key in ("adjusted", "accuracy", "chance")},
            "sd_adjusted": _sd([row["adjusted"] for row in rows]),
            "sd_accuracy": _sd([row["accuracy"] for row in rows]),
        }
        for (heads, test, factor), rows in groups.items()
    ]


def _sd(values: Sequence[float]) -> float | None:
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def _values(table: Table) -> dict[str, float]:
    values = {f"{row['heads']}_{row['test']}_{row['factor']}": _number(row["adjusted"]) for row in table}
    for heads in dict.fromkeys(str(row["heads"]) for row in table):
        values[f"{heads}_drop"] = values[f"{heads}_random_{BOTH}"] - values[f"{heads}_novel_{BOTH}"]
    return values


def _number(cell: object) -> float:
    return float(cell) if isinstance(cell, int | float) else float("nan")


def _words(answers: Table) -> Iterator[str]:
    levels = {str(row["factor"]): _number(row["chance"]) for row in answers if row["in_combination"]}
    text = ", ".join(f"{name} {level:.3f}" for name, level in levels.items())
    yield f"Accuracies are adjusted for chance: 0 is guessing, 1 is all right. Guessing gets {text}."


def _check(rows: int | str, seed: int, limit: int | None) -> None:
    if rows != "all" and (not isinstance(rows, int) or rows < 1):
        raise UnknotError(f"{WHO}: rows is {rows!r}; expected a number above 0, or all.")
    if seed < 0:
        raise UnknotError(f"{WHO}: the seed is {seed}; seeds are whole numbers from 0 up.")
    if limit is not None and limit < 1:
        raise UnknotError(f"{WHO}: limit is {limit}; expected at least one combination.")


def _untrained(spec: RunSpec, world: World | Path | str | None) -> RunSpec:
    if world is not None and str(world) != spec.world:
        raise UnknotError(
            f"{WHO}: the spec trains on {spec.world}, and the world is {world}; leave out the world."
        )
    if spec.split:
        raise UnknotError(
            f"{WHO}: the spec has a split ({spec.split}); leave it out, each combination is its own."
        )
    return spec


def _trained_rows(
    spec: RunSpec, folder: Path, rows: int | Literal["all"], seed: int, tell: Tell, how: Mapping[str, Any]
) -> Callable[[Mapping[str, int]], Rows]:
    """Rows by combination, through the run that was trained without it."""
    from unknot.runs.training import train

    def opened(combination: Mapping[str, int]) -> Rows:
        name = combination_name(combination)
        run = train(
            spec.replace(split=COMBINATION + name),
            folder / "runs",
            wait=True,
            progress=counted(partial(tell, f"training without {name}")),
            **how,
        )
        encoder, world, _ = opened_encoder(run, None, **how)
        return WorldRows(Pool(WHO, encoder, world, rows, seed), rows, seed)

    return opened


def _given_rows(
    encoder: Any,
    world: World | Path | str | None,
    rows: int | Literal["all"],
    seed: int,
    folder: Path | None,
    **how: Any,
) -> tuple[Rows, str, str, dict[str, Any], list[str]]:
    """Rows of an encoder or a file; whose they are, their world, what decided them, and notes."""
    path = Path(encoder) if isinstance(encoder, str | Path) else None
    made = as_representation(encoder)
    if made is not None:
        name = str(world if isinstance(world, str | Path) else made.source.get("world", ""))
        space = world.factors if world is not None and not isinstance(world, str | Path) else known_space(name)
        if world is not None and space is not None and space.names != made.factor_names:
            raise UnknotError(
                f"{WHO}: the latents have factors {', '.join(made.factor_names)}, {name} has "
                f"{', '.join(space.names)}; leave out the world, or name the one they come from."
            )
        title = made.source.get("encoder", {}).get("title", "latents")
        about: dict[str, Any] = {"encoder": made.source.get("encoder", {})}
        return FileRows(made, rows, seed, space), str(path or title), name, about, [_ONLY_HEADS]
    found, opened, name = opened_encoder(encoder, world, **how)
    about, notes = {"encoder": dict(found.record)}, [_ONLY_HEADS]
    if found.record.get("kind") == "run":
        split = (encoder if isinstance(encoder, Run) else Run(encoder)).spec.split
        if split.startswith(COMBINATION):
            about["without"] = _left_out(split)
            notes = [f"The run was trained inside the split {split}: it knows all other combinations."]
    source = str(found.record.get("title", found.name))
    return WorldRows(Pool(WHO, found, opened, rows, seed, folder), rows, seed), source, name, about, notes


def _left_out(split: str) -> list[dict[str, int]]:
    """The combinations that a run trained inside a split has not seen."""
    if not split.startswith(COMBINATION):
        return []
    left_out = parse_combination(split.removeprefix(COMBINATION))
    return [dict(zip(left_out, one, strict=True)) for one in product(*left_out.values())]


_ONLY_HEADS = (
    "The encoder was taken as it is and may have seen every combination; only the heads have not. Train one "
    "for each combination (--model) to leave it out altogether."
)
