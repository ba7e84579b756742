"""Scores in a run's folder: by hand and by a study, side by side."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import unknot
from unknot.encoders import encoding
from unknot.encoders.encoding import encode, representation_of
from unknot.errors import UnknotWarning
from unknot.runs.run import Run
from unknot.runs.spec import RunSpec
from unknot.runs.training import train
from unknot.scoring.kept_scores import keep_scores, kept_records, records_by_key, score_keys
from unknot.scoring.record import score_rows

SPEC = RunSpec(world="dsprites_rendered", latents=3, image_size=32, steps=3, batch_size=4)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return train(SPEC, tmp_path_factory.mktemp("runs"))


@pytest.fixture
def run(trained: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run to work on; the default number of rows is small."""
    monkeypatch.setattr(encoding, "ROWS", 300)
    monkeypatch.setattr(encoding, "encode", lambda run, **options: encode(run, rows=300, **options))
    return Run(shutil.copytree(trained.folder, tmp_path / "run"))


def test_scores_of_a_run_are_kept_and_added_to(run: Run) -> None:
    card = unknot.score(run, metrics=["mig"])
    unknot.score(run.folder, metrics=["sap", "beta_vae_score"])
    assert [path.name for path in run.scores] == ["scores.json"]
    (record,) = kept_records(run)
    assert list(record["scores"]) == ["mig[bins=20]", "sap[classification]", "beta_vae_score"]
    assert record["scores"]["mig[bins=20]"]["value"] == card["mig"].value
    assert record["parameters"]["metrics"] == list(record["scores"])
    assert set(record["keys"]) == set(record["scores"])
    assert record["verdicts"] and record["complete"]


def test_another_setting_has_a_file_of_its_own_and_the_first_stays(run: Run) -> None:
    first = unknot.score(run, metrics=["mig"])
    for options in ({"seed": 1}, {"limit": 100}, {"seed": 1, "metrics": ["mig", "sap"]}):
        unknot.score(run, **{"metrics": ["mig"], **options})
    assert len(run.scores) == 3
    usual, *others = kept_records(run)
    assert usual["scores"]["mig[bins=20]"]["value"] == first["mig"].value
    assert sorted((record["seed"], len(record["scores"])) for record in others) == [(0, 1), (1, 2)]
    assert len(records_by_key(run)) == 4


def test_scores_of_other_kinds_have_a_file_of_their_own_that_names_them(run: Run) -> None:
    path = representation_of(run)
    keep_scores(run, unknot.score(path, metrics=["mig", "sap"]), path)
    kinds = {"scale": "continuous"}
    card = unknot.score(unknot.read_representation(path).with_kinds(kinds), metrics=["mig"])
    keep_scores(run, card, path, kinds=kinds)
    keep_scores(run, unknot.score(path, metrics=["beta_vae_score"]), path)
    plain, measured = kept_records(run)
    assert list(plain["scores"]) == ["mig[bins=20]", "sap[classification]", "beta_vae_score"]
    assert "kinds" not in plain["input"] and measured["input"]["kinds"] == kinds
    assert list(measured["scores"]) == ["mig[bins=20]"]


def test_scores_of_a_study_stay_where_they_are_when_the_run_is_scored_by_hand(run: Run) -> None:
    latents = encode(run, rows=100).write(run.latents)  # a study's own rows
    keep_scores(run, unknot.score(latents, metrics=["mig"]), latents)
    before = run.scores_of(run.latents).read_bytes()
    (key,) = score_keys(["mig[bins=20]"], run.latents_source() or {}, None).values()
    unknot.score(run, metrics=["mig"])
    assert run.scores_of(run.latents).read_bytes() == before
    assert [path.name for path in run.scores] == ["scores.json", "scores-default.json"]
    assert key in records_by_key(run)
    assert [record["input"]["n_rows"] for record in kept_records(run)] == [100, 300]


def test_scores_of_latents_that_are_no_more_give_way(run: Run) -> None:
    path = representation_of(run)
    keep_scores(run, unknot.score(path, metrics=["mig", "sap"]), path)
    encode(run, rows=200).write(path)
    keep_scores(run, unknot.score(path, metrics=["mig"]), path)
    (record,) = kept_records(run)
    assert list(record["scores"]) == ["mig[bins=20]"]
    assert record["input"]["n_rows"] == 200


def test_a_record_of_an_older_version_is_added_to(run: Run) -> None:
    path = representation_of(run)
    unknot.score(run, metrics=["mig"])
    target = run.scores_of(path)
    record = json.loads(target.read_text())
    del record["keys"]  # as `unknot score FILE --json` writes it
    target.write_text(json.dumps(record))
    unknot.score(run, metrics=["sap"])
    (record,) = kept_records(run)
    assert list(record["scores"]) == ["mig[bins=20]", "sap[classification]"]
    assert list(record["keys"]) == ["sap[classification]"]


@pytest.mark.parametrize("text", ["{", "[]", '{"scores": 3}', '{"scores": {}, "input": {}}'])
def test_a_damaged_record_is_written_anew(run: Run, text: str) -> None:
    run.scores_of(run.latents).write_text(text)
    assert kept_records(run) == []
    unknot.score(run, metrics=["mig"])
    assert [row.metric for row in score_rows(kept_records(run)[0])] == ["mig[bins=20]"]


def test_a_folder_that_cannot_be_written_costs_a_warning_and_not_the_scores(run: Run) -> None:
    representation_of(run)
    run.scores_of(run.latents).mkdir()
    with pytest.warns(UnknotWarning, match="the scores are not kept with the run: .*is a folder"):
        card = unknot.score(run, metrics=["mig"])
    assert card["mig"].value >= 0


def test_keys_of_default_settings_are_those_that_studies_have_always_had() -> None:
    source = {"encoder": {"kind": "run", "id": "1dcd80baaebc"}, "rows": 120, "split": "", "seed": 0}
    assert score_keys(["mig[bins=20]"], source, None) == {"mig[bins=20]": "c04f30fee65f4f7b"}
    assert score_keys(["mig[bins=20]"], source, None, seed=1) != score_keys(["mig[bins=20]"], source, None)


@pytest.mark.parametrize("own", [{"missing": ["1"]}, {"groups": "orientation"}, {"latents": ["latents"]}])
def test_what_was_named_for_the_scores_is_part_of_their_setting(run: Run, own: dict[str, object]) -> None:
    path = representation_of(run)
    keep_scores(run, unknot.score(path, metrics=["mig"]), path)
    other = unknot.from_table(path, **own)  # type: ignore[arg-type]
    keep_scores(run, unknot.score(other, metrics=["mig"]), path, **own)
    usual, named = kept_records(run)
    assert "chosen" not in usual["input"] and named["input"]["chosen"] == own
    assert len(records_by_key(run)) == 2


def test_what_names_of_factors_tell_is_no_setting_of_its_own(run: Run) -> None:
    path = representation_of(run)
    card = unknot.score(path, metrics=["mig"])
    keep_scores(run, card, path)
    names = list(card.plan.representation.factor_names)
    keep_scores(run, card, path, factors=names)  # as records of before have it
    assert len(kept_records(run)) == 1


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (("input", "files"), None),
        (("input", "chosen"), "all"),
        (("scores", "mig[bins=20]"), 5),
        (("scores", "mig[bins=20]", "seconds"), None),
        (("scores", "mig[bins=20]", "parts"), []),
        (("keys", "mig[bins=20]"), [1]),
        (("refused",), 3),
    ],
)
def test_a_record_with_something_else_in_it_is_written_anew(run: Run, at: tuple[str, ...], value: Any) -> None:
    unknot.score(run, metrics=["mig"])
    path = run.scores_of(run.latents)
    record = inner = json.loads(path.read_text())
    for name in at[:-1]:
        inner = inner[name]
    inner[at[-1]] = value
    path.write_text(json.dumps(record))
    unknot.score(run, metrics=["sap"])
    assert "sap[classification]" in kept_records(run)[0]["scores"]
