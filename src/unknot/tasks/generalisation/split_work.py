"""One predictor on the splits of one world: read out, predict, add up, keep."""

import hashlib
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.encoders.encoding import encode_points
from unknot.errors import UnknotError
from unknot.factors import Classes, Indices
from unknot.progress import counted
from unknot.tasks.generalisation.constant_baselines import Baselines, constant_baselines
from unknot.tasks.generalisation.predictors import Predictor
from unknot.tasks.generalisation.readout import BATCH, EPOCHS, Readout, train_readout
from unknot.tasks.generalisation.split_errors import SplitErrors
from unknot.tasks.generalisation.split_points import Part, chunks, part_points
from unknot.tasks.generalisation.split_tables import split_values, tables_of
from unknot.tasks.result import Table, TaskResult, read_result
from unknot.worlds.splits.split import Split
from unknot.worlds.world import World

SEEN = "has seen images of this test part"  # by which a leaderboard knows such notes
PROBE = 500  # test images whose predictions a result keeps, the same for every predictor, to compare errors
CHUNK = 4096  # points whose predictions are in memory at a time

Watch = Callable[[int, int], None]  # images done, images in all


class SplitWork:
    """What is the same for all splits.

    Args:
        predictor: of factors, or of latents.
        world: opened.
        key: its name.
        settings: rows, seed and scale; for a readout also train_rows, steps and recipe.
        folder: keeps what is done; None to keep nothing.
        watch: see `generalisation`.
    """

    def __init__(
        self,
        predictor: Predictor,
        world: World,
        key: str,
        settings: Mapping[str, Any],
        folder: Path | None,
        watch: Watch | None,
    ) -> None:
        self.predictor, self.world, self.key, self.settings = predictor, world, key, settings
        self.seed = int(settings["seed"])
        # The weights of a function may have changed since another call, and nobody would know.
        self.folder = folder if predictor.encoder.record["kind"] in ("run", "file", "timm", "hf") else None
        self.watch, self.done, self.total = watch, 0, 0

    def results(self, splits: Mapping[str, Split]) -> list[TaskResult]:
        """One result for each split; what the folder has is not done again."""
        kept = {label: self._kept(label, made) for label, made in splits.items()}
        waiting = {label: made for label, made in splits.items() if not _there(kept[label])}
        self.total = sum(sum(map(len, self._all_points(made))) for made in waiting.values())
        found = []
        for label, made in splits.items():
            path = kept[label]
            if path is not None and _there(path):
                found.append(read_result(path))
                continue
            found.append(self._result(label, made))
            if path is not None:
                found[-1].write(path)
        return found

    def _result(self, label: str, made: Split) -> TaskResult:
        began = time.monotonic()
        space, listed = self.world.factors, self.world.rows
        baselines = constant_baselines(made, listed)
        training, test, probe = self._all_points(made)
        readout = self._readout(made, training) if self.predictor.needs_readout else None
        errors = SplitErrors(baselines.variance, baselines.train_mean)
        for i, classes in enumerate(chunks(made, listed, test, CHUNK)):
            errors.add(
                self._predictions(classes, [self.seed, 1, i], readout), space.scaled(classes), made.ood(classes)
            )
        settings = {
            **self.settings,
            "splits": [label],
            "factors": dict(zip(space.names, space.shape, strict=True)),
        }
        settings |= {"steps": readout.steps} if readout is not None else {}
        return TaskResult(
            task="generalisation",
            source=self.predictor.name,
            world=self.key,
            values=split_values(label, made, errors, baselines),
            tables=tables_of(label, made, errors, baselines)
            | {
                "probe": [
                    row
                    for classes in chunks(made, listed, probe, PROBE)
                    for row in self._probed(label, classes, readout)
                ]
            },
            settings=settings | {"model": dict(self.predictor.encoder.record)},
            notes=self._notes(label, made, len(test), baselines),
            seconds=time.monotonic() - began,
        )

    def _readout(self, made: Split, points: Indices) -> Readout:
        """The readout of the frozen encoder, trained on the training part."""
        listed, recipe, steps = self.world.rows, self.settings["recipe"], self.settings["steps"]
        latents, targets = [], []
        for i, classes in enumerate(chunks(made, listed, points, CHUNK)):
            latents.append(self._codes(classes, [self.seed, 0, i]))
            targets.append(made.space.scaled(classes))
        if latents[0].ndim != 2:
            raise UnknotError(
                f"encoder '{self.predictor.name}': gives slots of shape {latents[0].shape[1:]}; a readout needs "
                "latents (n, d). Join or pool the slots."
            )
        if steps is None and recipe == "paper":
            whole = made.n_train if listed is None else int(made.rows(listed).sum())
            steps = EPOCHS * -(-whole // BATCH["paper"])
        rng = np.random.default_rng([self.seed, 3])
        return train_readout(np.concatenate(latents), np.concatenate(targets), steps=steps, rng=rng, recipe=recipe)

    def _predictions(self, classes: Classes, seed: list[int], readout: Readout | None) -> NDArray[np.float64]:
        codes = self._codes(classes, seed)
        return codes.astype(np.float64) if readout is None else readout.predict(codes)

    def _codes(self, classes: Classes, seed: list[int]) -> NDArray[np.float32]:
        before = self.done

        def tell(done: int, _: int) -> None:
            self.done = before + done
            if self.watch is not None:
                self.watch(self.done, self.total)

        return encode_points(self.predictor.encoder, self.world, classes, seed=seed, progress=counted(tell))

    def _probed(self, label: str, classes: Classes, readout: Readout | None) -> Table:
        """Predictions on the images that every result on this split keeps."""
        predicted, space = self._predictions(classes, [0, 2], readout), self.world.factors
        names = [f"predicted {name}" for name in space.names]
        return [
            {"split": label, "point": point, **dict(zip(names, values, strict=True))}
            for point, values in zip(space.indices(classes).tolist(), predicted.round(5).tolist(), strict=True)
        ]

    def _all_points(self, made: Split) -> tuple[Indices, Indices, Indices]:
        """Of the readout's training, of the test, and of the probe, which depends on no seed."""

        def drawn(part: Part, rows: int | str, *seed: int) -> Indices:
            return part_points(made, self.world.rows, part, rows, np.random.default_rng(seed))

        training: Indices = np.empty(0, dtype=np.int64)
        if self.predictor.needs_readout:
            training = drawn("train", self.settings["train_rows"], self.seed, 0, 2)
        return training, drawn("test", self.settings["rows"], self.seed, 1, 2), drawn("test", PROBE, 0)

    def _notes(self, label: str, made: Split, rows: int, baselines: Baselines) -> Sequence[str]:
        notes = [f"{label}: {text}" for text in made.notes]
        if rows < baselines.full.rows:
            notes.append(
                f"{label}: over {rows:,} of {baselines.full.rows:,} test images, drawn with seed {self.seed}."
            )
        seen = self.predictor.trained_in
        if seen is not None and seen != label:
            where = f"the training part of the {seen} split" if seen else "all of its world"
            notes.append(f"{label}: the run was trained on {where}, so it {SEEN}.")
        constant = [n for n, v in zip(made.space.names, baselines.variance, strict=True) if v == 0]
        return notes + ([f"{', '.join(constant)}: constant, so there is no R²."] if constant else [])

    def _kept(self, label: str, made: Split) -> Path | None:
        if self.folder is None:
            return None
        what = [
            self.key,
            dict(self.settings),
            dict(self.predictor.encoder.record),
            self.predictor.name,
            made.as_json(),
        ]
        key = hashlib.sha256(json.dumps(what, sort_keys=True, default=str).encode()).hexdigest()[:12]
        return self.folder / f"generalisation-{re.sub('[^a-z0-9]+', '_', label)}-{key}.json"


def _there(path: Path | None) -> bool:
    return path is not None and path.is_file()
