"""A study file: worlds, models with lists of values, seeds, splits, metrics and tasks.

    name: beta
    worlds: dsprites_rendered
    models:
      beta_vae: {beta: [1, 4, 16]}
      factor_vae: {gamma: [10, 50], steps: 20000}
    seeds: 5
    steps: 10000
    metrics: [mig, "dci[lasso]"]
    tasks:
      reasoning: {steps: 2000}

Every field of a run may stand at the top, for all models, or with one model, as a value or a list of values: one run
for each combination. What stands with a model goes before what stands at the top, and that before a `preset` or a
`recipe`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unknot.errors import UnknotError, shown, unknown
from unknot.papers import renamed
from unknot.processes.trust import read_from
from unknot.reading.arguments import LONGEST_NAME, MOST
from unknot.runs.spec import RunSpec
from unknot.studies._yaml import Where, YamlSource, read_yaml

PLURALS = {"worlds": "world", "seeds": "seed", "splits": "split"}
FIELDS = tuple(name for name in RunSpec.model_fields if name not in ("model", "options"))
OWN = ("name", "about", "models", "recipe", "metrics", "tasks", "rows", "limit", "ranking")
RANKING = ("methods", "scopes", "partners", "rows")
ALL = ("all",)  # metrics that apply
MOST_SEEDS = 100_000
METHODS = ("udr_lasso", "udr_spearman")
SCOPES = ("setting", "all")
PRESETS = Path(__file__).parent / "presets"


@dataclass(frozen=True)
class Values:
    """The values a field takes, and where in the file they stand."""

    values: tuple[Any, ...]
    where: Where


@dataclass(frozen=True)
class ModelEntry:
    """One model of a study with its own fields and options.

    Attributes:
        model: its name.
        values: field or option -> values.
        where: in the file.
        preset: the published setting it starts from, if any.
        recipe: how it is trained, if the file says.
        metrics: of this model, as those of a study; those of the study if left out.
    """

    model: str
    values: Mapping[str, Values]
    where: Where
    preset: str = ""
    recipe: str = ""
    metrics: tuple[str, ...] | None = None


@dataclass(frozen=True)
class RankingSpec:
    """How runs are ranked without labels.

    Attributes:
        methods: `udr_lasso`, `udr_lasso[alpha=cv]`, `udr_spearman`; none leaves out the ranking.
        scopes: "setting" compares runs that differ in their seed only, "all" those of a world and split.
        partners: how many each run is compared with.
        rows: how many inputs are used; the paper's if left out.
    """

    methods: tuple[str, ...] = METHODS
    scopes: tuple[str, ...] = SCOPES
    partners: int = 50
    rows: int | None = None


@dataclass(frozen=True)
class StudySpec:
    """A study as its file says, checked in its form; models, worlds and options are checked by `plan_study`.

    Attributes:
        name: of the study; a folder belongs to one name.
        about: a sentence.
        values: fields of all models.
        entries: the models.
        recipe: how models are trained that have no recipe of their own.
        metrics: by short or full name; `ALL` for all that apply, none if empty.
        tasks: name -> options of every task that each run is put to.
        rows: how many images are encoded, or "all".
        limit: how many rows metrics use at most.
        ranking: how runs are ranked.
        data: the file's content.
        source: its lines.
    """

    name: str
    about: str
    values: Mapping[str, Values]
    entries: tuple[ModelEntry, ...]
    recipe: str
    metrics: tuple[str, ...]
    tasks: Mapping[str, Mapping[str, Any]]
    rows: int | str
    limit: int | None
    ranking: RankingSpec
    data: Mapping[str, Any]
    source: YamlSource = field(compare=False)


def preset_names() -> list[str]:
    """The studies that come with the package."""
    return sorted(path.stem for path in PRESETS.glob("*.yaml"))


def read_spec(file: Path | str) -> StudySpec:
    """The study in a YAML file, or one of those that come with the package, by name.

    >>> read_spec("duan2020_small").name
    'duan2020_small'
    """
    path = Path(file)
    if not path.is_file():
        if (new := renamed(str(file))) in preset_names():
            raise UnknotError(f"study: {file} is now called {new}.", value=str(file), expected=new)
        if str(file) in preset_names():
            path = PRESETS / f"{file}.yaml"
    if not path.exists() and path.suffix not in (".yaml", ".yml"):
        raise unknown("study", str(file), preset_names())
    data, source = read_yaml(path)
    study = parse_spec(data, source, default_name=path.stem)
    read_from(path, [entry.model for entry in study.entries])
    return study


def parse_spec(data: Any, source: YamlSource, *, default_name: str = "study") -> StudySpec:
    """Check the form of a study."""
    if not isinstance(data, dict):
        raise UnknotError(f"{source.file}: holds no study; expected entries such as worlds, models and seeds.")
    known = (*OWN, *PLURALS, *FIELDS)
    for key in data:
        if key == "model":
            raise source.fault((key,), "models stand below 'models', each with its own values.")
        if key not in known:
            raise source.unknown((str(key),), "field of a study", str(key), known)
    values = _fields(data, (), source, skip=OWN)
    entries = _entries(data.get("models"), source)
    if "world" not in values and not all("world" in entry.values for entry in entries):
        raise UnknotError(f"{source.file}: names no world; add one, such as worlds: dsprites_rendered.")
    name = str(data.get("name") or default_name)
    if not re.fullmatch(r"[\w][\w.-]*", name):
        raise source.fault(("name",), f"the name '{name}' is no name of a folder; use letters, digits, _ and -.")
    if (size := len(name.encode())) > LONGEST_NAME:
        raise source.fault(("name",), f"the name has {size} bytes; that of a folder has {LONGEST_NAME} at most.")
    return StudySpec(
        name=name,
        about=str(data.get("about") or "").strip(),
        values=values,
        entries=entries,
        recipe=str(data.get("recipe") or ""),
        metrics=_metrics(data, source) if "metrics" in data else ALL,
        tasks=_tasks(data.get("tasks"), source),
        rows=_rows(data.get("rows", 15_000), ("rows",), source),
        limit=_count(data.get("limit"), ("limit",), source, least=2),
        ranking=parse_ranking(data.get("ranking", {}), source),
        data=data,
        source=source,
    )


def _entries(models: Any, source: YamlSource) -> tuple[ModelEntry, ...]:
    if isinstance(models, str):
        models = [models]
    pairs: list[tuple[Any, Any, Where]] = []
    if isinstance(models, dict):
        pairs = [(name, body, ("models", str(name))) for name, body in models.items()]
    elif isinstance(models, list):
        for i, item in enumerate(models):
            if isinstance(item, dict) and "model" in item:
                body = {key: value for key, value in item.items() if key != "model"}
                pairs.append((item["model"], body, ("models", i)))
            elif isinstance(item, dict) and len(item) == 1 and isinstance(next(iter(item.values())), dict | None):
                ((name, body),) = item.items()
                pairs.append((name, body, ("models", i, str(name))))
            else:
                pairs.append((item, None, ("models", i)))
    if not pairs:
        raise source.fault(("models",), "models is empty; name at least one, such as beta_vae: {beta: [1, 4]}.")
    return tuple(_entry(*pair, source) for pair in pairs)


def _entry(name: Any, body: Any, where: Where, source: YamlSource) -> ModelEntry:
    if not isinstance(name, str):
        raise source.fault(where, f"{name!r} is no model; expected a name, or an entry with 'model: NAME'.")
    if body is None:
        body = {}
    if not isinstance(body, dict):
        raise source.fault(where, f"{name}: expected values such as {{beta: [1, 4]}}, got {body!r}.")
    values = _fields(body, where, source, skip=("preset", "recipe", "options", "metrics"))
    options = body.get("options") or {}
    if not isinstance(options, dict):
        raise source.fault((*where, "options"), f"options of {name} are {options!r}; expected names and values.")
    for key, value in options.items():
        values[str(key)] = _values(str(key), value, (*where, "options", str(key)), source)
    metrics = _metrics(body, source, where) if "metrics" in body else None
    preset, recipe = (str(body.get(key) or "") for key in ("preset", "recipe"))
    return ModelEntry(name, values, where, preset, recipe, metrics)


def _fields(data: Mapping[Any, Any], where: Where, source: YamlSource, skip: tuple[str, ...]) -> dict[str, Values]:
    fields: dict[str, Values] = {}
    for key, value in data.items():
        if key in skip:
            continue
        name = PLURALS.get(str(key), str(key))
        if name in fields:
            raise source.fault(
                (*where, str(key)), f"{name} is given as '{name}' and as '{name}s'; keep one of the two."
            )
        if key == "seeds" and isinstance(value, int) and not isinstance(value, bool):
            if value > MOST_SEEDS:
                raise source.fault(
                    (*where, str(key)), f"seeds is {shown(value)}; expected {MOST_SEEDS:,} at most."
                )
            value = list(range(value))  # a number of seeds
        fields[name] = _values(str(key), value, (*where, str(key)), source)
    return fields


def _values(key: str, value: Any, where: Where, source: YamlSource) -> Values:
    values = value if isinstance(value, list) else [value]
    if not values:
        raise source.fault(where, f"{key} has no values, so the study has no runs; give at least one.")
    for item in values:
        if isinstance(item, list | dict) or (item is None and key != "image_size"):
            raise source.fault(where, f"{key} is {item!r}; expected a value or a list of values.")
    return Values(tuple(values), where)


def _metrics(data: Mapping[str, Any], source: YamlSource, where: Where = ()) -> tuple[str, ...]:
    if data["metrics"] == "all":
        return ALL
    return () if data["metrics"] == [] else _words(data, "metrics", source, where)


def _words(data: Mapping[str, Any], key: str, source: YamlSource, where: Where = ()) -> tuple[str, ...]:
    words = data[key] if isinstance(data[key], list) else [data[key]]
    if not words or not all(isinstance(word, str) for word in words):
        raise source.fault((*where, key), f"{key} is {data[key]!r}; expected a name or a list of names.")
    return tuple(words)


def _tasks(value: Any, source: YamlSource) -> dict[str, dict[str, Any]]:
    """Tasks by name, each with its options: a name, a list of names, or names with options."""
    from unknot.tasks import TASKS

    names = {value: {}} if isinstance(value, str) else value or {}
    if isinstance(names, list) and all(isinstance(name, str) for name in names):
        names = {name: {} for name in names}
    if not isinstance(names, dict):
        raise source.fault(("tasks",), f"tasks is {value!r}; expected names ({', '.join(TASKS)}) with options.")
    tasks: dict[str, dict[str, Any]] = {}
    for name, options in names.items():
        where: Where = ("tasks", str(name)) if isinstance(value, dict) else ("tasks",)
        if name not in TASKS:
            raise source.unknown(where, "task", str(name), TASKS)
        if options is not None and not isinstance(options, dict):
            raise source.fault(where, f"options of {name} are {options!r}; expected names and values.")
        tasks[name] = dict(options or {})
        known = TASKS[name].study_options
        for option in tasks[name]:
            if option not in known:
                raise source.unknown((*where, str(option)), f"option of {name}", str(option), known)
    return tasks


def _rows(value: Any, where: Where, source: YamlSource) -> int | str:
    if value == "all":
        return "all"
    return _count(value, where, source, least=10) or 15_000


def _count(value: Any, where: Where, source: YamlSource, *, least: int = 1) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= MOST:
        raise source.fault(where, f"{where[-1]} is {shown(value)}; expected a whole number from {least} up.")
    return value


def parse_ranking(value: Any, source: YamlSource) -> RankingSpec:
    """How a study ranks its runs, from the entry `ranking` of its file."""
    where: Where = ("ranking",)
    if value is None or value is False or value == []:
        return RankingSpec(methods=())
    if value is True:
        value = {}
    if isinstance(value, str | list):
        value = {"methods": value}
    if not isinstance(value, dict):
        raise source.fault(where, f"ranking is {value!r}; expected methods such as [udr_lasso, udr_spearman].")
    for key in value:
        if key not in RANKING:
            raise source.unknown((*where, str(key)), "field of ranking", str(key), RANKING)
    methods = _words(value, "methods", source, where) if "methods" in value else METHODS
    for method in methods:
        if parse_method(method) is None:
            raise source.unknown((*where, "methods"), "method of ranking", method, METHODS)
    scopes = _words(value, "scopes", source, where) if "scopes" in value else SCOPES
    for scope in scopes:
        if scope not in SCOPES:
            raise source.unknown((*where, "scopes"), "scope of ranking", scope, SCOPES)
    partners = _count(value.get("partners", 50), (*where, "partners"), source) or 50
    return RankingSpec(methods, scopes, partners, _count(value.get("rows"), (*where, "rows"), source, least=10))


def parse_method(text: str) -> dict[str, Any] | None:
    """What `unknot.rank` is called with for a method, or None if there is no such method.

    >>> parse_method("udr_lasso"), parse_method("udr_lasso[alpha=cv]"), parse_method("udr_spearman")
    ({'method': 'lasso', 'alpha': 0.1}, {'method': 'lasso', 'alpha': 'cv'}, {'method': 'spearman'})
    """
    match = re.fullmatch(r"udr_(lasso|spearman)(?:\[alpha=(cv|[\d.eE+-]+)\])?", text)
    if match is None or (match[1] == "spearman" and match[2]):
        return None
    if match[1] == "spearman":
        return {"method": "spearman"}
    try:
        return {"method": "lasso", "alpha": "cv" if match[2] == "cv" else float(match[2] or 0.1)}
    except ValueError:
        return None


def method_id(text: str) -> str:
    """The full name of a method: `udr_lasso[alpha=0.1]`, `udr_spearman`."""
    options = parse_method(text) or {}
    alpha = options.get("alpha")
    return f"udr_{options['method']}" + (f"[alpha={alpha}]" if alpha is not None else "")
