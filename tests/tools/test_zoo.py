"""The archives of the zoo: what a study trains is packed, once, and training it again gives the same bytes."""

import json
import zipfile
from pathlib import Path

import pytest
from safetensors.numpy import load
from tools.zoo import holds, main, name_of, pack

from unknot.runs.training import train
from unknot.studies.plan import plan_study
from unknot.studies.spec import read_spec
from unknot.worlds.scenes.scenes_rendered import ScenesRendered

STUDY = """
name: tiny
recipe: quick
architecture: slim
worlds: dsprites_rendered
steps: 6
models:
  - {model: vae}
  - {model: factor_vae}
  - model: slot_attention
    world: scenes64_rendered
    preset: quick64
    recipe: paper
    architecture: conv64
    batch_size: 2
    metrics: []
metrics: [mig]
ranking: false
"""


def test_a_rebuild_is_the_same_bit_for_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.zoo.UNSEEN", ScenesRendered(n=4, size=64, seed=1))
    study, once, again = tmp_path / "tiny.yaml", tmp_path / "once", tmp_path / "again"
    study.write_text(STUDY)
    for place in (once, again):
        place.mkdir()
    main(tmp_path / "work", study, once)
    catalogue = json.loads((once / "zoo.json").read_text())
    assert list(catalogue) == ["vae_dsprites", "factor_vae_dsprites", "slot_attention_scenes64"]
    assert 0 <= catalogue["vae_dsprites"]["scores"]["mig"] < 1
    assert list(catalogue["slot_attention_scenes64"]["scores"]) == ["fg_ari", "ari"]
    for spec in (run.spec for run in plan_study(read_spec(study)).runs):
        archive = f"{name_of(spec)}.zip"
        pack(train(spec, tmp_path / "elsewhere"), again / archive)
        assert (again / archive).read_bytes() == (once / archive).read_bytes()
        assert holds(once / archive, spec)
        assert not holds(once / archive, spec.replace(steps=7))
    with zipfile.ZipFile(once / "factor_vae_dsprites.zip") as files:
        weights = load(files.read("weights.safetensors"))
    assert not any("discriminator" in name for name in weights)
