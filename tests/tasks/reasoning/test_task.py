"""The reasoning task: inputs, protocol, learning, resuming, and what it refuses."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from unknot.encoders.source import Source
from unknot.errors import UnknotError
from unknot.factors import FactorSpace, space
from unknot.progress import silent
from unknot.representation import Representation
from unknot.runs import training, workspace
from unknot.runs.spec import RunSpec
from unknot.runs.workspace import Workspace
from unknot.tasks.reasoning import reasoner
from unknot.tasks.reasoning.options import ReasoningOptions, WReNSetting
from unknot.tasks.reasoning.panels import (
    CodeTable,
    encoded_table,
    integer_table,
    onehot_table,
    representation_table,
)
from unknot.tasks.reasoning.reasoner import Lesson, Reasoner
from unknot.tasks.reasoning.task import reasoning
from unknot.tasks.result import TaskResult
from unknot.worlds import ArrayWorld
from unknot.worlds.puzzles.puzzles import Panels, draw_puzzles
from unknot.worlds.puzzles.quantised import Quantised
from unknot.worlds.puzzles.solvers import Shortcuts, rule

SMALL = space({"shape": 3, "x": 4, "y": 4})
WORLD = "abstract_dsprites_rendered"
TINY = {"g": "16x2", "f": "16x2"}
BRIEF: dict[str, Any] = {"evaluate_every": 10, "evaluation_batches": 2, "at": (10, 20)}
QUICK = BRIEF | TINY


def pictures(factors: FactorSpace = SMALL, *, copies: int = 1) -> ArrayWorld:
    """16 x 16 images whose first row says the classes; several images of a combination differ in the last pixel."""
    classes = np.repeat(factors.classes(np.arange(factors.size)), copies, axis=0)
    images = np.full((len(classes), 16, 16), 7, dtype=np.uint8)
    images[:, 0, : len(factors)] = 10 + 20 * classes
    images[:, -1, -1] = 10 + np.arange(len(classes)) % copies
    return ArrayWorld(images, classes, space=factors, name="codes in pixels")


def read_classes(images: np.ndarray) -> np.ndarray:
    """The encoder that reads the first row."""
    return np.concatenate([(images[:, 0, :3, 0] - 10.0) / 20, images[:, -1, -1:, 0]], axis=1)


def same_numbers(first: TaskResult, second: TaskResult) -> bool:
    return replace(first, seconds=0.0).as_json() == replace(second, seconds=0.0).as_json()


def codes_of(world: ArrayWorld, views: int = 1) -> CodeTable:
    return encoded_table(Source.of(read_classes, world), Quantised(world), views, 0, Workspace(), silent)


def checkpoints(folder: Path) -> list[Path]:
    return sorted(folder.glob("parts/reasoner-*.pt"))


def test_one_hot_codes_integers_and_images_say_the_same() -> None:
    made = draw_puzzles(SMALL, 200, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    onehot = onehot_table(SMALL).look_up(made.answers, rng)
    integer = integer_table(SMALL).look_up(made.answers, rng)
    coded = codes_of(pictures()).look_up(made.answers, rng)
    parts = np.split(onehot, np.cumsum(SMALL.shape)[:-1], axis=2)
    assert (np.stack([part.argmax(axis=2) for part in parts], axis=2) == made.answers).all()
    assert (onehot.sum(axis=2) == 3).all() and onehot.shape[2] == 11
    assert (integer + 0.5) * (SMALL.sizes - 1) == pytest.approx(made.answers)
    assert integer.min() == -0.5 and integer.max() == 0.5
    assert (coded[:, :, :3] == made.answers).all()


def test_several_views_of_a_combination_are_all_drawn() -> None:
    table = codes_of(pictures(copies=3), views=6)
    assert table.codes.shape == (48 * 6, 4) and (np.diff(table.starts) == 6).all()
    seen = table.look_up(np.zeros((400, 3), dtype=np.int64), np.random.default_rng(0))
    assert (seen[:, :3] == 0).all() and set(seen[:, 3].tolist()) == {10.0, 11.0, 12.0}


def test_a_representation_with_all_combinations_serves_as_it_is() -> None:
    classes = np.concatenate([SMALL.classes(np.arange(48))] * 2)[::-1]
    made = Representation(classes + np.repeat([[0.25], [0.0]], 48, axis=0), classes, SMALL.names)
    table = representation_table(made)
    wanted = SMALL.classes(np.arange(48))
    seen = {tuple(row) for i in range(50) for row in table.look_up(wanted, np.random.default_rng(i)) - wanted}
    assert seen == {(0.0, 0.0, 0.0), (0.25, 0.25, 0.25)}
    fewer = representation_table(made, {"x": 2})
    assert fewer.factors.shape == (3, 2, 4)
    assert np.floor(fewer.look_up(np.array([2, 1, 3]), np.random.default_rng(0))).tolist() == [2, 2, 3]


def test_a_representation_that_lacks_combinations_or_factors_is_refused() -> None:
    classes = SMALL.classes(np.arange(48))
    with pytest.raises(UnknotError, match="1 of the 48 combinations that puzzles are made from have no row"):
        reasoning(Representation(classes[1:] * 1.0, classes[1:], SMALL.names), steps=1)
    with pytest.raises(UnknotError, match="has no factors"):
        reasoning(Representation(classes * 1.0), steps=1)
    with pytest.raises(UnknotError, match="not classes"):
        reasoning(Representation(classes * 1.0, classes + 0.5, SMALL.names), steps=1)
    for far in (-1.0, 1e19):
        with pytest.raises(UnknotError, match="classes count from 0 up to 1,000,000"):
            reasoning(Representation(classes * 1.0, np.where(classes == 0, far, classes), SMALL.names), steps=1)
    with pytest.raises(UnknotError, match="48 rows and 0 factors; puzzles need both"):
        reasoning(Representation(classes * 1.0, classes[:, :0], ()), steps=1)
    with pytest.raises(UnknotError, match="unknown factor 'z'"):
        reasoning(Representation(classes * 1.0, classes, SMALL.names), steps=1, classes={"z": 2})


def test_one_hot_factors_of_a_small_world_are_learnt_far_above_chance() -> None:
    torch.manual_seed(0)
    found = reasoning(
        world=pictures(),
        input="onehot",
        steps=400,
        evaluate_every=200,
        evaluation_batches=20,
        relations=1,
        alternatives="easy",
        lr=0.003,
        g="64x2",
        f="64x2",
    )
    assert found.values["accuracy"] > 0.45
    assert found.values["rule"] == 1.0 and 0 < found.values["answers_only"] < found.values["third_row"] < 1


@pytest.mark.parametrize(("optimiser", "matrices"), [("muon", 4), ("adam", 0)])
def test_each_weight_has_one_optimiser(optimiser: Any, matrices: int) -> None:
    lesson = Lesson(onehot_table(SMALL), ReasoningOptions())
    setting = WReNSetting(g_width=8, f_width=8, optimiser=optimiser)
    reasoner = Reasoner(lesson, setting, 0, torch.device("cpu"))
    groups = [[id(p) for g in one.param_groups for p in g["params"]] for one in reasoner.optimisers]
    assert sorted(chain.from_iterable(groups)) == sorted(id(p) for p in reasoner.model.parameters())
    assert len(groups) == (2 if matrices else 1) and (not matrices or len(groups[1]) == matrices)


def test_a_result_holds_the_curve_the_baselines_and_everything_that_decided_them() -> None:
    found = reasoning(read_classes, pictures(), steps=25, draws=2, **BRIEF)
    assert found.task == "reasoning" and found.world == "codes in pixels"
    assert [row["step"] for row in found.tables["accuracy over training"]] == [10, 20, 25]
    assert {"accuracy", "accuracy_10", "accuracy_20", "rule", "third_row", "answers_only"} <= set(found.values)
    at_end = [row["accuracy"] for row in found.tables["curve"] if row["step"] == 25]
    assert len(at_end) == 2 and found.values["accuracy"] == pytest.approx(np.mean(at_end))
    assert [row["relations"] for row in found.tables["by relations"]] == [1, 2, 3]
    assert found.settings["classes"] == {"shape": 3, "x": 4, "y": 4}
    assert "of row three and the answers" in found.notes[0] and "With those of another puzzle" in found.notes[0]
    assert found.values["accuracy_other_rows"] == found.tables["accuracy over training"][-1]["accuracy_other_rows"]


class OwnSolver(Reasoner):
    """A reasoner that sees classes and picks as a solver does."""

    solver: Callable[[Panels, Panels], NDArray[np.float64]] = staticmethod(rule)

    def scores(self, inputs: torch.Tensor) -> torch.Tensor:
        panels = torch.round((inputs + 0.5) * torch.tensor([2, 3, 3])).long().numpy()
        untaught = 0 * next(self.model.parameters()).sum()
        return torch.from_numpy(self.solver(panels[:, :8], panels[:, 8:])) + untaught


class ThirdRowSolver(OwnSolver):
    solver = staticmethod(Shortcuts(SMALL).third_row)


def test_with_rows_of_another_puzzle_the_rule_fails_and_a_shortcut_does_not() -> None:
    lesson = Lesson(integer_table(SMALL), ReasoningOptions(evaluation_batches=30))
    setting = WReNSetting(g_width=8, f_width=8)
    (row,) = OwnSolver(lesson, setting, 0, torch.device("cpu")).train(1, {1}, lambda *_, **__: None)
    assert row["accuracy"] == 1.0 and row["accuracy_other_rows"] < 0.6
    (row,) = ThirdRowSolver(lesson, setting, 0, torch.device("cpu")).train(1, {1}, lambda *_, **__: None)
    assert row["accuracy"] == row["accuracy_other_rows"] > 0.9


def test_the_same_seed_gives_the_same_accuracies_and_another_seed_others() -> None:
    first, second = (reasoning(world=pictures(), input="onehot", steps=20, **QUICK) for _ in range(2))
    assert same_numbers(first, second)
    other = reasoning(world=pictures(), input="onehot", steps=20, seed=1, **QUICK)
    assert other.tables["curve"] != first.tables["curve"]


def test_representations_are_given_the_same_puzzles_and_settings() -> None:
    seen = []
    for panels in (onehot_table(SMALL), integer_table(SMALL)):
        lesson = Lesson(panels, ReasoningOptions())
        made = lesson.puzzles(4, np.random.default_rng([0, 0, reasoner.TRAIN, 7]))
        seen.append(made.answers)
    assert (seen[0] == seen[1]).all()


def test_images_are_learnt_from_too() -> None:
    found = reasoning(world=pictures(), input="cnn", steps=12, **QUICK)
    assert found.source == "CNN from scratch"
    lesson = Lesson(Quantised(pictures()), ReasoningOptions())
    model = Reasoner(lesson, WReNSetting(g_width=16, f_width=16), 0, torch.device("cpu"))
    before = model.cnn.body[0].weight.detach().clone()  # type: ignore[union-attr, index]
    model.train(1, set(), lambda done, total: None)
    assert not torch.equal(model.cnn.body[0].weight, before)  # type: ignore[union-attr, index]


def test_bfloat16_trains_as_well() -> None:
    found = reasoning(world=pictures(), input="onehot", steps=20, precision="bfloat16", **QUICK)
    assert 0 <= found.values["accuracy"] <= 1


def test_a_task_in_parts_ends_as_one_in_a_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reasoner, "CHECKPOINT_EVERY", 7)
    options = QUICK | {"dropout": 0.5}
    whole = reasoning(read_classes, pictures(), steps=40, **options)

    class StoppedError(Exception):
        pass

    def stop(stage: str, done: int, total: int, /, **facts: Any) -> None:
        if stage != "encoding" and done >= 14:
            raise StoppedError

    with pytest.raises(StoppedError):
        reasoning(read_classes, pictures(), steps=40, folder=tmp_path, progress=stop, **options)
    assert len(list(tmp_path.glob("parts/codes-*.npz"))) == len(checkpoints(tmp_path)) == 1
    reasoning(read_classes, pictures(), steps=25, folder=tmp_path, **options)
    # The examination after the last of 25 steps is none of those of 40.
    assert same_numbers(reasoning(read_classes, pictures(), steps=40, folder=tmp_path, **options), whole)
    assert len(checkpoints(tmp_path)) == 1


@pytest.mark.parametrize("steps", (20, 27))
def test_fewer_steps_than_were_done_end_as_if_no_more_had_been_asked_for(tmp_path: Path, steps: int) -> None:
    reasoning(read_classes, pictures(), steps=40, folder=tmp_path, **QUICK)
    (kept,) = checkpoints(tmp_path)
    before = kept.read_bytes()
    fewer = reasoning(read_classes, pictures(), steps=steps, folder=tmp_path, **QUICK)
    assert same_numbers(fewer, reasoning(read_classes, pictures(), steps=steps, **QUICK))
    assert kept.read_bytes() == before


def test_of_two_processes_on_one_folder_the_second_is_refused_and_goes_on_once_the_first_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspace, "PATIENCE", 0.0)
    monkeypatch.setattr(reasoner, "CHECKPOINT_EVERY", 20)
    options = {
        "input": "integer",
        "steps": 80,
        "evaluate_every": 40,
        "evaluation_batches": 2,
        "dropout": 0.25,
        **TINY,
    }
    program = (
        "import sys\nfrom unknot.tasks.reasoning import reasoner\nfrom unknot.tasks.reasoning.task import reasoning\n"
        f"reasoner.CHECKPOINT_EVERY = 20\nreasoning(world={WORLD!r}, folder=sys.argv[1], **{options!r})\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path)]) as first:
        while first.poll() is None and not checkpoints(tmp_path):
            time.sleep(0.01)
        first.send_signal(signal.SIGSTOP)
        with pytest.raises(UnknotError, match=rf"reasoning-\w+: process {first.pid} is at work on it; wait until"):
            reasoning(world=WORLD, folder=tmp_path, **options)
        first.kill()
    (kept,) = checkpoints(tmp_path)
    assert 0 < torch.load(kept, weights_only=True)["step"] < 80
    told: list[int] = []
    second = reasoning(
        world=WORLD, folder=tmp_path, progress=lambda stage, done, total, **facts: told.append(done), **options
    )
    assert min(told) >= 20
    assert same_numbers(second, reasoning(world=WORLD, **options))


def test_other_settings_use_other_files_of_the_same_folder(tmp_path: Path) -> None:
    for options in ({}, {"relations": 1}, {"lr": 0.1}, {"at": (5,)}):
        found = reasoning(read_classes, pictures(), steps=10, folder=tmp_path, **QUICK | options)
        assert same_numbers(found, reasoning(read_classes, pictures(), steps=10, **QUICK | options))
    assert len(checkpoints(tmp_path)) == 4 and len(list(tmp_path.glob("parts/codes-*.npz"))) == 1


def test_more_draws_keep_the_reasoners_that_are_there(tmp_path: Path) -> None:
    reasoning(read_classes, pictures(), steps=10, draws=1, folder=tmp_path, **BRIEF)
    (first,) = checkpoints(tmp_path)
    before = first.stat().st_mtime_ns
    reasoning(read_classes, pictures(), steps=10, draws=2, folder=tmp_path, **BRIEF)
    assert len(checkpoints(tmp_path)) == 2 and first.stat().st_mtime_ns == before


def test_an_encoder_or_latents_changed_since_are_taken_for_others(tmp_path: Path) -> None:
    def edited(images: np.ndarray) -> np.ndarray:
        return 1 - read_classes(images)

    edited.__qualname__, edited.__module__ = read_classes.__qualname__, read_classes.__module__
    for encoder in (read_classes, edited):
        found = reasoning(encoder, pictures(), steps=10, folder=tmp_path / "function", **QUICK)
        assert same_numbers(found, reasoning(encoder, pictures(), steps=10, **QUICK))
    assert len(checkpoints(tmp_path / "function")) == 2
    classes = SMALL.classes(np.arange(SMALL.size))
    for shift in (0.0, 1.0):
        file = Representation(classes + shift, classes, SMALL.names).write(tmp_path / "grid.npz")
        found = reasoning(file, steps=10, folder=tmp_path / "file", **QUICK)
        assert same_numbers(found, reasoning(file, steps=10, **QUICK))
    assert len(checkpoints(tmp_path / "file")) == 2


def test_a_damaged_reasoner_is_an_error_once_it_is_to_learn_more(tmp_path: Path) -> None:
    first = reasoning(read_classes, pictures(), steps=10, folder=tmp_path, **QUICK)
    (kept,) = checkpoints(tmp_path)
    kept.write_bytes(b"nobody reads it")
    assert same_numbers(reasoning(read_classes, pictures(), steps=10, folder=tmp_path, **QUICK), first)
    with pytest.raises(UnknotError, match=r"reasoner-\w+\.pt: is damaged .* move it away"):
        reasoning(read_classes, pictures(), steps=20, folder=tmp_path, **QUICK)


def test_a_model_is_loaded_once_however_many_views_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = "abstract_dsprites_rendered"
    run = training.train(RunSpec(world=world, latents=2, image_size=32, steps=2, batch_size=4), tmp_path / "runs")
    loads = []
    load = training.load_model
    monkeypatch.setattr(training, "load_model", lambda *a, **how: loads.append(a) or load(*a, **how))
    few = {"background": 2, "object_color": 2, "shape": 3, "scale": 1, "x": 2, "y": 1}
    stages: dict[str, list[int]] = {}

    def told(stage: str, done: int, total: int, /, **facts: Any) -> None:
        stages.setdefault(f"{stage}: {total}", []).append(done)

    reasoning(run.folder, steps=1, classes=few, views=5, folder=tmp_path / "kept", progress=told, **QUICK)
    assert len(loads) == 1
    assert stages["encoding: 120"] == [24, 48, 72, 96, 120] and stages["reasoner 1 of 1: 1"] == [0, 1]


def test_a_reasoner_that_diverges_counts_as_chance_and_says_so() -> None:
    codes = SMALL.classes(np.arange(48)) * np.float32(1e38)
    found = reasoning(
        Representation(codes, SMALL.classes(np.arange(48)), SMALL.names), steps=20, classes={}, **QUICK
    )
    assert found.values["accuracy"] == pytest.approx(1 / 6)
    assert any("diverged at step" in note for note in found.notes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "expected a source: .* None with the input onehot"),
        ({"source": read_classes, "input": "onehot"}, "expected no source with these options"),
        ({"input": "onehot", "world": None}, "needs a world; name one"),
        ({"input": "onehot", "classes": {"shape": 1, "x": 1}, "relations": 2}, "2 factors cannot be fixed"),
        ({"input": "onehot", "classes": {"shape": 2, "x": 2, "y": 2}}, "different wrong answers"),
        ({"input": "onehot", "classes": {"z": 2}}, "unknown factor 'z'"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UnknotError, match=message):
        reasoning(**({"world": pictures(), "steps": 1} | options))


def test_an_encoder_that_gives_nan_is_refused() -> None:
    with pytest.raises(UnknotError, match="not finite"):
        reasoning(lambda images: np.full((len(images), 2), np.nan), pictures(), steps=1)
