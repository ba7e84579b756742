"""One split of a world: read out, predict, add up."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from unknot.encoders.points import encode_points
from unknot.errors import Note, UnknotError
from unknot.factors import Classes, Indices
from unknot.progress import Progress, counted
from unknot.tasks.generalisation.constant_baselines import Baselines, constant_baselines
from unknot.tasks.generalisation.options import ROWS, GeneralisationOptions
from unknot.tasks.generalisation.predictors import Predictor
from unknot.tasks.generalisation.readout import Readout, steps_over, train_readout
from unknot.tasks.generalisation.split_errors import SplitErrors
from unknot.tasks.generalisation.split_points import Part, chunks, part_points
from unknot.tasks.generalisation.split_tables import split_values, tables_of
from unknot.tasks.options import Rows
from unknot.tasks.result import Table, TaskResult
from unknot.worlds.splits.split import Split

PROBE = 500  # test images whose predictions a result keeps, the same for every predictor, to compare errors
CHUNK = 4096  # points whose predictions are in memory at a time
SEEN = "seen"  # the kind of note by which a leaderboard knows that a run has seen test images
HAS_SEEN = "has seen images of this test part"


class PredictedSplit:
    """What a predictor says of the images of one split.

    Args:
        label: what results call the split.
        split: which points are for training and which for testing.
        predictor: of factors, or of latents.
        options: rows, seed; for a readout also train_rows, steps and recipe.
        progress: told how many images are done, of those for the readout, for the test and for the probe.
    """

    def __init__(
        self, label: str, split: Split, predictor: Predictor, options: GeneralisationOptions, progress: Progress
    ) -> None:
        self._label, self._split, self._predictor, self._options = label, split, predictor, options
        self._world, self._seed, self._progress = predictor.world, options.seed, progress
        self._training: Indices = np.empty(0, dtype=np.int64)
        if predictor.needs_readout:
            self._training = self._points("train", options.train_rows or ROWS, self._seed, 0, 2)
        self._test = self._points("test", options.rows, self._seed, 1, 2)
        self._probe = self._points("test", PROBE, 0)  # depends on no seed
        self._done, self._total = 0, len(self._training) + len(self._test) + len(self._probe)

    def _points(self, part: Part, rows: Rows, *seed: int) -> Indices:
        return part_points(self._split, self._world.rows, part, rows, np.random.default_rng(seed))

    def added_to(self, result: TaskResult) -> TaskResult:
        """A result that says whose predictions these are, with what they are worth on the split."""
        split, space, listed = self._split, self._world.factors, self._world.rows
        baselines = constant_baselines(split, listed)
        readout = self._readout() if self._predictor.needs_readout else None
        errors = SplitErrors(baselines.variance, baselines.train_mean)
        for i, classes in enumerate(chunks(split, listed, self._test, CHUNK)):
            predictions = self._predictions(classes, [self._seed, 1, i], readout)
            errors.add(predictions, space.scaled(classes), split.ood(classes))
        tables = tables_of(self._label, split, errors, baselines)
        tables["probe"] = [
            row
            for classes in chunks(split, listed, self._probe, PROBE)
            for row in self._probed(classes, self._predictions(classes, [0, 2], readout))
        ]
        settings = {**result.settings, "splits": [self._label]}
        return replace(
            result,
            values=split_values(split, tables["splits"][0]),
            tables=tables,
            settings=settings | ({} if readout is None else {"steps": readout.steps}),
            notes=self._notes(baselines),
        )

    def _readout(self) -> Readout:
        """The readout of the frozen encoder, trained on the training part."""
        split, listed, options = self._split, self._world.rows, self._options
        latents, targets = [], []
        for i, classes in enumerate(chunks(split, listed, self._training, CHUNK)):
            latents.append(self._codes(classes, [self._seed, 0, i]))
            targets.append(split.space.scaled(classes))
        if latents[0].ndim != 2:
            raise UnknotError(
                f"encoder '{self._predictor.encoder.name}': gives slots of shape {latents[0].shape[1:]}; a readout "
                "needs latents (n, d). Join or pool the slots."
            )
        whole = split.n_train if listed is None else int(split.rows(listed).sum())
        return train_readout(
            np.concatenate(latents),
            np.concatenate(targets),
            steps=options.steps or steps_over(whole, options.recipe),
            rng=np.random.default_rng([self._seed, 3]),
            recipe=options.recipe,
        )

    def _predictions(self, classes: Classes, seed: list[int], readout: Readout | None) -> NDArray[np.float64]:
        codes = self._codes(classes, seed)
        return codes.astype(np.float64) if readout is None else readout.predict(codes)

    def _codes(self, classes: Classes, seed: list[int]) -> NDArray[np.float32]:
        before = self._done

        def count(done: int, _: int) -> None:
            self._done = before + done
            self._progress(f"predicting, {self._label}", self._done, self._total)

        encoder, progress = self._predictor.encoder, counted(count)
        return encode_points(encoder, self._world, classes, seed=seed, progress=progress)[0]

    def _probed(self, classes: Classes, predictions: NDArray[np.float64]) -> Table:
        """Predictions on the images that every result on this split keeps."""
        space = self._world.factors
        names = [f"predicted {name}" for name in space.names]
        return [
            {"split": self._label, "point": point, **dict(zip(names, row, strict=True))}
            for point, row in zip(space.indices(classes).tolist(), predictions.round(5).tolist(), strict=True)
        ]

    def _notes(self, baselines: Baselines) -> list[Note]:
        texts = list(self._split.notes)
        if len(self._test) < baselines.full.rows:
            texts.append(
                f"over {len(self._test):,} of {baselines.full.rows:,} test images, drawn with seed {self._seed}."
            )
        notes = [Note("", self._label, text) for text in texts]
        trained_in = self._predictor.trained_in
        if trained_in is not None and trained_in != self._label:
            where = f"the training part of the {trained_in} split" if trained_in else "all of its world"
            notes.append(Note(SEEN, self._label, f"the run was trained on {where}, so it {HAS_SEEN}."))
        constant = [name for name, v in zip(self._split.space.names, baselines.variance, strict=True) if v == 0]
        if constant:
            notes.append(Note("", "", f"{', '.join(constant)}: constant, so there is no R²."))
        return notes
