import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.worlds import open_world
from unknot.worlds.scenes.chunks import alone
from unknot.worlds.scenes.corpus import MASKED, ROLES, open_corpus, write_corpus
from unknot.worlds.scenes.corpus_sheet import corpus_sheet
from unknot.worlds.scenes.layouts import layouts_of, survey
from unknot.worlds.scenes.making import differing, make_corpus
from unknot.worlds.scenes.render import render, scene_masks
from unknot.worlds.scenes.scene import COLORS, read_scene
from unknot.worlds.scenes.toy_corpus import toy_corpus

SMALL = {"n": 20, "size": 32, "variant": "clear", "seed": 3}  # two pieces


@pytest.fixture(scope="module")
def occluded(tmp_path_factory):
    return make_corpus(tmp_path_factory.mktemp("occluded"), n=6, size=64)


@pytest.fixture(scope="module")
def clear(tmp_path_factory):
    return make_corpus(tmp_path_factory.mktemp("clear"), **SMALL)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(".")}


def test_images_and_masks_are_those_of_the_scenes(occluded):
    assert occluded.images.shape == (6, 10, 64, 64, 3) and occluded.masks.shape == (6, 4, 64, 64)
    assert isinstance(occluded.images, np.memmap) and isinstance(occluded.masks, np.memmap)
    for i, record in enumerate(occluded.tuples):
        scenes = [read_scene(record["scenes"][role]) for role in ROLES]
        np.testing.assert_array_equal(occluded.images[i], render(scenes, 64))
        labels = [[k + 1 for k in record["scenes"][role]["indices"]] for role in MASKED]
        np.testing.assert_array_equal(occluded.masks[i], scene_masks(scenes[:4], 64, labels=labels))


def test_a_tuple_keeps_camera_and_lamps_and_adds_the_same_objects_twice(occluded, clear):
    for record in occluded.tuples + clear.tuples:
        scenes = record["scenes"]
        assert len({json.dumps([scene["camera"], scene["lights"]]) for scene in scenes.values()}) == 1
        a, b, c, d = (set(scenes[role]["indices"]) for role in MASKED)
        assert b - a == d - c == set(record["added"]) and not a & set(record["added"]) and not a & c
        assert len(a | c | d) in (7, 8) and len(a) in (3, 4) and len(record["added"]) in (1, 2)
        assert scenes["A"]["background"] == scenes["B"]["background"] != "white"
        assert {scenes[role]["background"] for role in ROLES[2:]} == {"white"}


def score_by_hand(record):
    union = {
        role: scene_masks(read_scene(record["scenes"][role]), 240, crop=1.0)[0].astype(bool).astype(int)
        for role in MASKED
    }
    return int(np.abs(union["B"] - union["A"] + union["C"] - union["D"]).sum())


def test_the_white_corpus_has_the_tuples_of_the_occluded_one_on_white(tmp_path, occluded):
    white = make_corpus(tmp_path / "white", n=2, size=64, variant="white")
    for record in white.tuples:
        assert {scene["background"] for scene in record["scenes"].values()} == {"white"}
    theirs = [json.dumps(record["scenes"]["D"], sort_keys=True) for record in occluded.tuples]
    assert all(json.dumps(record["scenes"]["D"], sort_keys=True) in theirs for record in white.tuples)


def test_scores_are_those_of_silhouettes_at_240_pixels_and_keep_the_variants_bounds(occluded, clear):
    for record in occluded.tuples:
        assert record["score"] == score_by_hand(record) > 1400
    for record in clear.tuples[:6]:
        assert record["score"] == score_by_hand(record) < 400


def test_main_scenes_show_and_hide_enough(occluded):
    for record in occluded.tuples:
        a, d = (read_scene(record["scenes"][role]) for role in "BC")
        everything = replace(a, objects=a.objects + d.objects)
        pixels = survey(layouts_of([everything]), 240, 240)
        assert pixels.visible.min() >= 200 and pixels.overlap[0] > 800


def test_negatives_differ_from_d_in_what_they_claim_and_can_be_seen(occluded, clear):
    for corpus, enough in ((occluded, 5), (clear, 1)):
        for i, record in enumerate(corpus.tuples):
            scenes, right = record["scenes"], record["scenes"]["D"]["objects"]
            for column, negative in enumerate(ROLES[4:], 4):
                assert differing(corpus.images[i, column], corpus.images[i, 3]) >= enough
                wrong = scenes[negative]["objects"]
                if negative == "drop":
                    assert len(wrong) == len(right) - 1 and all(thing in right for thing in wrong)
                    continue
                changed = [(a, b) for a, b in zip(right, wrong, strict=True) if a != b]
                assert len(changed) == 1
                before, after = changed[0]
                if negative == "object":
                    assert after in scenes["A"]["objects"] and after not in right
                else:
                    follows = {"scale", "3d_coords"} if negative == "size" else set()
                    assert {key for key in before if before[key] != after[key]} == {negative} | follows
                    assert before["3d_coords"][:2] == after["3d_coords"][:2]


def test_added_objects_are_seen_in_b_and_in_d(clear):
    for masks, record in zip(clear.masks, clear.tuples, strict=True):
        for column in (1, 3):
            assert all((masks[column] == k + 1).any() for k in record["added"])


def test_no_main_scene_gives_more_tuples_than_allowed(tmp_path, clear):
    cameras = Counter(json.dumps(record["scenes"]["A"]["camera"]) for record in clear.tuples)
    assert max(cameras.values()) <= 4 and len(cameras) < len(clear)
    one = make_corpus(tmp_path, **{**SMALL, "n": 5, "per_scene": 1})
    assert len({json.dumps(record["scenes"]["A"]["camera"]) for record in one.tuples}) == 5


def test_published_negatives_edit_objects_by_their_place_in_the_list(tmp_path):
    corpus = make_corpus(tmp_path, n=3, size=16, variant="as published")
    for record in corpus.tuples:
        indices = record["scenes"]["D"]["indices"]
        order = [record["edits"][name]["object"] for name in ("shape", "color", "material", "size")]
        assert order == indices[:4]


def test_files_are_the_same_with_two_processes(tmp_path, clear):
    again = make_corpus(tmp_path / "two", **SMALL, jobs=2)
    assert contents(again.folder) == contents(clear.folder)
    assert not (again.folder / ".making").exists()


def test_a_killed_process_leaves_a_corpus_that_is_continued_to_the_same_files(tmp_path, clear):
    folder = tmp_path / "killed"
    code = f"from unknot.worlds.scenes.making import make_corpus; make_corpus({str(folder)!r}, **{SMALL!r})"
    process = subprocess.Popen([sys.executable, "-c", code])
    first = folder / ".making" / "pieces" / "000000.json"
    until = time.monotonic() + 120
    while not first.exists() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert first.exists() and not (folder / "corpus.json").exists()
    with pytest.raises(UnknotError, match=r"was interrupted \(\d pieces are done\)"):
        open_corpus(folder)
    with pytest.raises(UnknotError, match="was begun with seed 3 instead of 4"):
        make_corpus(folder, **{**SMALL, "seed": 4})
    before, told = first.stat().st_mtime_ns, []
    make_corpus(folder, **SMALL, progress=lambda stage, done, total: told.append((done, total)))
    assert first.parent.parent.exists() is False and before  # all that was needed on the way is gone
    assert told[0][0] >= 16 and told[-1] == (20, 20)
    assert contents(folder) == contents(clear.folder)


def test_a_corpus_that_another_process_makes_is_waited_for(tmp_path, clear):
    code = f"from unknot.worlds.scenes.making import make_corpus; make_corpus({str(tmp_path)!r}, **{SMALL!r})"
    other = subprocess.Popen([sys.executable, "-c", code])
    while not (tmp_path / ".lock.holder").exists() and other.poll() is None:
        time.sleep(0.002)
    told = []
    corpus = make_corpus(tmp_path, **SMALL, progress=lambda stage, done, total: told.append((done, total)))
    assert other.wait() == 0 and told
    assert contents(corpus.folder) == contents(clear.folder)


def test_a_process_does_not_wait_for_the_one_that_started_it(tmp_path):
    code = f"from unknot.worlds.scenes.making import make_corpus; make_corpus({str(tmp_path)!r}, **{SMALL!r})"
    with alone(tmp_path):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert f"process {os.getpid()} is filling this folder" in done.stderr


def test_a_corpus_that_is_there_is_opened_and_not_made_again(clear):
    before = {path: path.stat().st_mtime_ns for path in clear.folder.iterdir()}
    assert len(make_corpus(clear.folder, **SMALL)) == 20
    assert {path: path.stat().st_mtime_ns for path in clear.folder.iterdir()} == before
    with pytest.raises(UnknotError, match="already holds a corpus with seed 3 instead of 5"):
        make_corpus(clear.folder, **{**SMALL, "seed": 5})


@pytest.mark.parametrize(
    ("options", "message"),
    [({"variant": "ocluded"}, "did you mean 'occluded'"), ({"n": 0}, "n 0"), ({"seed": -1}, "seed -1"),
     ({"size": 0}, "0 x 0"), ({"jobs": 0}, "jobs is 0"), ({"per_scene": 0}, "per_scene 0")],
)  # fmt: skip
def test_wrong_wishes_are_named_and_nothing_is_written(tmp_path, options, message):
    with pytest.raises(UnknotError, match=message):
        make_corpus(tmp_path / "new", **{**SMALL, **options})
    assert not (tmp_path / "new" / "images.npy").exists()


@pytest.fixture
def toy(tmp_path):
    return toy_corpus(tmp_path / "toy", n=3, size=16)


def test_a_toy_corpus_keeps_the_contract(toy):
    assert toy.images.shape == (3, 10, 16, 16, 3) and len(toy.tuples) == 3
    for masks, record in zip(toy.masks, toy.tuples, strict=True):
        assert set(np.unique(masks[1])) - set(np.unique(masks[0])) >= {k + 1 for k in record["added"]}
        assert all(thing["color"] in COLORS for thing in record["scenes"]["A"]["objects"])


@pytest.mark.parametrize("name", ["images.npy", "masks.npy", "tuples.json", "corpus.json"])
def test_a_missing_file_is_named(toy, name):
    (toy.folder / name).unlink()
    with pytest.raises(UnknotError, match=name):
        open_corpus(toy.folder)


@pytest.mark.parametrize("name", ["images.npy", "tuples.json", "corpus.json"])
def test_a_file_cut_short_is_named(toy, name):
    data = (toy.folder / name).read_bytes()
    (toy.folder / name).write_bytes(data[: len(data) // 2])
    with pytest.raises(UnknotError, match=name):
        open_corpus(toy.folder)
    (toy.folder / name).write_bytes(b"[" * 100_000)
    with pytest.raises(UnknotError, match=name):
        open_corpus(toy.folder)


def test_images_of_another_size_are_named(toy):
    np.save(toy.folder / "images.npy", np.zeros((3, 10, 8, 8, 3), np.uint8))
    with pytest.raises(UnknotError, match=r"\(3, 10, 8, 8, 3\); expected uint8 \(3, 10, 16, 16, 3\)"):
        open_corpus(toy.folder)


def test_a_corpus_of_another_version_is_refused(toy):
    info = json.loads((toy.folder / "corpus.json").read_text())
    (toy.folder / "corpus.json").write_text(json.dumps(info | {"version": 99}))
    with pytest.raises(UnknotError, match="version 99"):
        open_corpus(toy.folder)


def test_a_number_of_tuples_that_does_not_agree_is_named(toy):
    (toy.folder / "tuples.json").write_text(json.dumps(toy.tuples[:2]))
    with pytest.raises(UnknotError, match=r"has 2 tuples, corpus\.json says 3"):
        open_corpus(toy.folder)


def test_no_folder_and_an_empty_folder_are_told_apart(tmp_path):
    with pytest.raises(UnknotError, match="no such folder"):
        open_corpus(tmp_path / "nowhere")
    with pytest.raises(UnknotError, match="is no corpus"):
        open_corpus(tmp_path)


def test_arrays_of_the_wrong_shape_are_not_written(tmp_path, toy):
    with pytest.raises(UnknotError, match="expected uint8 \\(n, 10, h, w, 3\\)"):
        write_corpus(tmp_path / "x", toy.images[:, :4], toy.masks, toy.tuples)
    with pytest.raises(UnknotError, match="2 tuples for 3"):
        write_corpus(tmp_path / "x", toy.images, toy.masks, toy.tuples[:2])


def test_a_corpus_opens_as_a_world_of_tuples_and_roles(toy):
    world = open_world(toy.folder)
    assert world.factors.shape == (3, 10) and world.factors.names == ("tuple", "role")
    np.testing.assert_array_equal(world.images([[2, 5]])[0], toy.images[2, 5])


def test_a_sheet_shows_the_tuples_asked_for(toy):
    two, three = (corpus_sheet(toy, rows=rows) for rows in (2, 3))
    assert two.width == three.width and two.height < three.height
