"""Short names for runs: the values in which their specs differ, or those that are not a model's defaults."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from unknot.runs.spec import RunSpec

APART = {"options", "seed", "world", "split", "model"}  # fields that the label of a setting leaves out


def differing(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names under which records hold different values, as they first appear; what a record lacks is None.

    >>> differing([{"beta": 1.0, "seed": 0}, {"beta": 4.0, "seed": 0, "anneal": 100}])
    ['beta', 'anneal']
    """
    names = dict.fromkeys(name for record in records for name in record)
    return [name for name in names if len({repr(record.get(name)) for record in records}) > 1]


def defaults(model: str) -> dict[str, Any]:
    """The fields and options of a run of a model for which nothing is given."""
    from unknot.models import find, options_of

    kind = find(model)
    fields = {name: field.default for name, field in RunSpec.model_fields.items()}
    options = {name: parameter.default for name, parameter in options_of(kind).items()}
    return {**fields, "pairs": kind.pairs, **options}


def settings(specs: Sequence[RunSpec], named: Mapping[str, Collection[str]] | None = None) -> list[str]:
    """For each spec a label of the values in which the specs of its model differ, but for world, split and seed.

    Args:
        specs: with the same options for all specs of a model.
        named: model -> fields and options that someone chose. Where the specs of a model do not differ, the label holds
            those of them that are not its defaults.

    >>> base = RunSpec(world="dsprites_rendered", steps=100)
    >>> settings([base.replace(options={"beta": beta, "anneal": 0}, seed=s) for beta in (1.0, 4.0) for s in (0, 1)])
    ['beta 1', 'beta 1', 'beta 4', 'beta 4']
    """
    records = [{**spec.options, **spec.model_dump(exclude=APART)} for spec in specs]
    by_model: dict[str, list[dict[str, Any]]] = {}
    for spec, record in zip(specs, records, strict=True):
        by_model.setdefault(spec.model, []).append(record)
    for model, alike in by_model.items():
        every = {name for record in alike for name in record}
        for record in alike:  # an option may be recorded only where it is not at its default
            record |= {name: defaults(model)[name] for name in every - record.keys()}
    telling = {model: differing(alike) for model, alike in by_model.items()}
    for model, names in telling.items():
        if not names and (chosen := (named or {}).get(model)):
            usual, record = defaults(model), by_model[model][0]
            names += [name for name in record if name in chosen and record[name] != usual.get(name)]
    return [
        ", ".join(f"{name} {_word(record[name])}" for name in telling[spec.model]) or "default"
        for spec, record in zip(specs, records, strict=True)
    ]


def _word(value: Any) -> str:
    """A value as short as it can be without looking like another."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        short = f"{value:g}"
        return short if float(short) == value else repr(value)
    return str(value) if value not in ("", None) else "none"
