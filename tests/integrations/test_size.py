"""An integration is at most 100 lines of code, and the table of the docs says how many."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLE = (ROOT / "docs" / "integrations.md").read_text(encoding="utf-8")
MODULES = [*sorted((ROOT / "src/unknot/integrations").glob("[a-z]*.py")), ROOT / "src/unknot/torchmetrics.py"]


def code_lines(path: Path) -> int:
    """Lines that hold code: no blank ones, no comments, no docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    texts = [n.body[0] for n in ast.walk(tree) if isinstance(n, kinds) and ast.get_docstring(n) is not None]
    words = {line for text in texts for line in range(text.lineno, text.end_lineno + 1)}
    lines = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    return sum(n not in words and bool(line.strip()) and not line.strip().startswith("#") for n, line in lines)


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_an_integration_is_small(module: Path) -> None:
    name = ".".join(module.relative_to(ROOT / "src").with_suffix("").parts)
    row = next(line for line in TABLE.splitlines() if name in line and line.startswith("|"))
    assert int(re.findall(r"\| (\d+) \|", row)[0]) == code_lines(module) <= 100
