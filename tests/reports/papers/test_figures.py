"""Tables and figures of the papers from studies of one's own: small studies at toy size, from file to page."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.reports.papers.conftest import OBJECTS

from unknot.errors import UnknotError
from unknot.papers import PAPERS
from unknot.reports.kit.page import Drawing, Gallery, Grid, Picture, Section
from unknot.reports.papers.figures import FIGURES, own_sections
from unknot.reports.papers.figures.own import Lacks, Own, published_world
from unknot.reports.papers.page import write_paper_page
from unknot.reports.study_page import write_study_page
from unknot.runs.run import Run
from unknot.runs.spec import RunSpec
from unknot.runs.training import train
from unknot.tasks.algebra.meter import coat_meter
from unknot.tasks.result import TaskResult
from unknot.worlds import open_world
from unknot.worlds.scenes.dataset import SceneSet, write_scenes
from unknot.worlds.scenes.toy_corpus import toy_corpus

Toy = Callable[[str], Path]


@cache
def sections(paper: str, *paths: Path) -> dict[str, Section]:
    """Number of the figure -> its section."""
    return {section.title.partition(":")[0]: section for section in own_sections(paper, paths)}


def grids(section: Section) -> list[Grid]:
    return [content for content in section.contents if isinstance(content, Grid)]


def drawings(section: Section) -> list[Drawing]:
    galleries = [d for c in section.contents if isinstance(c, Gallery) for d in c.drawings]
    return [*galleries, *(c for c in section.contents if isinstance(c, Drawing))]


def column(grid: Grid, name: str) -> list[object]:
    return [row[list(grid.header).index(name)] for row in grid.rows]


def words(section: Section) -> str:
    return " ".join(section.paragraphs)


def test_every_paper_has_figures() -> None:
    assert list(FIGURES) == list(PAPERS)
    assert all(len({figure.number for figure in figures}) == len(figures) for figures in FIGURES.values())


@pytest.mark.parametrize("paper", PAPERS)
def test_a_small_study_becomes_a_report_and_the_figures_of_its_paper(
    paper: str, toy_study: Toy, tmp_path: Path
) -> None:
    study = toy_study(paper)
    report = write_study_page(tmp_path / "report.html", study, shown=1).read_text(encoding="utf-8")
    assert f"unknot papers {paper} --study" in report
    page = write_paper_page(tmp_path / "page.html", PAPERS[paper], [study]).read_text(encoding="utf-8")
    assert f"unknot papers {paper} --study {study}" in page
    for figure in FIGURES[paper]:
        assert f"{figure.number}: {figure.title}" in page
    for section in sections(paper, study).values():
        if section.title.startswith("Figures A5 to A17"):  # of runs that are measured while they train
            continue
        assert "This cannot be made" not in words(section), section.title
        assert section.contents or section.parts, section.title
        for grid in grids(section):
            assert grid.rows and {len(row) for row in grid.rows} == {len(grid.header)}


def test_tables_of_schott2022_have_the_setting_of_the_highest_dci_beside_the_published_number(
    toy_study: Toy,
) -> None:
    study = toy_study("schott2022")
    table = sections("schott2022", study)["Tables 5 to 10"]
    assert "highest DCI on the training part" in words(table) and "composition" in words(table)
    (grid,) = grids(table)
    assert column(grid, "random, published") == ["86.6 ± 1.9", "78.2 ± 2.1", None]
    assert column(grid, "model") == ["ada_gvae", "beta_vae", "always the training mean"]
    runs = Own([study]).table
    of_model = runs[(runs["model"] == "beta_vae") & (runs["split"] == "random")]
    best = of_model.groupby("setting")["dci[lasso]"].mean().idxmax()
    assert f"{best} (dsprites_rendered, random)" in words(table)
    r2 = 100 * of_model[of_model["setting"] == best]["generalisation.random_r2"]
    assert column(grid, "random")[1] == f"{r2.mean():.1f} ± {r2.std():.1f} (2)"


def test_modularity_stands_beside_constants_and_the_random_split(toy_study: Toy) -> None:
    section = sections("schott2022", toy_study("schott2022"))["Figures 5 and 14"]
    (grid,) = grids(section)
    assert "extrapolation" in grid.caption and len(grid.rows) == 2
    for name in ("constant: ID", "constant: OOD"):
        assert all(isinstance(cell, float) for cell in column(grid, name))


def test_predictions_are_drawn_beside_the_truth_and_by_either_mean(toy_study: Toy) -> None:
    made = sections("schott2022", toy_study("schott2022"))
    assert len(drawings(made["Figure 6"])) == 2 and "median" in drawings(made["Figure 6"])[0].caption
    section = made["Figures 15, 16 and 18"]
    assert any(isinstance(content, Picture) for content in section.contents)
    assert len(drawings(section)) == 4 and "predicted" in drawings(section)[0].svg


def test_correlations_of_mahon2024_need_three_models_and_have_them(toy_study: Toy) -> None:
    made = sections("mahon2024", toy_study("mahon2024"))
    (grid,) = grids(made["Tables 4 and 6"])
    assert set(column(grid, "over")) == {"dsprites"} and set(column(grid, "points")) == {3}
    assert {"snc", "mig", "mig_2p", "mig_2m", "sap_2p"} <= set(column(grid, "metric"))
    (second,) = grids(made["Table 2"])
    assert "24.8 ± 3.2" in column(second, "snc, published") and "41.3 ± 3" in column(second, "snc, published")
    assert "nk" in words(made["Table 2"])
    (third,) = grids(made["Table 3"])
    assert len(third.rows) == 9 and "All models saw" not in words(made["Table 3"])


def test_products_of_table_8_are_those_of_the_two_factors(toy_study: Toy) -> None:
    import json

    study = toy_study("mahon2024")
    (grid,) = grids(sections("mahon2024", study)["Table 8"])
    runs = Own([study]).table
    ids = runs[(runs["model"] == "factor_vae") & (runs["split"] == "")]["id"]
    products = []
    for id_ in ids:
        parts = json.loads((study / "runs" / id_ / "scores.json").read_text())["scores"]["mig[bins=20]"]["parts"]
        by_factor = dict(zip(parts["factor_names"], parts["per_factor"], strict=True))
        products.append(by_factor["scale"] * by_factor["shape"])
    (row,) = [row for row in grid.rows if row[1:3] == ["factor_vae", "mig_2p"]]
    assert row[3] == pytest.approx(np.mean(products))


def test_udr_of_duan2020_stands_beside_its_tables(toy_study: Toy) -> None:
    made = sections("duan2020", toy_study("duan2020"))
    (first,) = grids(made["Table 1"])
    assert column(first, "udr_l, published") == [0.6, None] and column(first, "runs") == [4, 4]
    (seventh,) = grids(made["Table 7"])
    assert column(seventh, "published") == ["0.54 ± 0.06", "0.6 ± 0.11", "0.53 ± 0.07", "0.59 ± 0.1", "0.67 ± 0.2"]
    assert "COBRA" in words(made["Figure 11"])


def test_figure_8_of_vansteenkiste2019_has_a_row_of_reconstruction(toy_study: Toy) -> None:
    (grid,) = grids(sections("vansteenkiste2019", toy_study("vansteenkiste2019"))["Figure 8"])
    pairs = {(row[0], row[1]): row[5] for row in grid.rows}
    assert pairs["mig", "sap"] == 0.89 and ("mig", "reconstruction") in pairs


def test_pictures_say_what_is_drawn(toy_study: Toy) -> None:
    made = sections("vansteenkiste2019", toy_study("vansteenkiste2019"))
    puzzles = [content for content in made["Figures 18 to 20"].contents if isinstance(content, Picture)]
    assert [picture.caption.partition(": ")[2] for picture in puzzles] == [
        "1 factor fixed in each row.",
        "2 factors fixed in each row.",
        "3 factors fixed in each row.",
    ]
    seventh = made["Figure 7"]
    assert len(drawings(seventh)) == 1 and "by model; a dot is a run" in words(seventh)
    pictures = [content.caption for content in seventh.contents if isinstance(content, Picture)]
    assert [caption.partition(", ")[2].partition(" ")[0] for caption in pictures] == ["best", "middle", "worst"]
    made = sections("duan2020", toy_study("duan2020"))
    titles = [drawing.caption for drawing in drawings(made["Figures 4 and 5"])]
    assert len(titles) == 4 and "columns those of another seed" in words(made["Figures 4 and 5"])
    assert all("runs" in title and "UDR of the first" in title for title in titles)


def test_inputs_that_are_not_learnt_stand_beside_representations(toy_study: Toy, tmp_path: Path) -> None:
    study = toy_study("vansteenkiste2019")
    result = next(iter(Own([study]).task_results("reasoning").values()))
    onehot = replace(result, source="", settings={**result.settings, "input": "onehot"})
    made = sections("vansteenkiste2019", study, onehot.write(tmp_path / "onehot.json"))["Figures 2 and 11"]
    (grid,) = grids(made)
    assert column(grid, "input") == ["representation", "onehot"] and column(grid, "reasoners") == [8, 1]
    assert "integer, cnn" in words(made) and "--input integer" in words(made)


def test_what_a_study_lacks_is_said_with_the_field_that_gives_it(toy_study: Toy) -> None:
    made = sections("schott2022", toy_study("duan2020"))
    assert "tasks: {generalisation: {}}" in words(made["Tables 5 to 10"])
    made = sections("duan2020", toy_study("schott2022"))
    assert "ranking: {methods: [udr_lasso, udr_spearman]" in words(made["Table 1"])
    made = sections("mahon2024", toy_study("vansteenkiste2019"))
    assert "tasks: {combinations: {}}" in words(made["Table 3"])
    made = sections("vansteenkiste2019", toy_study("mahon2024"))
    assert "tasks: {reasoning: {" in words(made["Figures 2 and 11"])


@pytest.mark.parametrize("paper", PAPERS)
def test_a_study_of_another_paper_makes_no_figure_crash(paper: str, toy_study: Toy) -> None:
    for other in ("mahon2024", "vansteenkiste2019"):
        assert len(sections(paper, toy_study(other))) == len(FIGURES[paper])


def test_tables_of_xie2022_have_one_row_a_model_training_set_and_way_to_tidy_slots(toy_study: Toy) -> None:
    made = sections("xie2022", toy_study("xie2022"))
    own, published = grids(made["Table 1"])
    tidied = ["", " without duplicates", " without duplicates and invisible slots"]
    slots = [f"slot_attention ({name}){words}" for name in ("IID", "CORR") for words in tidied]
    assert column(own, "representation") == [*slots, "beta_tc_vae (IID)", "pixels"]
    assert set(column(own, "corpus")) == {"toy"}
    assert all("(2)" in str(row[3]) for row in own.rows[:-1]) and "(2)" in str(own.rows[0][2])  # seeds, and FG-ARI
    assert own.rows[-2][2] is None and "77.07 ± 0.72" in column(published, "L2-COAT")
    own, published = grids(made["Table 2"])
    assert column(own, "representation") == [*slots, "beta_tc_vae (IID)"] and "2.37 ± 1.76" in column(
        published, "TRE"
    )
    assert column(own, "TRE")[0] != column(own, "TRE")[1]  # duplicates were there


def test_curves_of_xie2022_are_of_runs_that_were_measured_while_they_trained(tmp_path: Path) -> None:
    write_scenes(tmp_path / "scenes", SceneSet("black_sprites", n=16, size=32))
    corpus = toy_corpus(tmp_path / "corpus", n=16, size=32)
    for seed in range(2):
        fields = {"steps": 4, "batch_size": 4, "seed": seed, "world": str(tmp_path / "scenes")}
        spec = RunSpec(model="slot_attention", options=OBJECTS, **fields)
        train(spec, tmp_path / "runs", meters=[coat_meter(corpus.folder, open_world(spec.world), None, every=2)])
    made = sections("xie2022", tmp_path / "runs")
    assert len(drawings(made["Figures A5 to A17"])) >= 2 and "unknot task algebra RUN" in words(made["Table 1"])


def test_xie2022_without_results_says_what_makes_them(toy_study: Toy) -> None:
    made = sections("xie2022", toy_study("duan2020"))
    assert "unknot task algebra RUN" in words(made["Table 1"])
    assert "unknot train --coat CORPUS" in words(made["Figures A5 to A17"])


def test_what_is_neither_study_nor_run_nor_result_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknotError, match="holds no study, no run and no result"):
        Own([tmp_path])
    with pytest.raises(UnknotError, match="no such file"):
        Own([tmp_path / "nothing.json"])
    with pytest.raises(Lacks, match="no study"):
        Own([]).table.head()


def test_results_in_a_folder_are_found_among_other_files(tmp_path: Path) -> None:
    TaskResult("reasoning", "one", "shapes3d", {"accuracy": 0.5}).write(tmp_path / "reasoning-one.json")
    (tmp_path / "other.json").write_text("{}")
    assert [result.source for _, result in Own([tmp_path]).all_results("reasoning")] == ["one"]


def test_a_rendered_world_stands_in_for_its_dataset() -> None:
    assert published_world("shapes3d_rendered") == "shapes3d" and published_world("shapes3d") == "shapes3d"


def test_the_reconstruction_error_of_a_run_is_that_of_its_last_step(toy_study: Toy) -> None:
    run = Run(next((toy_study("duan2020") / "runs").iterdir()))
    assert run.reconstruction_error == run.curve()["reconstruction"].iloc[-1]
