"""Imports go one way: every layer knows those before it, and none after.

All imports are read from the syntax tree, those inside functions and under TYPE_CHECKING included.
"""

import ast
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "src"

# From the ground up; packages of one line do not know each other, but for the first line.
LAYERS = (
    (
        "errors",
        "factors",
        "fields",
        "files",
        "processes",
        "progress",
        "reading",
        "representation",
        "tables",
        "examples",
        "papers",
        "zoo",
    ),
    ("reports.kit",),
    ("worlds", "models", "metrics"),
    ("statistics",),
    ("runs",),
    ("encoders",),
    ("students",),
    ("scoring",),
    ("ranking",),
    ("tasks",),
    ("audits",),
    ("studies",),
    ("integrations", "torchmetrics"),
    ("reports",),
    ("cli",),
    ("__main__",),
)
GROUND = LAYERS[0]
KIT = ("errors", "files", "progress", "reading", "reports.kit", "")  # what pages and charts may know
PACKAGES = {package: i for i, layer in enumerate(LAYERS) for package in layer}

# Imports that are not in order yet: (module, imported). Each is to go, and one that is gone must leave this list.
KNOWN: set[tuple[str, str]] = set()


@cache
def modules() -> dict[str, Path]:
    """Name without `unknot.` -> file; the package itself is the empty name."""
    found = {}
    for path in sorted((ROOT / "unknot").rglob("*.py")):
        parts = path.relative_to(ROOT / "unknot").with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(text: str) -> Iterator[str]:
    """Modules of ours that a file imports, without `unknot.`; a name imported from one counts as that module."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name == "unknot" or name.startswith("unknot."):
                own = name.removeprefix("unknot").removeprefix(".")
                yield own if own in modules() else own.rpartition(".")[0]


@cache
def pairs() -> frozenset[tuple[str, str]]:
    """(module, module it imports) of all of ours, the front door aside: it names everything and knows nothing."""
    return frozenset(
        (name, imported)
        for name, path in modules().items()
        if name
        for imported in imports(path.read_text(encoding="utf-8"))
        if imported != name
    )


def package(module: str) -> str:
    """The package of a module, as LAYERS names it."""
    first = module.partition(".")[0]
    return "reports.kit" if module.startswith("reports.kit") else first


def parent(module: str) -> str:
    """The folder a module lies in."""
    return module if modules()[module].name == "__init__.py" else module.rpartition(".")[0]


def upwards(module: str, imported: str) -> bool:
    """Whether an import goes to a layer above, or beside."""
    if not imported:
        return False  # the version, and the lazy front door
    here, there = package(module), package(imported)
    beside = PACKAGES[here] == PACKAGES[there] and here != there and here not in GROUND
    return beside or PACKAGES[there] > PACKAGES[here]


def private(module: str, imported: str) -> bool:
    """Whether an import is of a private module of another folder."""
    owner, _, last = imported.rpartition(".")
    return last.startswith("_") and last != "__main__" and not (parent(module) + ".").startswith(owner + ".")


def kit_knows(module: str, imported: str) -> bool:
    """Whether pages and charts know something of ours."""
    return package(module) == "reports.kit" and package(imported) not in KIT


def violations() -> set[tuple[str, str]]:
    return {pair for pair in pairs() if any(broken(*pair) for broken in (upwards, private, kit_knows))}


def test_every_module_has_a_layer() -> None:
    assert {package(module) for module in modules() if module} == set(PACKAGES) | {"reports"}


def test_imports_go_downwards_only() -> None:
    new = violations() - KNOWN
    assert not new, "\n".join(f"{module} imports {imported}" for module, imported in sorted(new))


def test_what_is_in_order_by_now_is_not_listed() -> None:
    assert not KNOWN - violations()


def test_no_packages_import_each_other() -> None:
    """No way leads from a package through others back to it, what is listed aside."""
    known: dict[str, set[str]] = {}
    for module, imported in pairs() - KNOWN:
        if imported and package(module) != package(imported):
            known.setdefault(package(module), set()).add(package(imported))

    def walk(trail: tuple[str, ...]) -> None:
        for following in known.get(trail[-1], ()):
            assert following not in trail, " -> ".join((*trail, following))
            walk((*trail, following))

    for start in known:
        walk((start,))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import unknot.runs.run", ["runs.run"]),
        ("from unknot.runs import run, trainer", ["runs.run", "runs.trainer"]),
        ("from unknot.runs.run import Run", ["runs.run"]),
        ("from unknot.metrics import METRICS", ["metrics"]),
        ("from unknot import __version__", [""]),
        ("def f():\n    from unknot.cli import app", ["cli"]),
        ("if TYPE_CHECKING:\n    import unknot.errors, numpy", ["errors"]),
        ("import numpy\nfrom pathlib import Path", []),
    ],
)
def test_imports_are_read_wherever_they_are(text: str, found: list[str]) -> None:
    assert list(imports(text)) == found


def test_the_layers_are_told_apart() -> None:
    assert upwards("runs.trainer", "tasks.algebra.meter") and not upwards("tasks.algebra.meter", "runs.trainer")
    assert upwards("models.mlp", "worlds.world") and upwards("worlds.pairs", "metrics")
    assert not upwards("files", "errors") and not upwards("runs.run", "")
    assert private("tasks.pool", "metrics._coat") and not private("metrics.coat", "metrics._coat")
    assert private("worlds.pairs", "worlds.raytracer._trace") and not private(
        "encoders.pretrained", "encoders._hub"
    )
    assert kit_knows("reports.kit.page", "factors") and not kit_knows("reports.kit.page", "files")
    assert all(PACKAGES[a] <= PACKAGES[b] for a, b in pairwise(p for layer in LAYERS for p in layer))
