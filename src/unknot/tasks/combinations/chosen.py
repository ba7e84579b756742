"""Which combinations of two factor values are left out."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from unknot.errors import UnknotError
from unknot.factors import FactorSpace
from unknot.tasks.combinations.rows import WHO
from unknot.worlds.splits.combinations import (
    combination_name,
    combination_split,
    existing_combinations,
    parse_combination,
)
from unknot.worlds.splits.named import COMBINATION


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
