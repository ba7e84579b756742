"""Which combinations of two factor values are left out, and the rows with and without them: a world's, or a file's."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unknot.encoders.points import draw_points
from unknot.encoders.source import Source
from unknot.errors import UnknotError
from unknot.factors import Classes, Factor, FactorSpace
from unknot.progress import Progress
from unknot.representation import Representation
from unknot.runs.workspace import Workspace
from unknot.tasks.options import Rows
from unknot.tasks.pool import SLOTS, Latents, Pool, all_rows
from unknot.worlds.splits.combinations import (
    combination_name,
    combination_split,
    existing_combinations,
    parse_combination,
)
from unknot.worlds.splits.named import COMBINATION

WHO = "combinations"
LEAST_ROWS = 5  # training rows of each class of the pair, below which a head cannot learn the class


@dataclass(frozen=True)
class Seen:
    """Latents and classes: those heads learn from, a random test set of the same combinations, and the novel ones."""

    train: tuple[Latents, Classes]
    random: tuple[Latents, Classes]
    novel: tuple[Latents, Classes]


class WorldRows:
    """Rows of a world through an encoder: so many of the whole world, and a third as many of a combination."""

    def __init__(self, source: Source, rows: Rows, seed: int, workspace: Workspace) -> None:
        self._pool, self._seed = Pool(WHO, source, rows, seed, workspace), seed
        self._n_novel: Rows = "all" if rows == "all" else max(1, rows // 3)
        self.space, self.points, self.notes = source.world.factors, source.world.rows, self._pool.notes

    @property
    def identity(self) -> Mapping[str, Any]:
        """What tells these rows from others: other latents, another identity."""
        return self._pool.identity

    def pool(self, progress: Progress) -> tuple[Latents, Classes]:
        """Rows of the whole world."""
        return self._pool.latents(progress), self._pool.classes

    def novel(self, combination: Mapping[str, int], progress: Progress) -> tuple[Latents, Classes]:
        """Rows of one combination, if there are so many."""
        held_out = combination_split(self.space, combination)
        classes = draw_points(self._pool.world, held_out, "test", self._n_novel, self._seed)
        return self._pool.encoded(classes, 1, progress), classes


class FileRows:
    """Rows of a representation that has factors; nothing is encoded.

    Args:
        representation: latents and factors; test rows, if it has any, are rows like the others.
        rows: in the pool, at most.
        seed: draws them.
        fingerprint: what other latents would not have.
        space: its factors, if known; else the classes are the values that occur, numbered in rising order.
    """

    def __init__(
        self,
        representation: Representation,
        rows: Rows,
        seed: int,
        *,
        fingerprint: str = "",
        space: FactorSpace | None = None,
    ) -> None:
        self._latents, labels = all_rows(WHO, representation, ", so that no combination can be left out.")
        self.notes: list[str] = [SLOTS] if representation.latents.ndim == 3 else []
        if space is None or space.names != representation.factor_names:
            self.space, self._classes = self._numbered(labels, representation.factor_names)
        else:
            self.space, self._classes = space, space.check(labels, WHO)
        self.points: Classes | None = self._classes
        order = np.random.default_rng([seed, 2]).permutation(len(self._classes))
        self._chosen = order if rows == "all" else order[:rows]
        self.identity: Mapping[str, Any] = {"rows": rows, "seed": seed, "fingerprint": fingerprint}

    def _numbered(self, labels: NDArray[Any], names: tuple[str, ...]) -> tuple[FactorSpace, Classes]:
        factors, columns = [], []
        for j, name in enumerate(names):
            numbers = labels[:, j].astype(np.float64)
            if not np.isfinite(numbers).all():
                raise UnknotError(
                    f"{WHO}: factor '{name}' has missing or infinite values; leave it out, or the rows without a label."
                )
            if not np.array_equal(labels[:, j], np.round(numbers)):
                raise UnknotError(
                    f"{WHO}: factor '{name}' holds real numbers; classes are needed. Leave it out or bin it."
                )
            values, codes = np.unique(labels[:, j], return_inverse=True)
            if not np.array_equal(values, np.arange(len(values))):
                shown = ", ".join(str(int(value)) for value in values[:6]) + (", ..." if len(values) > 6 else "")
                self.notes.append(f"The values of '{name}' ({shown}) are numbered 0, 1, 2, ... as its classes.")
            kind: Literal["constant", "ordinal"] = "constant" if len(values) == 1 else "ordinal"
            factors.append(Factor(name, len(values), kind, tuple(float(v) for v in values)))
            columns.append(codes.reshape(-1))
        return FactorSpace(tuple(factors)), np.stack(columns, axis=1).astype(np.int64)

    def pool(self, progress: Progress) -> tuple[Latents, Classes]:
        """The rows there are, or as many of them as were asked for."""
        return self._latents[self._chosen], self._classes[self._chosen]

    def novel(self, combination: Mapping[str, int], progress: Progress) -> tuple[Latents, Classes]:
        """All rows of one combination."""
        inside = ~combination_split(self.space, combination).contains(self._classes)
        return self._latents[inside], self._classes[inside]


LabelledRows = WorldRows | FileRows


def seen_and_novel(rows: LabelledRows, combination: Mapping[str, int], seed: int, progress: Progress) -> Seen:
    """The rows of one combination apart from those of all others, of which as many are held out at random.

    At most a third of the others is held out. The rows heads learn from must show both classes, apart.
    """
    name = combination_name(combination)
    must_exist(rows.space, rows.points, combination)
    z, y = rows.pool(progress)
    novel = rows.novel(combination, progress)
    if not len(novel[1]):
        raise UnknotError(f"{WHO}: no row has the combination {name}. Choose another, or give more rows.")
    familiar = np.flatnonzero(combination_split(rows.space, combination).contains(y))
    order = np.random.default_rng([seed, 3]).permutation(familiar)
    n_random = min(len(novel[1]), len(order) // 3)
    random, train = order[:n_random], order[n_random:]
    for factor in combination:
        counts = np.bincount(y[train, rows.space.position(factor)], minlength=rows.space[factor].size)
        least = int(counts[combination[factor]])
        if least < LEAST_ROWS or n_random < 1:
            raise UnknotError(
                f"{WHO}: of {len(train)} rows to learn from, {least} have {factor}={combination[factor]} when {name} "
                f"is left out; at least {LEAST_ROWS} are needed. Give more rows."
            )
    return Seen((z[train], y[train]), (z[random], y[random]), novel)


def must_exist(space: FactorSpace, points: Classes | None, combination: Mapping[str, int]) -> None:
    """An error if none of the points, or None for the whole grid, has a combination."""
    if points is not None:
        columns = [space.position(name) for name in combination]
        if not (points[:, columns] == list(combination.values())).all(axis=1).any():
            raise UnknotError(
                f"{WHO}: no row has the combination {combination_name(combination)}, so that nothing can be tested "
                "on it. Choose one that occurs."
            )


def chosen_combinations(
    held_out: str | Mapping[str, int] | Sequence[str | Mapping[str, int]],
    pair: Sequence[str],
    world: str,
    space: FactorSpace,
    published: Iterable[Mapping[str, int]] = (),
    limit: int | None = None,
    seed: int = 0,
) -> list[dict[str, int]]:
    """The combinations asked for, checked: those named, else all of a pair of factors, else the published ones.

    >>> from unknot.factors import space
    >>> chosen_combinations((), ("scale", "shape"), "mine", space({"scale": 2, "shape": 2}))[1]
    {'scale': 0, 'shape': 1}
    """
    if isinstance(held_out, str | Mapping):
        held_out = [held_out]
    if held_out and pair:
        raise UnknotError(
            f"{WHO}: give either combinations or a pair of factors, all of whose are tried; got both.",
            field="pair",
        )
    combinations: list[dict[str, int]] = []
    if pair:
        if len(pair) != 2 or pair[0] == pair[1]:
            raise UnknotError(
                f"{WHO}: the pair is {', '.join(pair)}; expected two different factors.", field="pair"
            )
        try:
            first, second = (space[name] for name in pair)
            combination_split(space, {first.name: 0, second.name: 0})  # complains about constants
        except UnknotError as error:
            raise error.within("pair") from None
        combinations = [{first.name: a, second.name: b} for a in range(first.size) for b in range(second.size)]
    elif held_out:
        try:
            combinations = [_combination(one, space) for one in held_out]
        except UnknotError as error:
            raise error.within("held_out") from None
    else:
        combinations = [dict(one) for one in existing_combinations(published, space)]
        if not combinations:
            raise UnknotError(
                f"{WHO}: no combinations are published for {world or 'latents of an unknown world'}; name some, such "
                f"as {space.names[0]}=0,{space.names[-1]}=0, or a pair of its factors ({', '.join(space.names)})."
            )
    combinations = list({combination_name(one): one for one in combinations}.values())
    if limit is not None and limit < len(combinations):
        keep = np.sort(np.random.default_rng([seed, 4]).choice(len(combinations), size=limit, replace=False))
        combinations = [combinations[i] for i in keep]
    return combinations


def _combination(one: str | Mapping[str, int], space: FactorSpace) -> dict[str, int]:
    values = parse_combination(one.removeprefix(COMBINATION)) if isinstance(one, str) else one
    classes = {name: tuple(c) if isinstance(c, Iterable) else (c,) for name, c in values.items()}
    for name in classes:
        space.position(name)  # complains about names unknown
    combination_split(space, classes)  # complains about one factor alone, and about classes unknown
    if len(classes) != 2 or any(len(c) != 1 for c in classes.values()):
        raise UnknotError(
            f"{WHO}: '{combination_name(classes)}' is not one combination of two factors, such as scale=0,shape=2. "
            "Name each combination on its own."
        )
    return {f.name: int(classes[f.name][0]) for f in space if f.name in classes}
