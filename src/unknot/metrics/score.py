"""What a metric returns, the facts recorded beside it, and how a variant is named."""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar, cast, get_args

from unknot.errors import UnknotError, check_known
from unknot.metrics.arrays import WIDE
from unknot.reading.arguments import checked
from unknot.reading.arrays import is_sparse

Measure = Literal[
    "modularity", "compactness", "explicitness", "holistic", "robustness", "independence", "fairness"
]
Cost = Literal["instant", "seconds", "minutes"]
Scattering = Literal["rows", "held out", "extremes", "squares", "shares"]
COUNTED = re.compile(r"[a-z]+\+\d+|auto")  # such as zero+10
Invariance = Literal["rows", "latents", "sign", "scale", "shift", "rotation"]
Assumption = Literal[
    "independent factors",
    "ordered classes",
    "straight latents",
    "classes at the ends",
    "evenly spread latents",
    "informed latents",
    "unmixed latents",
    "one latent for each factor",
    "many rows",
    "balanced classes",
    "as many latents as factors",
    "latents that differ",
]


@dataclass(frozen=True)
class Score:
    """The headline number, and everything it was made from.

    Attributes:
        value: the headline number.
        parts: per-factor values, matrices, alignment; "skipped" (factor -> reason) and "notes" (sentences)
            say what was left out or assumed.
        by_factor: the parts whose last axis is the factors.
    """

    value: float
    parts: Mapping[str, Any] = field(default_factory=dict)
    by_factor: tuple[str, ...] = ()

    def __float__(self) -> float:
        return float(self.value)


F = TypeVar("F", bound=Callable[..., Score])


@dataclass(frozen=True)
class Facts:
    """What is known of a metric without running it, written as its decorator; tables, tests and reports read it here.

    Attributes:
        title: the metric's name in a sentence.
        measures: the question it answers.
        bounds: smallest and largest value the definition allows.
        higher_is_better: direction.
        chance: what a code that knows nothing about the factors gets, in words or as a number.
        chance_part: the entry of `parts` that has the chance level by a formula, a number or one for each factor.
        reference: the paper.
        cost: "instant" (no training, well under a second), "seconds" or "minutes" at 10,000 rows.
        also: scalar entries of `parts` that belong beside the headline in a table, with what each measures.
        identity: the options that are part of the metric's identity, such as ("bins",); one that is None is not named.
        instead_of: option of the identity -> the one whose place it takes, in the name too, where it is given.
        invariances: what may be done to the input without moving the value.
        units: whether the value depends on the units of all latents together: a code in very small or large numbers
            gets another one, and a card says so.
        units_if: the same of variants, by the word or the switch that names them.
        assumes: what must hold of factors and latents for the number to mean what it says; a card measures it.
        assumes_if: the same of variants, by the beginning of the word that names them.
        scatters: what moves the value on other rows (`unknot.statistics.scatter`): "rows" alike, "extremes" of them, by
            which it divides, or a mean over few "held out"; sums of "squares" are compared by their roots,
            "shares" that fall with the rows by their logarithms.
        scatters_if: the same of variants, by the word that names them.
        doubt: how intervals and p of its differences, as it is called by default, were off in simulations, as a clause
            that `compare` says beside them.
        labels: whether factors are needed at all.
        per_factor: whether the value is the mean of `parts["per_factor"]`, each of which comes from its own factor
            alone; where labels are missing, each factor is then scored on the rows that have it.
        asked: whether it runs only when asked for by name: it takes minutes, or another metric reports its number.
        wide: the options that the default suite scores wide codes (more than 100 latents) with, asked for or not;
            None where they are the usual ones.
        continuous: the options that the default suite scores continuous factors with, unless the code is wide; a
            variant of these options takes seconds. None where they are the usual ones.
        widest: how many latents take about half a minute at 10,000 rows; the default suite leaves the metric out of
            wider codes. None if any number will do.
        power: of the number of latents, with which its time grows.
        by_entries: whether entries that are not 0 count instead where latents are sparse, each as ten latents.
        by_rows: whether training rows count instead where latents are sparse and these are fewer.
        version: rises whenever the numbers of the same call change.
    """

    title: str
    measures: Measure
    bounds: tuple[float, float]
    chance: str | float
    reference: str
    higher_is_better: bool = True
    chance_part: str = ""
    cost: Cost = "instant"
    also: Mapping[str, Measure] = field(default_factory=dict)
    identity: tuple[str, ...] = ()
    instead_of: Mapping[str, str] = field(default_factory=dict)
    invariances: frozenset[Invariance] = frozenset({"rows", "latents"})
    units: bool = False
    units_if: Mapping[str, bool] = field(default_factory=dict)
    assumes: tuple[Assumption, ...] = ()
    assumes_if: Mapping[str, tuple[Assumption, ...]] = field(default_factory=dict)
    scatters: Scattering = "rows"
    scatters_if: Mapping[str, Scattering] = field(default_factory=dict)
    doubt: str = ""
    labels: bool = True
    per_factor: bool = False
    asked: bool = False
    wide: Mapping[str, Any] | None = None
    continuous: Mapping[str, Any] | None = None
    widest: int | None = None
    power: int = 1
    by_entries: bool = False
    by_rows: bool = False
    version: int = 1

    @property
    def of_slots(self) -> bool:
        """Whether it says something of the mean over slots: what a code knows, or how it spreads, as a whole."""
        return self.measures in ("explicitness", "fairness", "independence")

    def seconds(self, latents: Any) -> float:
        """About how long 10,000 rows of such latents (n, d) take, where `widest` says how it grows; else 0."""
        return 0.0 if self.widest is None else 30.0 * (self._width(latents) / self.widest) ** self.power

    def too_wide(self, latents: Any) -> bool:
        """Whether so many latents (n, d) would take it too long for the default suite."""
        return self.widest is not None and self._width(latents) > max(WIDE, self.widest)

    def _width(self, latents: Any) -> float:
        n, d = latents.shape
        if not is_sparse(latents):
            return float(d)
        entries = 10 * int(latents.nnz) / n if self.by_entries else d
        return float(min(d, entries, 2 * n / 3 if self.by_rows else d))

    def scattering(self, options: Mapping[str, Any]) -> Scattering:
        """What moves the value of a variant on other rows."""
        return next(
            (self.scatters_if[word] for word in options.values() if word in self.scatters_if), self.scatters
        )

    def minds_units(self, options: Mapping[str, Any]) -> bool:
        """Whether a variant depends on the units of all latents together."""
        words = [name if value is True else value for name, value in options.items()]
        named = (self.units_if[word] for word in words if isinstance(word, str) and word in self.units_if)
        return next(named, self.units)

    def cost_of(self, options: Mapping[str, Any]) -> Cost:
        """What a variant costs."""
        return "seconds" if any(options.get(name) is not None for name in self.continuous or ()) else self.cost

    def assumed(self, options: Mapping[str, Any]) -> set[Assumption]:
        """What a variant assumes."""
        words = [value for value in options.values() if isinstance(value, str)]
        more = (own for word, own in self.assumes_if.items() if any(value.startswith(word) for value in words))
        return {*self.assumes, *(assumption for own in more for assumption in own)}

    def __call__(self, function: F) -> F:
        """Record the facts beside the metric they decorate, which then refuses options of wrong types."""
        metric = checked(function)
        cast(Any, metric).facts = self
        return metric


class Metric(Protocol):
    """A metric: `metric(latents, factors, *, options) -> Score`, with its facts as an attribute."""

    facts: Facts
    __name__: str
    __doc__: str | None

    def __call__(self, latents: Any, factors: Any = None, /, **options: Any) -> Score:
        """Score latents (n, d) against factors (n, k)."""


def identity(metric: Metric, **options: Any) -> str:
    """The full name of a variant: `mig[bins=20]`, `dci[gbt]`, `explicitness[scaled]`.

    Words stand bare, numbers with their name, and a switch is named when it is on. Other options follow by name where
    they are not as usual: `mig[bins=20,normaliser=code]`.
    """
    parameters = inspect.signature(metric).parameters
    words: list[str] = []
    replaced = {other for name, other in metric.facts.instead_of.items() if options.get(name) is not None}
    for name in metric.facts.identity:
        value = options.get(name, parameters[name].default)
        if value is None or name in replaced:
            continue
        if isinstance(value, bool):
            words += [name] if value else []
        else:
            words.append(value if isinstance(value, str) else f"{name}={value}")
    for name in switches(metric):
        value = options.get(name, parameters[name].default)
        if name not in metric.facts.identity and value != parameters[name].default:
            words.append(name if value is True else f"{name}={value}")
    return f"{metric.__name__}[{','.join(words)}]" if words else metric.__name__


def switches(metric: Metric) -> list[str]:
    """The options of a metric that a name can hold: words, numbers and what is on or off."""
    parameters = inspect.signature(metric).parameters.values()
    plain = (p for p in parameters if isinstance(p.default, str | int | float) or p.annotation == int | None)
    return [p.name for p in plain if p.name != "rng"]


def parse_identity(text: str, metrics: Mapping[str, Metric]) -> tuple[str, dict[str, Any]]:
    """The metric and options a full name stands for, the reverse of `identity`.

    A bare word turns on the switch of that name, or is the value of the next option that is a word.
    """
    match = re.fullmatch(r"\s*(\w+)\s*(?:\[(.*)\])?\s*", text)
    if match is None:
        raise UnknotError(f"metric '{text}' is not a name like mig, mig[bins=20] or dci[lasso].")
    name, inside = match.groups()
    check_known("metric", name, metrics)
    metric = metrics[name]
    parameters = inspect.signature(metric).parameters
    words = [n for n in metric.facts.identity if isinstance(parameters[n].default, str)]
    counted = [n for n in metric.facts.identity if _is_counted(parameters[n])]
    options: dict[str, Any] = {}
    for item in filter(None, (inside or "").split(",")):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals and key in parameters and isinstance(parameters[key].default, bool):
            value = "True"
        elif not equals and counted and COUNTED.fullmatch(key):
            key, value = counted[0], key
        elif not equals:
            key, value = words.pop(0) if words else "", key
        if key not in (*metric.facts.identity, *switches(metric)):
            known = ", ".join(dict.fromkeys((*metric.facts.identity, *switches(metric)))) or "none"
            raise UnknotError(f"metric '{text}': '{item}' is not an option of {name}'s name; those are: {known}.")
        options[key] = _as_type_of(parameters[key], value, text)
    return name, options


def check_options(metric: Metric, options: Iterable[str]) -> None:
    """Refuse what is no option of a metric, by name."""
    parameters = inspect.signature(metric).parameters.values()
    known = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY]
    for name in options:
        check_known(f"option of {metric.__name__}", name, known)


def _is_counted(parameter: inspect.Parameter) -> bool:
    """Whether a number may also be given as a word and a number."""
    return isinstance(parameter.default, int) and str in get_args(parameter.annotation)


def _as_type_of(parameter: inspect.Parameter, value: str, text: str) -> object:
    if value in ("True", "False"):
        return value == "True"
    if isinstance(parameter.default, str) or (_is_counted(parameter) and COUNTED.fullmatch(value)):
        return value
    try:
        return int(value) if re.fullmatch(r"[+-]?\d+", value) else float(value)
    except ValueError:
        raise UnknotError(f"metric '{text}': '{value}' should be a number.") from None
