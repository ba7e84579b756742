"""What `mkdocs` is told besides `mkdocs.yml`: pages made of registries, help and examples, and those at the root.

mkdocs calls the functions by their names.
"""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
START = "start.md"  # a README would be the first page of its folder, and take the place of the index
AT_THE_ROOT = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CITATION.cff")


def pages() -> Iterator[tuple[str, str]]:
    """Name and text of every page that does not lie in `docs/`."""
    yield START, (ROOT / "README.md").read_text(encoding="utf-8")
    for name in AT_THE_ROOT:
        yield name, (ROOT / name).read_text(encoding="utf-8")
    yield "command_line.md", command_line()
    yield "gallery.md", gallery()
    yield "notebooks.md", notebooks()
    yield "api.md", api()
    yield "all_metrics.md", registry("Metrics, each in full", "metrics", "METRICS")
    yield "all_models.md", registry("Models, each in full", "models", "MODELS")


def command_line() -> str:
    """The help of every command, as the tests hold it."""
    texts = ["# Command line\n"]
    for path in sorted((ROOT / "tests/goldens/help").glob("*.txt"), key=lambda path: path.stem):
        texts.append(
            f"## {path.stem.replace('-', ' ')}\n\n```text\n{path.read_text(encoding='utf-8').strip()}\n```\n"
        )
    return "\n".join(texts)


def gallery() -> str:
    """The scripts of `examples/`, each with its first sentence."""
    texts = ["# Examples\n\nShort scripts that the tests run as they are.\n"]
    for path in sorted((ROOT / "examples").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        about = ast.get_docstring(ast.parse(text)) or ""
        body = text.partition('"""\n')[2].strip()
        texts.append(f"## {path.stem.replace('_', ' ')}\n\n{about}\n\n```python\n{body}\n```\n")
    return "\n".join(texts)


def notebooks() -> str:
    """The cells of `notebooks/`, which keep no output."""
    texts = ["# Notebooks\n\nTo open in Jupyter, from the folder `notebooks`; the tests run every cell.\n"]
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            text = "".join(cell["source"])
            texts.append(f"```python\n{text}\n```\n" if cell["cell_type"] == "code" else _lowered(text))
    return "\n".join(texts)


def _lowered(text: str) -> str:
    """Markdown whose title is a part of a page."""
    return f"#{text}\n" if text.startswith("# ") else f"{text}\n"


def api() -> str:
    """What `import unknot` offers, by the homes that it lists."""
    tree = ast.parse((ROOT / "src/unknot/__init__.py").read_text(encoding="utf-8"))
    nodes = [n for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "_HOMES"]
    homes = ast.literal_eval(nodes[0].value)
    return "# API\n\n" + "\n".join(f"::: {_home(home, name)}\n" for name, home in sorted(homes.items()))


def _home(module: str, name: str) -> str:
    """Where a name is defined, which may be a module that its package imports it from."""
    if not _package(module):
        return f"{module}.{name}"
    return next(target for target, own in _imports(module).items() if own == name)


def registry(title: str, package: str, variable: str) -> str:
    """Every entry of a registry, by the docstring beside it."""
    path = ROOT / "src/unknot" / package / "__init__.py"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    values = next(
        n.value
        for n in tree.body
        if isinstance(n, ast.Assign | ast.AnnAssign) and variable in ast.unparse(n).partition("=")[0]
    )
    table = next(node for node in ast.walk(values) if isinstance(node, ast.Dict)) if values else ast.Dict([], [])
    names = [ast.unparse(value) for value in table.values]
    homes = {own: target for target, own in _imports(f"unknot.{package}").items()}
    return f"# {title}\n\n" + "\n".join(f"::: {homes[name]}\n" for name in names)


def _package(module: str) -> bool:
    return (ROOT / "src" / Path(*module.split(".")) / "__init__.py").is_file()


def _imports(package: str) -> dict[str, str]:
    """Full name -> the name that a package imports it by."""
    text = (ROOT / "src" / Path(*package.split(".")) / "__init__.py").read_text(encoding="utf-8")
    nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.ImportFrom)]
    return {f"{n.module}.{a.name}": a.asname or a.name for n in nodes for a in n.names}


def completed(nav: list[dict[str, list[Any]]]) -> list[dict[str, list[Any]]]:
    """The navigation with pages of `docs/` that it does not name, under Reference."""
    named = {name for section in nav for pages in section.values() for page in pages for name in page.values()}
    others = sorted({path.name for path in (ROOT / "docs").glob("*.md")} - named)
    return [
        {title: pages + others * (title == "Reference") for title, pages in section.items()} for section in nav
    ]


def on_config(config: Any) -> Any:
    """Complete the navigation."""
    config.nav = completed(config.nav)
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages."""
    from mkdocs.structure.files import File

    for name, text in pages():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **more: Any) -> str:
    """Links as they hold on the site, where all pages lie in one folder."""
    text = re.sub(r"\]\((?:\.\./|docs/)", "](", markdown).replace("](README.md", f"]({START}")
    return re.sub(r"^```(\w+) not run$", r"```\1", text, flags=re.MULTILINE)
