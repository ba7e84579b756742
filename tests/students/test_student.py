"""A student from a run to its masks: what it learns, what is kept, mistakes."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from unknot.cli import app
from unknot.errors import UnknotError
from unknot.models.slot_attention import SlotAttention
from unknot.runs.run import Run
from unknot.runs.spec import RunSpec
from unknot.runs.training import train
from unknot.students import student as module
from unknot.students.student import RECORD, WEIGHTS, StudentOptions, open_student, train_student
from unknot.worlds.array_world import ArrayWorld
from unknot.worlds.catalogue import open_world
from unknot.worlds.scenes.dataset import SceneSet, write_scenes

SLOTS = {"slots": 3, "slot_size": 8, "channels": 8, "stride": 2, "full_layers": 0, "warm_up": 0}
IMAGES = 160
TINY = StudentOptions(n=128, pasted=64, steps=2, batch_size=4)
ASKED: list[int] = []


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("worlds") / "scenes"
    write_scenes(folder, SceneSet("iid", n=IMAGES, size=32))
    return folder


@pytest.fixture(scope="module")
def run(scenes, tmp_path_factory):
    small = {"steps": 1, "batch_size": 2, "model": "slot_attention", "options": SLOTS}
    return train(RunSpec(world=str(scenes), **small), tmp_path_factory.mktemp("runs"))


@pytest.fixture(autouse=True)
def teacher(scenes, monkeypatch):
    """Masks of slots that know what is an object, and nothing more: all objects share one slot."""
    world, numbers = open_world(str(scenes)), np.arange(IMAGES)[:, None]
    true = zip(world.images(numbers), world.masks(numbers) > 0, strict=True)
    known = {image.tobytes(): torch.from_numpy(objects) for image, objects in true}

    def masks(self, images):
        ASKED.append(len(images))
        levels = (images * 255).round().to(torch.uint8).movedim(1, -1).contiguous().numpy()
        objects = torch.stack([known.get(image.tobytes(), torch.zeros(images.shape[2:])) for image in levels])
        return torch.nn.functional.one_hot(objects.long(), 3).movedim(-1, 1).float()

    monkeypatch.setattr(SlotAttention, "masks", masks)


def test_a_student_parts_objects_that_its_teacher_could_not(run, tmp_path):
    how = StudentOptions(n=IMAGES, pasted=400, fewest=3, most=4, steps=220, batch_size=12)
    stages = []
    student = train_student(run, tmp_path, options=how, progress=lambda *stage, **_: stages.append(stage[0]))
    assert list(dict.fromkeys(stages)) == [
        "masks of slots", "cutting objects out", "pasting", "training the student",
    ]  # fmt: skip
    assert student.losses[-1] < 0.7 * student.losses[0]
    found = student.segmentation(open_world(run.spec.world), n=64)
    assert found["fg_ari"] > 0.25, f"{found}: the teacher has 0"


def test_a_student_is_the_same_by_its_seed_and_after_it_was_written(run, tmp_path):
    first, other = (train_student(run, tmp_path / str(seed), options=TINY) for seed in (0, 1))
    images = torch.rand(3, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    masks = first.masks(images)
    assert masks.shape == (3, 13, 32, 32) and torch.equal(masks.sum(1), torch.ones(3, 32, 32))
    assert torch.equal(open_student(tmp_path / "0").masks(images), masks)
    for name, values in first.network.state_dict().items():
        assert torch.equal(values, other.network.state_dict()[name])
    changed = train_student(run, tmp_path / "2", options=replace(TINY, seed=5))
    assert changed.losses != first.losses


def test_what_is_there_is_not_made_again(run, tmp_path, monkeypatch):
    ASKED.clear()
    first = train_student(run, tmp_path, options=TINY)
    assert sum(ASKED) == 128
    with monkeypatch.context() as nothing_is_asked:
        nothing_is_asked.setattr(module, "_taught", None)
        assert train_student(run, tmp_path, options=TINY).losses == first.losses
    longer = train_student(run, tmp_path, options=StudentOptions(n=128, pasted=64, steps=3, batch_size=4))
    assert sum(ASKED) == 128 and len(longer.losses) == 3, "another student, from the masks that were kept"


def test_a_command_trains_a_student_and_measures_it(run, scenes, tmp_path):
    small = ["--n", "128", "--pasted", "64", "--steps", "2", "--batch-size", "4"]
    result = CliRunner().invoke(app, ["student", str(run.folder), "-o", str(tmp_path), *small])
    assert result.exit_code == 0, result.output
    assert "cut-outs, loss" in result.output
    assert "slots: fg_ari" in result.output and "student: fg_ari" in result.output
    np.savez(tmp_path / "pictures.npz", images=np.zeros((4, 32, 32, 3), np.uint8))
    world = ["--world", str(tmp_path / "pictures.npz")]
    result = CliRunner().invoke(app, ["student", str(run.folder), "-o", str(tmp_path), *small, *world])
    assert result.exit_code == 0 and "no true masks, so no ARI" in result.output, result.output
    result = CliRunner().invoke(app, ["student", str(tmp_path), "-o", str(tmp_path / "other")])
    assert isinstance(result.exception, UnknotError) and "is not a run" in str(result.exception)


def test_mistakes_are_named(run, scenes, tmp_path, monkeypatch):
    wrongs = ({"n": 0}, {"steps": 1.5}, {"most": 13}, {"fewest": 0}, {"lr": 2.0}, {"seed": -1}, {"batch_size": 0})
    for wrong in wrongs:
        with pytest.raises(UnknotError, match=next(iter(wrong))):
            StudentOptions(**wrong)
    with pytest.raises(UnknotError, match=r"most is 2; expected 3 .fewest. to 12"):
        StudentOptions(most=2)
    with pytest.raises(UnknotError, match="objects stand alone in 2 images, 50 are needed"):
        train_student(run, tmp_path, options=StudentOptions(n=2))
    with pytest.raises(UnknotError, match=r"holds no student; `unknot student RUN -o"):
        open_student(tmp_path)
    vae = train(RunSpec(world=str(scenes), model="beta_vae", image_size=64, steps=1), tmp_path)
    with pytest.raises(UnknotError, match="run is 'beta_vae'; expected a model that masks objects"):
        train_student(vae, tmp_path, options=TINY)
    small = {"steps": 1, "batch_size": 2, "model": "slot_attention", "options": SLOTS | {"broadcast": 5}}
    odd = train(RunSpec(world=str(scenes), image_size=40, **small), tmp_path)
    with pytest.raises(UnknotError, match="images is '40 x 40'; expected squares whose side is a multiple of 16"):
        train_student(odd, tmp_path, options=TINY)
    student = train_student(run, tmp_path, options=TINY)
    with pytest.raises(UnknotError, match=r"images is \(1, 3, 64, 64\); expected \(n, 3, 32, 32\)"):
        student.masks(torch.zeros(1, 3, 64, 64))
    with pytest.raises(UnknotError, match="with n of 1 or more"):
        student.masks(torch.zeros(0, 3, 32, 32))
    without = ArrayWorld(np.full((4, 32, 32, 3), 9, np.uint8), name="pictures")
    with pytest.raises(UnknotError, match="world is 'pictures'; expected a world with true masks of its objects"):
        student.segmentation(without)


def test_damaged_folders_are_named(run, tmp_path):
    train_student(run, tmp_path, options=TINY)
    whole = json.loads((tmp_path / RECORD).read_text())
    for wrong in ({"pixels": 33}, {"channels": 10**9}, {"pixels": "many"}, {"losses": []}):
        (tmp_path / RECORD).write_text(json.dumps(whole | wrong))
        with pytest.raises(UnknotError, match="cannot be read as a student"):
            open_student(tmp_path)
    (tmp_path / RECORD).write_text(json.dumps(whole))
    (tmp_path / WEIGHTS).write_bytes((tmp_path / WEIGHTS).read_bytes()[:100])
    with pytest.raises(UnknotError, match="cannot be read as a student"):
        open_student(tmp_path)


def test_a_loss_that_is_no_number_ends_the_training(run, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules["unknot.students.training"], "CLIP", float("nan"))
    with pytest.raises(UnknotError, match="diverged at step"):
        train_student(run, tmp_path, options=StudentOptions(n=128, pasted=64, steps=3, batch_size=4))


def test_a_record_of_other_weights_is_not_believed(run, tmp_path):
    first = train_student(run, tmp_path, options=TINY)
    record = (tmp_path / RECORD).read_bytes()
    train_student(run, tmp_path, options=replace(TINY, steps=3))
    (tmp_path / RECORD).write_bytes(record)  # as if it had been killed between the two files
    with pytest.raises(UnknotError, match="cannot be read as a student"):
        open_student(tmp_path)
    assert train_student(run, tmp_path, options=TINY).losses == first.losses, "made anew"


def test_what_cannot_be_is_refused_before_work(run, scenes, tmp_path):
    ASKED.clear()
    (tmp_path / "file").write_text("")
    with pytest.raises(UnknotError, match="cannot be written"):
        train_student(run, tmp_path / "file", options=TINY)
    with pytest.raises(UnknotError, match="would take"):
        train_student(run, tmp_path / "large", options=replace(TINY, pasted=10**8))
    small = {"steps": 1, "batch_size": 2, "model": "slot_attention", "options": SLOTS}
    with pytest.raises(UnknotError, match="is not finished"):
        early = Run.create(tmp_path / "runs", RunSpec(world=str(scenes), **small))
        train_student(early, tmp_path / "early", options=TINY)
    grey = train(RunSpec(world="dsprites_rendered", image_size=32, **small), tmp_path / "runs")
    vae = train(RunSpec(world=str(scenes), model="beta_vae", image_size=64, steps=1), tmp_path / "runs")
    for asked, output, more, words in (
        (grey, "grey", ["--world", str(scenes)], "and 1 channels, as the run has"),
        (vae, "vae", [], "expected a model that masks objects"),
        (early, "early", [], "is not finished"),
        (run, "file", [], "cannot be written"),
        (run, "large", ["--pasted", "100000000"], "would take"),
    ):
        command = ["student", str(asked.folder), "-o", str(tmp_path / output), *more]
        result = CliRunner().invoke(app, command)
        assert isinstance(result.exception, UnknotError) and words in str(result.exception), result.exception
    assert not ASKED
