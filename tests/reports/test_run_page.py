"""The page of a run, and of a scorecard."""

import base64
import json
import math
import re
import shlex
import shutil
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from unknot.cli import app
from unknot.errors import UnknotError
from unknot.reports.commands import score_command, train_command
from unknot.reports.run_page import write_run_page
from unknot.reports.score_page import in_words, read_scores, write_score_page
from unknot.runs.run import Run
from unknot.scoring.kept_scores import keep_scores
from unknot.scoring.scoring import score
from unknot.tasks import TaskResult
from unknot.tasks.kept_results import keep_result

NASTY = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.fixture
def copy(trained: Path, tmp_path: Path) -> Path:
    """A run that a test may change."""
    return Path(shutil.copytree(trained, tmp_path / "runs" / trained.name))


def test_the_page_of_a_run_shows_what_its_folder_holds(trained: Path, tmp_path: Path) -> None:
    html = write_run_page(tmp_path / "page.html", trained).read_text()
    record = json.loads((trained / "scores.json").read_text())
    assert f'data-value="{record["scores"]["mig[bins=20]"]["value"]!r}"' in html
    for verdict in record["verdicts"]:
        assert verdict["text"] in html
    for name in ("reconstructions.png", "traversals.png", "traversals.gif"):
        assert base64.b64encode((trained / "pictures" / name).read_bytes()).decode() in html
    for term in (*Run(trained).curve().columns.drop("step"), "KL by latent"):
        assert f'aria-label="{term}"' in html
    assert "which latent knows which factor" in html


def test_the_command_of_a_run_trains_the_very_same_run(trained: Path) -> None:
    command = train_command(Run(trained).spec, trained.parent)
    done = CliRunner().invoke(app, list(command.words[1:]))
    assert done.exit_code == 0, done.output
    assert str(trained) in done.output
    assert "already trained" in done.output


def test_the_command_of_a_score_makes_that_score(trained: Path, tmp_path: Path) -> None:
    record = read_scores(trained / "scores.json")
    words = shlex.split(score_command([str(trained / "latents.npz")], "mig[bins=20]").text)
    done = CliRunner().invoke(app, [*words[1:], "--json", str(tmp_path / "again.json")])
    assert done.exit_code == 0, done.output
    again = json.loads((tmp_path / "again.json").read_text())
    assert again["scores"]["mig[bins=20]"]["value"] == record["scores"]["mig[bins=20]"]["value"]


def test_what_a_run_lacks_is_named_with_the_command_that_makes_it(copy: Path, tmp_path: Path) -> None:
    shutil.rmtree(copy / "pictures")
    for name in ("scores.json", "latents.npz", "curve.parquet", "kl.parquet", "weights.safetensors"):
        (copy / name).unlink()
    html = write_run_page(tmp_path / "page.html", copy).read_text()
    assert f"Not scored yet: unknot score {copy}" in html
    assert f"unknot encode {copy} --pictures" in html
    assert "not finished yet" in html


def test_a_hinton_picture_serves_where_there_are_no_scores(copy: Path, tmp_path: Path) -> None:
    (copy / "scores.json").unlink()
    (copy / "pictures" / "hinton.png").write_bytes(b"\x89PNG hinton")
    html = write_run_page(tmp_path / "page.html", copy).read_text()
    assert base64.b64encode(b"\x89PNG hinton").decode() in html


def test_names_from_a_run_s_files_cannot_become_markup(copy: Path, tmp_path: Path) -> None:
    record = json.loads((copy / "scores.json").read_text())
    for verdict in record["verdicts"]:
        verdict["factor"] = verdict["text"] = NASTY
    record["scores"][NASTY] = record["scores"].pop("mig[bins=20]")
    (copy / "scores.json").write_text(json.dumps(record))
    about = json.loads((copy / "run.json").read_text())
    about["started"] = NASTY
    about["spec"]["world"] = NASTY
    about["spec"]["options"] = {NASTY: NASTY}
    (copy / "run.json").write_text(json.dumps(about))
    html = write_run_page(tmp_path / "page.html", copy).read_text()
    assert html.count("<script>") == 1
    assert "<img src=x" not in html
    html = write_score_page(tmp_path / "scores.html", record, [NASTY]).read_text()
    assert html.count("<script>") == 1
    assert "<img src=x" not in html


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"scores": 3}', '{"scores": {"mig": 1}, "input": {}, "parameters": {}}']
)
def test_damaged_scores_are_an_error_that_says_how_to_make_them_again(copy: Path, text: str) -> None:
    (copy / "scores.json").write_text(text)
    with pytest.raises(UnknotError, match=r"cannot be read as a record of scores .* unknot score"):
        read_scores(copy / "scores.json")


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (["input", "files", 0, "name"], None),
        (["verdicts", 0, "factor"], 3),
        (["verdicts", 0, "share"], "0.2"),
        (["scores", "mig[bins=20]", "value"], "0.5"),
        (["scores", "mig[bins=20]", "value"], True),
        (["seed"], "x"),
    ],
)
def test_a_wrong_value_inside_of_scores_is_named(copy: Path, at: list[Any], value: Any) -> None:
    record = json.loads((copy / "scores.json").read_text())
    place = record
    for key in at[:-1]:
        place = place[key]
    place[at[-1]] = value
    (copy / "scores.json").write_text(json.dumps(record))
    with pytest.raises(UnknotError, match=rf"record of scores .*{at[-1]}"):
        read_scores(copy / "scores.json")


def test_an_infinite_value_of_scores_is_read_and_shown(copy: Path, tmp_path: Path) -> None:
    record = json.loads((copy / "scores.json").read_text())
    record["scores"]["mig[bins=20]"]["value"] = "-inf"
    record["input"]["kinds"] = {"scale": "continuous"}
    (copy / "scores.json").write_text(json.dumps(record))
    html = write_score_page(tmp_path / "page.html", read_scores(copy / "scores.json"), ["run"]).read_text()
    assert "--kinds scale=continuous" in html and "Factor scale was scored as continuous" in html


def test_scores_of_other_latents_or_settings_have_a_section_of_their_own(copy: Path, tmp_path: Path) -> None:
    run = Run(copy)
    for seed in (0, 3):
        keep_scores(run, score(run.latents, metrics=["mig"], limit=200, seed=seed), run.latents)
    html = unescape(write_run_page(tmp_path / "page.html", copy).read_text())
    titles = re.findall("<h2>(Scores.*)</h2>", html)
    assert titles[0] == "Scores"
    assert set(titles[1:]) == {
        "Scores of latents.npz, at most 200 rows",
        "Scores of latents.npz, seed 3, at most 200 rows",
    }
    assert all(f"{path.name}: " in html for path in run.scores[1:])
    assert f"unknot score {run.latents} --metrics 'mig[bins=20]' --seed 3 --limit 200" in html


def test_tasks_are_shown_and_what_is_missing_is_named(
    copy: Path, task_results: dict[str, TaskResult], tmp_path: Path
) -> None:
    assert f"unknot task NAME {copy}" in write_run_page(tmp_path / "page.html", copy).read_text()
    fair = task_results["fairness"]
    keep_result(Run(copy), fair)
    fair.write(copy / "tasks" / "fairness-of_a_study.json")  # the same settings are shown once
    html = write_run_page(tmp_path / "page.html", copy).read_text()
    assert html.count("<h2>Task: ") == html.count('aria-label="latents"') == 1
    assert "None has been run yet" not in html


def test_several_results_of_a_task_stand_side_by_side_and_say_what_differs(
    copy: Path, task_results: dict[str, TaskResult], tmp_path: Path
) -> None:
    puzzles = task_results["reasoning"]
    for changed in ({}, {"relations": 1}, {"relations": 1, "seed": 3}):
        keep_result(Run(copy), replace(puzzles, settings=puzzles.settings | changed))
    keep_result(Run(copy), replace(puzzles, world="elsewhere"))
    html = write_run_page(tmp_path / "page.html", copy).read_text()
    (section,) = re.findall('<section id="task--reasoning">(.*?)</section>', html, re.DOTALL)
    assert set(re.findall("<summary>\\d: (.*)</summary>", section)) == {
        f"relations mixed, seed 0 on {puzzles.world}",
        f"relations 1, seed 0 on {puzzles.world}",
        f"relations 1, seed 3 on {puzzles.world}",
        "relations mixed, seed 0 on elsewhere",
    }
    assert section.count('aria-label="Accuracy over training"') == 4


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "cannot be read as JSON"),
        ("[]", "is no result of a task"),
        ('{"task": "page", "source": "", "world": "", "values": {}}', "is no result of a task"),
        ('{"task": "fairness", "source": "", "world": "", "values": {}, "settings": 3}', "is no result of a task"),
        (
            '{"task": "fairness", "source": "", "world": "", "values": {}, "tables": {"pairs": [{}]}}',
            "cannot be drawn (KeyError",
        ),
        ('{"task": "algebra", "source": "", "world": "", "values": {}, "tables": 3}', "is no result of a task"),
    ],
)
def test_a_damaged_result_is_named_on_the_page_and_costs_no_other(
    copy: Path, task_results: dict[str, TaskResult], tmp_path: Path, text: str, complaint: str
) -> None:
    keep_result(Run(copy), task_results["fairness"])
    (copy / "tasks" / "by_hand" / "damaged.json").write_text(text)
    html = unescape(write_run_page(tmp_path / "page.html", copy).read_text())
    assert "Task: fairness" in html
    assert f"{copy / 'tasks' / 'by_hand' / 'damaged.json'}: {complaint}" in html


def test_a_result_of_weights_that_are_no_more_is_not_shown(
    copy: Path, task_results: dict[str, TaskResult], tmp_path: Path
) -> None:
    fair = task_results["fairness"]
    for weights, shown in ((Run(copy).weights_hash, True), ("others", False)):
        about = {"encoder": {"kind": "run", "weights": weights}}
        keep_result(Run(copy), replace(fair, settings=fair.settings | about))  # in place of the one before
        html = write_run_page(tmp_path / "page.html", copy).read_text()
        assert ("<h2>Task: fairness</h2>" in html) == shown == ("weights that the run no longer has" not in html)


def test_factors_are_sorted_into_clearly_partly_and_not_known() -> None:
    verdicts = [
        {"factor": name, "share": share, "text": ""}
        for name, share in (("a", 0.9), ("b", 0.5), ("c", 0.0), ("d", None))
    ]
    (text,) = in_words({"verdicts": verdicts})
    assert text == "a is captured by a single latent, b in part, c and d are not."


def test_a_scorecard_without_factors_has_a_page(tmp_path: Path) -> None:
    import numpy as np

    np.savez(tmp_path / "latents.npz", latents=np.random.default_rng(0).normal(size=(300, 3)))
    words = ["score", str(tmp_path / "latents.npz"), "--html", str(tmp_path / "page.html")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "Without factors, only metrics that need none" in (tmp_path / "page.html").read_text()


def test_score_writes_a_page_with_values_commands_and_files(tmp_path: Path) -> None:
    from unknot.examples import example_file

    words = ["score", str(example_file()), "--metrics", "mig,sap[regression]", "--limit", "2000", "--seed", "3"]
    done = CliRunner().invoke(
        app, [*words, "--html", str(tmp_path / "p.html"), "--json", str(tmp_path / "s.json")]
    )
    assert done.exit_code == 0, done.output
    html = unescape((tmp_path / "p.html").read_text())
    record = json.loads((tmp_path / "s.json").read_text())
    assert f'data-value="{record["scores"]["sap[regression]"]["value"]!r}"' in html
    assert f"unknot score {example_file()} --metrics 'sap[regression]' --seed 3 --limit 2000" in html
    assert record["input"]["files"][0]["sha256"] in html


def test_tables_and_facts_of_other_shapes_cost_the_page_nothing_else(copy: Path, tmp_path: Path) -> None:
    run = Run(copy)
    run.note(coat="none")
    run.write_table("coat", [{"step": 1, "l2_coat": 0.5}])
    run.write_table("curve", [{"step": step, "loss": 1.0} for step in (math.nan, math.inf, -1.0)])
    run.write_table("starts", [{"seed": 1, "udr": 0.5, "informative": math.nan, "kept": 1}])
    run.picture("traversals").parent.mkdir(exist_ok=True)
    run.picture("traversals").write_bytes(b"no picture")
    page = write_run_page(tmp_path / "page.html", copy).read_text()
    assert "on ? tuples of the corpus" in page
    assert "Starts, compared without labels" not in page
