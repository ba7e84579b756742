"""Runs on somebody's own file of images: the file has to stay, and to stay the same."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from unknot.encoders.encoding import encode, representation_of
from unknot.errors import UnknotError
from unknot.runs.run import Run
from unknot.runs.spec import RunSpec
from unknot.runs.training import train
from unknot.runs.training_world import BLOCK, BLOCKS, world_fingerprint
from unknot.tasks.generalisation.task import generalisation
from unknot.tasks.reasoning.task import reasoning

SPEC = RunSpec(world="bars.npz", steps=2, batch_size=4, image_size=32, latents=2)


def _bars(path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 256, (20, 32, 32, 1), dtype=np.uint8)
    np.savez(path, images=images, factors=np.arange(20) % 4)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    _bars(tmp_path / "bars.npz", 0)
    return train(SPEC, tmp_path / "runs")


def test_a_finished_run_whose_file_has_changed_is_not_taken_for_trained(run: Run) -> None:
    assert len(run.record["world_file"]) == 32
    kept = representation_of(run)
    assert train(SPEC, "runs").folder.name == run.folder.name == run.spec.id
    _bars(Path("bars.npz"), 1)
    for use in (lambda: train(SPEC, "runs"), lambda: representation_of(run), lambda: encode(run)):
        with pytest.raises(UnknotError, match=r"bars\.npz has changed since this run was started"):
            use()
    _bars(Path("bars.npz"), 0)
    assert representation_of(run) == kept


def test_a_run_without_the_record_is_accepted(run: Run) -> None:
    run.note(world_file="")
    _bars(Path("bars.npz"), 1)
    assert train(SPEC, "runs").finished
    assert encode(Run(run.folder)).latents.shape[1] == 2


def test_from_another_folder_the_error_names_the_run_and_world_finds_the_file(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = encode(run).latents
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with pytest.raises(UnknotError, match=rf"bars\.npz: .*the world of run .*{run.spec.id}.*--world FILE"):
        encode(run)
    for task in (generalisation, reasoning):
        with pytest.raises(UnknotError, match=r"bars\.npz: .*the world of run"):
            task(run)
    assert (encode(run, "../bars.npz").latents == there).all()


def test_a_fingerprint_is_of_contents_and_of_names_and_sizes(tmp_path: Path) -> None:
    assert world_fingerprint("dsprites_rendered") == world_fingerprint(str(tmp_path / "nowhere.npz")) == ""
    large = tmp_path / "large.npy"
    found = set()
    for start in (b"a", b"b"):
        with large.open("wb") as file:
            file.write(start)
            file.truncate(BLOCK * BLOCKS + 5)  # a sparse file
        found.add(world_fingerprint(str(large)))
    assert len(found) == 2
    folder = tmp_path / "pictures"
    folder.mkdir()
    assert world_fingerprint(str(folder)) == ""
    Image.new("RGB", (8, 8)).save(folder / "one.png")
    before = world_fingerprint(str(folder))
    (folder / "notes.txt").write_text("not looked at")
    assert world_fingerprint(str(folder)) == before
    Image.new("RGB", (8, 8)).save(folder / "two.png")
    assert world_fingerprint(str(folder)) != before
