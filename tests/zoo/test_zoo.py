"""The zoo: what ships is small, is what it says, and stands wherever a run does."""

import zipfile
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load
from typer.testing import CliRunner

import unknot
from unknot.cli import app
from unknot.errors import UnknotError
from unknot.runs.run import Run
from unknot.runs.segmentation import segmentation
from unknot.runs.training import load_model
from unknot.scoring.scoring import score
from unknot.studies.plan import plan_study
from unknot.studies.spec import read_spec
from unknot.worlds.scenes.scenes_rendered import ScenesRendered
from unknot.zoo import HERE, catalogue, zoo_folder

SHOWN = "beta_tc_vae_dsprites"
SLOTS = "slot_attention_scenes64"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_it_is_small_and_holds_the_study_of_its_name() -> None:
    archives = sorted(HERE.glob("*.zip"))
    assert [path.stem for path in archives] == sorted(catalogue())
    assert sum(path.stat().st_size for path in archives) < 3e6
    specs = {
        f"{run.spec.model}_{run.spec.world.removesuffix('_rendered')}": run.spec
        for run in plan_study(read_spec("zoo")).runs
    }
    for path in archives:
        with zipfile.ZipFile(path) as files:
            weights = load(files.read("weights.safetensors"))
        assert {array.dtype for array in weights.values()} == {np.dtype(np.float16)}
        assert Run(f"zoo:{path.stem}").spec == specs[path.stem]


@pytest.mark.parametrize("name", catalogue())
def test_every_run_loads(name: str) -> None:
    assert not load_model(Run(f"zoo:{name}")).training


def test_scores_are_those_listed() -> None:
    listed = catalogue()[SHOWN]["scores"]
    card = score(f"zoo:{SHOWN}", metrics=["mig", "modularity"])
    assert card["mig"].value == pytest.approx(listed["mig"], abs=1e-3)
    assert card["modularity"].value == pytest.approx(listed["modularity"], abs=1e-3)


def test_it_stands_where_a_run_does_and_is_unpacked_once() -> None:
    codes = unknot.encode(f"zoo:{SHOWN}", rows=100)
    assert codes.latents.shape == (100, 10) and codes.source["world"] == "dsprites_rendered"
    folder = zoo_folder(SHOWN)
    (folder / "run.json").touch()
    before = (folder / "run.json").stat().st_mtime_ns
    assert zoo_folder(f"zoo:{SHOWN}") == folder and (folder / "run.json").stat().st_mtime_ns == before
    listed = CliRunner().invoke(app, ["zoo"])
    assert listed.exit_code == 0 and f"zoo:{SHOWN}" in listed.stdout
    page = CliRunner().invoke(app, ["report", f"zoo:{SHOWN}"])
    assert page.exit_code == 0 and Path(page.stdout.strip()).is_file()


def test_what_was_swept_from_the_cache_or_cut_short_is_unpacked_again() -> None:
    folder = zoo_folder(SHOWN)
    (folder / "weights.safetensors").write_bytes(b"")
    (folder / "curve.parquet").unlink()
    assert not load_model(Run(f"zoo:{SHOWN}")).training
    assert (folder / "curve.parquet").is_file()


def test_slots_find_the_objects_of_unseen_scenes_as_listed() -> None:
    listed = catalogue()[SLOTS]["scores"]
    found = segmentation(Run(f"zoo:{SLOTS}"), ScenesRendered(n=64, size=64, seed=1), n=64)
    assert found["fg_ari"] == pytest.approx(listed["fg_ari"], abs=0.05) and listed["fg_ari"] > 0.8
    assert found["ari"] == pytest.approx(listed["ari"], abs=0.05) and listed["ari"] > 0.8


def test_slots_are_encoded_and_scored_by_what_needs_no_factors() -> None:
    codes = unknot.encode(f"zoo:{SLOTS}", rows=40)
    assert codes.latents.shape == (40, 7, 48) and codes.source["world"] == "scenes64_rendered"
    card = score(codes)
    assert "rankme" in card.values() and any("slots" in note for note in card.plan.notes)


@pytest.mark.parametrize("call", [Run, unknot.encode, unknot.score, zoo_folder], ids=lambda call: call.__name__)
def test_a_misspelt_name_is_answered_with_the_nearest(call) -> None:
    with pytest.raises(UnknotError, match=f"unknown run of the zoo 'beta_tc_vae_dsprite'; did you mean '{SHOWN}'"):
        call("zoo:beta_tc_vae_dsprite")
