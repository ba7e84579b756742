"""The tables of the docs say what the registries say. `python tests/test_docs_tables.py` writes them anew."""

import inspect
import re
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
import pytest

from unknot.fields import in_words
from unknot.metrics import METRICS, identity
from unknot.metrics.r2 import full_variance
from unknot.models import MODELS
from unknot.papers import PAPERS, tables
from unknot.reports.papers import recompute
from unknot.reports.papers.figures import FIGURES
from unknot.tasks import TASKS, Task
from unknot.tasks.options import flag_of
from unknot.worlds import WORLDS
from unknot.worlds.splits.combinations import PUBLISHED_COMBINATIONS
from unknot.worlds.splits.rules import RULES
from unknot.worlds.splits.split import split
from unknot.zoo import catalogue

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
# Four worlds have published rules of their own; the grids are those of these files.
RULED = {"dsprites": "dsprites", "shapes3d": "shapes3d", "mpi3d": "mpi3d_real", "celeb_glow": "celeb_glow"}
LEARNS_FROM = {"none": "images", "pairs": "pairs", "labels": "labels", "few_labels": "images, a few labels"}
KINDS = ("random", "composition", "interpolation", "extrapolation")


def metrics_table() -> str:
    """Every metric with its facts."""
    rows = []
    for metric in METRICS.values():
        facts = metric.facts
        rows.append(
            (
                f"`{identity(metric)}`",
                facts.title,
                facts.measures,
                f"{facts.bounds[0]:g} to {facts.bounds[1]:g}",
                "higher" if facts.higher_is_better else "lower",
                str(facts.chance),
                facts.cost,
                ", ".join(f"`{part}` ({measure})" for part, measure in facts.also.items()) or "-",
                _linked(facts.reference),
            )
        )
    heads = ("metric", "what it is", "measures", "range", "better", "chance", "cost", "also reports", "reference")
    return _table(heads, rows)


def zoo_table() -> str:
    """The runs that ship, with the scores of their codes."""
    entries = catalogue()
    metrics = list(dict.fromkeys(metric for entry in entries.values() for metric in entry["scores"]))
    rows = []
    for name, entry in entries.items():
        scores = (f"{entry['scores'][metric]:.3f}" if metric in entry["scores"] else "-" for metric in metrics)
        rows.append((f"`{name}`", f"{entry['steps']:,}", *scores))
    return _table(("run", "steps", *(metric.replace("_", " ") for metric in metrics)), rows)


def worlds_table() -> str:
    """Every world from a file beside its stand-in, with grid and licence."""
    rows = []
    for name, entry in WORLDS.items():
        if not entry.files:
            continue
        factors = entry.factors or ()
        rows.append(
            (
                f"`{name}`",
                f"`{entry.stand_in}`" if entry.stand_in else "none",
                ", ".join(f"{f.name} {f.size}" for f in factors),
                f"{entry.factors.size:,}" if entry.factors else "-",
                entry.licence,
                entry.reference,
            )
        )
    heads = ("published file", "rendered stand-in", "factors in storage order", "points", "licence", "reference")
    return _table(heads, rows)


def sums_table() -> str:
    """By what a file that was downloaded is known."""
    entries = WORLDS.values()
    files = {
        file.name: file for entry in entries for choice in (*entry.choices, entry.split_files) for file in choice
    }
    names: dict[str, dict[str, None]] = {"SHA-256": {}, "md5": {}, "nothing": {}}
    for name, file in files.items():
        kind = re.sub(r"_(random|composition|interpolation|extrapolation)_.*", "_SPLIT_*.npz", name)
        kind = re.sub(r"-5x.*", "-*.mat.gz", kind)
        names["SHA-256" if file.sha256 else "md5" if file.md5 else "nothing"][kind] = None
    return _table(
        ("known by", "files"), [(sums, ", ".join(f"`{name}`" for name in names[sums])) for sums in names]
    )


def splits_table() -> str:
    """Exclusive classes of the published rules."""
    rows = []
    for rule, world in RULED.items():
        space = WORLDS[world].factors
        assert space is not None
        made = {kind: split(space, kind, rule=rule).exclusive for kind in KINDS[1:]}
        for factor in space:
            cells = (_runs(made[kind].get(factor.name, ())) for kind in KINDS[1:])
            rows.append((f"`{rule}`", factor.name, str(factor.size), *cells))
    heads = (
        "rule",
        "factor",
        "classes",
        "composition: only in training",
        *(f"{k}: only in test" for k in KINDS[2:]),
    )
    return _table(heads, rows)


def counts_table() -> str:
    """How many points each published split trains and tests on."""
    rows = []
    for rule, world in RULED.items():
        space = WORLDS[world].factors
        assert space is not None
        for kind in KINDS:
            made = split(space, kind, rule=rule)
            odd = sum(made.one_ood_counts.values())
            shares = (f"{100 * n / space.size:.2f} %" for n in (made.n_train, made.n_test))
            one = f"{odd:,} ({100 * odd / made.n_test:.2f} % of test)" if odd else "-"
            rows.append((f"`{rule}`", kind, f"{made.n_train:,}", f"{made.n_test:,}", *shares, one))
    return _table(("rule", "split", "training", "test", "training share", "test share", "one-OOD"), rows)


def guessing_table() -> str:
    """Mean R² of constant predictions, from the marginals of each part."""
    rows = []
    for rule, world in RULED.items():
        space = WORLDS[world].factors
        assert space is not None
        for kind in KINDS[1:]:
            made = split(space, kind, rule=rule)
            train, test = (_shares(mask.reshape(space.shape)) for mask in (made.train, made.test))
            levels = [np.arange(n) / (n - 1) for n in space.shape]
            means = ([0.5 for _ in levels], [float(p @ y) for p, y in zip(train, levels, strict=True)])
            cells = []
            for mean in means:
                errors = [p @ (y - m) ** 2 for p, y, m in zip(test, levels, mean, strict=True)]
                cells.append(f"{np.mean(1 - np.array(errors) / full_variance(space)):.3f}")
            rows.append((f"`{rule}`", kind, *cells))
    return _table(("rule", "split", "saying the mean of all data", "saying the mean of the training part"), rows)


def combinations_table() -> str:
    """The held-out combinations of Mahon et al."""
    rows = []
    for world, combinations in PUBLISHED_COMBINATIONS.items():
        names = " and ".join(combinations[0])
        rows.append((f"`{world}`", names, ", ".join("-".join(map(str, c.values())) for c in combinations)))
    return _table(("world", "factors", "classes held out together"), rows)


def papers_table() -> str:
    """Every paper with its question."""
    rows = []
    for paper in PAPERS.values():
        link = f"{paper.short}, *{paper.title}*, {paper.venue}, [{paper.source}]({paper.address})"
        rows.append((f"`{paper.key}`", link, paper.question))
    return _table(("name", "paper", "question"), rows)


def papers_repeated_table() -> str:
    """The commands that repeat each paper."""
    rows = []
    for paper in PAPERS.values():
        parts = (f"`make reproduce PART={part}`" for part in paper.parts)
        rows.append((f"[`{paper.key}`]({paper.key}.md)", f"`{paper.full}`", f"`{paper.small}`", ", ".join(parts)))
    return _table(("name", "in full size", "in small", "measured here"), rows)


def paper_here(key: str) -> str:
    """What of a paper is here."""
    paper = PAPERS[key]
    commands = [f"unknot {command}" for command in paper.commands]
    kinds = {"metrics": paper.metrics, "tasks": paper.tasks, "commands": commands}
    kinds |= {"models": paper.models, "worlds": paper.worlds}
    rows = [(kind, ", ".join(f"`{name}`" for name in names)) for kind, names in kinds.items() if names]
    return f"{paper.citation}\n\n{_table(('here', 'by the names that commands take'), rows)}"


def paper_claims(key: str) -> str:
    """What a paper says, and what its own tables say of it."""
    rows = [(claim.text, claim.where, f"**{claim.verdict}**", claim.why) for claim in recompute(key).claims]
    return _table(("claim", "where", "verdict", "why"), rows)


def paper_tables(key: str) -> str:
    """The published tables of a paper."""
    rows = [(f"`{name}`", each.where, each.caption) for name, each in tables(key).items()]
    return _table(("table", "where", "what it holds"), rows)


def paper_figures(key: str) -> str:
    """The tables and figures of a paper that a study makes."""
    return _table(("made", "what it shows"), [(figure.number, figure.title) for figure in FIGURES[key]])


def models_table() -> str:
    """Every model in a sentence."""
    rows = []
    for name, model in MODELS.items():
        what = (inspect.getdoc(model) or "").partition("\n")[0]
        rows.append((f"`{name}`", LEARNS_FROM[model.supervision], what))
    return _table(("model", "learns from", "what it is"), rows)


def tasks_table() -> str:
    """Every task with its question."""
    rows = []
    for name, task in TASKS.items():
        page = f"{name}.md" if _has_page(task) else f"#{name}"
        rows.append((f"[`{name}`]({page})", task.question, _linked(task.reference)))
    return _table(("task", "question", "reference"), rows)


def task_options() -> str:
    """The options of every task; of one without a page of its own, also all that its declaration says."""
    parts = []
    for name, task in TASKS.items():
        rows = []
        for option, field in task.options.model_fields.items():
            flag = flag_of(task.options, option).rstrip(",")
            rows.append(
                (f"`{option}`", f"`{flag}`", _value(field.default), in_words(field), str(field.description))
            )
        told = f"{task.question}\n\n{task.about}\n\n{task.reference}"
        words = f"[{name}]({name}.md) tells more." if _has_page(task) else told
        table = _table(("option", "typed", "default", "takes", "what it is"), rows)
        parts.append(f"### {name}\n\n{words}\n\n{table}\n")
    return "\n".join(parts).rstrip("\n")


def _has_page(task: Task) -> bool:
    return (DOCS / f"{task.name}.md").is_file()


def _value(value: Any) -> str:
    """The default of an option; a dash for none."""
    if isinstance(value, tuple):
        return ", ".join(map(_value, value)) or "-"
    return "-" if value in (None, "") else str(value).lower() if isinstance(value, bool) else str(value)


TABLES: dict[str, tuple[str, Callable[[], str]]] = {
    "zoo": ("zoo.md", zoo_table),
    "metrics": ("metrics.md", metrics_table),
    "worlds": ("worlds.md", worlds_table),
    "sums": ("worlds.md", sums_table),
    "models": ("models.md", models_table),
    "tasks": ("tasks.md", tasks_table),
    "task_options": ("tasks.md", task_options),
    "splits": ("splits.md", splits_table),
    "counts": ("splits.md", counts_table),
    "guessing": ("splits.md", guessing_table),
    "combinations": ("splits.md", combinations_table),
    "papers": ("papers.md", papers_table),
    "papers_repeated": ("papers.md", papers_repeated_table),
    **{
        f"{key}_{make.__name__.removeprefix('paper_')}": (f"{key}.md", partial(make, key))
        for key in PAPERS
        for make in (paper_here, paper_claims, paper_tables, paper_figures)
    },
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_the_docs_equals_its_registry(name: str) -> None:
    page, make = TABLES[name]
    assert _inside(name, (DOCS / page).read_text(encoding="utf-8")) == make(), (
        "run python tests/test_docs_tables.py"
    )


def test_every_rule_that_is_named_has_a_table_row_or_is_a_smaller_grid() -> None:
    assert set(RULES) == {*RULED, "dsprites_quarter"}


PAGES = [*sorted(DOCS.glob("*.md")), *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_pictures_of_a_page_exist(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
    missing = [t for t in targets if "://" not in t and not (page.parent / t).exists()]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_modules_named_on_a_page_exist(page: Path) -> None:
    for name in set(re.findall(r"\bunknot(?:\.[A-Za-z_]\w*)+", page.read_text(encoding="utf-8"))):
        assert resolve_name(name) is not None


def test_the_map_of_the_source_names_every_folder() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8").partition("## The map")[2].partition("## ")[0]
    folders = {path.parent.name for path in (ROOT / "src" / "unknot").glob("*/__init__.py")}
    assert folders <= set(re.findall(r"(\w+)/", text))


def test_every_page_is_on_the_map() -> None:
    linked = set(re.findall(r"\]\((\w+\.md)\)", (DOCS / "index.md").read_text(encoding="utf-8")))
    assert linked == {page.name for page in DOCS.glob("*.md")} - {"index.md"}


def test_no_picture_is_larger_than_200_kb() -> None:
    assert not [path.name for path in (DOCS / "pictures").iterdir() if path.stat().st_size > 200_000]


def _shares(part: np.ndarray) -> list[np.ndarray]:
    """How often each class of each factor occurs in a part of the grid."""
    axes = range(part.ndim)
    return [part.sum(axis=tuple(j for j in axes if j != i)) / part.sum() for i in axes]


def _table(heads: Iterable[str], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [tuple(heads)]
    lines += [tuple("---" for _ in lines[0]), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |" for line in lines)


def _linked(references: str) -> str:
    """Authors and year with the arXiv number as a link, or the reference as it is."""
    found = []
    for reference in references.split("; "):
        number = re.search(r"arXiv:(\d{4}\.\d{5})", reference)
        who = reference.partition(",")[0]
        found.append(f"{who}, [arXiv:{number[1]}](https://arxiv.org/abs/{number[1]})" if number else reference)
    return "; ".join(found)


def _runs(classes: tuple[int, ...]) -> str:
    whole = len(classes) > 2 and classes == tuple(range(classes[0], classes[-1] + 1))
    return f"{classes[0]}..{classes[-1]}" if whole else ", ".join(map(str, classes)) or "-"


def _marks(name: str) -> tuple[str, str]:
    return f"<!-- table {name}: made by tests/test_docs_tables.py -->\n", "<!-- end of table -->"


def _inside(name: str, text: str) -> str:
    begin, end = _marks(name)
    assert begin in text, f"the page has no table '{name}'"
    return text.partition(begin)[2].partition(end)[0].rstrip("\n")


def write() -> None:
    """Put the tables into their pages."""
    for name, (page, make) in TABLES.items():
        path = DOCS / page
        begin, end = _marks(name)
        parts = re.split(f"({re.escape(begin)}|{re.escape(end)})", path.read_text(encoding="utf-8"))
        at = parts.index(begin)
        assert parts[at + 2] == end, f"{page}: table '{name}' has no end"
        parts[at + 1] = make() + "\n"
        path.write_text("".join(parts), encoding="utf-8")


if __name__ == "__main__":
    write()
