"""`unknot study` and `unknot results`, as a user runs them."""

import html
import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from io import StringIO
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from unknot.cli import app, main
from unknot.errors import UnknotError
from unknot.reports.study_page import write_study_page
from unknot.studies.plan import PlannedRun
from unknot.studies.spec import preset_names

TINY = """\
name: tiny
worlds: dsprites_rendered
models:
  beta_vae: {beta: [1, 4]}
seeds: 2
steps: 12
image_size: 32
batch_size: 8
rows: 120
metrics: [mig, sap]
ranking: [udr_spearman]
"""


def _command(*words: object) -> list[str]:
    return [sys.executable, "-m", "unknot", *map(str, words)]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny study, run to its end without disturbance."""
    folder = tmp_path_factory.mktemp("cli")
    (folder / "tiny.yaml").write_text(TINY)
    words = ["study", folder / "tiny.yaml", "-o", folder / "out", "--jobs", "2"]
    logged = ["--log", f"tensorboard:{folder / 'tensorboard'}"]
    done = subprocess.run(_command(*words, *logged), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(list((folder / "tensorboard").glob("beta_vae,_beta_4,_seed_1/events*"))) == 1
    assert done.stdout.splitlines()[-1] == str(folder / "out")
    assert "train done: beta_vae, beta 4, dsprites_rendered, seed 1" in done.stderr
    assert "4 of 4 runs done" in done.stderr
    return folder / "out"


def _same_tables(one: Path, other: Path) -> None:
    for name in ("runs", "scores", "ranks"):
        tables = [pd.read_parquet(folder / "tables" / f"{name}.parquet") for folder in (one, other)]
        first, second = (t.drop(columns=["minutes", "seconds"], errors="ignore") for t in tables)
        pd.testing.assert_frame_equal(first, second, check_exact=True)


@pytest.fixture
def killable() -> Iterator[list[subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []
    yield started
    for process in started:
        process.kill()
        process.communicate()


def _files(folder: Path) -> set[tuple[str, int]]:
    """The results there are, and when they were written."""
    found = set()
    for name in ("checkpoint.pt", "weights.safetensors", "latents.npz", "scores.json"):
        for path in folder.glob(f"runs/*/{name}"):
            with suppress(OSError):  # a finished run's checkpoint is removed
                found.add((str(path), path.stat().st_mtime_ns))
    return found


def test_the_command_beside_a_run_repeats_its_scores_exactly(study: Path, tmp_path: Path) -> None:
    page = write_study_page(tmp_path / "page.html", study).read_text(encoding="utf-8")
    commands = [
        shlex.split(html.unescape(text)) for text in re.findall(r"<code>(unknot score [^<]*)</code>", page)
    ]
    commands = [
        words for words in commands if "METRIC" not in words and "," in words[words.index("--metrics") + 1]
    ]
    scores = pd.read_parquet(study / "tables" / "scores.parquet")
    assert len(commands) == scores["id"].nunique() == 4, "one for each run"
    before = {path: path.read_bytes() for path in study.rglob("*.*") if path.is_file()}
    for words in commands:
        done = CliRunner().invoke(app, [*words[1:], "--json", "-"])
        assert done.exit_code == 0, done.output
        repeated = {id_: score["value"] for id_, score in json.loads(done.stdout)["scores"].items()}
        mine = scores[(scores["id"] == Path(words[2]).parent.name) & (scores["part"] == "")]
        assert repeated == dict(zip(mine["metric"], mine["value"], strict=True))
    assert {path: path.read_bytes() for path in study.rglob("*.*") if path.is_file()} == before, (
        "nothing is undone"
    )


def test_killed_at_three_random_moments_a_study_ends_with_the_same_tables(
    tmp_path: Path, study: Path, killable: list[subprocess.Popen[str]]
) -> None:
    words = _command(
        "study", study.parent / "tiny.yaml", "-o", tmp_path / "out", "--jobs", 2, "--checkpoint-every", 3
    )
    rng, kills = random.Random(0), 0
    while kills < 3:
        before = _files(tmp_path / "out")
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
        killable.append(process)
        while _files(tmp_path / "out") == before and process.poll() is None:
            time.sleep(0.02)
        time.sleep(rng.uniform(0.0, 1.5))  # after its first result, somewhere in the work for the next ones
        if process.poll() is not None:
            break  # a fast machine is done before it can be killed three times
        process.kill()
        process.wait()
        kills += 1
    assert kills > 0
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    _same_tables(tmp_path / "out", study)
    assert not list((tmp_path / "out").rglob(".*.part"))


def test_ctrl_c_and_sigterm_say_how_to_go_on_and_the_same_command_does(
    tmp_path: Path, study: Path, killable: list[subprocess.Popen[str]]
) -> None:
    words = _command("study", study.parent / "tiny.yaml", "-o", tmp_path / "out", "--jobs", 1)
    (tmp_path / "tmp").mkdir()
    for sign in (signal.SIGINT, signal.SIGTERM):
        process = subprocess.Popen(
            words,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
        )
        killable.append(process)
        assert process.stderr is not None
        for line in process.stderr:
            if "train done" in line:
                process.send_signal(sign)
                break
        _, said = process.communicate()
        assert process.returncode == 130
        assert "stopped; the same command goes on" in said
        assert "Traceback" not in said
        assert not list((tmp_path / "tmp").glob("unknot-*"))
        assert "waiting" in set(pd.read_parquet(tmp_path / "out" / "tables" / "runs.parquet")["status"])
    assert subprocess.run(words, capture_output=True).returncode == 0
    _same_tables(tmp_path / "out", study)


def test_a_dry_run_shows_the_plan_and_writes_nothing(tmp_path: Path, study: Path) -> None:
    file = tmp_path / "more.yaml"
    file.write_text(TINY.replace("seeds: 2", "seeds: 3"))
    before = sorted(study.rglob("*"))
    done = CliRunner().invoke(app, ["study", str(file), "-o", str(study), "--dry-run", "--jobs", "2"])
    assert done.exit_code == 0, done.output
    assert "tiny: 6 runs" in done.output
    assert re.search(r"train +4 +2", done.output)
    assert re.search(r"score +4 +2", done.output)
    assert "training at the speed of finished runs; scoring as timed in finished runs" in done.output
    assert sorted(study.rglob("*")) == before


def test_a_dry_run_counts_no_ranking_of_too_few_runs(tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(TINY.replace("seeds: 2", "seeds: 1").replace("[1, 4]", "1"))
    done = CliRunner().invoke(
        app, ["study", str(tmp_path / "tiny.yaml"), "-o", str(tmp_path / "out"), "--dry-run"]
    )
    assert re.search(r"rank +0 +0", done.output), done.output


def test_a_dry_run_of_a_new_study_tries_the_speed_of_training(tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(TINY.replace("steps: 12", "steps: 100000"))
    done = CliRunner().invoke(
        app, ["study", str(tmp_path / "tiny.yaml"), "-o", str(tmp_path / "out"), "--dry-run"]
    )
    assert done.exit_code == 0, done.output
    assert "training at the speed of 1 short trial" in done.output
    assert re.search(r"about \d+ (min|h)", done.output)
    assert not (tmp_path / "out").exists()


def test_the_plan_of_a_published_study_is_shown_without_its_data(tmp_path: Path) -> None:
    done = CliRunner().invoke(
        app, ["study", "vansteenkiste2019", "-o", str(tmp_path / "out"), "--dry-run", "--data", str(tmp_path)]
    )
    assert done.exit_code == 0, done.output
    assert "vansteenkiste2019: 360 runs" in done.output
    assert (
        "without training and encoding 360 runs on worlds that are not here, the task reasoning, ranking"
        in done.output
    )
    assert "in all" not in done.output


def test_a_dry_run_of_thousands_of_runs_compares_no_two_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compared(run: PlannedRun, other: object) -> bool:
        raise AssertionError("looks for a run among all others")

    monkeypatch.setattr(PlannedRun, "__eq__", compared)
    words = ["study", "schott2022", "-o", str(tmp_path / "out"), "--dry-run", "--data", str(tmp_path)]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert "schott2022: 3664 runs" in done.output
    assert re.search(r"dsprites +random +beta_vae +6 +10 +60", done.output), done.output


def test_the_studies_that_ship_are_listed_and_shown() -> None:
    listed = CliRunner().invoke(app, ["study", "--list"])
    assert listed.exit_code == 0
    assert set(preset_names()) <= set(listed.output.split())
    shown = CliRunner().invoke(app, ["study", "duan2020_small", "--show"])
    assert shown.output.startswith("name: duan2020_small\n")


def test_a_study_file_is_shown_so_that_nothing_in_it_is_obeyed(tmp_path: Path) -> None:
    path = tmp_path / "odd.yaml"
    text = "name: odd  # right \u202eto left\nworlds: [dsprites_rendered]\nmodels: {beta_vae: {}}\nseeds: 1\n"
    path.write_text(text, encoding="utf-8")
    shown = CliRunner().invoke(app, ["study", str(path), "--show"])
    assert shown.output == text.replace("\u202e", "\\u202e")


def test_a_study_made_under_the_old_name_of_its_paper_goes_on(tmp_path: Path, study: Path) -> None:
    old, words = tmp_path / "s1_tiny", ["-o", str(tmp_path / "s1_tiny")]
    shutil.copytree(study, old)
    record = json.loads((old / "study.json").read_text())
    (old / "study.json").write_text(json.dumps(record | {"name": "s1_tiny"}))
    read = CliRunner().invoke(app, ["results", str(old)])
    assert read.exit_code == 0, read.output
    assert len(read.output.splitlines()) == 5
    report = CliRunner().invoke(app, ["report", str(old), "-o", str(tmp_path / "page.html")])
    assert report.exit_code == 0, report.output
    (tmp_path / "tiny.yaml").write_text(TINY.replace("name: tiny", "name: duan2020_tiny"))
    done = CliRunner().invoke(app, ["study", str(tmp_path / "tiny.yaml"), *words, "--jobs", "1"])
    assert done.exit_code == 0, done.output
    assert "4 of 4 runs done" in done.output
    said = " ".join(done.output.split())
    assert "the best mean place" in said and "shows all of it as a page" in said
    assert json.loads((old / "study.json").read_text())["name"] == "duan2020_tiny"


def _refused(*words: object, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "argv", ["unknot", *map(str, words)])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    return capsys.readouterr().err


def test_mistakes_end_in_one_message_and_exit_code_2(
    tmp_path: Path, study: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file.yaml"

    def refused(text: str, *words: object) -> str:
        file.write_text(text)
        return _refused("study", file, *words, capsys=capsys, monkeypatch=monkeypatch)

    out = ("-o", tmp_path / "out")
    assert "line 6: unknown field of a study 'stepps'; did you mean 'steps'" in refused(
        TINY.replace("steps: 12", "stepps: 12"), *out
    )
    assert "line 5: seeds has no values" in refused(TINY.replace("seeds: 2", "seeds: []"), *out)
    assert "line 4: unknown model 'beta_vea'" in refused(TINY.replace("beta_vae", "beta_vea"), *out)
    assert "line 10: unknown metric 'mog'" in refused(TINY.replace("mig", "mog"), *out)
    assert "line 2: unknown world 'dsprites_renderd'" in refused(TINY.replace("rendered", "renderd"), *out)
    assert "line 4: unknown option of beta_vae 'gamma'" in refused(TINY.replace("beta: [", "gamma: ["), *out)
    assert "belongs to the study 'tiny'" in refused(TINY.replace("name: tiny", "name: big"), "-o", study)
    assert "unknown engine 'ry'" in refused(TINY, *out, "--engine", "ry")
    assert "device 'cuda" in refused(TINY, *out, "--device", "cuda:99")
    assert "retries is -1" in refused(TINY, *out, "--retries", "-1")
    assert "name a study file" in _refused("study", capsys=capsys, monkeypatch=monkeypatch)
    assert "no such file" in _refused("study", tmp_path / "no.yaml", capsys=capsys, monkeypatch=monkeypatch)
    assert "is no study" in _refused("results", tmp_path, capsys=capsys, monkeypatch=monkeypatch)
    assert "unknown format 'cvs'" in _refused(
        "results", study, "--format", "cvs", capsys=capsys, monkeypatch=monkeypatch
    )
    assert "name a file with --output" in _refused(
        "results", study, "--format", "parquet", capsys=capsys, monkeypatch=monkeypatch
    )
    assert not (tmp_path / "out").exists()


def test_results_are_one_row_a_run_and_one_column_a_metric_in_every_format(study: Path, tmp_path: Path) -> None:
    def results(*words: object) -> str:
        done = CliRunner().invoke(app, ["results", str(study), *map(str, words)])
        assert done.exit_code == 0, done.output
        return done.stdout

    table = pd.read_csv(StringIO(results()))
    assert len(table) == 4
    assert {"id", "setting", "seed", "option.beta", "mig[bins=20]", "udr_spearman/all"} <= set(table.columns)
    scores = pd.read_parquet(study / "tables" / "scores.parquet")
    one = scores[(scores["id"] == table["id"][2]) & (scores["metric"] == "mig[bins=20]") & (scores["part"] == "")]
    assert table["mig[bins=20]"][2] == pytest.approx(float(one["value"].iloc[0]), abs=1e-12)
    assert json.loads(results("--format", "json"))[1]["seed"] == 1
    markdown = results("--format", "markdown").splitlines()
    assert len(markdown) == 6
    assert "| beta 4 |" in markdown[4]
    latex = results("--format", "latex")
    assert latex.count(r"\\") == 5
    assert r"dsprites\_rendered" in latex
    results("-o", tmp_path / "table.parquet")
    assert pd.read_parquet(tmp_path / "table.parquet")["id"].tolist() == table["id"].tolist()
    results("-o", tmp_path / "table.md")
    assert (tmp_path / "table.md").read_text().splitlines() == markdown


def test_a_study_is_ranked_by_the_latents_that_are_there(study: Path) -> None:
    before = sorted(study.rglob("*.npz"))
    for place in (study, study / "runs"):
        done = CliRunner().invoke(app, ["rank", str(place), "--method", "spearman", "--json", "-"])
        assert done.exit_code == 0, done.output
        record = json.loads(done.stdout)
        assert len(record["models"]) == 4 and record["parameters"]["rows"] == 120
    assert sorted(study.rglob("*.npz")) == before


def test_results_are_written_to_no_file_of_an_unknown_form(study: Path, tmp_path: Path) -> None:
    for name in ("out.xlsx", "out.txt", "out"):
        done = CliRunner().invoke(app, ["results", str(study), "-o", str(tmp_path / name)])
        assert isinstance(done.exception, UnknotError)
        assert "ends in none of .csv, .parquet, .md, .tex, .json" in str(done.exception)
    done = CliRunner().invoke(app, ["results", str(study), "-o", str(tmp_path / "out.txt"), "--format", "csv"])
    assert done.exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]


def test_a_failed_run_is_reported_with_its_log_and_exit_code_1(tmp_path: Path) -> None:
    text = TINY.replace("beta: [1, 4]", "beta: 1e+30").replace("seeds: 2", "seeds: 1")
    (tmp_path / "bad.yaml").write_text(text.replace("lr: 1e-3", "lr: 1e+3"))
    words = _command("study", tmp_path / "bad.yaml", "-o", tmp_path / "out", "--jobs", 1, "--retries", 0)
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert "failed: train beta_vae" in done.stderr
    log = Path(re.search(r"log: (\S+)", done.stderr)[1])
    assert log.parent == tmp_path / "out" / "logs"
    assert "Traceback" in log.read_text()
    runs = pd.read_parquet(tmp_path / "out" / "tables" / "runs.parquet")
    assert runs["status"].tolist() == ["failed"]
    assert runs["error"][0].startswith("train: ")
