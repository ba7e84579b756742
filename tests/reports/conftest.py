"""For the tests of reports: a study with two real runs and more in its tables, and results of tasks."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from unknot.encoders.encoding import encode
from unknot.factors import space
from unknot.representation import Representation
from unknot.runs.run import Run
from unknot.runs.spec import RunSpec
from unknot.runs.training import train
from unknot.scoring.kept_scores import keep_scores
from unknot.scoring.scoring import score
from unknot.tasks import TaskResult
from unknot.worlds.scenes.toy_corpus import toy_corpus

WORLD = "dsprites_rendered"
SPEC = RunSpec(world=WORLD, latents=4, image_size=32, steps=20, batch_size=8)


def scored_run(parent: Path, spec: RunSpec = SPEC) -> Run:
    """A run trained for a few steps, encoded, scored by two metrics, all files where a study has them."""
    run = train(spec, parent)
    path = encode(run, rows=400).write(run.latents)
    keep_scores(run, score(path, metrics=["mig", "sap"]), path)
    return run


def write_study(
    folder: Path, *, real: int = 2, names: tuple[str, str] = ("beta", "gamma"), fail: bool = True
) -> Path:
    """2 models x 3 settings x 3 seeds; the first `real` runs are trained, the rest only in the tables.

    Scores rise with the setting and fall with the seed by known amounts, so that the best run is known: the last
    setting of the second model, seed 0.
    """
    runs: list[dict[str, Any]] = []
    scores: list[dict[str, Any]] = []
    ranks: list[dict[str, Any]] = []
    rng = np.random.default_rng(0)
    for m, (model, option) in enumerate(zip(("beta_vae", "factor_vae"), names, strict=True)):
        for s, value in enumerate((1, 4, 16)):
            for seed in range(3):
                i = len(runs)
                id_ = scored_run(folder / "runs", SPEC.replace(seed=i)).spec.id if i < real else f"{i:012x}"
                good = 0.2 * m + 0.1 * s - 0.02 * seed
                runs.append(
                    {"id": id_, "world": WORLD, "model": model, "setting": f"{option} {value}", "seed": seed}
                    | {"steps": 20, "split": "", "status": "done", "minutes": 0.1, "error": "", "option.x": value}
                )
                for metric, part, measures, higher, number in (
                    ("mig[bins=20]", "", "compactness", True, 0.1 + good),
                    ("dci[gbt]", "", "modularity", True, 0.2 + good + 0.05 * rng.normal()),
                    ("dci[gbt]", "completeness", "compactness", True, 0.3 + good),
                    ("mutual_info_score[bins=20]", "", "independence", False, 0.6 - good),
                ):
                    row = {"id": id_, "metric": metric, "part": part, "value": number, "measures": measures}
                    scores.append(row | {"higher_is_better": higher, "seconds": 0.1, "version": 1})
                for method, scope in (("udr_lasso[alpha=0.1]", "setting"), ("udr_spearman", "all")):
                    row = {"id": id_, "method": method, "scope": scope, "score": 0.5 + good + 0.1 * rng.normal()}
                    ranks.append(row | {"informative": 3 + i % 3, "partners": 2})
    if fail:
        runs.append(runs[-1] | {"id": "f" * 12, "seed": 9, "status": "failed", "error": "loss is not finite"})
    tables = folder / "tables"
    tables.mkdir(parents=True)
    for name, rows in (("runs", runs), ("scores", scores), ("ranks", ranks)):
        pd.DataFrame(rows).to_parquet(tables / f"{name}.parquet")
    (folder / "study.json").write_text(
        json.dumps({"name": "sweep", "about": "Two models.", "started": "2030-01-01"})
    )
    return folder


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study's folder, to be read only."""
    return write_study(tmp_path_factory.mktemp("report") / "study")


@pytest.fixture(scope="session")
def trained(study: Path) -> Path:
    """The folder of a scored run."""
    return next(path.parent for path in sorted(study.glob("runs/*/run.json")))


@pytest.fixture(scope="session")
def task_results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, TaskResult]:
    """Task -> a small result of it."""
    from unknot.tasks.algebra.task import algebra
    from unknot.tasks.combinations.task import combinations
    from unknot.tasks.fairness.task import fairness
    from unknot.tasks.generalisation.task import generalisation
    from unknot.tasks.reasoning.task import reasoning

    grid = space({"shape": 3, "x": 4, "y": 6})
    classes = grid.classes(np.arange(72)).repeat(4, axis=0)
    made = Representation(classes * 1.0, classes, grid.names)
    corpus = toy_corpus(tmp_path_factory.mktemp("toy"), n=8, size=16)
    results = [
        combinations(made, pair=("shape", "x"), limit=3, pair_only=True, recipe="paper"),
        generalisation(lambda images: np.full((len(images), 5), 0.5), WORLD, "extrapolation", rows=200),
        reasoning(made, steps=10, evaluate_every=5, evaluation_batches=1),
        fairness(made, rounds=3, points=10),
        algebra(None, corpus, minibatch=8, pictures=2),
    ]
    return {result.task: result for result in results}
