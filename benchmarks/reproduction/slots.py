"""xie2022 in small: does slot attention find objects? Flat sprites at 32 pixels, beside masks that know nothing."""

from pathlib import Path
from typing import Any

from reproduce import table

from unknot.runs.spec import RunSpec

STEPS = 8_000
OPTIONS: dict[str, Any] = {
    "slots": 4,
    "slot_size": 32,
    "channels": 16,
    "stride": 2,
    "broadcast": 8,
    "full_layers": 0,
    "warm_up": 500,
    "half_life": 4_000,
    "clip": 0.5,
}


def spec(folder: Path, seed: int) -> RunSpec:
    """One of its runs."""
    return RunSpec(
        world=str(folder / "train"),
        model="slot_attention",
        options=OPTIONS,
        lr=1e-3,
        batch_size=16,
        precision="bfloat16",
        steps=STEPS,
        seed=seed,
    )


def run(folder: Path, jobs: int) -> str:
    """FG-ARI, ARI and mBO on 1,000 scenes of another seed, for two seeds of training."""
    import numpy as np
    import torch

    from unknot.metrics.segmentation import ari, fg_ari, mbo
    from unknot.runs.batches import as_tensor
    from unknot.runs.training import load_model, train
    from unknot.worlds.scenes.dataset import SceneSet, open_scenes, write_scenes

    torch.set_num_threads(1)
    for name, n, seed in (("train", 20_000, 0), ("test", 1_000, 1)):
        write_scenes(folder / name, SceneSet("black_sprites", n=n, size=32, seed=seed), jobs=jobs)
    test = open_scenes(folder / "test")
    numbers = np.arange(1_000)[:, None]
    truth, images = test.masks(numbers), as_tensor(test.images(numbers))
    y, x = np.mgrid[:32, :32]
    found = {
        "random pixels": np.random.default_rng(0).integers(0, 4, truth.shape),
        "grid 2 x 2": np.broadcast_to(y // 16 * 2 + x // 16, truth.shape),
        "grid 3 x 3": np.broadcast_to(y // 11 * 3 + x // 11, truth.shape),
        "four stripes": np.broadcast_to(x // 8, truth.shape),
    }
    for seed in (0, 1):
        model = load_model(train(spec(folder, seed), folder / "runs"))
        with torch.inference_mode():
            owners = [model.masks(part).argmax(1).numpy() for part in images.split(100)]
        found[f"slot attention, seed {seed}"] = np.concatenate(owners)
    scores = {"FG-ARI": fg_ari, "ARI": ari, "mBO": mbo}
    return table(
        [
            {"masks": name, **{key: score(truth, masks).value for key, score in scores.items()}}
            for name, masks in found.items()
        ]
    )
