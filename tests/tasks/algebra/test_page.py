"""The page of object algebra: what it says, and that it escapes what it is given."""

from pathlib import Path

import numpy as np
import pytest

from unknot.tasks.algebra.page import p_hat, score_text, section
from unknot.tasks.algebra.task import algebra
from unknot.tasks.result import TaskResult
from unknot.worlds.scenes.corpus import ROLES
from unknot.worlds.scenes.toy_corpus import toy_corpus


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> TaskResult:
    corpus = toy_corpus(tmp_path_factory.mktemp("toy"), n=32, size=16)
    rng = np.random.default_rng(0)
    codes = {role: rng.normal(size=(32, 4)) for role in ROLES}
    return algebra(codes, corpus, minibatch=32, pictures=2)


def test_a_failing_score_stands_in_brackets_and_a_missing_one_says_why() -> None:
    assert (
        score_text({"l2": 80.0, "l2_low": 79.0, "l2_high": 81.0, "l2_passed": True}, "l2") == "80.0 [79.0, 81.0]"
    )
    assert (
        score_text({"l2": 80.0, "l2_low": 79.0, "l2_high": 81.0, "l2_passed": None}, "l2") == "80.0 [79.0, 81.0]"
    )
    assert score_text({"l2": None, "l2_collapsed": True}, "l2") == "collapsed"
    assert score_text({"l2": None, "l2_passed": False, "kind": "published"}, "l2") == "fails"
    assert score_text({"l2": None, "l2_passed": None, "kind": "published"}, "l2") == "-"
    assert (
        score_text({"l2": 77.07, "l2_error": 0.72, "l2_passed": True, "kind": "published"}, "l2") == "77.07 ± 0.72"
    )


def test_shares_that_fail_their_test_stand_in_brackets(result: TaskResult) -> None:
    shares = p_hat(result)
    assert shares["symbolic attributes", "toy", "L2"]["drop"] == "1.000"
    assert shares["symbolic attributes without colour", "toy", "acos"]["color"] == "(0.000)"


def test_the_section_has_a_table_charts_pictures_and_published_rows(result: TaskResult) -> None:
    drawn = section([result])
    table, charts, picture, published = drawn.contents
    assert table.rows[0][0] == "codes" and table.rows[0][1] == "encoder"
    assert {row[0] for row in table.rows} >= {"pixels", "symbolic attributes", "constant code"}
    assert len(charts.drawings) == 2
    assert picture.png.startswith(b"\x89PNG")
    assert published.rows[0] == ["pixels", "occluded", "75.47", "36.28", "-", "-"]
    (cleaned,) = [row for row in published.rows if row[2] == "77.07 ± 0.72"]
    assert cleaned[4:] == ["95.53 ± 1.84", "2.37 ± 1.76"]
    assert any("does not tell D from wrong pictures" in text for text in drawn.paragraphs)


def test_several_results_share_one_table_and_baselines_are_shown_once(result: TaskResult) -> None:
    table = section([result, result]).contents[0]
    assert sum(row[0] == "pixels" for row in table.rows) == 1


def test_without_an_encoder_the_charts_are_of_baselines(tmp_path: Path) -> None:
    alone = algebra(None, toy_corpus(tmp_path, n=8, size=16), minibatch=8, pictures=0)
    drawn = section([alone])
    assert any("No encoder" in text for text in drawn.paragraphs)
    assert "symbolic attributes without colour" in drawn.contents[1].drawings[0].svg


def test_a_picture_that_is_none_is_left_out(result: TaskResult) -> None:
    broken = {**result.tables, "pictures": [{"title": "Tuples", "png": "%%%"}]}
    made = TaskResult("algebra", "x", "y", result.values, broken, result.settings)
    assert len(section([made]).contents) == 3
