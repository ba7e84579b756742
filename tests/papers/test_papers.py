"""The list of papers: what it names exists, and its citations are complete."""

import re
from dataclasses import fields
from pathlib import Path

import pytest
from typer.main import get_command

from unknot.cli import app
from unknot.errors import UnknotError
from unknot.papers import PAPERS, Paper, find_paper, renamed

ROOT = Path(__file__).parents[2]
papers = pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)


@papers
def test_what_a_paper_names_is_here(paper: Paper) -> None:
    from unknot.metrics import METRICS
    from unknot.models import MODELS
    from unknot.tasks import TASKS
    from unknot.worlds import WORLDS

    assert set(paper.metrics) <= set(METRICS)
    assert set(paper.models) <= set(MODELS)
    assert set(paper.tasks) <= set(TASKS)
    assert set(paper.worlds) <= set(WORLDS)


@papers
def test_the_models_of_a_paper_are_those_with_its_preset(paper: Paper) -> None:
    from unknot.models import MODELS

    names = {
        model: [renamed(preset) or preset for preset in getattr(kind, "presets", {})]
        for model, kind in MODELS.items()
    }
    assert set(paper.models) == {model for model, presets in names.items() if paper.key in presets}


@papers
def test_the_commands_of_a_paper_exist(paper: Paper) -> None:
    for line in (*(f"unknot {words}" for words in paper.commands), paper.full, paper.small):
        command = get_command(app)
        for word in line.split()[1:]:
            if not (known := getattr(command, "commands", {})):
                break  # an argument
            command = known[word]
        assert not getattr(command, "commands", {}), f"{line} stops short"


@papers
def test_the_studies_of_a_paper_ship_with_its_models_and_worlds(paper: Paper) -> None:
    from unknot.studies.spec import preset_names, read_study

    shipped = {name for name in preset_names() if name.removesuffix("_small") == paper.key}
    named = [re.fullmatch(r"unknot study (\w+)", line) for line in (paper.full, paper.small)]
    assert {found[1] for found in named if found} == shipped
    if shipped:
        study = read_study(paper.key)
        worlds = [entry.values.get("world") or study.values["world"] for entry in study.entries]
        assert {entry.model for entry in study.entries} == set(paper.models)
        assert {world for values in worlds for world in values.values} <= set(paper.worlds)
        assert set(study.tasks) == set(paper.tasks)


@papers
def test_the_parts_that_repeat_a_paper_exist_and_have_results(paper: Paper) -> None:
    assert all((ROOT / "benchmarks" / "reproduction" / f"{part}.py").is_file() for part in paper.parts)
    results = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert all(f"make reproduce PART={part}`" in results for part in paper.parts)


@papers
def test_references_of_metrics_and_worlds_agree_with_the_citation(paper: Paper) -> None:
    from unknot.metrics import METRICS
    from unknot.worlds import WORLDS

    references = [metric.facts.reference for metric in METRICS.values()]
    references += [entry.reference for entry in WORLDS.values()]
    ours = [reference for reference in references if reference.startswith(paper.short)]
    assert all(paper.title in reference or paper.source in reference for reference in ours)


@papers
def test_a_key_is_the_first_author_and_the_year(paper: Paper) -> None:
    author = paper.authors[0].partition(",")[0].replace(" ", "").lower()
    assert paper.key == f"{author}{paper.year}"
    assert paper.question.endswith("?")
    for field in fields(paper):
        assert getattr(paper, field.name) != ""


def test_a_citation_is_one_line_and_an_entry_of_bibtex() -> None:
    paper = find_paper("mahon2024")
    assert paper.citation == (
        "Mahon, Sha and Lukasiewicz 2024, Correcting Flaws in Common Disentanglement Metrics, "
        "Transactions on Machine Learning Research (TMLR), arXiv:2304.02335"
    )
    assert paper.bibtex == (
        "@article{mahon2024,\n"
        "  title = {{Correcting Flaws in Common Disentanglement Metrics}},\n"
        "  author = {Mahon, Louis and Sha, Lei and Lukasiewicz, Thomas},\n"
        "  journal = {Transactions on Machine Learning Research (TMLR)},\n"
        "  year = {2024},\n"
        "  url = {https://arxiv.org/abs/2304.02335},\n"
        "}"
    )
    assert find_paper("xie2022").bibtex.startswith("@inproceedings{xie2022,")
    assert find_paper("xie2022").citation.endswith("(ICML), https://proceedings.mlr.press/v162/xie22b.html")


def test_an_unknown_key_suggests_the_nearest() -> None:
    with pytest.raises(UnknotError, match="unknown paper 'duan2002'; did you mean 'duan2020'"):
        find_paper("duan2002")


@pytest.mark.parametrize(("old", "new"), [*zip(("s0", "S1", "s2", "S3", "s4"), PAPERS, strict=True)])
def test_old_shorthand_is_refused_with_the_new_name(old: str, new: str) -> None:
    with pytest.raises(UnknotError, match=f"papers: {old} is now called {new}") as refused:
        find_paper(old)
    assert refused.value.expected == new


def test_only_the_old_shorthand_is_renamed() -> None:
    assert renamed("s0_shapes3d") == "mahon2024_shapes3d"
    assert [renamed(name) for name in ("", "s", "s5", "s1small", "ss1", "mahon2024")] == [None] * 6
