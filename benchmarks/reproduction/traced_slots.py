"""Slot attention by the preset `quick` on ray-traced scenes of 64 pixels: five seeds, two settings, unseen scenes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from unknot.runs.run import Run
from unknot.runs.spec import RunSpec

SETTINGS = ("iid", "corr")
SEEDS = range(5)
IMAGES, UNSEEN = 20_000, 1_000
SIZE = 64


def spec(world: Path, seed: int) -> RunSpec:
    """One of its runs: the preset, with tokens as large as four pixels."""
    from unknot.models import find_preset
    from unknot.runs.recipes import filled

    values = {**find_preset("slot_attention", "quick").fixed, "image_size": SIZE, "stride": SIZE // 16}
    return RunSpec(**filled({"world": str(world), "model": "slot_attention", "seed": seed}, values))


def traced_rows(folder: Path, corpus: Any, jobs: int) -> Iterator[dict[str, Any]]:
    """FG-ARI, ARI and mBO on scenes of another seed, and COAT of slots as they are, without duplicates, and tidied."""
    from unknot.runs.training import train
    from unknot.tasks.algebra.task import algebra
    from unknot.worlds.scenes.dataset import SceneSet, write_scenes

    for setting in SETTINGS:
        for name, n, seed in (("train", IMAGES, 0), ("unseen", UNSEEN, 1)):
            write_scenes(folder / f"{setting}_{name}", SceneSet(setting, n=n, size=SIZE, seed=seed), jobs=jobs)
        for seed in SEEDS:
            trained = train(spec(folder / f"{setting}_train", seed), folder / "runs")
            result = algebra(trained, corpus, pictures=0, folder=folder / "codes")
            rows = [row for row in result.tables["scores"] if row["kind"] == "encoder"]
            yield {
                "setting": setting,
                "seed": seed,
                "minutes": trained.record["training_seconds"] / 60,
                **masks_scored(trained, folder / f"{setting}_unseen"),
                "L2-COAT": ", ".join(f"{row['l2']:.1f}" for row in rows),
            }


def masks_scored(trained: Run, unseen: Path) -> dict[str, float]:
    """How well masks fit the true objects of scenes that were never trained on."""
    import numpy as np
    import torch

    from unknot.metrics.segmentation import ari, fg_ari, mbo
    from unknot.runs.batches import as_tensor
    from unknot.runs.training import load_model
    from unknot.worlds.scenes.dataset import open_scenes

    world, model = open_scenes(unseen), load_model(trained)
    numbers = np.arange(len(world.records))[:, None]
    truth, images = world.masks(numbers), as_tensor(world.images(numbers))
    with torch.inference_mode():
        owners = np.concatenate([model.masks(part).argmax(1).numpy() for part in images.split(50)])
    scores = {"FG-ARI": fg_ari, "ARI": ari, "mBO": mbo}
    return {name: score(truth, owners).value for name, score in scores.items()}
