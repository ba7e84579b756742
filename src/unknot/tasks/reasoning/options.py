"""The options of the reasoning task, and the hyper-parameters of its reasoners."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from unknot.errors import UnknotError
from unknot.factors import FactorSpace
from unknot.tasks.options import Options, option
from unknot.worlds.puzzles.puzzles import Alternatives, Puzzles, Relations, draw_puzzles
from unknot.worlds.puzzles.solvers import accuracies

WHO = "reasoning"
AT = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)  # steps whose accuracy the study reports
BASELINE_PUZZLES = 20_000
OF_ONE = ("g", "f", "lr", "dropout", "norm", "optimiser")  # options of a reasoner that is not drawn
OTHER_ROWS = "accuracy_other_rows"
# What an accuracy is held against: none is a merit of the representation.
CONTROLS = (OTHER_ROWS, "rule", "third_row", "answers_only")
Optimiser = Literal["muon", "adam"]
Search = Literal["cpu", "paper"]


@dataclass(frozen=True)
class WReNSetting:
    """Hyper-parameters of WReN and its training; the defaults are a small one that a CPU can teach the whole rule.

    The published network has `norm` False and `optimiser` "adam". On puzzles with hard answers it learns shortcuts for
    as long as we had patience: six answers differ by little in sums of 81, so f soon no longer bends, and a sum of
    pairs cannot say "if". With normalised sums it agrees with the third row where its two panels agree, and with Muon,
    which gives weak directions of a gradient the same length as strong ones, it finds the rule of all three rows.

    Attributes:
        lr: learning rate.
        g_width: units of each layer of g.
        g_depth: layers of g, two at least.
        f_width: units of each hidden layer of f.
        f_depth: hidden layers of f.
        dropout: share of the last hidden layer that is dropped in training.
        norm: whether the sum over pairs is normalised before f (a layer norm).
        optimiser: "muon" for the matrices of g and f, Adam for the rest; or "adam" for all.
    """

    lr: float = 0.01
    g_width: int = 128
    g_depth: int = 2
    f_width: int = 256
    f_depth: int = 2
    dropout: float = 0.0
    norm: bool = True
    optimiser: Optimiser = "muon"


PUBLISHED: Mapping[str, Any] = {"norm": False, "optimiser": "adam"}
# 288 settings, van Steenkiste et al. 2019, appendix A.2; and the 48 of them that are cheap enough for a CPU.
PAPER: Mapping[str, Sequence[float]] = {
    "lr": (0.01, 0.001, 0.0001),
    "g_width": (256, 512),
    "g_depth": (2, 3, 4),
    "f_width": (128, 256),
    "f_depth": (1, 2),
    "dropout": (0.0, 0.25, 0.5, 0.75),
}
SEARCH: Mapping[Search, Mapping[str, Sequence[float]]] = {
    "paper": PAPER,
    "cpu": {**PAPER, "g_width": (256,), "g_depth": (2,)},
}


def draw_settings(n: int, seed: int, search: Search = "paper") -> list[WReNSetting]:
    """Some different settings of a search space, each equally likely; the same for every representation.

    >>> draw_settings(1, 0)
    [WReNSetting(lr=0.01, g_width=256, g_depth=4, f_width=128, f_depth=2, dropout=0.75, norm=False, optimiser='adam')]
    """
    space = SEARCH[search]
    combinations: list[dict[str, Any]] = [
        dict(zip(space, values, strict=True)) for values in product(*space.values())
    ]
    if not 1 <= n <= len(combinations):
        raise UnknotError(
            f"reasoning: {n} draws; the search space '{search}' has {len(combinations)} settings.", field="draws"
        )
    chosen = np.random.default_rng([seed, 288]).permutation(len(combinations))[:n]
    return [WReNSetting(**combinations[i], **PUBLISHED) for i in chosen]


class ReasoningOptions(Options):
    """The options of the reasoning task."""

    task = WHO
    input: Literal["representation", "onehot", "integer", "cnn"] = option(
        "representation",
        "What a reasoner sees of a panel: its representation; or, without a source, onehot or integer factors, or the "
        "image through a cnn that is trained along.",
    )
    steps: int = option(5_000, "Training steps of each reasoner.", ge=1)
    at: Sequence[Annotated[int, Field(ge=1)]] = option(
        AT, "Steps whose accuracy is told, such as 1000,2000; as published if left out.", flag="--at,"
    )
    evaluate_every: int = option(1_000, "Steps between evaluations.", ge=1)
    evaluation_batches: int = option(100, "Fresh batches in an evaluation.", ge=1)
    batch_size: int = option(32, "Puzzles in a batch.", ge=1)
    draws: int = option(
        0, "Reasoners with settings drawn at random, the same for each source; 0 for one of your own.", ge=0
    )
    search: Search = option("cpu", "Where settings are drawn from: cpu (48) or paper (288).")
    g: str = option("128x2", "Width x depth of g, without draws.")
    f: str = option("256x2", "Width x depth of f, without draws.")
    lr: float = option(0.01, "Learning rate, without draws.", gt=0)
    dropout: float = option(0.0, "Share that is dropped, without draws.", ge=0, lt=1)
    norm: bool = option(True, "Normalise sums over pairs, without draws; published: no.")
    optimiser: Optimiser = option("muon", "muon, or adam as published; without draws.")
    relations: Relations = option("mixed", "Fixed factors: 1, 2, 3 or mixed.")
    alternatives: Alternatives = option("hard", "Wrong answers: hard, easy or balanced.")
    reject_distinct: bool = option(False, "Redraw factors as the released code does.")
    classes: Mapping[str, Annotated[int, Field(ge=1)]] | None = option(
        None, "Classes that factors keep, as x=4,y=4; as published if left out.", flag="--classes,"
    )
    views: int = option(40, "Images encoded of a combination, in worlds with random parts.", ge=1)
    precision: Literal["float32", "bfloat16"] = option("float32", "float32, or bfloat16 (about twice as fast).")
    seed: int = option(0, "Decides puzzles, weights and settings.", ge=0)
    threads: int = option(1, "Threads of torch.", ge=1, decides=False)
    solved: bool = option(False, "Mark the right answer in a preview.", decides=False)

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        for name in OF_ONE if self.draws else ():
            if self.settings()[name] != type(self).model_fields[name].default:
                raise UnknotError(
                    f"{WHO}: {name} is {self.settings()[name]!r}, but draws is {self.draws}, and drawn reasoners have "
                    f"settings of their own; leave out {name} or draws.",
                    field=name,
                )
        self.reasoners()

    def settings(self) -> dict[str, Any]:
        """The values that decide the numbers of a result."""
        return super().settings() | {"at": sorted(set(self.at))}

    def reasoners(self) -> list[WReNSetting]:
        """The hyper-parameters of each reasoner."""
        if self.draws:
            return draw_settings(self.draws, self.seed, self.search)
        sizes = (*_width_and_depth("g", self.g, least=2), *_width_and_depth("f", self.f, least=1))
        return [WReNSetting(self.lr, *sizes, self.dropout, self.norm, self.optimiser)]

    def puzzles(self, factors: FactorSpace, n: int, rng: np.random.Generator) -> Puzzles:
        """So many fresh puzzles of the kind asked for."""
        return draw_puzzles(
            factors,
            n,
            rng,
            relations=self.relations,
            alternatives=self.alternatives,
            reject_distinct=self.reject_distinct,
        )

    def baselines(self, factors: FactorSpace) -> dict[str, dict[int, float]]:
        """What solvers get that learn nothing: solver -> number of fixed factors, 0 for all -> accuracy."""
        return _baselines(factors, self.relations, self.alternatives, self.reject_distinct, self.seed)

    def examinations(self) -> set[int]:
        """The steps after which a reasoner is examined."""
        regular = range(self.evaluate_every, self.steps + 1, self.evaluate_every)
        return {*regular, *(step for step in self.at if step <= self.steps), self.steps}

    def lesson(self) -> dict[str, Any]:
        """What decides the accuracies of a reasoner, beside its hyper-parameters, whatever the number of its steps."""
        others = (*OF_ONE, "draws", "search", "steps")
        return {name: value for name, value in self.settings().items() if name not in others}


def _width_and_depth(name: str, text: str, *, least: int) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,9})x(\d{1,9})", text)
    width, depth = (int(match[1]), int(match[2])) if match else (0, 0)
    if width < 1 or depth < least:
        expected = f"width x depth, such as 256x2, with a depth of at least {least}"
        raise UnknotError(who=WHO, field=name, value=text, expected=expected)
    return width, depth


@lru_cache(maxsize=16)  # the runs of a study share them
def _baselines(
    factors: FactorSpace, relations: Relations, alternatives: Alternatives, reject_distinct: bool, seed: int
) -> dict[str, dict[int, float]]:
    rng = np.random.default_rng([seed, 4])
    kinds: dict[str, Any] = {"relations": relations, "alternatives": alternatives}
    puzzles = draw_puzzles(factors, BASELINE_PUZZLES, rng, **kinds, reject_distinct=reject_distinct)
    return accuracies(puzzles, factors, **kinds)
