"""Every chart is checked for what holds for all of them."""

import ast
from collections.abc import Iterator
from pathlib import Path

import unknot.reports.kit

KIT = Path(unknot.reports.kit.__file__).parent


def charts() -> Iterator[str]:
    """Public functions of the kit that end in a drawing."""
    for path in KIT.glob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                last = node.body[-1]
                if isinstance(last, ast.Return) and ast.unparse(last).startswith("return svg("):
                    yield node.name


def checked() -> Iterator[str]:
    """Names of the charts that a test hands to `checked`."""
    for path in Path(__file__).parent.glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "checked" and node.args:
                drawn = node.args[0]
                yield ast.unparse(drawn.func) if isinstance(drawn, ast.Call) else ""


def test_every_chart_is_drawn_with_hostile_names() -> None:
    assert len(set(charts())) > 8
    assert set(charts()) <= set(checked())
