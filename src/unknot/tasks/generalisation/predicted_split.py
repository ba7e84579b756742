"""One split of a world: read out, predict, add up."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from unknot.encoders.points import encode_points
from unknot.errors import Note, UnknotError
from unknot.factors import Classes, FactorSpace, Indices
from unknot.progress import Progress, counted
from unknot.tasks.generalisation.options import ROWS, GeneralisationOptions
from unknot.tasks.generalisation.predictors import Predictor
from unknot.tasks.generalisation.readout import Readout, steps_over, train_readout
from unknot.tasks.generalisation.split_errors import (
    FINE,
    TOP,
    Baselines,
    Floats,
    Part,
    SplitErrors,
    chunks,
    constant_baselines,
    mean_known,
    part_points,
)
from unknot.tasks.options import Rows
from unknot.tasks.result import Cell, Table, TaskResult, as_cell, as_number
from unknot.worlds.splits.split import Split

PROBE = 500  # test images whose predictions a result keeps, the same for every predictor, to compare errors
CHUNK = 4096  # points whose predictions are in memory at a time
SEEN = "seen"  # the kind of note by which a leaderboard knows that a run has seen test images
HAS_SEEN = "has seen images of this test part"


class PredictedSplit:
    """What a predictor says of the images of one split, which results call by its label.

    Progress is told how many images are done, of those for the readout, for the test and for the probe.
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
        """Predictions on the images that every result on this split keeps; and the unseen factor, if it is one."""
        space = self._world.factors
        names = [f"predicted {name}" for name in space.names]
        unseen = [space.names[j] if j >= 0 else None for j in self._split.one_ood_factor(classes).tolist()]
        points = space.indices(classes).tolist()
        return [
            {"split": self._label, "point": point, "unseen": factor, **dict(zip(names, row, strict=True))}
            for point, factor, row in zip(points, unseen, predictions.round(5).tolist(), strict=True)
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


BIN = 0.1  # width of the bins of ratios in tables


def split_values(split: Split, row: Mapping[str, Cell]) -> dict[str, float]:
    """The headline numbers of a split, from its row of `splits`; those of unseen factors only where there are some."""
    columns = {"r2": "r2", "r2_clipped": "r2_clipped", "r2_constant": "constant_train_mean"}
    if row["rows_one_ood"]:
        columns |= {"r2_id": "r2_id", "r2_ood": "r2_ood"}
    if split.kind == "extrapolation":  # between the values of training, the mean is no place to be drawn to
        columns["ratio"] = "ratio"
    return {f"{row['split']}_{name}": as_number(row[column]) for name, column in columns.items()}


def tables_of(label: str, split: Split, errors: SplitErrors, baselines: Baselines) -> dict[str, Table]:
    """`splits`, one row; `factors`, one a factor; `modularity`, one a pair of factors; `ratios`, histograms."""
    full, train, beyond = baselines.full, baselines.train, split.kind == "extrapolation"
    columns = {
        "r2": errors.r2,
        "r2_clipped": np.maximum(errors.r2, 0.0),
        "constant_full_mean": full.r2,
        "constant_train_mean": train.r2,
        "r2_id": errors.in_distribution,
        "constant_id": train.in_distribution,
        "r2_ood": errors.ood,
        "constant_ood": train.ood,
    }
    whole: dict[str, Cell] = {"split": label}
    whole |= {name: as_cell(mean_known(values)) for name, values in columns.items()}
    whole |= {"ratio": as_cell(errors.pooled_ratio()) if beyond else None, "rows": errors.rows}
    whole |= {"rows_one_ood": int(errors.one_ood.sum()), "test_part": full.rows}
    nothing = np.full(len(split.space), np.nan)
    columns["ratio"] = errors.median_ratio() if beyond else nothing
    columns["share_short"] = errors.share_short() if beyond else nothing
    return {
        "splits": [whole],
        "factors": _factor_rows(label, split, columns, errors),
        "modularity": _modularity_rows(label, split.space, errors),
        "ratios": _ratio_rows(label, split.space, errors) if beyond else [],
    }


def _factor_rows(label: str, split: Split, columns: Mapping[str, Floats], errors: SplitErrors) -> Table:
    held_out = split.exclusive if split.kind in ("interpolation", "extrapolation") else {}
    rows: Table = []
    for j, factor in enumerate(split.space):
        row: dict[str, Cell] = {"split": label, "factor": factor.name, "kind": factor.kind}
        row["held_out"] = len(held_out.get(factor.name, ()))  # classes that training never sees
        row |= {name: as_cell(values[j]) for name, values in columns.items()}
        rows.append({**row, "rows_ood": int(errors.one_ood[j])})
    return rows


def _modularity_rows(label: str, space: FactorSpace, errors: SplitErrors) -> Table:
    counts, matrix = errors.one_ood, errors.modularity
    return [
        {
            "split": label,
            "unseen": space.names[i],
            "factor": space.names[j],
            "r2": as_cell(matrix[i, j]),
            "rows": int(counts[i]),
        }
        for i in np.flatnonzero(counts)
        for j in range(len(space))
    ]


def _ratio_rows(label: str, space: FactorSpace, errors: SplitErrors) -> Table:
    """Counts of ratios in bins; the last row of a factor is of those from the top on."""
    width, rows = round(BIN / FINE), []
    for i in np.flatnonzero(errors.ratios.any(axis=1)):
        fine = errors.ratios[i]
        counts = [*fine[:-1].reshape(-1, width).sum(axis=1).tolist(), int(fine[-1])]
        last = max(j for j, count in enumerate(counts) if count)
        for j, count in enumerate(counts[: last + 1]):
            low = min(TOP, round(j * BIN, 10))
            rows.append({"split": label, "factor": space.names[i], "ratio": low, "rows": count})
    return rows
