"""`unknot papers`, as a user runs it."""

import csv
import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from unknot.cli import app, main
from unknot.papers import PAPERS, tables
from unknot.reports.papers import recompute
from unknot.tasks.result import TaskResult

NARROW = CliRunner(env={"COLUMNS": "80"})


def test_all_papers_are_listed() -> None:
    listed = NARROW.invoke(app, ["papers"])
    assert listed.exit_code == 0, listed.output
    assert set(PAPERS) <= set(listed.output.split())


@pytest.mark.parametrize("key", PAPERS)
def test_a_paper_is_shown_with_all_that_is_here(key: str) -> None:
    shown = NARROW.invoke(app, ["papers", key])
    assert shown.exit_code == 0, shown.output
    words, paper = " ".join(shown.output.split()), PAPERS[key]
    assert paper.citation in words
    assert paper.question in words
    names = (*paper.metrics, *paper.models, *paper.tasks, *paper.worlds, *paper.commands, paper.full, paper.small)
    assert [name for name in names if name not in words] == []
    assert all(len(line) <= 80 for line in shown.output.splitlines())


def test_bibtex_can_be_had_of_one_paper_or_of_all() -> None:
    one = NARROW.invoke(app, ["papers", "duan2020", "--bibtex"]).output
    assert one == PAPERS["duan2020"].bibtex + "\n"
    assert NARROW.invoke(app, ["papers", "--bibtex"]).output.count("@") == len(PAPERS)


def test_an_old_name_ends_in_one_message_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["unknot", "papers", "S1"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert capsys.readouterr().err == "unknot: papers: S1 is now called duan2020.\n"


def refused(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: str) -> str:
    """What a command that ends with exit code 2 says."""
    monkeypatch.setattr(sys, "argv", ["unknot", "papers", *words])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("key", PAPERS)
def test_a_paper_is_shown_with_its_claims_and_tables(key: str) -> None:
    words = " ".join(NARROW.invoke(app, ["papers", key]).output.split())
    assert "Its claims, by its own tables" in words
    for claim in recompute(key).claims:
        assert claim.why in words and claim.verdict in words
    assert [name for name in tables(key) if name not in words] == []


def test_a_table_is_printed_with_its_doubts_as_notes() -> None:
    shown = NARROW.invoke(app, ["papers", "xie2022", "--table", "table1"])
    assert shown.exit_code == 0, shown.output
    words = " ".join(shown.output.split())
    assert "Xie et al. 2022, Table 1" in words and "standard error over five seeds" in words
    assert "83.84" in words and "is an inference" in words and "[6]" in words
    assert all(len(line) <= 80 for line in shown.output.splitlines())


def test_a_table_is_written_as_csv_and_json(tmp_path: Path) -> None:
    both = ["--csv", str(tmp_path / "t.csv"), "--json", "-"]
    done = NARROW.invoke(app, ["papers", "schott2022", "--table", "table5", *both])
    assert done.exit_code == 0, done.output
    records = json.loads(done.stdout)
    rows = list(csv.DictReader((tmp_path / "t.csv").read_text(encoding="utf-8").splitlines()))
    assert len(records) == len(rows) == 68
    assert (records[0]["value"], rows[0]["value"], rows[0]["source"]) == (
        78.2,
        "78.2",
        "Schott et al. 2022, Table 5",
    )


def test_facts_and_claims_are_written_as_json() -> None:
    (record,) = json.loads(NARROW.invoke(app, ["papers", "duan2020", "--json", "-"]).stdout)
    assert record["citation"] == PAPERS["duan2020"].citation and "table7" in record["tables"]
    assert {claim["verdict"] for claim in record["claims"]} == {"holds", "holds in part", "cannot be checked"}


def test_recomputed_tables_are_shown_and_written_as_a_page(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = NARROW.invoke(app, ["papers", "duan2020", "--recompute", "--html", str(page)])
    assert done.exit_code == 0, done.output
    assert "mean of Table 1" in " ".join(done.output.split()) and str(page.name) in done.output
    assert "How firm is each claim?" in page.read_text(encoding="utf-8")


def test_wrong_words_get_the_nearest_name_or_what_is_missing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = ["schott2022", "--table", "tabel5"]
    assert "unknown table of schott2022 'tabel5'; did you mean 'table5'?" in refused(capsys, monkeypatch, *wrong)
    assert "did you mean 'duan2020'?" in refused(capsys, monkeypatch, "duan202")
    assert "papers: --recompute is of one paper; name it" in refused(capsys, monkeypatch, "--recompute")
    assert "papers: --csv writes a table; name it" in refused(capsys, monkeypatch, "duan2020", "--csv", "-")
    twice = ["duan2020", "--table", "table1", "--csv", "-", "--json", "-"]
    assert "--csv and --json both write to standard output" in refused(capsys, monkeypatch, *twice)


def test_results_of_ones_own_stand_in_the_tables_of_the_paper(tmp_path: Path) -> None:
    curve = [
        {"draw": d, "step": s, "accuracy": a}
        for d, s, a in ((0, 10, 0.25), (0, 20, 0.5), (1, 10, 0.25), (1, 20, 1))
    ]
    result = TaskResult("reasoning", "", "shapes3d", {}, {"curve": curve}, {"input": "onehot"})
    file = result.write(tmp_path / "onehot.json")
    shown = NARROW.invoke(app, ["papers", "vansteenkiste2019", "--study", str(file)])
    assert shown.exit_code == 0, shown.output
    words = " ".join(shown.output.split())
    assert "0.750 ± 0.354 (2)" in words and "no reasoner saw integer, cnn" in words
    assert "This cannot be made: there is no study" in words
    page = NARROW.invoke(
        app, ["papers", "vansteenkiste2019", "--study", str(file), "--html", str(tmp_path / "p.html")]
    )
    assert page.exit_code == 0 and "accuracy over training" in (tmp_path / "p.html").read_text(encoding="utf-8")


def test_a_study_is_of_one_paper(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert "--study is of one paper; name it" in refused(capsys, monkeypatch, "--study", "somewhere")
