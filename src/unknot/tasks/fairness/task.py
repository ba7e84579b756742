"""Fairness: do predictions of one factor change when another, which should not matter, is changed?"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from unknot.encoders.encoding import ROWS
from unknot.errors import UnknotError, unknown
from unknot.metrics.score import Score
from unknot.representation import Representation
from unknot.runs.run import Run
from unknot.tasks.fairness.latents import WHO, given, must_have_factors
from unknot.tasks.options import Untrained
from unknot.tasks.result import Table, TaskResult, read_result
from unknot.tasks.stages import Say, Watch, teller
from unknot.worlds.world import World


def fairness(
    encoder: Run | Representation | Path | str | Callable[..., Any],
    world: World | Path | str | None = None,
    *,
    targets: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    rows: int | Literal["all"] = ROWS,
    points: int = 100,
    rounds: int = 100,
    pool: str = "",
    image_size: int | None = None,
    seed: int = 0,
    device: str = "cpu",
    data: Path | None = None,
    folder: Path | str | None = None,
    watch: Watch | None = None,
    say: Say | None = None,
) -> TaskResult:
    """How much the prediction of each target factor moves when each sensitive factor is set to all of its values.

    Boosted trees learn to predict every factor from the latents. The same random images are then rendered with a
    sensitive factor at each of its values, encoded, and classified; unfairness(target, sensitive) is the mean over
    values of the total variation between the predictions at that value and at all of them together. See the metric
    `unfairness`. In [0, 1), 0 is fair.

    Args:
        encoder: a run or its folder, a function, a name (see `unknot.encode`); or a representation with factors, or
            its file.
        world: a world or its name; left out, that of the run.
        targets: factors whose predictions are looked at; all if left out.
        sensitive: factors that are changed; all if left out.
        rows: images encoded, of which two thirds train the classifiers.
        points: random images that are changed.
        rounds: of boosting.
        pool: of timm and hf networks, see `unknot.encode`.
        image_size: of timm and hf networks.
        seed: draws rows and points, decides between equally good latents.
        device: "cpu", "cuda" or "mps".
        data: folder of data files.
        folder: where latents and the result are kept; a second call with the same settings reads them.
        watch: called with how much of a stage (encoding, interventions) is done, and of how much.
        say: called with the name of each stage as it begins.

    Returns:
        `values`: "unfairness", the mean over targets of the mean over sensitive factors; "worst_pair", the largest of
        the matrix; "worst_value", the same for the value of the sensitive factor that moves predictions most;
        "shuffled", what chance makes of so many points; "accuracy" of the classifiers; and "by_NAME", the mean over
        targets for each sensitive factor. `tables`: "pairs", a row for each target and sensitive factor, and "targets".

    Edge cases: a representation that holds every combination of its factors is looked up; one that does not, or a world
    that lacks images, cannot be intervened on: then predictions are compared between rows that happen to have each
    value (`conditional_unfairness`), and a note says so. Constant factors are left out.

    Reference: Locatello et al. 2019, On the Fairness of Disentangled Representations, arXiv:1905.13662.

    >>> grid = np.stack(np.meshgrid(range(3), range(4), range(9)), axis=-1).reshape(-1, 3)
    >>> made = Representation(grid[:, :2] * 1.0, grid[:, :2], ("shape", "x"))
    >>> fairness(made, rounds=5).values["unfairness"]
    0.0
    """
    began = time.perf_counter()
    _check(rows, points, rounds, seed)
    place, tell = None if folder is None else Path(folder), teller(watch, say)
    made = given(encoder, world, rows, seed, place, device=device, data=data, pool=pool, image_size=image_size)
    chosen = _chosen(made.names, targets, "targets"), _chosen(made.names, sensitive, "sensitive")
    settings = {
        **made.about,
        "rows": rows,
        "points": points,
        "rounds": rounds,
        "seed": seed,
        "targets": list(chosen[0]),
        "sensitive": list(chosen[1]),
    }
    kept = None if place is None else place / "fairness.json"
    before = _read(kept)
    if before is not None and before.settings == settings:
        return before
    score = made.score(points, rounds, seed, tell)
    pairs, by_target = _tables(made.names, score, *chosen)
    values = _values(pairs, by_target, chosen[1])
    result = TaskResult(
        task="fairness",
        source=made.source,
        world=made.world,
        values=values,
        tables={"pairs": pairs, "targets": by_target},
        settings=settings,
        notes=[*made.notes, *score.parts["notes"], *_words(score, values)],  # type: ignore[misc]
        lower_is_better=[name for name in values if name != "accuracy"],
        seconds=round(time.perf_counter() - began, 2),
    )
    if kept is not None:
        result.write(kept)
    return result


def check(
    run: Untrained,
    *,
    targets: Sequence[str],
    sensitive: Sequence[str],
    rows: int | str,
    points: int,
    rounds: int,
    seed: int,
    **_: Any,
) -> None:
    """Refuse options that no run can be put to the task with, before there is one."""
    _check(rows, points, rounds, seed)
    must_have_factors(run.world, run.key)
    names = run.world.factors.names
    chosen = _chosen(names, targets, "targets"), _chosen(names, sensitive, "sensitive")
    varying = {factor.name for factor in run.world.factors if factor.size > 1}
    if not any(a != b for a in varying & set(chosen[0]) for b in varying & set(chosen[1])):
        raise _no_pairs(*chosen)


def _check(rows: int | str, points: int, rounds: int, seed: int) -> None:
    if rows != "all" and (not isinstance(rows, int) or rows < 10):
        raise UnknotError(f"{WHO}: rows is {rows!r}; expected at least 10, or all.")
    for name, number, least in (("points", points, 1), ("rounds", rounds, 1), ("seed", seed, 0)):
        if number < least:
            raise UnknotError(f"{WHO}: {name} is {number}; expected a whole number from {least} up.")


def _no_pairs(targets: Sequence[str], sensitive: Sequence[str]) -> UnknotError:
    return UnknotError(
        f"{WHO}: no target among {', '.join(targets)} has another factor among {', '.join(sensitive)} that varies; "
        "choose at least two factors."
    )


def _read(path: Path | None) -> TaskResult | None:
    try:
        return read_result(path) if path is not None and path.is_file() else None
    except UnknotError:
        return None  # damaged: found out anew


def _chosen(names: tuple[str, ...], asked: Sequence[str], what: str) -> tuple[str, ...]:
    if isinstance(asked, str):
        raise UnknotError(f"{WHO}: {what} is the string '{asked}'; give a list of factor names.")
    for name in asked:
        if name not in names:
            raise unknown("factor", name, names)
    return tuple(asked) or names


def _tables(
    names: tuple[str, ...], score: Score, targets: tuple[str, ...], sensitive: tuple[str, ...]
) -> tuple[Table, Table]:
    parts: Mapping[str, Any] = score.parts
    shuffled = parts.get("shuffled_tv")
    pairs: Table = []
    for target in targets:
        for factor in sensitive:
            at = names.index(target), names.index(factor)
            if np.isfinite(parts["mean_tv"][at]):
                pairs.append(
                    {
                        "target": target,
                        "sensitive": factor,
                        "unfairness": float(parts["mean_tv"][at]),
                        "worst_value": float(parts["max_tv"][at]),
                        "shuffled": None if shuffled is None else float(shuffled[at]),
                    }
                )
    if not pairs:
        raise _no_pairs(targets, sensitive)
    by_target: Table = []
    for target in dict.fromkeys(str(row["target"]) for row in pairs):
        own = [row for row in pairs if row["target"] == target]
        by_target.append(
            {
                "target": target,
                "unfairness": _mean(own, "unfairness"),
                "shuffled": None if shuffled is None else _mean(own, "shuffled"),
                "accuracy": float(parts["accuracy"][names.index(target)]),
            }
        )
    return pairs, by_target


def _values(pairs: Table, by_target: Table, sensitive: Sequence[str]) -> dict[str, float]:
    values = {
        "unfairness": _mean(by_target, "unfairness"),
        "worst_pair": max(_column(pairs, "unfairness")),
        "worst_value": max(_column(pairs, "worst_value")),
        "accuracy": _mean(by_target, "accuracy"),
    }
    if _column(by_target, "shuffled"):
        values["shuffled"] = _mean(by_target, "shuffled")
    for name in sensitive:
        own = [row for row in pairs if row["sensitive"] == name]
        if own:
            values[f"by_{name}"] = _mean(own, "unfairness")
    return values


def _column(table: Table, name: str) -> list[float]:
    return [float(cell) for cell in (row[name] for row in table) if isinstance(cell, int | float)]


def _mean(table: Table, name: str) -> float:
    return float(np.mean(_column(table, name)))


def _words(score: Score, values: Mapping[str, float]) -> Iterator[str]:
    if "shuffled" in values:
        yield (
            f"With {score.parts['points']} points, predictions that change at random from image to image, whatever the "
            f"sensitive factor, would get {values['shuffled']:.3f}."
        )
    yield "A target that the classifiers cannot predict is fair for a poor reason: look at their accuracy."
