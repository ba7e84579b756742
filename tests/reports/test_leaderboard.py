import json
import math
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from unknot.errors import Note, UnknotError
from unknot.reports.leaderboard import CONSTANT, OwnResult, board_of, leaderboard, own_results, published
from unknot.tasks.result import TaskResult
from unknot.worlds import WORLDS


def result(r2: float | None, world: str = "dsprites_rendered", name: str = "mine", rows: int = 10) -> TaskResult:
    table = [{"split": "extrapolation", "r2": r2, "rows": rows, "test_part": 497_280}]
    return TaskResult("generalisation", name, world, {}, {"splits": table})  # type: ignore[dict-item]


def test_every_published_number_has_a_source_a_world_and_a_sane_value() -> None:
    for entry in published():
        assert entry.world in WORLDS and entry.source and entry.r2 <= 1
        assert entry.split in ("random", "composition", "interpolation", "extrapolation")


def test_all_408_cells_of_tables_5_to_10_are_published_with_their_spreads() -> None:
    entries = published()
    assert len(entries) == 408 and len({(e.world, e.split, e.model) for e in entries}) == 408
    worlds = {"dsprites", "dsprites_quarter", "shapes3d", "celeb_glow", "mpi3d_real", "mpi3d_toy"}
    assert {e.world for e in entries} == worlds
    assert sum(math.isnan(e.spread) for e in entries) == 1  # printed as nan
    found = {(e.world, e.model, e.r2, e.spread) for e in entries if e.split == "extrapolation"}
    assert {("shapes3d", "RN101", 0.678, 0.017), ("mpi3d_real", "RN50 (ImageNet-21k)", 0.541, 0.019)} <= found
    assert ("dsprites", "SlowVAE", 0.667, 0.017) in found
    (pcl,) = [e for e in entries if (e.world, e.split, e.model) == ("dsprites", "extrapolation", "PCL")]
    assert pcl.r2 == 0.63 and "public leaderboard has 66.7" in pcl.note


def test_a_number_that_two_sources_have_stands_once(tmp_path: Path) -> None:
    path = tmp_path / "again.csv"
    line = "dsprites,extrapolation,{},{},their page,\n"
    path.write_text(
        "world,split,model,r2,source,note\n" + line.format("slowvae", 0.667) + line.format("PCL", 0.667)
    )
    board = leaderboard(more=[path, path], world="dsprites", split="extrapolation")
    (slow,) = [e for e in board if e.model == "SlowVAE"]
    assert slow.source == "Schott et al. 2022, Table 5; their page"
    assert [e.r2 for e in board if e.model == "PCL"] == [0.667, 0.63]  # another number is another row


def test_runs_that_differ_in_their_seed_are_one_row_with_mean_and_spread() -> None:
    runs = [
        OwnResult(result(r2, name=f"seed {i}"), "study", "beta_vae, beta 4")
        for i, r2 in enumerate((0.2, 0.4, 0.6))
    ]
    board = [e for e in leaderboard([*runs, result(0.3, name="other")], world="dsprites") if e.own]
    assert [(e.model, e.seeds) for e in board] == [("beta_vae, beta 4", 3), ("other", 1)]
    assert (board[0].r2, board[0].spread) == (pytest.approx(0.4), pytest.approx(0.2))
    assert board[0].note == "over 10 of 497,280 test images" and math.isnan(board[1].spread)


def test_the_stand_in_of_two_datasets_belongs_to_the_photographs() -> None:
    assert WORLDS["mpi3d_real"].stand_in == WORLDS["mpi3d_toy"].stand_in == "mpi3d_rendered"
    assert board_of("mpi3d_rendered") == "mpi3d_real"


def test_a_rendered_world_is_marked_and_ranked_apart() -> None:
    own_ones = [result(0.9), result(0.2, name="other"), result(0.65, world="dsprites")]
    board = leaderboard(own_ones, world="dsprites", split="extrapolation")
    own = {e.model: e for e in board if e.own and e.images == "dSprites (rendered)"}
    assert (own["mine"].rank, own["other"].rank) == (1, 2)
    (on_file,) = [e for e in board if e.own and e.images == "dSprites"]
    assert on_file.rank == 2  # behind 0.667, before 0.644
    assert [e.images for e in board] == sorted((e.images for e in board), key=lambda name: "rendered" in name)
    assert leaderboard([result(0.9)], world="dsprites_rendered") == leaderboard([result(0.9)], world="dsprites")


def test_what_a_constant_scores_stands_on_every_board() -> None:
    board = leaderboard([result(0.9)])
    constants = {(e.world, e.images): e for e in board if e.model == CONSTANT and e.split == "extrapolation"}
    assert len([e for e in board if e.model == CONSTANT]) == 6 * 4 + 1
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
    board = leaderboard(more=[path], world="shapes3d", split="random")
    assert [e.source for e in board if (e.model, e.r2) == ("CNN", 0.99)] == ["Table 6"]
    path.write_text("world,split,model,r2,source\nshapes3d,random,CNN,0.99\n")
    with pytest.raises(UnknotError, match=r"a row has no source \(shapes3d, random, CNN, 0.99\)"):
        leaderboard(more=[path])
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
    assert [Path(each.source).name for each in own_results([tmp_path])] == ["a.json"]
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
    (own,) = own_results([folder])
    assert (own.source, own.model) == (str(folder), "beta_vae, beta 1")
    assert re.fullmatch(rf"beta_vae, beta 1, seed [01] \({trained.name}\)", own.result.source)


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
        leaderboard(split="randm")
