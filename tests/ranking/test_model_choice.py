"""The best setting and its interval, how many partners suffice, and agreement with labels."""

import numpy as np
import pandas as pd
import pytest

from unknot.errors import UnknotError
from unknot.ranking.model_choice import agreement, compare_settings, partner_stability, supervised_scores
from unknot.ranking.ranking import Ranking, rank
from unknot.representation import Representation


def _ranking(table: np.ndarray, settings: list[str], *, all_to_all: bool = False) -> Ranking:
    """A ranking with these pair scores (NaN: not compared), as `rank` would have made it."""
    targets, predictors = np.nonzero(~np.isnan(table.T))
    scores = [np.median(c[~np.isnan(c)]) if (~np.isnan(c)).any() else np.nan for c in table.T]
    return Ranking(
        names=tuple(f"m{i}" for i in range(len(table))),
        settings=tuple(settings),
        scores=np.array(scores),
        masks=(np.ones(2, dtype=bool),) * len(table),
        pairs=np.stack([predictors, targets], axis=1),
        pair_scores=table[predictors, targets],
        method="lasso",
        alpha=0.1,
        all_to_all=all_to_all,
        partners=None,
        rows=100,
        threshold=0.01,
        normaliser="paper",
        seed=0,
    )


def _within(blocks: list[np.ndarray]) -> tuple[np.ndarray, list[str]]:
    n = sum(map(len, blocks))
    table, settings, start = np.full((n, n), np.nan), [], 0
    for k, block in enumerate(blocks):
        end = start + len(block)
        table[start:end, start:end] = block
        settings += [f"s{k}"] * len(block)
        start = end
    np.fill_diagonal(table, np.nan)
    return table, settings


def _random(n: int, low: float, high: float, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(low, high, (n, n))


def test_the_best_setting_comes_first_with_an_interval_around_its_median() -> None:
    table, settings = _within([_random(8, 0.2, 0.4, 0), _random(8, 0.7, 0.9, 1), _random(8, 0.3, 0.5, 2)])
    found = compare_settings(_ranking(table, settings), draws=200)
    assert [s.setting for s in found] == ["s1", "s2", "s0"]
    assert found[0].best == 1.0
    assert sum(s.best for s in found) == pytest.approx(1.0)
    for s in found:
        assert s.interval[0] <= s.score <= s.interval[1]
        assert s.interval[0] < s.interval[1]
    assert found[0].models == tuple(range(8, 16))


def test_more_seeds_give_narrower_intervals() -> None:
    def width(n: int) -> float:
        widths = []
        for seed in range(5):
            # a model's own quality scatters its pairs, as it does in trained models
            own = np.random.default_rng([n, seed]).normal(size=n)
            table, settings = _within([0.1 * (own[:, None] + own[None])])
            low, high = compare_settings(_ranking(table, settings), draws=200)[0].interval
            widths.append(high - low)
        return float(np.mean(widths))

    assert width(40) < 0.7 * width(8)


def test_settings_that_are_alike_share_the_first_place() -> None:
    table, settings = _within([_random(6, 0, 1, 0), _random(6, 0, 1, 1)])
    shares = [s.best for s in compare_settings(_ranking(table, settings), draws=300)]
    assert all(0.03 < share < 0.97 for share in shares)


def test_two_seeds_leave_nothing_to_resample() -> None:
    table, settings = _within([_random(2, 0.5, 0.6, 0), _random(4, 0.1, 0.2, 1), np.zeros((1, 1))])
    few, enough, one = compare_settings(_ranking(table, settings), draws=50)
    assert (few.setting, enough.setting, one.setting) == ("s0", "s1", "s2")
    assert np.isnan(few.interval).all()
    assert np.isfinite(enough.interval).all()
    assert np.isnan(one.score)
    assert (few.best, enough.best, one.best) == (1.0, 0.0, 0.0)


def test_a_bootstrap_of_all_to_all_also_resamples_the_partners() -> None:
    table = _random(9, 0.2, 0.4, 0)
    table[:, :3] += 0.3
    np.fill_diagonal(table, np.nan)
    first, second, third = compare_settings(
        _ranking(table, ["a"] * 3 + ["b"] * 3 + ["c"] * 3, all_to_all=True), draws=100
    )
    assert first.setting == "a"
    assert first.best == 1.0
    assert np.isfinite([first.interval, second.interval, third.interval]).all()


def test_the_bootstrap_is_that_of_the_formula() -> None:
    """Resample, take medians of medians: the plain way, draw by draw."""
    table, settings = _within([_random(5, 0, 1, 3)])
    found = compare_settings(_ranking(table, settings), draws=40, seed=7)[0]
    rng, slow = np.random.default_rng(7), []
    while len(slow) < 40:
        picks = rng.integers(0, 5, 5)
        if len(set(picks)) > 1:
            scores = [np.median([table[j, i] for j in picks if j != i]) for i in picks]
            slow.append(np.median(scores))
    np.testing.assert_allclose(found.interval, np.quantile(slow, [0.025, 0.975]))


def test_more_partners_follow_the_full_ranking_more_closely() -> None:
    rng = np.random.default_rng(0)
    quality = rng.uniform(0.2, 0.8, 40)
    table = quality[None] + 0.2 * rng.normal(size=(40, 40))
    np.fill_diagonal(table, np.nan)
    ranking = _ranking(table, [""] * 40)
    found = partner_stability(ranking, draws=20)
    assert found.sizes == (5, 10, 15, 20, 25, 30, 35)
    assert (np.diff(found.mean) > 0).all()
    assert found.std[-1] < found.std[0]
    assert partner_stability(ranking, sizes=[39], draws=2).mean == pytest.approx([1.0])
    against = partner_stability(ranking, quality, sizes=[5, 39], draws=20)
    assert 0.5 < against.mean[0] < against.mean[1] < 1.0


def test_stability_is_refused_without_partners_or_reference() -> None:
    table, settings = _within([_random(4, 0, 1, 0)])
    ranking = _ranking(table, settings)
    with pytest.raises(UnknotError, match="compared with 3 others only"):
        partner_stability(ranking)
    with pytest.raises(UnknotError, match=r"reference has shape \(3,\)"):
        partner_stability(ranking, [1, 2, 3])
    with pytest.raises(UnknotError, match="2 models have both scores"):
        partner_stability(ranking, [1, 2, np.nan, np.nan], sizes=[2])
    with pytest.raises(UnknotError, match="draws is 0"):
        compare_settings(ranking, draws=0)


def test_agreement_takes_columns_mappings_and_tables() -> None:
    table, settings = _within([np.array([[0, 0.1, 0.3], [0.2, 0, 0.3], [0.2, 0.1, 0]])])
    ranking = _ranking(table, settings)  # scores 0.2, 0.1, 0.3
    by_column = agreement(ranking, {"mig": [0.5, 0.4, 0.6], "tc": [1.0, 2.0, 0.5]})
    assert by_column["udr", "mig"] == pytest.approx(1.0)
    assert by_column["udr", "tc"] == pytest.approx(-1.0)
    by_name = agreement(ranking, {"mig": {"m2": 0.6, "m0": 0.5, "m1": 0.4}})
    assert by_name["udr", "mig"] == pytest.approx(1.0)
    frame = pd.DataFrame({"mig": [0.6, 0.5, 0.4]}, index=["m2", "m0", "m1"])
    assert agreement(ranking, frame)["udr", "mig"] == pytest.approx(1.0)
    with pytest.raises(UnknotError, match="no row 'm1'"):
        agreement(ranking, frame.drop(index="m1"))


def test_udr_agrees_with_mig_on_models_that_entangle_more_and_more() -> None:
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 8, (1500, 3))
    sources = (factors - 3.5) / 2.3
    models = []
    for i in range(8):
        mix = np.linalg.qr(np.eye(3) + rng.normal(size=(3, 3)) * (i > 3) * i)[0]
        models.append(
            Representation(sources @ mix + 0.05 * rng.normal(size=sources.shape), factors, kl=np.ones(3))
        )
    ranking = rank(models)
    scores = supervised_scores(models, ["mig"])
    assert list(scores) == ["mig[bins=20]"]
    assert agreement(ranking, scores)["udr", "mig[bins=20]"] > 0.5
    with pytest.raises(UnknotError, match="model 1 has no factors"):
        supervised_scores([models[0], models[1].latents], ["mig"])
