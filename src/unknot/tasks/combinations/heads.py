"""Heads that read factors from latents, and how right they are on combinations they never saw."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.factors import Classes, FactorSpace
from unknot.metrics.accuracy import adjusted
from unknot.metrics.heads import HIDDEN, Recipe, find_recipe, train_head
from unknot.metrics.linear_head import fit_linear
from unknot.metrics.penalised_head import PenalisedHeads
from unknot.metrics.probes import LEAST_PENALTY, LinearRecipe
from unknot.processes.threads import one_thread
from unknot.progress import Progress
from unknot.tasks.combinations.rows import Seen
from unknot.tasks.pool import Latents
from unknot.tasks.result import Table
from unknot.worlds.splits.combinations import combination_name

Answers = Mapping[
    str, Mapping[str, Mapping[str, NDArray[np.int64]]]
]  # heads -> test -> factor -> class of each row
HEADS = {"mlp": HIDDEN, "linear": 0}  # hidden units
BOTH = "both"


def chance_levels(space: FactorSpace, points: Classes | None, combination: Mapping[str, int]) -> dict[str, float]:
    """Accuracy of guessing in proportion to how often classes occur, for each factor, and for both of the pair at once.

    r = sum p^2: on a complete grid one in the number of classes, and one in the number of pairs for both. Counted over
    seen and novel images together; on the novel ones alone only one class would be left to guess.

    >>> from unknot.factors import space
    >>> chance_levels(space({"scale": 4, "shape": 2}), None, {"scale": 0, "shape": 0})
    {'scale': 0.25, 'shape': 0.5, 'both': 0.125}
    """
    if points is None:
        levels = {factor.name: 1 / factor.size for factor in space}
        levels[BOTH] = float(np.prod([levels[name] for name in combination]))
        return levels
    columns = {name: points[:, space.position(name)] for name in space.names}
    first, second = combination
    joint = columns[first] * space[second].size + columns[second]
    counts = {name: np.unique(codes, return_counts=True)[1] for name, codes in {**columns, BOTH: joint}.items()}
    return {name: float(np.sum((count / len(points)) ** 2)) for name, count in counts.items()}


def head_answers(
    seen: Seen, space: FactorSpace, names: list[str], recipe: LinearRecipe, seed: list[int], progress: Progress
) -> Answers:
    """What each kind of head answers on the random and on the novel test set."""
    (z, y), tests = seen.train, {"random": seen.random[0], "novel": seen.novel[0]}
    how = find_recipe("converged" if recipe == "penalised" else recipe)
    penalised = PenalisedHeads.in_units(z, np.concatenate([*tests.values()])) if recipe == "penalised" else None
    answers: dict[str, dict[str, dict[str, NDArray[np.int64]]]] = {}
    done = 0
    with one_thread():
        for kind, hidden in HEADS.items():
            answers[kind] = {test: {} for test in tests}
            for name in names:
                j = space.position(name)
                rng = np.random.default_rng([*seed, hidden, j])
                if penalised is not None and not hidden:
                    guesses = penalised.fit(y[:, j], space[name].size, rng).test
                else:
                    head = _head(z, y[:, j], space[name].size, hidden, how, rng)
                    guesses = np.concatenate([head(rows) for rows in tests.values()])
                for test, own in zip(tests, np.split(guesses, [len(tests["random"])]), strict=True):
                    answers[kind][test][name] = own
                done += 1
                progress("heads", done, len(HEADS) * len(names))
    return answers


def _head(
    z: Latents, y: NDArray[np.int64], size: int, hidden: int, recipe: Recipe, rng: np.random.Generator
) -> Callable[[Latents], NDArray[np.int64]]:
    if hidden or not recipe.own:
        return train_head(z, y, size, recipe, rng, hidden=hidden).predict
    return fit_linear(z, y, size, penalty=LEAST_PENALTY, whiten=True)[0].predict


def answer_table(
    seen: Seen, answers: Answers, space: FactorSpace, levels: Mapping[str, float], combination: Mapping[str, int]
) -> Table:
    """One row for each kind of head, test set and factor, and one for both factors of the combination at once."""
    table: Table = []
    for kind, by_test in answers.items():
        for test, by_factor in by_test.items():
            truth = (seen.random if test == "random" else seen.novel)[1]
            right = {name: guess == truth[:, space.position(name)] for name, guess in by_factor.items()}
            first, second = combination
            right[BOTH] = right[first] & right[second]
            for name, hits in right.items():
                accuracy, level = float(hits.mean()), levels[name]
                table.append(
                    {
                        "combination": combination_name(combination),
                        "heads": kind,
                        "test": test,
                        "factor": name,
                        "in_combination": name in combination or name == BOTH,
                        "rows": len(truth),
                        "accuracy": accuracy,
                        "chance": level,
                        "adjusted": float(adjusted(np.array(accuracy), np.array(level))),
                    }
                )
    return table


def mistake_table(answers: Answers, space: FactorSpace, combination: Mapping[str, int]) -> Table:
    """What heads say instead of the novel combination; any other answer is a combination they know.

    Shares of the wrong answers: those wrong in one of the factors alone, in both, and those that name a neighbour:
    one factor right, the other off by one class (by any class, if its classes have no order).
    """
    first, second = combination
    table: Table = []
    for kind, by_test in answers.items():
        off = {name: by_test["novel"][name] != class_ for name, class_ in combination.items()}
        wrong = off[first] | off[second]
        near = np.zeros(len(wrong), dtype=np.bool_)
        for name, other in ((first, second), (second, first)):
            near |= off[name] & ~off[other] & _next_to(by_test["novel"][name], space, name, combination[name])
        row: dict[str, Any] = {"combination": combination_name(combination), "heads": kind}
        row |= {"first": first, "first_class": combination[first]}
        row |= {"second": second, "second_class": combination[second], "wrong": float(wrong.mean())}
        for what, marked in (
            ("first_only", off[first] & ~off[second]),
            ("second_only", off[second] & ~off[first]),
            ("both", off[first] & off[second]),
            ("neighbour", near),
        ):
            row[what] = float(marked.sum() / wrong.sum()) if wrong.any() else None
        table.append(row)
    return table


def _next_to(guess: NDArray[np.int64], space: FactorSpace, name: str, class_: int) -> NDArray[np.bool_]:
    factor = space[name]
    if factor.kind == "categorical":
        return np.asarray(guess != class_)
    apart = np.abs(guess - class_)
    return np.isin(apart, (1, factor.size - 1) if factor.kind == "circular" else (1,))
