"""Which splits of a world a predictor is tested on."""

from collections.abc import Sequence

from unknot.errors import UnknotError, unknown
from unknot.factors import FactorSpace
from unknot.worlds.splits.named import COMBINATION, canonical_split, named_split
from unknot.worlds.splits.rules import Rule
from unknot.worlds.splits.split import Split

WHO = "generalisation"
KINDS = ("random", "composition", "interpolation", "extrapolation")


def chosen_splits(
    wanted: str | Split | Sequence[str], default: str, space: FactorSpace, rule: Rule | None
) -> dict[str, Split]:
    """The splits asked for, by what results call them.

    Args:
        wanted: a kind of split, several, "all", or a split; empty for the default.
        default: the same; empty where only the caller knows.
        space: the grid of the world.
        rule: the published one of its splits, if there is one.

    >>> from unknot.worlds.published.dsprites import SPACE
    >>> list(chosen_splits("", "all", SPACE, None))
    ['random', 'composition', 'interpolation', 'extrapolation']
    """
    if isinstance(wanted, Split):
        if wanted.space.shape != space.shape:
            raise UnknotError(
                f"{WHO}: the split is of a grid of {wanted.space.shape}; that of the world is {space.shape}.",
                field="split",
            )
        return {_label(wanted, space, rule): wanted}
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    names = [name for name in names if name] or [default]
    if names == [""]:
        raise UnknotError(
            f"{WHO}: inside which split was the model trained? A function cannot say; name one of "
            f"{', '.join(KINDS)}, or all.",
            field="split",
        )
    splits = {}
    for name in KINDS if "all" in names else names:
        if name not in KINDS and not name.startswith(COMBINATION):
            raise unknown("split", name, (*KINDS, "all"), field="split")
        try:
            splits[canonical_split(name)] = named_split(name, space, rule)
        except UnknotError as error:
            raise error.within("split") from None
    return splits


def _label(split: Split, space: FactorSpace, rule: Rule | None) -> str:
    """What results call a split made by hand: where there is a published one of its kind, it must not pass for that."""
    if split.kind not in KINDS or rule is None:
        return split.kind
    return split.kind if split == named_split(split.kind, space, rule) else f"own_{split.kind}"
