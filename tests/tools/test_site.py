"""The site's pages are those of `docs/` and those made of the code; `make docs` builds it and checks every link."""

from typing import Any

import yaml
from tools.requirements import ROOT
from tools.site import api, command_line, completed, gallery, notebooks, on_page_markdown, pages, registry

CONFIG = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))


def _leaves(entry: Any) -> list[str]:
    if isinstance(entry, str):
        return [entry]
    inner = entry.values() if isinstance(entry, dict) else entry
    return [leaf for each in inner for leaf in _leaves(each)]


def test_every_page_stands_in_the_navigation_once() -> None:
    made = {name for name, _ in pages() if name.endswith(".md")}
    nav = completed(CONFIG["nav"])
    assert sorted(_leaves(nav)) == sorted(made | {path.name for path in (ROOT / "docs").glob("*.md")})
    assert [next(iter(part)) for part in nav] == ["Start", "Guides", "Reference", "Evidence"]
    assert "algebra.md" in completed([{"Reference": []}])[0]["Reference"], (
        "what is not named comes under Reference"
    )


def test_nothing_is_fetched_when_the_site_is_built_or_read() -> None:
    assert CONFIG["theme"]["font"] is False
    assert "http" not in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


def test_pages_are_made_of_the_registries_the_help_and_the_examples() -> None:
    from unknot.metrics import METRICS
    from unknot.models import MODELS

    assert registry("", "metrics", "METRICS").count(":::") == len(METRICS)
    assert registry("", "models", "MODELS").count(":::") == len(MODELS)
    assert "::: unknot.scoring.scoring.score\n" in api() and "::: unknot.worlds.array_world.ArrayWorld\n" in api()
    assert "## unknot score\n" in command_line() and "--log" in command_line()
    assert notebooks().count("\n## ") == 6 and "unknot.compare(" in notebooks()
    assert gallery().count("\n## ") == len(list((ROOT / "examples").glob("*.py")))


def test_links_and_marks_are_those_of_the_site() -> None:
    text = on_page_markdown("[a](../README.md) [b](docs/metrics.md)\n```python not run\n", None)
    assert text == "[a](start.md) [b](metrics.md)\n```python\n"
