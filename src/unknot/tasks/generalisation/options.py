"""The options of the generalisation task, and the splits they name."""

from collections.abc import Sequence
from typing import Literal

from unknot.errors import UnknotError, unknown
from unknot.factors import FactorSpace
from unknot.tasks.generalisation.readout import Recipe
from unknot.tasks.options import Options, Rows, option
from unknot.worlds.splits.named import COMBINATION, canonical_split, named_split
from unknot.worlds.splits.own import AS_PUBLISHED, OwnRule
from unknot.worlds.splits.rules import Rule
from unknot.worlds.splits.split import Split

WHO = "generalisation"
KINDS = ("random", "composition", "interpolation", "extrapolation")
ROWS = 50_000  # test images; R² of a factor is then known to about 0.005
Scale = Literal["unit", "classes"]


class GeneralisationOptions(Options):
    """The options of the generalisation task."""

    task = WHO
    split: str | Split | Sequence[str] = option(
        "", "random, composition, interpolation, extrapolation or all; a run's own if left out. May be repeated."
    )
    ratio: float | None = option(
        None, "Share of each factor's classes that splits hold back, if not as published."
    )
    keep: Sequence[str] = option((), "Factors that splits leave alone, such as shape,size.", flag="--keep,")
    hold: Sequence[str] = option((), "Exclusive classes of splits, such as x=25..31; once for each factor.")
    allow_circular: bool = option(False, "Extrapolate circular factors, although they close.")
    readout: bool | None = option(
        None, "Whether a function gives latents to read from, or factors.", flag="--readout/--predicts"
    )
    rows: Rows = option(ROWS, "Test images, drawn without replacement; or all.")
    train_rows: Rows | None = option(
        None, f"Training images of the readout; or all. If left out {ROWS:,}, for the oracle all."
    )
    steps: int | None = option(None, "Of the readout; 8 epochs of the training part if left out.", ge=1)
    recipe: Recipe = option("paper", "Of the readout: paper or quick.")
    scale: Scale = option("unit", "Of predictions: unit for [0, 1], or classes.")
    name: str = option("", "What results call the model.", decides=False)
    oracle: bool = option(False, "Read the true factors of the world instead of a model's latents.")
    seed: int = option(0, "Decides which images, and the readout.", ge=0)

    def splits(self, default: str, space: FactorSpace, rule: Rule | None) -> dict[str, Split]:
        """The splits asked for, by what results call them; see `chosen_splits`."""
        own = OwnRule(self.ratio, tuple(self.keep), tuple(self.hold), self.allow_circular)
        return chosen_splits(self.split, default, space, rule, own)


def chosen_splits(
    wanted: str | Split | Sequence[str],
    default: str,
    space: FactorSpace,
    rule: Rule | None,
    own: OwnRule = AS_PUBLISHED,
) -> dict[str, Split]:
    """The splits asked for, by what results call them.

    Args:
        wanted: a kind of split, several, "all", or a split; empty for the default.
        default: the same; empty where only the caller knows.
        space: the grid of the world.
        rule: the published one of its splits, if there is one.
        own: what of the kinds of split is not as published.

    >>> from unknot.worlds import WORLDS
    >>> list(chosen_splits("", "all", WORLDS["dsprites"].factors, WORLDS["dsprites"].conventions.rule))
    ['random', 'composition', 'interpolation', 'extrapolation']
    """
    if isinstance(wanted, Split):
        if own.given:
            raise UnknotError(f"{WHO}: a split has its classes; leave out hold, ratio and keep.", field="split")
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
        if name.partition(":")[0] not in KINDS and not name.startswith(COMBINATION):
            raise unknown("split", name, (*KINDS, "all"), field="split")
        try:
            label = own.name(name, space, rule, WHO) if own.given else canonical_split(name)
            splits[label] = named_split(label, space, rule)
        except UnknotError as error:
            raise error.within("split") from None
    return splits


def _label(split: Split, space: FactorSpace, rule: Rule | None) -> str:
    """What results call a split made by hand: where there is a published one of its kind, it must not pass for that."""
    if split.kind not in KINDS or rule is None:
        return split.kind
    return split.kind if split == named_split(split.kind, space, rule) else f"own_{split.kind}"
