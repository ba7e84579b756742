"""Which classes of each factor a systematic split holds back: the published rules and everybody's own.

One ratio and a list of factors left alone decide all the splits of a dataset (Schott et al. 2022). Of a factor
with n classes, out of m that are split,

    extrapolation holds back the last ceil(n r) classes for testing,
    interpolation holds back the classes not in round(linspace(0, n-1, n - ceil(n r))), which keeps both ends,
    composition   reserves the first floor(n q) classes for training, q = 1 - (1 - (1-r)^m)^(1/m),

so that training gets about (1-r)^m of the images each time. `RULES` holds the published ratios by dataset; every
entry of the paper's Tables 2 and 3 and every count follows from them. Which rule a world of the catalogue has, its
entry says.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, floor
from typing import Literal, cast, get_args

import numpy as np

from unknot.errors import UnknotError, unknown
from unknot.factors import Factor, FactorSpace

SplitKind = Literal["random", "composition", "interpolation", "extrapolation", "combination"]
Exclusive = dict[str, tuple[int, ...]]
_SLACK = 1e-9  # so that 100 classes at a ratio of 0.07 are 7 and not the 8 that rounding would make of them


@dataclass(frozen=True)
class Rule:
    """How much of each factor a split holds back.

    Args:
        ratio: r, the share of every factor's classes that training never sees; between 0 and 1.
        keep: names of the factors that are not split; left out: the categorical and the two-valued ones, of
            which no order or no inside can be held back. Constant factors are never split.
        composition_quota: q, where it should not be computed from the ratio.
        circular: extrapolation beyond the last class of a circular factor ends up between the last training class
            and the first, so it is interpolation in disguise: "refuse" it, or "allow" it and say so in the notes.
        notes: (kind of split or "any", sentence) that users of the published splits should know.
    """

    ratio: float
    keep: tuple[str, ...] | None = None
    composition_quota: float | None = None
    circular: Literal["refuse", "allow"] = "refuse"
    notes: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        for name, share in (("ratio", self.ratio), ("composition_quota", self.composition_quota)):
            if share is not None and not 0 < share < 1:
                raise UnknotError(
                    f"split rule: {name} is {share}; it is the share of a factor's classes that is held back, "
                    "more than 0 and less than 1 (published ratios are 0.1 to 0.3)."
                )
        if self.circular not in ("refuse", "allow"):
            raise unknown("treatment of circular factors", self.circular, ("refuse", "allow"))
        if isinstance(self.keep, str):
            raise UnknotError(f"split rule: keep is the string '{self.keep}'; give a list of factor names.")
        if self.keep is not None:
            object.__setattr__(self, "keep", tuple(self.keep))


_SWAPPED = (
    "any",
    "Table 4 of Schott et al. 2022 prints the shares under swapped heads: its '% test' is the training share. "
    "About 30 % of the images are for training, as the paper's text says and as counted here.",
)
_OWN_DRAW = (
    "random",
    "The points drawn are ours; the released files of the random split were drawn by another generator.",
)
_SIX_SCALES = (
    "any",
    "scale has six classes, 0 to 5; the paper's appendix H.1 lists five, but its split tables use class 5.",
)
RULES = {
    "dsprites": Rule(
        0.2,
        ("shape",),
        circular="allow",
        notes=(
            _SWAPPED,
            _OWN_DRAW,
            _SIX_SCALES,
            (
                "extrapolation",
                "orientation class 39 (360 degrees), held out, is the same pose as class 0, which is in training.",
            ),
        ),
    ),
    "dsprites_quarter": Rule(0.2, ("shape",), circular="allow", notes=(_SIX_SCALES,)),
    "shapes3d": Rule(0.15, ("shape",), circular="allow", notes=(_SWAPPED, _OWN_DRAW)),
    "mpi3d": Rule(0.1, ("shape", "size"), circular="allow", notes=(_SWAPPED, _OWN_DRAW)),
    "celeb_glow": Rule(
        0.3,
        ("person",),
        composition_quota=0.2,
        circular="allow",
        notes=(
            _OWN_DRAW,
            (
                "composition",
                "The computed quota would reserve no class of six, so the authors use 0.2; training then gets 42 % of "
                "the images and not about 30 %. The paper's Table 3 leaves this dataset out.",
            ),
        ),
    ),
}


def exclusive_classes(factors: FactorSpace, kind: SplitKind, rule: Rule) -> Exclusive:
    """The classes of each split factor that only one part of a split has.

    They are test-exclusive for interpolation and extrapolation, train-exclusive for composition.

    >>> from unknot.factors import space
    >>> grid = space({"shape": 3, "scale": 6, "x": 32}, categorical=["shape"])
    >>> exclusive_classes(grid, "extrapolation", Rule(0.2))
    {'scale': (4, 5), 'x': (25, 26, 27, 28, 29, 30, 31)}
    >>> exclusive_classes(grid, "interpolation", Rule(0.2))
    {'scale': (1, 4), 'x': (2, 7, 11, 15, 20, 24, 29)}
    """
    if kind not in ("composition", "interpolation", "extrapolation"):
        raise unknown("kind of split by rule", kind, ("composition", "interpolation", "extrapolation"))
    parts = split_factors(factors, rule)
    if kind == "extrapolation" and rule.circular == "refuse":
        round_ones = [f.name for f in parts if f.kind == "circular"]
        if round_ones:
            raise UnknotError(
                f"split: circular factor(s) {', '.join(round_ones)}: beyond the last class comes the first, so "
                "extrapolation would be interpolation. Leave them whole (the rule's keep, --keep), or accept it "
                "(circular='allow', --allow-circular)."
            )
    if kind == "composition":
        q = rule.composition_quota
        if q is None:
            q = 1 - (1 - (1 - rule.ratio) ** len(parts)) ** (1 / len(parts))
        exclusive = {f.name: tuple(range(floor(f.size * q + _SLACK))) for f in parts}
    elif kind == "extrapolation":
        exclusive = {f.name: tuple(range(f.size - held_back(f, rule), f.size)) for f in parts}
    else:
        exclusive = {f.name: _inner(f, held_back(f, rule)) for f in parts}
    return {name: classes for name, classes in exclusive.items() if classes}


def split_factors(factors: FactorSpace, rule: Rule) -> list[Factor]:
    """The factors a rule splits, in storage order."""
    if rule.keep is None:
        parts = [f for f in factors if f.kind not in ("categorical", "constant") and f.size > 2]
    else:
        for name in rule.keep:
            factors.position(name)  # an unknown name is an error
        parts = [f for f in factors if f.name not in rule.keep and f.kind != "constant"]
    if not parts:
        raise UnknotError(
            f"split: no factor of {', '.join(factors.names)} is left to split: constant ones never are, and "
            + (
                "categorical and two-valued ones are kept unless the rule's keep says otherwise."
                if rule.keep is None
                else f"the rule keeps {', '.join(rule.keep)}."
            )
        )
    return parts


def held_back(factor: Factor, rule: Rule) -> int:
    """ceil(n r): how many of a factor's classes training never sees."""
    count = ceil(factor.size * rule.ratio - _SLACK)
    if count >= factor.size:
        raise UnknotError(
            f"split: a ratio of {rule.ratio} holds back all {factor.size} classes of '{factor.name}'; training would "
            "be empty. Lower the ratio or name the factor in the rule's keep."
        )
    return count


def _inner(factor: Factor, count: int) -> tuple[int, ...]:
    if factor.size - count < 2:
        raise UnknotError(
            f"split: interpolation needs both end classes of '{factor.name}' in training, but holding back {count} of "
            f"its {factor.size} leaves {factor.size - count}. Lower the ratio or name the factor in the rule's keep."
        )
    seen = np.round(np.linspace(0, factor.size - 1, factor.size - count)).astype(np.int64)
    return tuple(np.setdiff1d(np.arange(factor.size), seen).tolist())


def check_kind(kind: str) -> SplitKind:
    """The kind of split, or an error if there is none of that name."""
    if kind not in get_args(SplitKind):
        raise unknown("kind of split", kind, get_args(SplitKind))
    return cast(SplitKind, kind)


def caveats(factors: FactorSpace, kind: SplitKind, exclusive: Mapping[str, tuple[int, ...]]) -> tuple[str, ...]:
    """What the kinds of its factors take away from the name of a split, one sentence each."""
    if kind not in ("interpolation", "extrapolation"):
        return ()
    parts = [factors[name] for name in exclusive]
    notes = []
    rounded = [f.name for f in parts if f.kind == "circular"]
    if rounded and kind == "extrapolation":
        notes.append(
            f"{', '.join(rounded)}: circular, so the held-out classes lie between the last training class and the "
            "first; this part of the extrapolation is interpolation across the seam."
        )
    unordered = [f.name for f in parts if f.kind == "categorical"]
    if unordered:
        notes.append(
            f"{', '.join(unordered)}: categorical, so held-out classes are neither between nor beyond the others; "
            "they are new classes."
        )
    odd = [f.name for f in parts if f.kind == "ordinal" and _is_not(kind, f, exclusive[f.name])]
    if odd:
        other = "beyond" if kind == "interpolation" else "between"
        notes.append(f"{', '.join(odd)}: some held-out classes lie {other} the training classes.")
    return tuple(notes)


def _is_not(kind: SplitKind, factor: Factor, classes: tuple[int, ...]) -> bool:
    seen = sorted(set(range(factor.size)) - set(classes)) or [0]  # all held out: the split itself complains
    between = any(seen[0] < c < seen[-1] for c in classes)
    beyond = any(not seen[0] < c < seen[-1] for c in classes)
    return beyond if kind == "interpolation" else between
