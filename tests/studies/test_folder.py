"""A study's folder, as all who read it see it."""

import json
from pathlib import Path

import pandas as pd
import pytest

from unknot.errors import UnknotError, UnknotWarning
from unknot.studies.folder import StudyFolder
from unknot.studies.results import readable, results
from unknot.studies.spec import RankingSpec


def test_the_tables_have_the_columns_that_others_read(undisturbed: Path) -> None:
    study = StudyFolder(undisturbed)
    runs, scores, ranks = study.runs, study.scores, study.ranks
    assert list(runs.columns) == [
        "id", "world", "model", "setting", "seed", "steps", "split", "status", "minutes", "error",
        "option.anneal", "option.beta",
    ]  # fmt: skip
    assert runs["setting"].tolist() == ["beta 1", "beta 1", "beta 4", "beta 4"]
    assert set(runs["status"]) == {"done"}
    assert (runs["minutes"] > 0).all()
    wanted = ["id", "metric", "part", "value", "measures", "higher_is_better", "seconds", "version", "refused"]
    assert list(scores.columns) == wanted
    assert set(scores["metric"]) == {"mig[bins=20]", "sap[classification]"}
    assert (scores["part"] == "").sum() == 8
    assert list(ranks.columns) == ["id", "method", "scope", "score", "informative", "partners"]
    assert len(ranks) == 4 * 2
    assert set(ranks["scope"]) == {"setting", "all"}


def test_numbers_in_the_tables_are_those_of_the_runs_files(undisturbed: Path) -> None:
    scores = StudyFolder(undisturbed).scores
    for row in scores[scores["part"] == ""].itertuples():
        record = json.loads((undisturbed / "runs" / row.id / "scores.json").read_text())
        assert row.value == record["scores"][row.metric]["value"]


def test_a_folder_without_a_study_or_with_a_damaged_one_says_so(tmp_path: Path) -> None:
    with pytest.raises(UnknotError, match=r"is no study; it has no study\.json"):
        StudyFolder(tmp_path)
    (tmp_path / "study.json").write_text("{")
    with pytest.raises(UnknotError, match="is damaged"):
        _ = StudyFolder(tmp_path).record
    (tmp_path / "study.json").write_text('{"name": "old"}')
    with pytest.raises(UnknotError, match="is damaged"):
        _ = StudyFolder(tmp_path).spec
    assert StudyFolder(tmp_path).name == "old"
    assert StudyFolder(tmp_path).ranking == RankingSpec()
    with pytest.raises(UnknotError, match="has no tables yet"):
        _ = StudyFolder(tmp_path).runs


def test_a_damaged_table_is_named(finished: Path) -> None:
    runs = finished / "tables" / "runs.parquet"
    table = pd.read_parquet(runs)
    table.drop(columns="seed").to_parquet(runs)
    with pytest.raises(UnknotError, match=r"runs\.parquet: has no column seed"):
        _ = StudyFolder(finished).runs
    table.drop(columns="error").to_parquet(runs)  # which nothing depends on
    assert "id" in readable(results(StudyFolder(finished)))
    pd.concat([table, table.head(1)]).to_parquet(runs)
    with pytest.raises(UnknotError, match="is listed twice"):
        _ = StudyFolder(finished).runs
    runs.write_bytes(b"PAR1 but no more")
    with pytest.raises(UnknotError, match=r"runs\.parquet: cannot be read as a Parquet table"):
        _ = StudyFolder(finished).runs


def test_tables_that_an_older_study_lacks_are_empty(finished: Path) -> None:
    before = results(StudyFolder(finished))
    (finished / "tables" / "tasks.parquet").unlink()  # as studies were before they had tasks
    pd.testing.assert_frame_equal(results(StudyFolder(finished)), before)
    (finished / "tables" / "scores.parquet").unlink()
    assert list(results(StudyFolder(finished)).columns[-2:]) == ["udr_spearman/setting", "udr_spearman/all"]


def test_an_id_from_a_table_is_no_way_out_of_the_study(finished: Path) -> None:
    study = StudyFolder(finished)
    inside = study.runs["id"][0]
    assert study.run(inside) is not None
    for outside in ("../runs/" + inside, "..", str(finished / "runs" / inside)):
        assert study.run(outside) is None
        assert study.log(outside) == ""


def test_of_runs_that_the_study_has_not_nothing_is_known(finished: Path) -> None:
    path = finished / "tables" / "scores.parquet"
    table = pd.read_parquet(path)
    unknown = table[:1].assign(id=float("nan"), value=7.0)
    pd.concat([table, unknown]).to_parquet(path)
    with pytest.warns(UnknotWarning, match=r"scores\.parquet: '' is not among the \d+ runs"):
        assert 7.0 not in set(StudyFolder(finished).scores["value"])
    table.assign(id=float("nan")).to_parquet(path)
    with pytest.warns(UnknotWarning, match="is not among"):
        assert StudyFolder(finished).scores.empty
