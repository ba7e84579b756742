"""The source keeps its shape: files of one idea, functions that can be called without counting."""

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "unknot"


def test_few_functions_take_more_than_eight_things() -> None:
    long = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                names = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
                if len([name for name in names if name not in ("self", "cls")]) > 8:
                    long.append(f"{path.name}: {node.name}")
    assert len(long) <= 15, long


def test_no_file_is_longer_than_four_hundred_lines() -> None:
    long = [path.name for path in SOURCE.rglob("*.py") if path.read_text(encoding="utf-8").count("\n") > 400]
    assert not long
