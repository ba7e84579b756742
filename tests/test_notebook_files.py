"""The notebooks run from their first cell to their last, and what ends a cell can be shown."""

import ast
import json
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


def _cells(notebook: Path, kind: str) -> list[str]:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == kind]


def _run(code: str, names: dict[str, Any]) -> str:
    """What a notebook would show below a cell: HTML where the last value has it, else its repr."""
    *before, last = ast.parse(code).body
    ends = isinstance(last, ast.Expr)
    exec(compile(ast.Module([*before, *([] if ends else [last])], []), "cell", "exec"), names)
    if not ends:
        return ""
    value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    html = getattr(value, "_repr_html_", None)
    return repr(value) if html is None else html()


def test_there_are_six_without_kept_output() -> None:
    assert len(NOTEBOOKS) == 6
    for notebook in NOTEBOOKS:
        content = json.loads(notebook.read_text(encoding="utf-8"))
        assert (content["nbformat"], content["metadata"]["kernelspec"]["name"]) == (4, "python3")
        assert not any(cell.get("outputs") for cell in content["cells"])
        assert _cells(notebook, "markdown")[0].startswith("# ")


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_a_notebook_runs(notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = [_run(code, names) for code in _cells(notebook, "code")]
    plt.close("all")
    assert sum("<t" in text for text in shown) >= 1, "a table is shown"
    assert all(len(text) < 100_000 for text in shown)
