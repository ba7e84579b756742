import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unknot.errors import UnknotError, UnknotWarning, sentences
from unknot.factors import space
from unknot.representation import Representation
from unknot.runs.spec import RunSpec
from unknot.tasks.generalisation.predicted_split import SEEN
from unknot.tasks.generalisation.split_errors import constant_baselines
from unknot.tasks.generalisation.task import generalisation
from unknot.tasks.result import TaskResult, read_result
from unknot.worlds import WORLDS
from unknot.worlds.splits.rules import Rule
from unknot.worlds.splits.split import Split, split

GRID = space({"shape": 3, "scale": 5, "x": 6}, categorical=["shape"])


class Painted:
    """Classes written into pixels, so that a predictor can be as good as one likes."""

    name, image_shape, rows, stochastic = "painted", (4, 4, 1), None, False
    factors = GRID

    def images(self, classes: Any, *, rng: Any = None) -> np.ndarray:
        pixels = np.zeros((len(classes), 4, 4, 1), dtype=np.uint8)
        pixels[:, 0, :3, 0] = classes
        return pixels


def read(images: np.ndarray) -> np.ndarray:
    return images[:, 0, :3, 0].astype(np.float64)


def perfect(images: np.ndarray) -> np.ndarray:
    return read(images) / (GRID.sizes - 1)


def timid(images: np.ndarray) -> np.ndarray:
    return 0.3 + 0.5 * perfect(images)


def test_a_perfect_predictor_has_one_everywhere() -> None:
    parts = Split("extrapolation", GRID, {"scale": (4,), "x": (5,)})
    result = generalisation(perfect, Painted(), parts, rows="all")
    assert result.values["extrapolation_r2"] == pytest.approx(1.0, abs=1e-9)
    assert result.values["extrapolation_r2_ood"] == pytest.approx(1.0, abs=1e-9)
    assert result.values["extrapolation_ratio"] == pytest.approx(1.0, abs=1e-3)
    assert {row["rows"] for row in result.tables["splits"]} == {parts.n_test}


def test_a_constant_predictor_equals_the_baseline_beside_it() -> None:
    parts = Split("extrapolation", GRID, {"scale": (4,), "x": (5,)})
    mean = constant_baselines(parts).train_mean
    result = generalisation(lambda images: np.tile(mean, (len(images), 1)), Painted(), parts, rows="all")
    assert result.values["extrapolation_r2"] == pytest.approx(result.values["extrapolation_r2_constant"], abs=1e-6)
    for row in result.tables["factors"]:
        assert row["r2"] == pytest.approx(row["constant_train_mean"], abs=1e-6)
        assert row["r2_ood"] is None or row["r2_ood"] == pytest.approx(row["constant_ood"], abs=1e-6)
        assert row["r2_id"] == pytest.approx(row["constant_id"], abs=1e-6)


def test_clipping_is_per_factor() -> None:
    def half_right(images: np.ndarray) -> np.ndarray:
        said = perfect(images)
        said[:, 0] += 10
        return said

    result = generalisation(half_right, Painted(), "composition", rows="all")
    assert result.values["composition_r2_clipped"] == pytest.approx(2 / 3, abs=1e-9)
    assert result.values["composition_r2"] < -100


def test_predictions_drawn_half_way_to_the_mean_have_a_ratio_of_one_half() -> None:
    parts = Split("extrapolation", GRID, {"x": (4, 5)})
    mean = constant_baselines(parts).train_mean

    def drawn(images: np.ndarray) -> np.ndarray:
        return mean + (perfect(images) - mean) / 2

    result = generalisation(drawn, Painted(), parts, rows="all")
    assert result.values["extrapolation_ratio"] == pytest.approx(0.5, abs=1e-3)
    assert {row["factor"] for row in result.tables["ratios"]} == {"x"}


def test_class_numbers_are_taken_when_said_so_and_suspected_when_not() -> None:
    grid = space({"a": 20, "b": 30})

    class Large(Painted):
        factors = grid

        def images(self, classes: Any, *, rng: Any = None) -> np.ndarray:
            pixels = np.zeros((len(classes), 4, 4, 1), dtype=np.uint8)
            pixels[:, 0, :2, 0] = classes
            return pixels

    def classes(images: np.ndarray) -> np.ndarray:
        return images[:, 0, :2, 0]

    parts = Split("extrapolation", grid, {"a": (19,)})
    result = generalisation(classes, Large(), parts, rows="all", scale="classes")
    assert result.values["extrapolation_r2"] == pytest.approx(1.0)
    with pytest.warns(UnknotWarning, match="scale='classes'"):
        generalisation(classes, Large(), parts, rows="all")


def test_random_and_composition_have_no_unseen_factor() -> None:
    result = generalisation(timid, Painted(), ["random", "composition"], rows="all")
    assert not [name for name in result.values if "ood" in name or "ratio" in name]
    assert [row["split"] for row in result.tables["splits"]] == ["random", "composition"]
    assert not result.tables["modularity"]


def test_rows_are_decided_by_the_seed_and_the_probe_by_nothing() -> None:
    def run(seed: int) -> TaskResult:
        return generalisation(timid, Painted(), "composition", rows=7, seed=seed)

    first, again, other = run(0), run(0), run(1)
    assert first.values == again.values != other.values
    assert first.tables["probe"] == other.tables["probe"]
    assert "over 7 of" in " ".join(map(str, first.notes))


def test_latents_are_read_out_by_a_network_trained_on_the_training_part() -> None:
    parts = Split("composition", GRID, {"scale": (0, 1), "x": (0, 1)})

    def mixed(images: np.ndarray) -> np.ndarray:
        return perfect(images) @ np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0]])

    done: list[tuple[str, int, int]] = []
    result = generalisation(
        mixed, Painted(), parts, readout=True, recipe="quick", progress=lambda *now: done.append(now)
    )
    assert result.values["composition_r2"] > 0.95
    assert result.settings["readout"] and result.settings["steps"] == 4000
    everything = GRID.size + min(500, parts.n_test)  # training, test and probe
    assert done[-1] == ("predicting, composition", everything, everything)


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
        generalisation(model, Painted(), "composition")


def test_callers_mistakes_are_named() -> None:
    with pytest.raises(UnknotError, match="needs a world"):
        generalisation(perfect)
    with pytest.raises(UnknotError, match="inside which split"):
        generalisation(perfect, Painted())
    with pytest.raises(UnknotError, match="did you mean 'composition'"):
        generalisation(perfect, Painted(), "compositon")
    unlabelled = type("Unlabelled", (Painted,), {"factors": space({"image": 9})})()
    with pytest.raises(UnknotError, match="no factors to predict"):
        generalisation(perfect, unlabelled, "random")
    with pytest.raises(UnknotError, match="split is of a grid"):
        generalisation(perfect, Painted(), Split("extrapolation", space({"x": 4}), {"x": (3,)}))


def test_a_split_that_leaves_no_training_rows_is_refused() -> None:
    class Sparse(Painted):
        rows = np.array([[0, 4, 0], [1, 4, 1]])  # type: ignore[assignment]

    parts = Split("extrapolation", GRID, {"scale": (4,)})
    with pytest.raises(UnknotError, match="none of the 2 rows is in the training part"):
        generalisation(perfect, Sparse(), parts)


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
        generalisation(lambda images: np.zeros((len(images), 2, 4)), Painted(), "composition", readout=True)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Any:
    from unknot.runs.training import train

    folder = tmp_path_factory.mktemp("runs")
    same = {"world": "dsprites_rendered", "steps": 2, "batch_size": 8, "image_size": 32}
    return {
        "cnn": train(RunSpec(model="cnn", split="extrapolation", **same), folder),
        "vae": train(RunSpec(model="beta_vae", **same), folder),
    }


def test_a_supervised_run_predicts_by_itself_on_its_own_split(runs: Any) -> None:
    result = generalisation(runs["cnn"], rows=50)
    assert result.settings["splits"] == ["extrapolation"] and not result.settings["readout"]
    assert result.source == "cnn, seed 0" and result.world == "dsprites_rendered"
    assert SEEN not in {note.kind for note in result.notes}


def test_predictions_of_a_supervised_run_are_those_of_its_network(runs: Any) -> None:
    import torch

    from unknot.runs.batches import as_tensor
    from unknot.runs.training import load_model
    from unknot.worlds import open_world

    result = generalisation(runs["cnn"], rows=1).tables["probe"][:5]
    world = open_world("dsprites_rendered")
    images = world.images(world.factors.classes([row["point"] for row in result]))
    with torch.no_grad():
        said = load_model(runs["cnn"]).predict(as_tensor(images, 32)).numpy()  # type: ignore[operator]
    kept = [[row[f"predicted {name}"] for name in world.factors.names] for row in result]
    assert np.asarray(kept, dtype=float) == pytest.approx(said, abs=1e-4)


def test_a_run_of_latents_gets_a_readout_and_says_what_it_has_seen(runs: Any) -> None:
    result = generalisation(runs["vae"], split="interpolation", rows=40, train_rows=80, steps=20)
    assert result.settings["readout"] and result.settings["steps"] == 20
    (seen,) = (note for note in result.notes if note.kind == SEEN)
    assert seen.about == "interpolation" and "has seen images of this test part" in seen.text
    with pytest.raises(UnknotError, match="needs the readout"):
        generalisation(runs["vae"], split="interpolation", readout=False)


def test_a_run_on_a_world_with_other_factors_or_images_is_refused(runs: Any) -> None:
    with pytest.raises(UnknotError, match="predicts the factors of dsprites_rendered"):
        generalisation(runs["cnn"], "shapes3d_rendered", "random")
    with pytest.raises(UnknotError, match="those of the world are 64 x 64 x 3"):
        generalisation(runs["cnn"], "dsprites_noisy_rendered", "random")
    with pytest.raises(UnknotError, match="pool is for timm and hf networks"):
        generalisation(runs["cnn"], pool="mean")


@pytest.mark.parametrize("model", ["cnn", "vae"])
def test_the_model_of_a_run_is_loaded_once(runs: Any, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from unknot.runs import training

    loaded, load = [], training.load_model
    monkeypatch.setattr(training, "load_model", lambda *a, **b: loaded.append(a) or load(*a, **b))
    generalisation(runs[model], split=["random", "composition"], rows=5, train_rows=20, steps=1)
    assert len(loaded) == 1


def test_a_world_and_its_name_have_the_same_splits() -> None:
    from unknot.worlds import open_world

    def half(images: np.ndarray) -> np.ndarray:
        return np.full((len(images), 5), 0.5)

    named, handed = (
        generalisation(half, world, "all", rows=5)
        for world in ("dsprites_rendered", open_world("dsprites_rendered"))
    )
    assert named.values == handed.values and named.world == handed.world == "dsprites_rendered"
    assert named.tables["factors"] == handed.tables["factors"]


def test_what_a_function_says_is_kept_until_it_says_something_else(tmp_path: Path) -> None:
    calls, shift = [], 0.0

    def shifted(images: np.ndarray) -> np.ndarray:
        calls.append(len(images))
        return perfect(images) + shift

    def result() -> TaskResult:
        return generalisation(shifted, Painted(), "random", rows="all", folder=tmp_path)

    first = result()
    many = len(calls)
    assert result().values == first.values and len(calls) == many + 1  # a few images tell that it is the same
    shift = 0.5
    assert result().values != first.values and len(list((tmp_path / "parts").glob("*.json"))) == 2
    assert len(result().notes) == len(first.notes)


def test_a_note_on_several_splits_is_one_for_each_and_shown_once(runs: Any, tmp_path: Path) -> None:
    result = generalisation(runs["vae"], split=["random", "composition"], rows=5, train_rows=20, steps=1)
    seen = [note for note in result.notes if note.kind == SEEN]
    assert [note.about for note in seen] == ["random", "composition"]
    assert read_result(result.write(tmp_path / "result.json")).notes == result.notes
    assert f"random, composition: {seen[0].text}" in sentences(result.notes)


def test_memory_does_not_grow_with_images() -> None:
    class Large(Painted):
        factors, image_shape = space({"a": 2, "b": 500, "c": 200}), (8, 8, 3)

        def images(self, classes: Any, *, rng: Any = None) -> np.ndarray:
            return np.zeros((len(classes), 8, 8, 3), dtype=np.uint8)

    def peak(rows: int) -> int:
        tracemalloc.start()
        try:
            generalisation(lambda images: np.zeros((len(images), 3)), Large(), "random", rows=rows)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    few, many = peak(5_000), peak(100_000)  # images of 192 bytes, predictions of 12
    assert many - few < 12 * 95_000


def _file() -> Representation:
    """Every combination of the grid, its latents twice its scaled factors and a sum."""
    classes = GRID.classes(np.arange(GRID.size))
    scaled = GRID.scaled(classes)
    return Representation(np.hstack([2 * scaled, scaled.sum(axis=1, keepdims=True)]), classes, GRID.names)


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
    assert by_file.source == str(path)
    assert dict(by_file.values) == pytest.approx(dict(by_encoder.values), rel=1e-6)
    assert by_file.values["interpolation_r2"] > 0.8


def test_predictions_in_a_file_are_taken_as_they_are() -> None:
    classes = GRID.classes(np.arange(GRID.size))
    result = generalisation(
        Representation(GRID.scaled(classes), classes, GRID.names),
        Painted(),
        "extrapolation",
        readout=False,
        rows="all",
    )
    assert result.values["extrapolation_r2"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("representation", "world", "message"),
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
def test_files_that_do_not_fit_their_world_are_refused(representation: Any, world: Any, message: str) -> None:
    with pytest.raises(UnknotError, match=message):
        generalisation(representation, world, "random")
