import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unknot.errors import UnknotError, UnknotWarning
from unknot.factors import space
from unknot.metrics.r2 import full_variance, one_ood, r2_per_factor, ratio_to_mean
from unknot.representation import Representation
from unknot.runs.spec import RunSpec
from unknot.tasks.generalisation.coded_world import CodedWorld
from unknot.tasks.generalisation.constant_baselines import constant_baselines
from unknot.tasks.generalisation.oracle import oracle
from unknot.tasks.generalisation.split_errors import SplitErrors
from unknot.tasks.generalisation.split_points import part_points
from unknot.tasks.generalisation.task import KINDS, generalisation
from unknot.tasks.result import TaskResult, read_result
from unknot.worlds import WORLDS
from unknot.worlds.splits.rules import Rule, published_rule
from unknot.worlds.splits.split import Split, split

GRID = space({"shape": 3, "scale": 5, "x": 6}, categorical=["shape"])


class Painted:
    """Classes written into pixels, so that a predictor can be as good as one likes."""

    name, image_shape, rows, stochastic = "painted", (4, 4, 1), None, False
    factors = GRID

    def images(self, classes: Any, *, rng: Any = None) -> np.ndarray:
        made = np.zeros((len(classes), 4, 4, 1), dtype=np.uint8)
        made[:, 0, :3, 0] = classes
        return made


def read(images: np.ndarray) -> np.ndarray:
    return images[:, 0, :3, 0].astype(np.float64)


def perfect(images: np.ndarray) -> np.ndarray:
    return read(images) / (GRID.sizes - 1)


def timid(images: np.ndarray) -> np.ndarray:
    return 0.3 + 0.5 * perfect(images)


# the spec's table: (full-data mean, training mean), mean over factors
BASELINES = {
    "dsprites": {
        "composition": (0.093, -0.134),
        "interpolation": (0.016, 0.016),
        "extrapolation": (-0.093, -0.388),
    },
    "shapes3d": {
        "composition": (0.100, -0.053),
        "interpolation": (0.029, 0.029),
        "extrapolation": (-0.090, -0.302),
    },
    "mpi3d_real": {
        "composition": (0.060, -0.171),
        "interpolation": (0.074, 0.073),
        "extrapolation": (-0.064, -0.302),
    },
    "celeb_glow": {
        "composition": (0.171, -0.126),
        "interpolation": (0.036, 0.036),
        "extrapolation": (-0.072, -0.546),
    },
}


@pytest.mark.parametrize("world", BASELINES)
def test_constants_score_what_the_closed_form_says_of_the_published_splits(world: str) -> None:
    grid = WORLDS[world].factors
    for kind, (full, train) in BASELINES[world].items():
        found = constant_baselines(split(grid, kind, rule=published_rule(world, grid)))  # type: ignore[arg-type]
        assert found.full.r2.mean() == pytest.approx(full, abs=6e-4), kind
        assert found.train.r2.mean() == pytest.approx(train, abs=6e-4), kind


def test_a_constant_by_hand() -> None:
    # x has values 0, 1/3, 2/3, 1, of which 1 is held out; y is seen whole. Training mean of x: 1/3.
    made = Split("extrapolation", space({"x": 4, "y": 2}), {"x": (3,)})
    found = constant_baselines(made)
    assert found.train_mean == pytest.approx([1 / 3, 1 / 2])
    assert found.variance == pytest.approx([5 / 36, 1 / 4])  # (4 + 1) / (12 * 3), (2 + 1) / 12
    assert found.train.r2 == pytest.approx([1 - (4 / 9) / (5 / 36), 0.0])
    assert found.full.r2 == pytest.approx([1 - (1 / 4) / (5 / 36), 0.0])
    assert found.train.one_ood.tolist() == [2, 0]


def test_an_incomplete_world_has_baselines_of_its_own_rows() -> None:
    rows = np.array([[0, 0], [1, 0], [1, 1], [3, 0], [3, 1]])
    made = Split("extrapolation", space({"x": 4, "y": 2}), {"x": (3,)})
    found = constant_baselines(made, rows)
    x = rows[:, 0] / 3
    assert found.variance[0] == pytest.approx(x.var())
    assert found.train_mean[0] == pytest.approx(x[:3].mean())
    assert found.train.r2[0] == pytest.approx(1 - (1 - x[:3].mean()) ** 2 / x.var())


def test_sums_by_chunk_equal_the_formulas_on_whole_arrays() -> None:
    rng = np.random.default_rng(0)
    made = Split("extrapolation", GRID, {"scale": (4,), "x": (4, 5)})
    classes = GRID.classes(part_points(made, None, "test", "all", rng))
    targets, unseen = GRID.scaled(classes), made.ood(classes)
    predictions = targets + rng.normal(size=targets.shape) / 3
    centre = constant_baselines(made).train_mean
    errors = SplitErrors(full_variance(GRID), centre)
    for rows in np.array_split(rng.permutation(len(targets)), 7):
        errors.add(predictions[rows], targets[rows], unseen[rows])
    assert errors.r2 == pytest.approx(r2_per_factor(predictions, targets, full_variance(GRID)))
    one = one_ood(predictions, targets, unseen, full_variance(GRID))
    assert errors.ood == pytest.approx(one.ood, nan_ok=True)
    assert errors.in_distribution == pytest.approx(one.in_distribution, nan_ok=True)
    assert errors.one_ood.tolist() == one.counts.tolist()
    ratio = ratio_to_mean(predictions, targets, unseen, centre)
    assert errors.median_ratio() == pytest.approx(ratio.median, abs=1e-3, nan_ok=True)
    assert errors.share_short() == pytest.approx(ratio.share, nan_ok=True)


def test_a_perfect_predictor_has_one_everywhere() -> None:
    made = Split("extrapolation", GRID, {"scale": (4,), "x": (5,)})
    found = generalisation(perfect, Painted(), made, rows="all")  # type: ignore[arg-type]
    assert found.values["extrapolation_r2"] == pytest.approx(1.0, abs=1e-9)
    assert found.values["extrapolation_r2_ood"] == pytest.approx(1.0, abs=1e-9)
    assert found.values["extrapolation_ratio"] == pytest.approx(1.0, abs=1e-3)
    assert {row["rows"] for row in found.tables["splits"]} == {made.n_test}


def test_a_constant_predictor_equals_the_baseline_beside_it() -> None:
    made = Split("extrapolation", GRID, {"scale": (4,), "x": (5,)})
    mean = constant_baselines(made).train_mean
    found = generalisation(lambda images: np.tile(mean, (len(images), 1)), Painted(), made, rows="all")  # type: ignore[arg-type]
    assert found.values["extrapolation_r2"] == pytest.approx(found.values["extrapolation_r2_constant"], abs=1e-6)
    for row in found.tables["factors"]:
        assert row["r2"] == pytest.approx(row["constant_train_mean"], abs=1e-6)
        assert row["r2_ood"] is None or row["r2_ood"] == pytest.approx(row["constant_ood"], abs=1e-6)
        assert row["r2_id"] == pytest.approx(row["constant_id"], abs=1e-6)


def test_clipping_is_per_factor() -> None:
    def half_right(images: np.ndarray) -> np.ndarray:
        said = perfect(images)
        said[:, 0] += 10
        return said

    found = generalisation(half_right, Painted(), "composition", rows="all")  # type: ignore[arg-type]
    assert found.values["composition_r2_clipped"] == pytest.approx(2 / 3, abs=1e-9)
    assert found.values["composition_r2"] < -100


def test_predictions_drawn_half_way_to_the_mean_have_a_ratio_of_one_half() -> None:
    made = Split("extrapolation", GRID, {"x": (4, 5)})
    mean = constant_baselines(made).train_mean

    def drawn(images: np.ndarray) -> np.ndarray:
        return mean + (perfect(images) - mean) / 2

    found = generalisation(drawn, Painted(), made, rows="all")  # type: ignore[arg-type]
    assert found.values["extrapolation_ratio"] == pytest.approx(0.5, abs=1e-3)
    assert {row["factor"] for row in found.tables["ratios"]} == {"x"}


def test_class_numbers_are_taken_when_said_so_and_suspected_when_not() -> None:
    grid = space({"a": 20, "b": 30})

    class Large(Painted):
        factors = grid

        def images(self, classes: Any, *, rng: Any = None) -> np.ndarray:
            made = np.zeros((len(classes), 4, 4, 1), dtype=np.uint8)
            made[:, 0, :2, 0] = classes
            return made

    def classes(images: np.ndarray) -> np.ndarray:
        return images[:, 0, :2, 0]

    made = Split("extrapolation", grid, {"a": (19,)})
    found = generalisation(classes, Large(), made, rows="all", scale="classes")  # type: ignore[arg-type]
    assert found.values["extrapolation_r2"] == pytest.approx(1.0)
    with pytest.warns(UnknotWarning, match="scale='classes'"):
        generalisation(classes, Large(), made, rows="all")  # type: ignore[arg-type]


def test_random_and_composition_have_no_unseen_factor() -> None:
    found = generalisation(timid, Painted(), ["random", "composition"], rows="all")  # type: ignore[arg-type]
    assert not [name for name in found.values if "ood" in name or "ratio" in name]
    assert [row["split"] for row in found.tables["splits"]] == ["random", "composition"]
    assert not found.tables["modularity"]


def test_rows_are_decided_by_the_seed_and_the_probe_by_nothing() -> None:
    def run(seed: int) -> TaskResult:
        return generalisation(timid, Painted(), "composition", rows=7, seed=seed)  # type: ignore[arg-type]

    first, again, other = run(0), run(0), run(1)
    assert first.values == again.values != other.values
    assert first.tables["probe"] == other.tables["probe"]
    assert "over 7 of" in " ".join(first.notes)


def test_latents_are_read_out_by_a_network_trained_on_the_training_part() -> None:
    made = Split("composition", GRID, {"scale": (0, 1), "x": (0, 1)})

    def mixed(images: np.ndarray) -> np.ndarray:
        return perfect(images) @ np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0]])

    done: list[tuple[int, int]] = []
    found = generalisation(
        mixed,
        Painted(),
        made,
        readout=True,
        recipe="quick",
        watch=lambda *now: done.append(now),  # type: ignore[arg-type]
    )
    assert found.values["composition_r2"] > 0.95
    assert found.settings["readout"] and found.settings["steps"] == 4000
    assert done[-1] == (GRID.size + min(500, made.n_test),) * 2  # training, test and probe


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (lambda images: np.zeros((len(images), 2)), "readout=True"),
        (lambda images: np.zeros(len(images)), r"expected numbers of shape \(\d+, 3\)"),
        (lambda images: np.zeros((len(images) - 1, 3)), "expected numbers of shape"),
        (lambda images: np.full((len(images), 3), np.nan), "predicts nan for shape"),
        (lambda images: np.full((len(images), 3), np.inf), "predicts inf for shape"),
        (lambda images: np.full((len(images), 3), "a"), "expected numbers"),
        (lambda images: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_bad_predictions_are_named(model: Callable[..., Any], words: str) -> None:
    with pytest.raises(UnknotError, match=words):
        generalisation(model, Painted(), "composition")  # type: ignore[arg-type]


def test_callers_mistakes_are_named() -> None:
    with pytest.raises(UnknotError, match="needs a world"):
        generalisation(perfect)
    with pytest.raises(UnknotError, match="inside which split"):
        generalisation(perfect, Painted())  # type: ignore[arg-type]
    with pytest.raises(UnknotError, match="did you mean 'composition'"):
        generalisation(perfect, Painted(), "compositon")  # type: ignore[arg-type]
    unlabelled = type("Unlabelled", (Painted,), {"factors": space({"image": 9})})()
    with pytest.raises(UnknotError, match="no factors to predict"):
        generalisation(perfect, unlabelled, "random")
    with pytest.raises(UnknotError, match="rows is 0"):
        generalisation(perfect, Painted(), "composition", rows=0)  # type: ignore[arg-type]
    with pytest.raises(UnknotError, match="seed is -1"):
        generalisation(perfect, Painted(), "composition", seed=-1)  # type: ignore[arg-type]
    with pytest.raises(UnknotError, match="unknown scale"):
        generalisation(perfect, Painted(), "composition", scale="percent")  # type: ignore[arg-type]
    with pytest.raises(UnknotError, match="split is of a grid"):
        generalisation(perfect, Painted(), Split("extrapolation", space({"x": 4}), {"x": (3,)}))  # type: ignore[arg-type]


def test_a_split_that_leaves_no_training_rows_is_refused() -> None:
    class Sparse(Painted):
        rows = np.array([[0, 4, 0], [1, 4, 1]])  # type: ignore[assignment]

    made = Split("extrapolation", GRID, {"scale": (4,)})
    with pytest.raises(UnknotError, match="none of the 2 rows is in the training part"):
        generalisation(perfect, Sparse(), made)  # type: ignore[arg-type]


def test_a_split_by_hand_does_not_pass_for_the_published_one() -> None:
    def half(images: np.ndarray) -> np.ndarray:
        return np.full((len(images), 5), 0.5)

    grid = WORLDS["dsprites"].factors
    by_hand = Split("extrapolation", grid, {"x": (31,)})
    assert "own_extrapolation_r2" in generalisation(half, "dsprites_rendered", by_hand, rows=5).values
    published = split(grid, "extrapolation", rule="dsprites")
    assert "extrapolation_r2" in generalisation(half, "dsprites_rendered", published, rows=5).values


def test_slots_cannot_be_read_out() -> None:
    with pytest.raises(UnknotError, match="gives slots"):
        generalisation(lambda images: np.zeros((len(images), 2, 4)), Painted(), "composition", readout=True)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_the_readout_reads_true_and_sign_flipped_factors_on_every_split(kind: str) -> None:
    found = oracle("dsprites", kind, rows=3000, train_rows=30_000, steps=5000)
    assert len(found.values) == 2
    assert min(found.values.values()) > 0.99, found.values


@pytest.mark.parametrize("world", ["shapes3d", "mpi3d_real"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_readout_reads_the_factors_of_other_worlds_too(world: str, kind: str) -> None:
    found = oracle(world, kind, rows=2000, train_rows=20_000, steps=2000, recipe="quick")
    assert len(found.values) == 2
    assert min(found.values.values()) > 0.99, found.values


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Any:
    from unknot.runs.training import train

    folder = tmp_path_factory.mktemp("runs")
    same = {"world": "dsprites_rendered", "steps": 2, "batch_size": 8, "image_size": 32}
    return {
        "cnn": train(RunSpec(model="cnn", split="extrapolation", **same), folder),  # type: ignore[arg-type]
        "vae": train(RunSpec(model="beta_vae", **same), folder),  # type: ignore[arg-type]
    }


def test_a_supervised_run_predicts_by_itself_on_its_own_split(runs: Any) -> None:
    found = generalisation(runs["cnn"], rows=50)
    assert found.settings["splits"] == ["extrapolation"] and not found.settings["readout"]
    assert found.source == "cnn, seed 0" and found.world == "dsprites_rendered"
    assert not [note for note in found.notes if "has seen" in note]


def test_predictions_of_a_supervised_run_are_those_of_its_network(runs: Any) -> None:
    import torch

    from unknot.runs.batches import as_tensor
    from unknot.runs.training import load_model
    from unknot.worlds import open_world

    found = generalisation(runs["cnn"], rows=1).tables["probe"][:5]
    world = open_world("dsprites_rendered")
    images = world.images(world.factors.classes([row["point"] for row in found]))
    with torch.no_grad():
        said = load_model(runs["cnn"]).predict(as_tensor(images, 32)).numpy()  # type: ignore[operator]
    kept = [[row[f"predicted {name}"] for name in world.factors.names] for row in found]
    assert np.asarray(kept, dtype=float) == pytest.approx(said, abs=1e-4)


def test_a_run_of_latents_gets_a_readout_and_says_what_it_has_seen(runs: Any, tmp_path: Path) -> None:
    def go(folder: Path) -> TaskResult:
        return generalisation(runs["vae"], split="interpolation", rows=40, train_rows=80, steps=20, folder=folder)

    found = go(tmp_path)
    assert found.settings["readout"] and found.settings["steps"] == 20
    assert any("has seen images of this test part" in note for note in found.notes)
    with pytest.raises(UnknotError, match="needs the readout"):
        generalisation(runs["vae"], split="interpolation", readout=False)
    (kept,) = tmp_path.glob("generalisation-interpolation-*.json")
    before = kept.stat().st_mtime_ns
    assert go(tmp_path).values == found.values
    assert kept.stat().st_mtime_ns == before
    assert read_result(kept).values == found.values


def test_a_run_on_a_world_with_other_factors_is_refused(runs: Any) -> None:
    with pytest.raises(UnknotError, match="predicts the factors of dsprites_rendered"):
        generalisation(runs["cnn"], "shapes3d_rendered", "random")


def test_memory_does_not_grow_with_images() -> None:
    class Large(Painted):
        factors, image_shape = space({"a": 2, "b": 500, "c": 200}), (8, 8, 3)

        def images(self, classes: Any, *, rng: Any = None) -> np.ndarray:
            return np.zeros((len(classes), 8, 8, 3), dtype=np.uint8)

    def peak(rows: int) -> int:
        tracemalloc.start()
        try:
            generalisation(lambda images: np.zeros((len(images), 3)), Large(), "random", rows=rows)  # type: ignore[arg-type]
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    few, many = peak(5_000), peak(100_000)  # images of 192 bytes, predictions of 12
    assert many - few < 12 * 95_000


def test_results_survive_their_file(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = generalisation(timid, Painted(), "all", rows=30)  # type: ignore[arg-type]
    again = read_result(found.write(tmp_path / "found.json"))
    assert again.values == pytest.approx(dict(found.values))
    assert again.tables["factors"] == found.tables["factors"]


def _file(copies: int = 1, noise: float = 0.0) -> Representation:
    """Every combination of the grid, its latents twice its scaled factors and a sum."""
    classes = np.repeat(GRID.classes(np.arange(GRID.size)), copies, axis=0)
    scaled = GRID.scaled(classes)
    latents = np.hstack([2 * scaled, scaled.sum(axis=1, keepdims=True)])
    latents += noise * np.random.default_rng(0).normal(size=latents.shape)
    return Representation(latents, classes, GRID.names)


def test_a_file_of_latents_is_read_out_like_an_encoder(tmp_path: Path) -> None:
    class Latents(Painted):
        def images(self, classes: Any, *, rng: Any = None) -> np.ndarray:
            return super().images(classes)

    def encode(images: np.ndarray) -> np.ndarray:
        scaled = perfect(images)
        return np.hstack([2 * scaled, scaled.sum(axis=1, keepdims=True)])

    path = _file().write(tmp_path / "mine.npz")
    how: dict[str, Any] = {"rows": "all", "train_rows": "all", "steps": 200}
    own = split(GRID, "interpolation", rule=Rule(ratio=0.2))
    by_encoder = generalisation(encode, Latents(), own, readout=True, **how)
    by_file = generalisation(path, Painted(), own, **how)
    assert by_file.source == "mine"
    assert dict(by_file.values) == pytest.approx(dict(by_encoder.values), rel=1e-6)
    assert by_file.values["interpolation_r2"] > 0.8


def test_several_rows_of_a_combination_are_several_images_of_it() -> None:
    world = CodedWorld(_file(copies=3, noise=0.1), GRID, "painted", "test")
    assert world.stochastic and len(world.rows) == 3 * GRID.size
    rng = np.random.default_rng(0)
    drawn = np.stack([world.images(GRID.classes([7]), rng=rng)[0, 0, 0] for _ in range(60)])
    assert len(np.unique(drawn, axis=0)) == 3
    with pytest.raises(UnknotError, match="pass rng"):
        world.images(GRID.classes([7]))


def test_predictions_in_a_file_are_taken_as_they_are() -> None:
    classes = GRID.classes(np.arange(GRID.size))
    found = generalisation(
        Representation(GRID.scaled(classes), classes, GRID.names),
        Painted(),
        "extrapolation",
        readout=False,
        rows="all",
    )
    assert found.values["extrapolation_r2"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("made", "world", "message"),
    [
        (Representation(np.zeros((4, 2))), Painted(), "has no factors"),
        (
            Representation(np.zeros((4, 2)), np.zeros((4, 1), dtype=int), ("a",)),
            Painted(),
            "has factors a; painted has",
        ),
        (Representation(np.zeros((4, 2)), np.full((4, 3), 9), GRID.names), Painted(), "9"),
        (
            Representation(np.zeros((4, 2)), np.zeros((4, 3), dtype=int), GRID.names),
            None,
            "which world do the latents",
        ),
    ],
)
def test_files_that_do_not_fit_their_world_are_refused(made: Any, world: Any, message: str) -> None:
    with pytest.raises(UnknotError, match=message):
        generalisation(made, world, "random")
