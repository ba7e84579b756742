"""Encoding: which rows, in which order, with what checked on the way."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from unknot.encoders.encoding import ROWS, encode, representation_of
from unknot.encoders.points import CHUNK
from unknot.errors import UnknotError
from unknot.factors import space
from unknot.models.model import Posterior
from unknot.models.terms import kl_per_latent
from unknot.representation import read_representation
from unknot.runs.batches import as_tensor
from unknot.runs.run import Run
from unknot.runs.spec import RunSpec
from unknot.runs.training import load_model, train, training_split
from unknot.worlds import ArrayWorld, open_world
from unknot.worlds.world import Images

SPEC = RunSpec(
    world="dsprites_rendered", latents=4, image_size=32, steps=2, batch_size=4, precision="bfloat16", lr=1e-3
)
WORLD = "dsprites_rendered"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return train(SPEC, tmp_path_factory.mktemp("runs"))


def brightness(images: Images) -> Any:
    """Two latents that tell every image of dSprites from most others."""
    return np.stack([images.mean(axis=(1, 2, 3)), images[:, 20:40].mean(axis=(1, 2, 3))], axis=1)


def small_world() -> ArrayWorld:
    """Twelve of the sixteen points of a grid; image i is full of i."""
    images = np.repeat(np.arange(12, dtype=np.uint8), 16).reshape(12, 4, 4)
    factors = [[i % 4, i // 4 + (i % 2)] for i in range(12)]
    return ArrayWorld(images, factors, name="twelve")


def level(images: Images) -> Any:
    return images[:, :1, 0, 0]


def test_latents_of_a_run_are_the_means_of_its_model_in_float32(run: Run) -> None:
    made = encode(run, rows=40)
    images = as_tensor(open_world(WORLD).images(made.factors), 32)
    with torch.no_grad():
        q = load_model(run).represent(images)
    assert made.latents.dtype == np.float32
    np.testing.assert_allclose(made.latents, q.mean.numpy(), atol=1e-5)
    np.testing.assert_allclose(made.logvars, q.logvar.numpy(), atol=1e-5)
    np.testing.assert_allclose(made.kl, kl_per_latent(Posterior(q.mean, q.logvar)).numpy(), rtol=1e-4)
    assert made.factor_names == open_world(WORLD).factors.names


def test_encoding_twice_gives_the_same_file(run: Run, tmp_path: Path) -> None:
    first, second = (encode(run.folder, rows=50, seed=1).write(tmp_path / f"{i}.npz") for i in range(2))
    assert first.read_bytes() == second.read_bytes()


def test_the_batch_size_decides_nothing(run: Run) -> None:
    few, many = (encode(run, rows=300, batch_size=size) for size in (7, 256))
    np.testing.assert_array_equal(few.factors, many.factors)
    np.testing.assert_allclose(few.latents, many.latents, atol=1e-5)


def test_a_stochastic_world_looks_the_same_at_every_batch_size_and_changes_with_the_seed() -> None:
    few, many, other = (
        encode(brightness, "dsprites_noisy_rendered", rows=300, batch_size=size, seed=seed).latents
        for size, seed in ((11, 0), (200, 0), (200, 1))
    )
    np.testing.assert_array_equal(few, many)
    assert (few != other).any()


def test_rows_are_drawn_without_replacement_by_the_seed() -> None:
    space = open_world(WORLD).factors
    first, again, other = (space.indices(encode(brightness, WORLD, rows=2000, seed=s).factors) for s in (0, 0, 1))
    assert len(np.unique(first)) == 2000
    np.testing.assert_array_equal(first, again)
    assert len(np.intersect1d(first, other)) < 100
    assert (np.diff(first) < 0).any()  # not sorted: the first half is a sample too


def test_every_latent_belongs_to_the_factors_beside_it() -> None:
    made = encode(brightness, WORLD, rows=600)
    np.testing.assert_allclose(made.latents, brightness(open_world(WORLD).images(made.factors)), rtol=1e-6)


@pytest.mark.parametrize("rows", ["all", 12, 15_000])
def test_a_world_with_fewer_rows_is_encoded_whole_in_its_own_order(rows: Any) -> None:
    world = small_world()
    made = encode(level, world, rows=rows)
    np.testing.assert_array_equal(made.latents[:, 0], np.arange(12))
    np.testing.assert_array_equal(made.factors, world.rows)


def test_the_default_is_what_the_literature_trains_and_tests_on() -> None:
    assert ROWS == 10_000 + 5_000
    world = ArrayWorld(np.zeros((16_000, 1, 1), dtype=np.uint8), np.arange(16_000)[:, None], name="many")
    assert encode(level, world).latents.shape == (15_000, 1)


@pytest.mark.parametrize("kind", ["random", "composition", "interpolation", "extrapolation"])
def test_latents_of_a_split_are_its_training_part_and_test_latents_its_test_part(kind: str) -> None:
    made = encode(brightness, WORLD, rows=200, split=kind)
    split = training_split(RunSpec(world=WORLD, split=kind), open_world(WORLD))
    assert split is not None
    assert split.contains(made.factors).all()
    assert not split.contains(made.factors_test).any()
    assert made.latents.shape == made.latents_test.shape == (200, 2)


@pytest.mark.parametrize("name", ["dsprites_rendered", "shapes3d_rendered", "mpi3d_rendered"])
def test_a_world_and_its_name_are_split_alike_and_recorded_alike(name: str) -> None:
    by_name, by_object = (
        encode(brightness, world, rows=50, split="extrapolation") for world in (name, open_world(name))
    )
    np.testing.assert_array_equal(by_name.factors, by_object.factors)
    np.testing.assert_array_equal(by_name.latents_test, by_object.latents_test)
    assert by_name.source == by_object.source and by_name.source["world"] == name


def test_a_file_named_like_a_published_one_is_split_as_ones_own(tmp_path: Path) -> None:
    factors = [[i % 2, i // 2] for i in range(20)]
    arrays = {"images": np.full((20, 4, 4), 9, np.uint8), "factors": factors, "factor_names": ["shape", "x"]}
    for name in ("dsprites_mine.npz", "mine.npz"):
        np.savez(tmp_path / name, **arrays)
    like, own = (tmp_path / "dsprites_mine.npz", tmp_path / "mine.npz")
    spec = SPEC.replace(split="interpolation")
    splits = [training_split(spec.replace(world=str(path)), open_world(path)) for path in (like, own)]
    assert splits[0] == splits[1] and not splits[0].notes
    parts = [encode(level, str(path), split="interpolation") for path in (like, own)]
    np.testing.assert_array_equal(parts[0].factors, parts[1].factors)


def test_what_is_recorded_of_ones_own_object_is_never_the_name_of_a_published_world() -> None:
    own = ArrayWorld(np.full((3, 4, 4), 9, np.uint8), name="dsprites")
    assert encode(level, own).source["world"] == "./dsprites"
    assert encode(level, small_world()).source["world"] == "twelve"


class Keyless:
    """An object with no key."""

    name, image_shape, rows, stochastic = "keyless", (4, 4, 1), None, False
    factors = space({"x": 10, "y": 10})

    def images(self, classes: Any, *, rng: Any = None) -> Images:
        return np.full((len(classes), 4, 4, 1), 9, np.uint8)


def test_an_object_without_a_key_is_ones_own() -> None:
    made = encode(level, Keyless(), split="extrapolation")
    assert made.source["world"] == "keyless"
    assert made.factors.max(axis=0).tolist() == [7, 7]  # a fifth is held back


def test_an_incomplete_world_is_split_by_the_rows_it_has() -> None:
    made = encode(level, small_world(), split="extrapolation")
    assert len(made.latents) + len(made.latents_test) == 12
    assert sorted([*made.latents[:, 0], *made.latents_test[:, 0]]) == list(range(12))
    assert not set(map(tuple, made.factors)) & set(map(tuple, made.factors_test))


def test_images_told_apart_by_number_have_no_factors() -> None:
    made = encode(level, ArrayWorld(np.zeros((5, 4, 4), dtype=np.uint8), name="pictures"))
    assert made.factors is None
    assert len(made.latents) == 5


def test_few_images_are_in_memory_at_a_time() -> None:
    class Counting(ArrayWorld):
        asked: list[int] = []  # noqa: RUF012

        def images(self, classes: Any, *, rng: np.random.Generator | None = None) -> Images:
            self.asked.append(len(classes))
            return super().images(classes, rng=rng)

    seen: list[int] = []

    def watching(images: Images) -> Any:
        seen.append(len(images))
        return level(images)

    world = Counting(np.zeros((1000, 2, 2), dtype=np.uint8), np.arange(1000)[:, None], name="many")
    told: list[tuple[str, int, int]] = []
    encode(watching, world, progress=lambda *now: told.append(now))
    assert max(world.asked) == CHUNK
    assert max(seen) == 128
    assert told[-1] == ("encoding", 1000, 1000)
    assert [done for _, done, _ in told] == list(np.cumsum(seen))


def test_slots_stay_slots_and_a_pair_is_means_and_log_variances() -> None:
    assert encode(lambda images: np.ones((len(images), 3, 2)), small_world()).latents.shape == (12, 3, 2)
    made = encode(
        lambda images: (np.tile([1.0, 0.0], (len(images), 1)), np.tile([0.0, 1.0], (len(images), 1))),
        small_world(),
    )
    np.testing.assert_allclose(made.kl, [0.5, 0.5 * (np.e - 2)])


def test_what_made_the_latents_is_written_with_them(run: Run, tmp_path: Path) -> None:
    source = read_representation(encode(run, rows=8, split="random").write(tmp_path / "r.npz")).source
    assert source["encoder"]["id"] == run.spec.id
    assert source["world"] == WORLD
    assert (source["rows"], source["split"], source["seed"]) == (8, "random", 0)


def _nan(images: Images) -> Any:
    codes = np.zeros((len(images), 2))
    codes[3, 1] = np.nan
    return codes


def _growing(images: Images) -> Any:
    return np.zeros((len(images), len(images)))


def _fails(images: Images) -> Any:
    raise KeyError("weights")


@pytest.mark.parametrize(
    ("encoder", "message"),
    [
        (lambda images: np.zeros((len(images) - 1, 2)), "returned 9 rows for 10 images"),
        (_nan, "row 3 of a batch is not finite"),
        (lambda images: np.full((len(images), 1), 1e300), "not finite"),
        (lambda images: np.zeros(len(images)), r"float64 of shape \(10,\) for 10 images"),
        (lambda images: np.zeros((len(images), 0)), r"of shape \(10, 0\)"),
        (lambda images: images, r"uint8 of shape \(10, 4, 4, 1\)"),
        (lambda images: np.full((len(images), 1), "a"), "expected numbers"),
        (lambda images: (level(images),) * 3, "one array, or means and log-variances"),
        (lambda images: (level(images), np.zeros((10, 2))), "one shape"),
        (_growing, r"codes of shape \(2,\) after codes of shape \(10,\)"),
        (_fails, r"failed on images of shape \(10, 4, 4, 1\) \(KeyError: 'weights'\)"),
        (7, "encoder is 7; expected"),
    ],
)
def test_a_wrong_encoder_is_told_what_is_wrong_with_it(encoder: Any, message: str) -> None:
    with pytest.raises(UnknotError, match=message):
        encode(encoder, small_world(), batch_size=10)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": 0}, "rows is 0"),
        ({"rows": "some"}, "rows is 'some'"),
        ({"seed": -1}, "seed is -1"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"split": "extrapolate"}, "did you mean 'extrapolation'"),
        ({"world": None}, "needs a world"),
        ({"world": "dsprite_rendered"}, "did you mean 'dsprites_rendered'"),
        ({"pool": "mean"}, "pool is for timm and hf networks and modules of torch"),
        ({"image_size": 32}, "image_size is for timm and hf networks"),
    ],
)
def test_a_wrong_option_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UnknotError, match=message):
        encode(brightness, **{"world": WORLD, "rows": 4} | options)


def test_a_run_that_is_not_finished_cannot_be_encoded(tmp_path: Path) -> None:
    run = Run.create(tmp_path, SPEC)
    with pytest.raises(UnknotError, match="is not finished"):
        encode(run)
    with pytest.raises(UnknotError, match="is not finished"):
        representation_of(run)
    with pytest.raises(UnknotError, match="is not a run"):
        encode(tmp_path)


def test_a_run_is_refused_for_images_of_another_shape(run: Run, tmp_path: Path) -> None:
    with pytest.raises(UnknotError, match=r"trained on images of 64 x 64 x 1 .* 64 x 64 x 3"):
        encode(run, "dsprites_color_rendered", rows=4)
    resized = ArrayWorld(np.zeros((3, 48, 48), dtype=np.uint8), name="larger")  # the run resizes to 32 pixels
    assert encode(run, resized).latents.shape == (3, 4)


def test_the_representation_of_a_run_is_encoded_once_and_again_for_other_weights(tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(0, 256, (20, 32, 32), dtype=np.uint8)
    np.savez(tmp_path / "images.npz", images=images, factors=np.arange(20)[:, None] % 5)
    run = train(SPEC.replace(world=str(tmp_path / "images.npz"), image_size=None), tmp_path / "runs")
    path = representation_of(run)
    assert path == run.folder / "latents.npz"
    before, content = path.stat().st_mtime_ns, path.read_bytes()
    assert representation_of(run.folder).stat().st_mtime_ns == before
    encode(run, rows=5).write(path)  # another setting under the default name
    assert representation_of(run).read_bytes() == content
    assert len(read_representation(path).latents) == 5  # which is somebody's, and stays
    weights = bytearray(run.weights.read_bytes())
    weights[-4:] = np.float32(0.25).tobytes()
    run.weights.write_bytes(weights)
    assert representation_of(run).read_bytes() != content


@pytest.mark.parametrize("complete", [True, False])
def test_every_image_of_ones_own_file_is_encoded_once(complete: bool, tmp_path: Path) -> None:
    n, rng = 300, np.random.default_rng(0)
    factors = rng.integers(0, 3, (n, 2)) if complete else rng.integers(0, [3, 2], (n, 2)) * [1, 2]
    images = np.zeros((n, 8, 8), np.uint8)
    images[:, 0, 0], images[:, 0, 1] = np.arange(n) % 256, np.arange(n) // 256
    np.savez(tmp_path / "own.npz", images=images, factors=factors)

    def number(batch: np.ndarray) -> np.ndarray:
        return batch[:, 0, :1, 0] + 256.0 * batch[:, 0, 1:2, 0]

    codes = encode(number, tmp_path / "own.npz", rows="all")
    assert (codes.latents[:, 0] == np.arange(n)).all()
    assert (codes.factors == _ranked(factors)).all()
    some = encode(number, tmp_path / "own.npz", rows=200)
    drawn = some.latents[:, 0].astype(int)
    assert len(set(drawn)) == 200
    assert (some.factors == _ranked(factors)[drawn]).all()


def _ranked(factors: np.ndarray) -> np.ndarray:
    return np.column_stack([np.unique(column, return_inverse=True)[1] for column in factors.T])
