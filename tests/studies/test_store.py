"""What of a study is done, as its folder tells."""

from pathlib import Path

import pandas as pd
import pytest

import unknot
from unknot.encoders import encoding
from unknot.encoders.encoding import encode
from unknot.errors import UnknotError, UnknotWarning
from unknot.files import read_json, write_json
from unknot.studies.folder import StudyFolder
from unknot.studies.store import Store

from .conftest import TINY, planned


def test_what_is_missing_is_read_off_the_files(finished: Path, tmp_path: Path) -> None:
    store = Store(finished, planned(tmp_path))
    run = store.runs[0]
    folder = store.run(run).folder
    assert store.missing(run) == []
    (folder / "scores.json").write_text("{")
    assert store.missing(run) == ["score"]
    (folder / "latents.npz").write_bytes((folder / "latents.npz").read_bytes()[:500])
    store.forget(run.id)
    assert store.missing(run) == ["encode", "score"]
    (folder / "weights.safetensors").unlink()
    assert store.missing(run) == ["train", "encode", "score"]


def test_other_rows_or_another_split_mean_to_encode_again(finished: Path, tmp_path: Path) -> None:
    store = Store(finished, planned(tmp_path, TINY.replace("rows: 120", "rows: 130")))
    assert store.missing(store.runs[0]) == ["encode", "score"]


def test_a_new_version_of_a_metric_is_scored_again(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    from unknot.metrics import METRICS

    store = Store(finished, planned(tmp_path))
    assert store.unscored(store.runs[0]) == ()
    monkeypatch.setattr(METRICS["mig"], "facts", replace(METRICS["mig"].facts, version=99))
    assert store.unscored(store.runs[0]) == ("mig[bins=20]",)


def test_scoring_a_run_by_hand_costs_its_study_nothing(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(finished, planned(tmp_path))
    run, before = store.runs[0], StudyFolder(finished).scores
    monkeypatch.setattr(encoding, "ROWS", 200)
    monkeypatch.setattr(encoding, "encode", lambda run, **options: encode(run, rows=200, **options))
    for options in ({}, {"seed": 1}, {"limit": 50}):
        unknot.score(store.run(run).folder, metrics=["mig", "modularity"], **options)
    assert len(store.run(run).scores) == 4
    assert store.missing(run) == []
    store.write_tables()
    pd.testing.assert_frame_equal(StudyFolder(finished).scores, before)


def test_a_folder_of_another_study_or_of_something_else_is_refused(finished: Path, tmp_path: Path) -> None:
    made = planned(tmp_path, TINY.replace("name: tiny", "name: other"))
    with pytest.raises(UnknotError, match="belongs to the study 'tiny', not to 'other'"):
        Store(finished, made)
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.png").touch()
    with pytest.raises(UnknotError, match=r"holds no study, but other files \(cat.png\)"):
        Store(tmp_path / "photos", made)
    with pytest.raises(UnknotError, match="is a file"):
        Store(tmp_path / "photos" / "cat.png", made)


def test_two_processes_never_run_one_study(finished: Path, tmp_path: Path) -> None:
    store = Store(finished, planned(tmp_path))
    with store.locked(), pytest.raises(UnknotError, match=r"process \d+ is running this study"):
        with Store(finished, planned(tmp_path)).locked():
            pass
    with store.locked():
        pass


def test_a_study_of_a_newer_version_says_so_and_what_it_wrote_besides_is_kept(
    finished: Path, tmp_path: Path
) -> None:
    record = read_json(finished / "study.json")
    record["versions"]["unknot"] = "99.1"
    write_json(finished / "study.json", record | {"mood": "good", "about": "of then"})
    with pytest.warns(UnknotWarning, match=r"is written anew. It was written by Unknot 99.1, which is newer"):
        Store(finished, planned(tmp_path)).write_study()
    assert read_json(finished / "study.json")["mood"] == "good"
    Store(finished, planned(tmp_path)).write_study()  # by this version now
    record["study"]["curriculum"] = "harder"
    write_json(finished / "study.json", record)
    with pytest.raises(UnknotError, match=r"curriculum.* It was written by Unknot 99.1, which is newer"):
        _ = StudyFolder(finished).spec


def test_another_machine_is_named_and_refused(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from unknot.processes import lock

    monkeypatch.setattr(lock, "BEAT", 0.05)
    store = Store(finished, planned(tmp_path))
    with store.locked(), monkeypatch.context() as elsewhere:
        elsewhere.setattr("platform.node", lambda: "node8")
        refused = pytest.raises(
            UnknotError, match=r"process \d+ on .* is running this study; .* taken over after 60"
        )
        with refused, store.locked():
            pass
    assert not (finished / "study.holder").exists()
