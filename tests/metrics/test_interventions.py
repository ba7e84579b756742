"""Sources of latents under control of the factors: tables and worlds."""

from dataclasses import dataclass

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.factors import Classes, FactorSpace, space
from unknot.metrics.beta_vae_score import beta_vae_score
from unknot.metrics.factor_vae_score import factor_vae_score
from unknot.metrics.interventions import InterventionSource, TableSource, WorldSource
from unknot.worlds.world import Images, World


@dataclass(frozen=True)
class Pixels:
    """A world whose images are one row of pixels, a pixel per factor; noise in one more if stochastic."""

    factors: FactorSpace
    rows: Classes | None = None
    stochastic: bool = False
    name: str = "pixels"
    key: str = ""

    @property
    def image_shape(self) -> tuple[int, int, int]:
        return 1, len(self.factors) + 1, 1

    def images(self, classes, *, rng: np.random.Generator | None = None) -> Images:
        points = self.factors.check(classes)
        noise = rng.integers(0, 9, len(points)) if rng is not None and self.stochastic else np.zeros(len(points))
        return np.column_stack([points, noise]).astype(np.uint8)[:, None, :, None]


def flat(images: np.ndarray) -> np.ndarray:
    return images.reshape(len(images), -1).astype(np.float32)


GRID = space({"shape": 3, "x": 4, "y": 5}, categorical=["shape"])
POINTS = GRID.classes(np.arange(GRID.size))


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_both_sources_are_sources() -> None:
    assert isinstance(TableSource(POINTS, POINTS), InterventionSource)
    assert isinstance(WorldSource(Pixels(GRID), flat), InterventionSource)
    assert isinstance(Pixels(GRID), World)


@pytest.mark.parametrize("factor", [0, 1, 2])
@pytest.mark.parametrize("kind", ["table", "world", "incomplete world"])
def test_the_fixed_factor_does_not_move_and_the_others_do(kind: str, factor: int) -> None:
    source = {
        "table": lambda: TableSource(POINTS, POINTS),
        "world": lambda: WorldSource(Pixels(GRID), flat),
        "incomplete world": lambda: WorldSource(Pixels(GRID, rows=POINTS[::2]), flat),
    }[kind]()
    others = [j for j in range(3) if j != factor]
    moved = source.pair_differences([factor] * 5, 64, rng())
    assert (moved[:, factor] == 0).all() and (moved[:, others] > 0).all()
    spread = source.shared_variances([factor] * 5, 64, rng())
    assert (spread[:, factor] == 0).all() and (spread[:, others] > 0).all()


def test_table_draws_have_the_moments_of_the_rows() -> None:
    """Against all pairs of different rows that share a value, counted out."""
    table = rng(1).integers(0, 3, size=(60, 2))
    latents = rng(2).normal(size=(60, 2)) + table
    source = TableSource(latents, table)
    pairs = [
        np.abs(latents[a] - latents[b]) * (1 / (np.sum(table[:, 0] == table[a, 0]) - 1))
        for a in range(60)
        for b in range(60)
        if a != b and table[a, 0] == table[b, 0]
    ]
    wanted = np.sum(pairs, axis=0) / 60  # first row uniform, second uniform among the others of its value
    found = source.pair_differences([0] * 400, 400, rng(3)).mean(axis=0)
    np.testing.assert_allclose(found, wanted, rtol=0.01)
    groups = [latents[table[:, 0] == v] for v in range(3)]
    variance = np.average([g.var(axis=0) for g in groups], axis=0, weights=[len(g) for g in groups])
    np.testing.assert_allclose(source.shared_variances([0] * 4000, 64, rng(4)).mean(axis=0), variance, rtol=0.03)


def test_variances_are_those_of_numpy() -> None:
    """A group of two rows: every batch variance is n k (n - k) / n / (n - 1) of the squared distance."""
    source = TableSource([[100.0], [103.0], [7.0], [7.0]], [[0, 0], [0, 1], [1, 0], [1, 1]])
    found = source.shared_variances([0] * 200, 8, rng())[:, 0]
    possible = {round(9 * k * (8 - k) / 8 / 7, 9) for k in range(9)}
    assert {round(v, 9) for v in found} <= possible
    assert (found == 0).any() and (found > 0).any()


def test_values_with_a_single_row_are_never_held_fixed() -> None:
    table = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [9, 0], [5, 1]])
    latents = np.array([[0.0], [0.0], [1.0], [1.0], [50.0], [60.0]])
    source = TableSource(latents, table, names=("a", "b"))
    assert source.support["a"].tolist() == [2, 2, 1, 1]
    assert (source.pair_differences([0] * 50, 20, rng()) == 0).all()
    assert (source.shared_variances([0] * 50, 20, rng()) == 0).all()


@pytest.mark.parametrize("kind", ["table", "world"])
def test_counterfactuals_change_one_factor_of_the_same_points(kind: str) -> None:
    order = rng(5).permutation(np.repeat(np.arange(GRID.size), 2))
    table = TableSource(POINTS[order] * 1.0, POINTS[order])
    source: InterventionSource = table if kind == "table" else WorldSource(Pixels(GRID), flat)
    found = source.counterfactuals(1, 10, rng())[..., :3]
    assert found.shape == (4, 10, 3)
    assert (found[:, :, 1] == np.arange(4)[:, None]).all()
    assert (found[:, :, [0, 2]] == found[:1][:, :, [0, 2]]).all()
    assert len(np.unique(found[0], axis=0)) > 1


def test_counterfactuals_need_every_combination() -> None:
    with pytest.raises(UnknotError, match="do not hold all 60 combinations"):
        TableSource(POINTS[:-1], POINTS[:-1]).counterfactuals(0, 3, rng())
    with pytest.raises(UnknotError, match="pixels lacks some combinations"):
        WorldSource(Pixels(GRID, rows=POINTS[::2]), flat).counterfactuals(0, 3, rng())


def test_a_pool_is_a_table_of_encoded_points() -> None:
    pool = WorldSource(Pixels(GRID), flat).pool(500, rng())
    assert pool.sizes == (3, 4, 5)
    assert pool.names == ("shape", "x", "y")
    assert (pool.shared_variances([2] * 9, 16, rng())[:, 2] == 0).all()


def test_a_stochastic_world_is_drawn_afresh_each_time() -> None:
    source = WorldSource(Pixels(GRID, stochastic=True), flat)
    assert source.pair_differences([0], 64, rng())[0, 3] > 0
    np.testing.assert_array_equal(source.latents(9, rng(1)), source.latents(9, rng(1)))


def test_an_encoder_that_loses_rows_is_refused() -> None:
    with pytest.raises(UnknotError, match="returned 127 rows for 128 images"):
        WorldSource(Pixels(GRID), lambda images: flat(images)[1:]).latents(200, rng())


def test_wrong_tables_are_refused() -> None:
    with pytest.raises(UnknotError, match="latents have 2 rows, factors shape"):
        TableSource([[0.0], [1.0]], [[0]])
    with pytest.raises(UnknotError, match="factor 0 cannot be held fixed"):
        TableSource([[0.0], [1.0]], [[0], [1]]).pair_differences([0], 4, rng())


FEW = {
    beta_vae_score: {"points": 300, "points_test": 200},
    factor_vae_score: {"votes": 300, "votes_test": 200},
}


@pytest.mark.parametrize("metric", [beta_vae_score, factor_vae_score])
class TestBothScores:
    def test_a_world_can_be_sampled_instead_of_rows(self, metric) -> None:
        score = metric(source=WorldSource(Pixels(GRID), flat), **FEW[metric])
        assert score.value == 1
        assert score.parts["factor_names"] == ["shape", "x", "y"]

    def test_a_constant_of_the_world_is_never_drawn(self, metric) -> None:
        world = Pixels(space({"colour": 1, "x": 4, "y": 5}))
        score = metric(source=WorldSource(world, flat), **FEW[metric])
        assert score.value == 1
        assert score.parts["skipped"] == {"colour": "constant"}
        assert np.isnan(score.parts["per_factor"]).tolist() == [True, False, False]

    def test_support_and_single_rows_are_told(self, metric) -> None:
        table = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [9, 0], [5, 1]])
        score = metric(table * 1.0, table, **FEW[metric])
        assert score.parts["support"]["0"].tolist() == [2, 2, 1, 1]
        assert any("2 value(s) of factor '0' have one row only" in note for note in score.parts["notes"])

    def test_rows_that_share_no_value_are_refused(self, metric) -> None:
        table = np.column_stack([np.arange(20), np.arange(20) % 2])
        with pytest.raises(UnknotError, match="no two rows share a value of factor '0'"):
            metric(table * 1.0, table)

    def test_neither_rows_nor_a_source_is_refused(self, metric) -> None:
        with pytest.raises(UnknotError, match="got neither"):
            metric()

    def test_one_varying_factor_is_refused(self, metric) -> None:
        with pytest.raises(UnknotError, match="at least 2 factors"):
            metric(POINTS * 1.0, POINTS[:, :1])
        with pytest.raises(UnknotError, match="at least 2 factors"):
            metric(source=WorldSource(Pixels(space({"x": 4, "y": 1})), flat))

    def test_rows_and_a_world_agree(self, metric) -> None:
        """The same code from a table of the grid and from the world itself: the same but for the seed."""
        mix = np.linalg.qr(rng(7).normal(size=(3, 3)))[0]
        encode = lambda images: flat(images)[:, :3] / [2, 3, 4] @ mix  # noqa: E731
        options = {name: 6 * number for name, number in FEW[metric].items()}
        table = metric(POINTS / [2, 3, 4] @ mix, POINTS, **options).value
        world = metric(source=WorldSource(Pixels(GRID), encode, batch_size=4096), **options).value
        assert table == pytest.approx(world, abs=0.07)
