import json
import math
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from unknot.errors import Note, UnknotError
from unknot.reports.leaderboard import CONSTANT, leaderboard, own_results, published
from unknot.tasks.result import TaskResult
from unknot.worlds import WORLDS


def result(r2: float | None, world: str = "dsprites_rendered", name: str = "mine", rows: int = 10) -> TaskResult:
    table = [{"split": "extrapolation", "r2": r2, "rows": rows, "test_part": 497_280}]
    return TaskResult("generalisation", name, world, {}, {"splits": table})  # type: ignore[dict-item]


def test_every_published_number_has_a_source_a_world_and_a_sane_value() -> None:
    for entry in published():
        assert entry.world in WORLDS and entry.source and entry.r2 <= 1
        assert entry.split in ("random", "composition", "interpolation", "extrapolation")


def test_numbers_of_the_public_leaderboard_and_the_correction_of_table_5_are_there() -> None:
    found = {(e.world, e.model, e.r2) for e in published()}
    assert {("shapes3d", "RN101", 0.678), ("mpi3d_real", "RN50 (ImageNet-21k)", 0.541)} <= found
    assert {("dsprites", "SlowVAE", 0.667), ("dsprites", "PCL", 0.630)} <= found
    assert [e.note for e in published() if e.model == "PCL"] != [""]  # the public leaderboard says 0.667


def test_a_rendered_world_is_marked_and_ranked_apart() -> None:
    board = leaderboard([result(0.9), result(0.2, name="other"), result(0.65, world="dsprites")], world="dsprites")
    own = {e.model: e for e in board if e.own and e.images == "dSprites (rendered)"}
    assert (own["mine"].rank, own["other"].rank) == (1, 2)
    (on_file,) = [e for e in board if e.own and e.images == "dSprites"]
    assert on_file.rank == 2  # behind 0.667, before 0.644
    assert [e.images for e in board] == sorted((e.images for e in board), key=lambda name: "rendered" in name)
    assert leaderboard([result(0.9)], world="dsprites_rendered") == leaderboard([result(0.9)], world="dsprites")


def test_what_a_constant_scores_stands_on_every_board() -> None:
    board = leaderboard([result(0.9)])
    constants = {(e.world, e.images): e for e in board if e.model == CONSTANT}
    assert constants["dsprites", "dSprites"].r2 == pytest.approx(-0.388, abs=5e-4)
    assert constants["shapes3d", "Shapes3D"].r2 == pytest.approx(-0.302, abs=5e-4)
    assert ("dsprites", "dSprites (rendered)") in constants
    assert all(entry.rank == 0 for entry in constants.values())


def test_a_split_by_hand_has_a_board_of_its_own() -> None:
    table = [{"split": "own_extrapolation", "r2": 0.5, "rows": 9, "test_part": 9}]
    mine = TaskResult("generalisation", "m", "dsprites_rendered", {}, {"splits": table})  # type: ignore[dict-item]
    assert [e.model for e in leaderboard([mine], split="own_extrapolation")] == ["m"]


def test_few_rows_are_said_and_a_missing_number_is_not_the_best() -> None:
    board = [e for e in leaderboard([result(None), result(0.1, name="b", rows=497_280)]) if e.own]
    assert [e.model for e in board] == ["b", "mine"] and math.isnan(board[1].r2)
    assert (board[0].note, board[1].note) == ("", "over 10 of 497,280 test images")


SAW = "the run was trained on all of its world, so it has seen images of this test part."


@pytest.mark.parametrize(
    "notes",
    [
        [Note("seen", "random", SAW), Note("seen", "extrapolation", SAW), Note("", "extrapolation", "few.")],
        [f"random, extrapolation: {SAW}", "extrapolation: few."],  # of older results
    ],
)
def test_a_run_that_has_seen_the_test_part_is_marked(notes: list[Note | str], tmp_path: Path) -> None:
    path = replace(result(0.9), notes=notes).write(tmp_path / "mine.json")
    other = replace(result(0.1, name="b"), notes=[Note("seen", "random", SAW), f"random: {SAW}"])
    words = {e.model: e.note for e in leaderboard([*own_results([path]), other]) if e.own}
    assert words["mine"] == "has seen images of this test part; over 10 of 497,280 test images"
    assert words["b"] == "over 10 of 497,280 test images"


def test_further_published_numbers_can_be_added(tmp_path: Path) -> None:
    path = tmp_path / "table6.csv"
    path.write_text("world,split,model,r2,source,note\nshapes3d,random,CNN,0.99,Table 6,\n")
    assert [e.model for e in leaderboard(more=[path], split="random") if e.rank] == ["CNN"]
    path.write_text("world,split,model,r2,source,note\nshapes3d,random,CNN,99.0,Table 6,\n")
    with pytest.raises(UnknotError, match="Divide per cent by 100"):
        leaderboard(more=[path])
    path.write_text("world,model\nshapes3d,CNN\n")
    with pytest.raises(UnknotError, match=r"cannot be read as a CSV of published numbers .* columns world, split"):
        leaderboard(more=[path])


def test_results_come_from_files_and_folders_of_them(tmp_path: Path) -> None:
    result(0.5).write(tmp_path / "a.json")
    TaskResult("fairness", "x", "w", {}).write(tmp_path / "b.json")
    (tmp_path / "run.json").write_text(json.dumps({"spec": {}}))
    (tmp_path / "broken.json").write_text("{")
    assert [Path(path).name for _, path in own_results([tmp_path])] == ["a.json"]
    assert len(own_results([tmp_path / "a.json"])) == 1
    with pytest.raises(UnknotError, match="task fairness; expected generalisation"):
        own_results([tmp_path / "b.json"])
    with pytest.raises(UnknotError, match="is no result of a task"):
        own_results([tmp_path / "run.json"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(UnknotError, match="holds no result"):
        own_results([tmp_path / "empty"])


def test_results_of_a_study_are_those_of_its_runs(study: Path, trained: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(study, tmp_path / "study"))
    with pytest.raises(UnknotError, match="holds no result"):
        own_results([folder])
    result(0.5).write(folder / "runs" / trained.name / "tasks" / "generalisation-0.json")
    ((found, where),) = own_results([folder])
    assert where == str(folder)
    assert re.fullmatch(rf"beta_vae, beta 1, seed [01] \({trained.name}\)", found.source)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "r.json: no such file"),
        ('{"scores": {}}', "r.json: is no result of a task; it has no 'task'"),
        ("[1]", "it has no 'task'"),
        ('{"task": "generalisation"}', "it has no 'values'"),
        ('{"task": "generalisation", "values": 3}', "cannot be read as a result of a task"),
        ("world,split", "cannot be read as JSON"),
    ],
)
def test_a_file_that_is_no_result_is_named_with_the_reason(tmp_path: Path, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / "r.json").write_text(text)
    with pytest.raises(UnknotError, match=message):
        own_results([tmp_path / "r.json"])


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UnknotError, match="unknown world of the leaderboard 'dsprite'; did you mean 'dsprites'"):
        leaderboard(world="dsprite")
    with pytest.raises(UnknotError, match="unknown split of the leaderboard"):
        leaderboard(split="random")
