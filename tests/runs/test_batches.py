from collections.abc import Callable

import numpy as np
import pytest
import torch

from unknot.errors import UnknotError
from unknot.factors import FactorSpace, space
from unknot.runs.batches import PAIRS, Feed, as_tensor, pair_law
from unknot.runs.spec import RunSpec
from unknot.runs.training import build_model, feed
from unknot.worlds import conventions, open_world
from unknot.worlds.array_world import ArrayWorld
from unknot.worlds.pairs import Pairs
from unknot.worlds.rendered.dsprites_rendered import DSpritesRendered
from unknot.worlds.splits.combinations import combination_split
from unknot.worlds.splits.regions import Listed
from unknot.worlds.splits.split import Split

GRID = space({"shape": 3, "x": 6, "y": 5}, categorical=["shape"])
SPLITS = {
    "random": Split("random", GRID, train_size=60),
    "composition": Split("composition", GRID, {"x": (0, 1), "y": (0,)}),
    "interpolation": Split("interpolation", GRID, {"x": (2,), "y": (2,)}),
    "extrapolation": Split("extrapolation", GRID, {"x": (4, 5)}),
    "combination": combination_split(GRID, {"shape": 1, "x": 2}),
}


def telling(grid: FactorSpace = GRID, rows: np.ndarray | None = None) -> ArrayWorld:
    """A world whose images say their classes: the pixels of image i are the classes of factor 0, 1, ..."""
    classes = grid.classes(np.arange(grid.size)) if rows is None else rows
    images = np.zeros((len(classes), 32, 32), dtype=np.uint8)
    images[:, 0, : len(grid)] = classes
    images[:, 31, 31] = 255
    return ArrayWorld(images, classes, space=grid, name="telling")


def said(images: torch.Tensor, n: int = len(GRID)) -> np.ndarray:
    """The classes that images of `telling` say."""
    return (images[:, 0, 0, :n] * 255).round().long().numpy()


def equal(one: object, two: object) -> bool:
    parts = zip(vars(one).items(), vars(two).items(), strict=True)
    return all(
        (a is None and b is None) or (a is not None and b is not None and torch.equal(a, b))
        for (_, a), (_, b) in parts
    )


KINDS: dict[str, dict[str, object]] = {
    "none": {},
    "other": {"wants_other": True},
    "pairs": {"supervision": "pairs", "pairs": "laplace"},
    "labels": {"supervision": "labels"},
    "few_labels": {"supervision": "few_labels", "n_labelled": 20},
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_is_a_function_of_seed_and_step_alone(kind):
    def fed(seed: int = 3) -> Feed:
        return Feed(telling(), batch_size=16, seed=seed, **KINDS[kind])

    one = fed()
    batches = [one.batch(step) for step in (0, 1, 2)]
    assert equal(fed().batch(2), batches[2])  # whatever was drawn before
    assert equal(one.batch(0), batches[0])
    assert not equal(batches[0], batches[1])
    assert not equal(fed(seed=4).batch(0), batches[0])


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_carries_what_was_asked_for_and_nothing_else(kind):
    batch = Feed(telling(), batch_size=8, seed=0, **KINDS[kind]).batch(0)
    extra = {name for name, value in vars(batch).items() if value is not None} - {"images"}
    expected = {"other": {"other"}, "pairs": {"pair"}, "labels": {"labels"}}
    assert extra == expected.get(kind, {"labelled", "labelled_labels"} if kind == "few_labels" else set())
    assert all(len(value) == 8 for value in vars(batch).values() if value is not None)
    assert batch.images.dtype == torch.float32


@pytest.mark.parametrize("law", PAIRS)
@pytest.mark.parametrize("kind", SPLITS)
@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.filterwarnings("ignore:.*no neighbour")
def test_pairs_stay_inside_the_split(law, kind, complete):
    rows = None if complete else GRID.classes(np.arange(0, GRID.size, 2))
    feed = Feed(telling(rows=rows), batch_size=200, seed=0, split=SPLITS[kind], supervision="pairs", pairs=law)
    batch = feed.batch(7)
    first, second = said(batch.images), said(batch.pair)
    for classes in (first, second):
        assert SPLITS[kind].contains(classes).all()
        assert feed.region.contains(classes).all()
    assert (first != second).any()
    if law == "one_factor":
        assert ((first != second).sum(1) <= 1).all()
    if law == "laplace":
        assert (first[:, 0] == second[:, 0]).all()  # shape is categorical


@pytest.mark.parametrize("kind", SPLITS)
@pytest.mark.parametrize("supervision", ["none", "labels", "few_labels"])
def test_single_images_stay_inside_the_split(kind, supervision):
    feed = Feed(
        telling(),
        batch_size=200,
        seed=0,
        split=SPLITS[kind],
        supervision=supervision,
        n_labelled=300,
        wants_other=True,
    )
    batch = feed.batch(0)
    for images in (batch.images, batch.other, batch.labelled):
        if images is not None:
            assert SPLITS[kind].contains(said(images)).all()


def test_labels_belong_to_their_images():
    batch = Feed(telling(), batch_size=50, seed=0, supervision="labels").batch(0)
    assert batch.labels.dtype == torch.int64
    assert np.array_equal(said(batch.images), batch.labels.numpy())
    few = Feed(telling(), batch_size=50, seed=0, supervision="few_labels", n_labelled=9).batch(0)
    assert np.array_equal(said(few.labelled), few.labelled_labels.numpy())
    assert not np.array_equal(said(few.images), few.labelled_labels.numpy())


def test_the_labelled_subset_is_fixed_and_small():
    feed = Feed(telling(), batch_size=50, seed=0, supervision="few_labels", n_labelled=7)
    seen = {tuple(row) for step in range(30) for row in feed.batch(step).labelled_labels.tolist()}
    assert seen == {tuple(row) for row in feed.labelled.tolist()}
    assert len(feed.labelled) == 7
    again = Feed(telling(), batch_size=3, seed=0, supervision="few_labels", n_labelled=7)
    assert np.array_equal(feed.labelled, again.labelled)  # not a matter of the batch size
    other = Feed(telling(), batch_size=50, seed=1, supervision="few_labels", n_labelled=7)
    assert not np.array_equal(feed.labelled, other.labelled)


def test_another_batch_is_independent_of_the_first():
    batch = Feed(telling(), batch_size=100, seed=0, wants_other=True).batch(0)
    assert not torch.equal(batch.images, batch.other)
    same = (said(batch.images) == said(batch.other)).all(1).mean()
    assert same < 0.1


@pytest.mark.parametrize("supervision", ["pairs", "labels", "few_labels"])
def test_a_world_without_factors_cannot_supervise(supervision):
    world = ArrayWorld(np.full((5, 32, 32), 9, dtype=np.uint8), name="snapshots")
    with pytest.raises(UnknotError, match=f"snapshots: has no factors, and this model learns from {supervision}"):
        Feed(world, batch_size=2, seed=0, supervision=supervision, n_labelled=2)
    assert Feed(world, batch_size=2, seed=0).batch(0).images.shape == (2, 1, 32, 32)


def test_an_empty_labelled_subset_is_refused():
    with pytest.raises(UnknotError, match="n_labelled is 0"):
        Feed(telling(), batch_size=2, seed=0, supervision="few_labels")


def test_images_are_scaled_to_the_unit_interval_and_resized():
    world = DSpritesRendered()
    full = Feed(world, batch_size=4, seed=0).batch(0).images
    small = Feed(world, batch_size=4, seed=0, image_size=32).batch(0).images
    assert full.shape == (4, 1, 64, 64)
    assert set(full.unique().tolist()) == {0.0, 1.0}
    assert small.shape == (4, 1, 32, 32)
    assert small.min() >= 0
    assert small.max() <= 1
    torch.testing.assert_close(small.mean((1, 2, 3)), full.mean((1, 2, 3)), atol=5e-3, rtol=0)


def test_resizing_keeps_flat_images_flat_and_the_same_size_untouched():
    flat = np.full((2, 48, 40, 3), 51, dtype=np.uint8)
    torch.testing.assert_close(as_tensor(flat, 32), torch.full((2, 3, 32, 32), 0.2))
    images = np.random.default_rng(0).integers(0, 256, size=(2, 32, 32, 3), dtype=np.uint8)
    assert torch.equal(as_tensor(images, 32), as_tensor(images))
    assert torch.equal((as_tensor(images) * 255).round().byte().permute(0, 2, 3, 1), torch.from_numpy(images))


def test_an_incomplete_world_is_asked_for_images_it_has_only():
    rows = GRID.classes([0, 1, 2, 7, 30, 31, 89])
    feed = Feed(telling(rows=rows), batch_size=100, seed=0)
    listed = {tuple(row) for row in rows.tolist()}
    assert {tuple(row) for row in said(feed.batch(0).images).tolist()} == listed
    assert feed.region.size == 7


def test_a_model_is_told_how_many_images_it_trains_on():
    grid = space({"x": 10, "y": 4})
    rows = grid.classes(np.arange(0, grid.size, 3))
    spec = RunSpec(world="rows", model="beta_tc_vae", split="extrapolation")  # holds back x >= 8 and y = 3
    model, spec = build_model(spec, telling(grid, rows))
    assert model.n_images == np.count_nonzero((rows[:, 0] < 8) & (rows[:, 1] < 3)) < len(rows)
    assert feed(spec, model, telling(grid, rows)).region.size == model.n_images
    assert build_model(spec.replace(split=""), telling(grid, rows))[0].n_images == len(rows)


def test_a_world_with_random_parts_gets_its_randomness_from_the_step():
    world = open_world("dsprites_noisy_rendered")
    assert world.stochastic
    one, two = (Feed(world, batch_size=3, seed=0, image_size=32) for _ in range(2))
    assert torch.equal(one.batch(4).images, two.batch(4).images)
    pair = Feed(world, batch_size=3, seed=0, supervision="pairs").batch(0)
    assert not torch.equal(pair.images[:, :, :8, :8], pair.pair[:, :, :8, :8])  # noise of its own


@pytest.mark.parametrize("kind", ["shapes", "rows"])
def test_where_pairs_are_drawn_follows_the_world(kind):
    rows = GRID.classes(np.arange(0, GRID.size, 2))
    feed = Feed(telling(rows=rows if kind == "rows" else None), batch_size=2, seed=0)
    assert isinstance(feed.region, Listed) == (kind == "rows")


def draw(law: str, where: FactorSpace = GRID, n: int = 2000, **options: object) -> Pairs:
    sampler: Callable[..., Pairs] = pair_law(law, **options)
    return sampler(where, n, np.random.default_rng(0))


def test_laws_of_pairs_take_options():
    assert set(draw("k_factors[k=2]").changed.sum(1).tolist()) == {2}
    assert set(draw("k_factors").changed.sum(1).tolist()) == {1, 2}
    same = (~draw("one_factor[compat=locatello]").changed.any(1)).mean()
    assert same == pytest.approx(np.mean(1 / GRID.sizes), abs=0.03)
    wide = space({"x": 32, "y": 32})
    far, near = (
        np.abs(p.first - p.second).mean() for p in (draw("laplace", wide), draw("laplace[rate=10]", wide))
    )
    assert far > 2 * near
    between = draw("laplace[rate=1..10]", wide)
    assert near < np.abs(between.first - between.second).mean() < far
    assert (~draw("laplace[rate=20, forced=false]").changed.any(1)).any()


def test_a_law_says_which_factors_stay_still_and_the_feed_does_where_it_does_not():
    moves = draw("laplace").changed.any(0).tolist()
    assert moves == [False, True, True]
    assert draw("laplace[still=x]").changed.any(0).tolist() == [True, False, True]
    assert draw("laplace[still=shape+x]").changed.any(0).tolist() == [False, False, True]
    assert draw("laplace", still=("y",)).changed.any(0).tolist() == [True, True, False]
    assert draw("laplace[still=x]", still=("y",)).changed.any(0).tolist() == [True, False, True]
    assert draw("one_factor", still=("y",)).changed.any(0).all()  # no matter to other laws


def test_published_laplace_pairs_of_mpi3d_move_its_colours():
    world = open_world("mpi3d_rendered")
    still = conventions(world.key).still
    assert still == ("shape",)
    pairs = draw("laplace", world.factors, still=still)
    moved = dict(zip(world.factors.names, pairs.changed.any(0).tolist(), strict=True))
    assert moved == {name: name != "shape" for name in world.factors.names}


@pytest.mark.parametrize(
    ("law", "message"),
    [
        ("one_facter", "unknown law of pairs 'one_facter'; did you mean 'one_factor'"),
        ("k_factors[", "unknown law of pairs"),
        ("k_factors[n=2]", "unknown option of k_factors 'n'"),
        ("one_factor[k=2]", "unknown option of one_factor 'k'"),
        ("k_factors[k=two]", "k cannot be 'two'"),
        ("laplace[rate=fast]", "rate cannot be 'fast'"),
        ("laplace[forced=maybe]", "forced cannot be 'maybe'"),
    ],
)
def test_laws_that_do_not_exist_are_named_before_the_first_step(law, message):
    with pytest.raises(UnknotError, match=message):
        Feed(telling(), batch_size=2, seed=0, supervision="pairs", pairs=law)
