"""Which tuples object algebra is done with: corpora that are there, or are made."""

import subprocess
import sys

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.metrics.coat import generator_of
from unknot.tasks.algebra.quadruples import CorpusTuples
from unknot.tasks.algebra.task import algebra
from unknot.worlds.scenes.corpus import ROLES
from unknot.worlds.scenes.toy_corpus import toy_corpus

from .conftest import CALLS, blocks


def test_fewer_tuples_than_a_minibatch_are_refused_before_anything_is_encoded(tmp_path):
    small = toy_corpus(tmp_path, n=20, size=16)
    CALLS.clear()
    with pytest.raises(UnknotError, match="20 tuples are fewer than a minibatch of 64"):
        algebra(blocks, small)
    assert not CALLS
    assert algebra(blocks, small, minibatch=20, pictures=0).values["l2_coat"] > 0


def test_a_corpus_larger_than_the_disk_is_refused_before_memory_is_taken(tmp_path):
    with pytest.raises(UnknotError, match=r"needs 6\.9 TB, but only .* are free"):
        algebra(None, tuples=900_000_000, size=16, data=tmp_path)
    with pytest.raises(UnknotError, match=r"tuples is 1000.*expected a whole number from 2 up to 1000000000"):
        algebra(None, tuples=10**30, size=16, data=tmp_path)


def test_two_corpora_differ_in_variant_and_quadruples_take_the_place_of_both(corpus, tmp_path):
    with pytest.raises(UnknotError, match="quadruples take the place of a corpus") as refused:
        algebra(blocks, corpus, quadruples=tmp_path / "list.csv")
    assert refused.value.field == ("quadruples",)
    with pytest.raises(UnknotError, match="both corpora are of variant 'toy'"):
        algebra(blocks, corpus, clear=corpus)
    with pytest.raises(UnknotError, match="corpus is 3; expected a Corpus or a path"):
        algebra(blocks, 3)


def test_without_a_corpus_one_is_made_in_the_data_folder_with_a_clear_one_beside_it(tmp_path):
    stages = []

    def progress(stage, done, total, **facts):
        stages.append(stage)

    small = {"tuples": 2, "size": 16, "minibatch": 2, "pictures": 0, "data": tmp_path}
    result = algebra(None, **small, progress=progress)
    homes = [tmp_path / "coat" / f"{variant}-2-16-seed0" for variant in ("occluded", "clear")]
    assert [stage for stage in dict.fromkeys(stages) if stage.startswith("making")] == [
        f"making the occluded corpus in {homes[0]}",
        f"making the clear corpus in {homes[1]}",
    ]
    assert list(result.settings["corpora"]) == ["occluded", "clear"] and "pixels_l2_coat_clear" in result.values
    stages.clear()
    again = algebra(None, homes[0], minibatch=2, pictures=0, progress=progress)
    assert list(again.settings["corpora"]) == ["occluded"] and not stages  # a corpus that is named stands alone
    assert list(algebra(None, **small, clear=False).settings["corpora"]) == ["occluded"]


def test_two_processes_that_ask_at_once_make_one_corpus(tmp_path):
    code = (
        "from unknot import algebra\n"
        "options = {'tuples': 20, 'size': 16, 'variant': 'clear', 'minibatch': 2, 'pictures': 0}\n"
        f"print(algebra(None, {str(tmp_path)!r}, **options).values)"
    )
    pair = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    printed = [process.communicate()[0] for process in pair]
    assert [process.returncode for process in pair] == [0, 0]
    assert printed[0] == printed[1] and "pixels_l2_coat" in printed[0]
    assert not list(tmp_path.rglob(".lock")) and not list(tmp_path.rglob(".making"))


def test_a_second_corpus_stands_beside_the_first(corpus, traced, tmp_path):
    result = algebra(blocks, corpus, clear=traced, minibatch=16, pictures=0)
    assert {r["corpus"] for r in result.tables["scores"]} == {"toy", "clear"}
    assert {"l2_coat_clear", "pixels_l2_coat_clear", "l2_coat"} <= set(result.values)
    codes = {role: np.random.default_rng(0).normal(size=(64, 3)) for role in ROLES}
    result = algebra(codes, corpus, clear=traced, minibatch=16, pictures=0)
    assert any("there are none of 'clear'" in note for note in result.notes)
    assert "l2_coat_clear" not in result.values


def test_minibatches_of_a_rendered_corpus_mix_its_scenes(traced):
    scenes = CorpusTuples(traced).scenes  # 16 tuples of at most four a scene, seed 0 as the metric's own default
    order = generator_of(0).permutation(16)
    assert np.mean([len(set(scenes[order[i : i + 4]])) for i in range(0, 16, 4)]) > 2
