"""Images of traced worlds that are kept are those that are drawn."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.factors import Classes
from unknot.worlds.rendered import traced_world
from unknot.worlds.rendered.mpi3d_rendered import mpi3d_rendered
from unknot.worlds.rendered.shapes3d_rendered import shapes3d_rendered
from unknot.worlds.rendered.traced_world import TracedWorld, keep_images
from unknot.worlds.world import Images

IMAGE = 64 * 64 * 3 / 2**30  # gigabytes
Sizes = list[int]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sizes]:
    """How many images were drawn, batch by batch."""
    sizes: Sizes = []
    draw = TracedWorld._draw

    def counted(world: TracedWorld, classes: Classes, out: Images) -> None:
        sizes.append(len(classes))
        draw(world, classes, out)

    monkeypatch.setattr(TracedWorld, "_draw", counted)
    yield sizes
    keep_images(0)


@pytest.mark.parametrize("world", [mpi3d_rendered(), shapes3d_rendered()], ids=lambda world: world.key)
def test_images_are_the_same_and_drawn_once(world: TracedWorld, drawn: Sizes) -> None:
    classes = world.factors.sample(40, np.random.default_rng(0))
    classes = np.concatenate([classes, classes[:10]])
    plain = world.images(classes)
    assert drawn == [50]
    keep_images(0.01)
    for _ in range(2):
        assert np.array_equal(world.images(classes), plain)
        assert np.array_equal(world.images(classes[::-3]), plain[::-3])
    assert sum(drawn) == 50 + 40


def test_without_room_all_is_forgotten(drawn: Sizes) -> None:
    world = mpi3d_rendered()
    keep_images(IMAGE)  # a batch, at least
    rng = np.random.default_rng(1)
    first, second = world.factors.sample(200, rng), world.factors.sample(200, rng)
    for classes in (first, second, second, first):
        world.images(classes)
    assert drawn == [200, 200, 0, 200]


def test_a_world_that_is_made_again_finds_its_images(drawn: Sizes) -> None:
    keep_images(0.01)
    mpi3d_rendered().images([[0] * 7])
    mpi3d_rendered().images([[0] * 7])
    assert sum(drawn) == 1


def test_threads_share_what_is_kept(drawn: Sizes) -> None:
    world = shapes3d_rendered()
    classes = [world.factors.sample(64, np.random.default_rng(i % 4)) for i in range(16)]
    plain = [world.images(rows) for rows in classes]
    keep_images(300 * IMAGE)
    with ThreadPoolExecutor(4) as pool:
        kept = list(pool.map(world.images, classes))
    assert all(np.array_equal(a, b) for a, b in zip(kept, plain, strict=True))


@pytest.mark.parametrize("wrong", [-1, float("nan"), float("inf")])
def test_memory_is_a_number_of_gigabytes(wrong: float) -> None:
    with pytest.raises(UnknotError, match="gigabytes"):
        keep_images(wrong)
    assert traced_world._room == 0
