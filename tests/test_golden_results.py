"""Every task on every kind of source still gives the numbers and words that it gave: those in goldens/tasks.

UNKNOT_WRITE_GOLDENS=1 writes them anew, for a change that is meant to move them. Only public names are used, so that
the inside of the package can be moved without touching this file.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import unknot
from unknot import ArrayWorld, Factor, FactorSpace, Representation, Run, RunSpec, TaskResult
from unknot.cli import app

GRID = FactorSpace((Factor("shape", 3, "categorical"), Factor("scale", 4), Factor("x", 25)))
ROLES = ("A", "B", "C", "D", "drop", "object", "color", "material", "shape", "size")
PINNED = ("task", "source", "world", "values", "tables", "settings", "notes", "lower_is_better", "printed")
OF_A_MACHINE = ("weights", "fingerprint", "version", "versions", "seconds", "path")  # settings never compared
SHOWN = 3  # rows of a long table that are pinned, beside the means of its columns and a hash of its words

FAIR: dict[str, Any] = {"rounds": 3, "points": 6}
PAIR: dict[str, Any] = {"held_out": ["scale=0,shape=0", "scale=2,shape=1"], "rows": 240, "recipe": "paper"}
READ: dict[str, Any] = {"rows": 60, "train_rows": 80, "steps": 20}
QUICK: dict[str, Any] = {"steps": 6, "evaluate_every": 3, "evaluation_batches": 2, "at": (3, 6)}
FEW: dict[str, Any] = {"classes": {"x": 4}, **QUICK}
COARSE = {"scale": 2, "orientation": 2, "x": 3, "y": 3}
COAT: dict[str, Any] = {"minibatch": 16, "pictures": 0}
OWN = "import numpy as np\n\ndef lines(images):\n    return images[:, ::16, ::16].reshape(len(images), -1) / 255\n"


def says(images: np.ndarray) -> np.ndarray:
    """The classes that an image of `telling` shows."""
    return images[:, 0, :3, 0].astype(float)


def mixed(images: np.ndarray) -> np.ndarray:
    """A code that is neither perfect nor useless."""
    y = says(images)
    return np.stack([y[:, 0] + 0.5 * y[:, 1], y[:, 1] - 0.1 * y[:, 2], np.sin(y[:, 2])], axis=1)


def slots(images: np.ndarray) -> np.ndarray:
    return np.stack([mixed(images)[:, :2], mixed(images)[:, 1:]], axis=1)


def timid(images: np.ndarray) -> np.ndarray:
    return 0.3 + 0.5 * says(images) / (GRID.sizes - 1)


def classes(images: np.ndarray) -> np.ndarray:
    return np.minimum(says(images), 15)


def blocks(images: np.ndarray) -> np.ndarray:
    """Means of 8 x 8 pixels."""
    n, height, width, channels = images.shape
    return images.reshape(n, height // 8, 8, width // 8, 8, channels).mean((2, 4)).reshape(n, -1)


def halves(images: np.ndarray) -> np.ndarray:
    """Two slots: the left and the right half."""
    return np.stack([images[:, :, :16].mean((1, 2)), images[:, :, 16:].mean((1, 2))], axis=1)


for _function in (mixed, slots, timid, classes, blocks, halves):
    _function.__module__ = "own"  # results name it, and where tests are depends on who runs them


def telling(rows: slice = slice(None)) -> ArrayWorld:
    """A world whose images say their classes in the first pixels."""
    y = GRID.classes(np.arange(GRID.size))[rows]
    images = np.zeros((len(y), 16, 16), dtype=np.uint8)
    images[:, 0, :3] = y
    return ArrayWorld(images, y, space=GRID, name="telling")


def table(rows: slice = slice(None), **more: Any) -> Representation:
    """Latents of the world `telling`."""
    y = GRID.classes(np.arange(GRID.size))[rows]
    return Representation(mixed(telling(rows).images(y)), y, GRID.names, **more)


class Made:
    """What sources the tasks are given, made when first asked for, in the folder that tests are run in."""

    def _trained(self, **fields: Any) -> Run:
        tiny = {"latents": 3, "image_size": 32, "steps": 12, "batch_size": 8, "lr": 1e-3}
        if "model" not in fields:
            tiny["options"] = {"beta": 0.0}  # so that latents differ from image to image so soon
        return unknot.train(RunSpec(**{"world": "dsprites_rendered", **tiny, **fields}), "runs")

    @cached_property
    def run(self) -> Run:
        return self._trained()

    @cached_property
    def run_without(self) -> Run:
        return self._trained(split="combination:shape=2,scale=1")

    @cached_property
    def cnn(self) -> Run:
        return self._trained(model="cnn", split="extrapolation")

    @cached_property
    def colored(self) -> Run:
        return self._trained(world="shapes3d_rendered")

    @cached_property
    def objects(self) -> Run:
        small = {"slots": 3, "slot_size": 8, "channels": 4, "broadcast": 8, "full_layers": 0, "iterations": 1}
        return self._trained(world="shapes3d_rendered", model="slot_attention", options=small)

    @cached_property
    def file(self) -> str:
        return str(table().write("latents.npz"))

    @cached_property
    def part(self) -> str:
        return str(table(slice(5, None)).write("part.npz"))

    @cached_property
    def known(self) -> Representation:
        world = unknot.open_world("dsprites_rendered")
        y = world.factors.classes(np.random.default_rng(0).choice(world.factors.size, 400, replace=False))
        z = np.cumsum(world.factors.scaled(y), axis=1)
        return Representation(z, y, world.factors.names, source={"world": "dsprites_rendered"})

    def _corpus(self, variant: str) -> Path:
        said(
            [
                "data",
                "corpus",
                "-o",
                variant,
                "--n",
                "16",
                "--size",
                "32",
                "--variant",
                variant,
                "--per-scene",
                "1",
            ]
        )
        return Path(variant)

    @cached_property
    def corpus(self) -> Path:
        return self._corpus("occluded")

    @cached_property
    def clear(self) -> Path:
        return self._corpus("clear")

    @cached_property
    def images(self) -> np.ndarray:
        """(16, 10, 32, 32, 3) of the corpus."""
        return np.load(self.corpus / "images.npy")

    @cached_property
    def codes(self) -> Mapping[str, np.ndarray]:
        return {role: blocks(self.images[:, i]) for i, role in enumerate(ROLES)}

    @cached_property
    def codes_file(self) -> str:
        np.savez("codes.npz", **self.codes)
        return "codes.npz"

    @cached_property
    def codes_folder(self) -> Path:
        Path("codes").mkdir()
        for role, code in self.codes.items():
            np.save(f"codes/{role}.npy", code)
        return Path("codes")

    @cached_property
    def codes_rows(self) -> Path:
        return Representation(np.stack(list(self.codes.values()), axis=1).reshape(160, -1)).write("rows.npz")

    @cached_property
    def quadruples(self) -> Path:
        lines = ["A,B,C,D,dropped"]
        for i, images in enumerate(self.images):
            names = [f"{i}-{role}.png" for role in ROLES[:5]]
            for name, image in zip(names, images, strict=False):
                Image.fromarray(image).save(name)
            lines.append(",".join(names))
        Path("list.csv").write_text("\n".join(lines))
        return Path("list.csv")

    @cached_property
    def own(self) -> str:
        Path("golden_encoders.py").write_text(OWN)
        return "golden_encoders:lines"


def said(words: list[Any]) -> Any:
    done = CliRunner(env={"COLUMNS": "100"}).invoke(app, [*map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


def cli(task: str, *words: Any) -> dict[str, Any]:
    """The result of a command, and what it printed without the numbers, which the result has."""
    done = said(["task", task, *words, "--json", "-"])
    text = re.sub(r"-?\d+\.\d+", "#", re.sub(r"[\u2500-\u257f]", " ", done.stderr))
    return json.loads(done.stdout) | {
        "printed": [" ".join(line.split()) for line in text.splitlines() if line.split()]
    }


Case = Callable[[Made], TaskResult | dict[str, Any]]
EXACT: dict[str, Case] = {
    "fairness-function": lambda made: unknot.fairness(mixed, telling(), rows="all", **FAIR),
    "fairness-function-chosen": lambda made: unknot.fairness(
        mixed, telling(), rows=150, targets=["shape", "x"], sensitive=["scale"], seed=3, **FAIR
    ),
    "fairness-function-named": lambda made: unknot.fairness(
        made.own, "dsprites_rendered", rows=200, targets=["shape", "scale"], **FAIR
    ),
    "fairness-function-slots": lambda made: unknot.fairness(slots, telling(), rows=150, **FAIR),
    "fairness-function-incomplete-world": lambda made: unknot.fairness(mixed, telling(slice(5, None)), **FAIR),
    "fairness-representation": lambda made: unknot.fairness(table(source={"world": "telling"}), **FAIR),
    "fairness-representation-rows": lambda made: unknot.fairness(table(), rows=200, seed=1, **FAIR),
    "fairness-file": lambda made: unknot.fairness(made.file, **FAIR),
    "fairness-file-incomplete": lambda made: unknot.fairness(Path(made.part), **FAIR),
    "fairness-cli-file": lambda made: cli("fairness", made.file, "--rounds", 3, "--points", 6),
    "combinations-function": lambda made: unknot.combinations(mixed, telling(), **PAIR),
    "combinations-function-pair": lambda made: unknot.combinations(
        mixed, telling(), pair=("scale", "shape"), limit=2, rows="all", pair_only=True, recipe="paper", seed=2
    ),
    "combinations-function-slots": lambda made: unknot.combinations(
        slots, telling(), held_out={"scale": 1, "shape": 2}, pair_only=True, recipe="paper"
    ),
    "combinations-representation": lambda made: unknot.combinations(
        made.known, pair_only=True, limit=2, recipe="paper"
    ),
    "combinations-file": lambda made: unknot.combinations(made.file, pair_only=True, **PAIR),
    "combinations-cli-file": lambda made: cli(
        "combinations", made.part, "--held-out", "scale=1,shape=1", "--pair-only", "--rows", "all"
    ),
    "generalisation-function": lambda made: unknot.generalisation(timid, telling(), "all", rows=40),
    "generalisation-function-classes": lambda made: unknot.generalisation(
        classes, telling(), ["random", "extrapolation"], rows="all", scale="classes", name="cut", seed=1
    ),
    "generalisation-function-split": lambda made: unknot.generalisation(
        timid, telling(), unknot.split(GRID, "interpolation", exclusive={"scale": (1,), "x": (3, 7)}), rows="all"
    ),
    "generalisation-file-predictions": lambda made: unknot.generalisation(
        made.file, telling(), "extrapolation", readout=False
    ),
    "algebra-baselines": lambda made: unknot.algebra(None, made.corpus, **COAT),
    "algebra-function": lambda made: unknot.algebra(blocks, made.corpus, **COAT),
    "algebra-function-pictures": lambda made: unknot.algebra(
        blocks, str(made.clear), minibatch=8, pictures=2, norm="l2", chance="shuffle_d", seed=1
    ),
    "algebra-function-two-corpora": lambda made: unknot.algebra(blocks, made.corpus, clear=made.clear, **COAT),
    "algebra-function-slots": lambda made: unknot.algebra(halves, made.corpus, threshold=0.3, **COAT),
    "algebra-codes": lambda made: unknot.algebra(made.codes, made.corpus, **COAT),
    "algebra-codes-file": lambda made: unknot.algebra(made.codes_file, made.corpus, **COAT),
    "algebra-codes-folder": lambda made: unknot.algebra(made.codes_folder, made.corpus, **COAT),
    "algebra-codes-rows": lambda made: unknot.algebra(made.codes_rows, made.corpus, **COAT),
    "algebra-quadruples": lambda made: unknot.algebra(blocks, quadruples=made.quadruples, **COAT),
    "algebra-cli-codes": lambda made: cli(
        "algebra", made.codes_file, "--corpus", made.corpus, "--minibatch", 16, "--output", "kept"
    ),
}
TRAINED: dict[str, Case] = {
    "fairness-run": lambda made: unknot.fairness(made.run, rows=200, **FAIR),
    "fairness-run-folder": lambda made: unknot.fairness(
        made.run.folder, "dsprites_rendered", rows=200, targets=["shape"], folder="fair", **FAIR
    ),
    "fairness-cli-run": lambda made: cli(
        *("fairness", made.run.folder, "--rows", 200, "--rounds", 3, "--points", 3),
        *("--target", "shape", "--target", "scale", "--sensitive", "x"),
    ),
    "combinations-run": lambda made: unknot.combinations(made.run, pair_only=True, **PAIR),
    "combinations-run-without": lambda made: unknot.combinations(
        str(made.run_without.folder), rows=240, recipe="paper", folder="without"
    ),
    "combinations-spec": lambda made: unknot.combinations(
        made.run.spec.replace(seed=1), pair_only=True, folder="spec", **PAIR
    ),
    "combinations-cli-run": lambda made: cli(
        *("combinations", made.run.folder, "--held-out", "scale=1,shape=1"),
        *("--pair-only", "--rows", 240, "--recipe", "paper"),
    ),
    "combinations-cli-model": lambda made: cli(
        *("combinations", "--world", "dsprites_rendered", "--model", "beta_vae", "--beta", 2, "--steps", 2),
        *("--latents", 3, "--image-size", 32, "--batch-size", 8, "--held-out", "scale=1,shape=1"),
        *("--pair-only", "--rows", 240, "--recipe", "paper", "-o", "model"),
    ),
    "generalisation-run-supervised": lambda made: unknot.generalisation(made.cnn, rows=50),
    "generalisation-run": lambda made: unknot.generalisation(
        made.run.folder, split=["random", "interpolation"], folder="splits", **READ
    ),
    "generalisation-run-combination": lambda made: unknot.generalisation(made.run_without, **READ),
    "generalisation-function-readout": lambda made: unknot.generalisation(
        mixed, telling(), "composition", readout=True, **READ
    ),
    "generalisation-function-quick": lambda made: unknot.generalisation(
        made.own, "dsprites_rendered", "random", readout=True, recipe="quick", **READ
    ),
    "generalisation-representation": lambda made: unknot.generalisation(made.known, split="all", **READ),
    "generalisation-file": lambda made: unknot.generalisation(made.file, telling(), "extrapolation", **READ),
    "generalisation-cli-run": lambda made: cli(
        *("generalisation", made.run.folder, "--split", "random"),
        *("--rows", 60, "--train-rows", 80, "--steps", 20, "--name", "tiny"),
    ),
    "reasoning-onehot": lambda made: unknot.reasoning(world=telling(), input="onehot", **FEW),
    "reasoning-integer": lambda made: unknot.reasoning(
        world="abstract_dsprites_rendered", input="integer", relations=2, alternatives="balanced", seed=1, **QUICK
    ),
    "reasoning-cnn": lambda made: unknot.reasoning(world=telling(), input="cnn", **FEW),
    "reasoning-function": lambda made: unknot.reasoning(mixed, telling(), draws=2, alternatives="easy", **FEW),
    "reasoning-function-views": lambda made: unknot.reasoning(
        made.own, "dsprites_noisy_rendered", classes=COARSE, views=2, **QUICK
    ),
    "reasoning-representation": lambda made: unknot.reasoning(
        table(source={"world": "telling", "encoder": {"title": "mine"}}), reject_distinct=True, **FEW
    ),
    "reasoning-file": lambda made: unknot.reasoning(made.file, folder="reasoned", **FEW),
    "reasoning-run": lambda made: unknot.reasoning(made.run, classes=COARSE, **QUICK),
    "reasoning-run-folder": lambda made: unknot.reasoning(
        made.run.folder, "dsprites_rendered", classes=COARSE, precision="bfloat16", folder="reasoner", **QUICK
    ),
    "reasoning-cli-run": lambda made: cli(
        *("reasoning", made.run.folder, "--classes", "scale=2,orientation=2,x=3,y=3", "--steps", 6, "--at", "3"),
        *("--evaluate-every", 3, "--evaluation-batches", 2, "--g", "16x2", "--f", "16x1"),
    ),
    "algebra-run": lambda made: unknot.algebra(made.colored, made.corpus, **COAT),
    "algebra-run-slots": lambda made: unknot.algebra(
        made.objects.folder, made.corpus, segmented=16, folder="algebra", **COAT
    ),
    "algebra-cli-run": lambda made: cli(
        *("algebra", made.colored.folder, "--corpus", made.corpus, "--minibatch", 16, "-o", "kept"),
    ),
}
CASES = EXACT | TRAINED


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Made]:
    return tmp_path_factory.mktemp("goldens"), Made()


@pytest.mark.parametrize("name", CASES)
def test_a_result_is_what_it_was(
    name: str, made: tuple[Path, Made], pinned: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(made[0])
    found = CASES[name](made[1])
    record = json.loads(found.as_json()) if isinstance(found, TaskResult) else found
    kept = {key: record[key] for key in PINNED if key in record}
    kept["tables"] = {key: _table(rows) for key, rows in record["tables"].items()}
    if name != "algebra-baselines" and "published" in kept["tables"]:
        kept["tables"]["published"] = len(record["tables"]["published"])  # the same each time
    kept["settings"] = _same_anywhere(record["settings"])
    pinned(f"tasks/{name}", kept, trained=name in TRAINED, growing=("settings",))


def test_every_file_of_a_result_is_compared() -> None:
    assert {path.stem for path in (Path(__file__).parent / "goldens" / "tasks").iterdir()} == set(CASES)


def _same_anywhere(settings: Any) -> Any:
    if isinstance(settings, dict):
        return {key: _same_anywhere(value) for key, value in settings.items() if key not in OF_A_MACHINE}
    return settings


def _table(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """A table by its columns, without pictures; of a long one some rows, the means of all and a hash of their words."""
    columns = [name for name in (rows[0] if rows else ()) if name != "png"]
    cells = [[row[name] for name in columns] for row in rows]
    found: dict[str, Any] = {"columns": ", ".join(columns), "rows": cells}
    if len(rows) > SHOWN:
        found["length"], found["rows"] = len(rows), cells[:: -(-len(rows) // SHOWN)]
        numbers = [[cell for cell in column if type(cell) in (int, float)] for column in zip(*cells, strict=True)]
        words = [[cell for cell in row if isinstance(cell, str)] for row in cells]
        found["means"] = [float(np.mean(column)) if column else None for column in numbers]
        found["words"] = hashlib.sha256(json.dumps(words).encode()).hexdigest()[:12]
    return found
