"""Hyper-parameters of reasoners: drawn from the published space, or given as options."""

import math
from typing import Any

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.tasks.reasoning.options import SEARCH, ReasoningOptions, WReNSetting, draw_settings


def test_the_search_space_has_288_settings_and_the_one_for_cpus_48() -> None:
    assert [math.prod(len(values) for values in SEARCH[name].values()) for name in ("paper", "cpu")] == [288, 48]
    assert len(set(draw_settings(288, 0))) == 288
    assert all((one.g_width, one.g_depth) == (256, 2) for one in draw_settings(48, 0, "cpu"))
    assert not any(one.norm or one.optimiser != "adam" for one in draw_settings(288, 0))


def test_draws_are_the_same_for_a_seed_and_more_of_them_begin_with_the_same() -> None:
    assert draw_settings(10, 3) == draw_settings(20, 3)[:10] != draw_settings(10, 4)
    shares = np.mean([draw_settings(1, seed)[0].lr == 0.01 for seed in range(300)])
    assert shares == pytest.approx(1 / 3, abs=0.1)


def test_a_reasoner_of_one_s_own_is_what_the_options_say() -> None:
    assert ReasoningOptions().reasoners() == [WReNSetting()]
    options = ReasoningOptions(g="256x3", f="128x1", lr=0.1, dropout=0.5, norm=False, optimiser="adam")
    assert options.reasoners() == [WReNSetting(0.1, 256, 3, 128, 1, 0.5, False, "adam")]
    assert ReasoningOptions(draws=3, search="paper", seed=5).reasoners() == draw_settings(3, 5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lr": 0.0}, "lr is 0.0; expected a number above 0"),
        ({"dropout": 1.0}, "dropout is 1.0"),
        ({"g": "big"}, "g is 'big'; expected width x depth, such as 256x2"),
        ({"g": "9" * 5000 + "x2"}, "g is '99.*; expected width x depth"),
        ({"g": "16x1"}, "g is '16x1'; .* a depth of at least 2"),
        ({"f": "0x1"}, "f is '0x1'"),
        ({"optimiser": "moun"}, "unknown optimiser of reasoning 'moun'; did you mean 'muon'"),
        ({"search": "papers"}, "unknown search of reasoning 'papers'; did you mean 'paper'"),
        ({"draws": 49}, "49 draws; the search space 'cpu' has 48 settings"),
        ({"at": (0,)}, "at is"),
        ({"classes": {"x": 0}}, "classes is"),
    ],
)
def test_options_that_make_no_sense_are_refused_by_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UnknotError, match=message) as caught:
        ReasoningOptions(**options)
    assert caught.value.field == tuple(options)


@pytest.mark.parametrize(
    "own", [{"g": "64x2"}, {"f": "64x2"}, {"lr": 0.1}, {"dropout": 0.5}, {"norm": False}, {"optimiser": "adam"}]
)
def test_drawn_settings_are_not_mixed_with_given_ones(own: dict[str, Any]) -> None:
    with pytest.raises(UnknotError, match="drawn reasoners have settings of their own; leave out") as caught:
        ReasoningOptions(draws=2, **own)
    assert caught.value.field == tuple(own)


def test_what_only_matters_to_a_machine_or_a_picture_is_no_setting_of_a_result() -> None:
    assert ReasoningOptions(threads=2, solved=True).settings() == ReasoningOptions().settings()
