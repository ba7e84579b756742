"""Novel combinations: every class is seen in training, one combination of classes is kept for testing.

Reference: Mahon et al. 2024, Correcting Flaws in Common Disentanglement Metrics, arXiv:2304.02335, which holds out
a size and a shape, written "NC size-shape".
"""

import re
from collections.abc import Iterable, Mapping

from unknot.errors import UnknotError
from unknot.factors import FactorSpace
from unknot.reading.arguments import checked
from unknot.worlds.splits.split import Split


def _held_out(size: str, *classes: tuple[int, int]) -> tuple[dict[str, int], ...]:
    return tuple({size: first, "shape": second} for first, second in classes)


# The (size, shape) classes held out in the paper's Tables 27 to 47, by dataset, in the names and classes of our worlds;
# the catalogue says which worlds they belong to. The paper lists factors in another order than the files do and calls
# the shape codes arbitrary; these are the codes of the files.
PUBLISHED_COMBINATIONS: dict[str, tuple[dict[str, int], ...]] = {
    "dsprites": _held_out("scale", (0, 0), (5, 2), (2, 1), (3, 1), (3, 2)),
    "shapes3d": _held_out("size", (0, 0), (5, 2), (2, 1), (3, 1), (3, 2), (7, 3), (0, 3), (7, 1)),
    "mpi3d": _held_out("size", (0, 0), (1, 4), (0, 5), (1, 3), (1, 1), (0, 2)),
}


@checked
def combination_split(space: FactorSpace, held_out: Mapping[str, int | Iterable[int]]) -> Split:
    """Train on everything except one combination of classes, test on that combination.

    Args:
        space: the grid.
        held_out: two or more factors, each with its class; several classes of a factor hold out all their
            combinations.

    >>> from unknot.worlds.published.dsprites import SPACE
    >>> small_squares = combination_split(SPACE, {"scale": 0, "shape": 0})
    >>> small_squares.n_train, small_squares.n_test
    (696320, 40960)
    """
    if len(held_out) < 2:
        raise UnknotError(
            f"combination_split: a combination is made of two factors or more; got {', '.join(held_out) or 'none'}. "
            "To hold out classes of one factor use split(space, 'extrapolation', exclusive={...})."
        )
    classes = {name: tuple(c) if isinstance(c, Iterable) else (c,) for name, c in held_out.items()}
    for name, chosen in classes.items():
        factor = space[name]
        if not chosen or any(not 0 <= c < factor.size for c in chosen):
            words = ", ".join(f"{n}={','.join(map(str, c))}" for n, c in classes.items())
            raise UnknotError(
                f"combination_split: no image has the combination {words}; '{name}' has classes "
                f"0..{factor.size - 1}."
            )
        if factor.kind == "constant":
            raise UnknotError(
                f"combination_split: '{name}' has one class only, so it makes no combination new. Leave it out."
            )
    return Split("combination", space, classes)


def parse_combination(text: str) -> dict[str, tuple[int, ...]]:
    """The classes that text like `scale=0,shape=0` names; `scale=0+1,shape=0` holds out both of their combinations.

    >>> parse_combination("scale=0+1, shape=2, x=5..7")
    {'scale': (0, 1), 'shape': (2,), 'x': (5, 6, 7)}
    """
    held_out: dict[str, tuple[int, ...]] = {}
    for item in text.split(","):
        name, _, classes = (word.strip() for word in item.partition("="))
        runs = [re.fullmatch(r"\s*([0-9]+)(?:\.\.([0-9]+))?\s*", run) for run in classes.split("+")]
        numbers = [n for run in runs if run for n in range(int(run[1]), int(run[2] or run[1]) + 1)]
        if not name or not numbers or not all(runs):
            raise UnknotError(
                f"combination '{text}': '{item.strip()}' is not a factor and its class; expected something like "
                "scale=0,shape=2."
            )
        if name in held_out:
            raise UnknotError(f"combination '{text}': names '{name}' twice; give its classes as {name}=0+1.")
        held_out[name] = tuple(sorted(set(numbers)))
    return held_out


def combination_name(held_out: Mapping[str, int | Iterable[int]]) -> str:
    """A combination as text, its factors in alphabetical order; `parse_combination` reads it back.

    >>> combination_name({"shape": 2, "scale": 0})
    'scale=0,shape=2'
    """
    classes = {name: sorted(c) if isinstance(c, Iterable) else [c] for name, c in held_out.items()}
    return ",".join(f"{name}={'+'.join(map(str, classes[name]))}" for name in sorted(classes))


def existing_combinations(
    combinations: Iterable[Mapping[str, int]], space: FactorSpace
) -> tuple[Mapping[str, int], ...]:
    """Those of the combinations whose classes a grid has: MPI3D real-complex has four shapes, not six."""
    return tuple(
        combination
        for combination in combinations
        if all(factor in space.names and class_ < space[factor].size for factor, class_ in combination.items())
    )
