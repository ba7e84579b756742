"""How fast MLP probes are trained on one core, beside the published code's procedure.

The peer is the schedule of the code of Mahon et al. 2024 written as most people would: a torch model, autograd,
a DataLoader that fetches row by row, the test rows predicted after every epoch. Both sides train one net per
factor on all latents and one without the factor's latent, on the same arrays; times are CPU seconds of one thread.
"""

import argparse
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray

from unknot.metrics.heads import RECIPES, Recipe, one_thread, train_head

SIZES = np.array([32, 32, 40])


def table(n: int, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Ten smooth, mixed, noisy functions of three factors: a code as an encoder learns it."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, SIZES, size=(n, 3))
    u = 2 * y / (SIZES - 1) - 1
    weights = np.random.default_rng(99).normal(size=(3, 10))
    return np.tanh(u @ weights) + np.sin(u @ weights[:, ::-1]) + rng.normal(scale=0.05, size=(n, 10)), y


def published(
    z: NDArray[np.float64],
    y: NDArray[np.int64],
    z_test: NDArray[np.float64],
    y_test: NDArray[np.int64],
    epochs: int,
) -> float:
    """Test accuracy of a net of 256 hidden units trained by the published schedule with torch."""
    import torch
    from torch.utils.data import DataLoader, Dataset

    class RowByRow(Dataset):  # type: ignore[type-arg]
        def __init__(self, x: NDArray[np.float64], labels: NDArray[np.int64]) -> None:
            self.x, self.labels = torch.tensor(x, dtype=torch.float32), torch.tensor(labels)

        def __len__(self) -> int:
            return len(self.x)

        def __getitem__(self, i: int) -> tuple[torch.Tensor, torch.Tensor]:
            return self.x[i], self.labels[i]

    net = torch.nn.Sequential(
        torch.nn.Linear(z.shape[1], 256), torch.nn.ReLU(), torch.nn.Linear(256, int(y.max()) + 1)
    )
    adam = torch.optim.Adam(net.parameters(), lr=0.01)
    decay = torch.optim.lr_scheduler.ExponentialLR(adam, 0.65)
    loader = DataLoader(RowByRow(z, y), batch_size=4096, shuffle=True)
    test_loader = DataLoader(RowByRow(z_test, y_test), batch_size=4096)
    best, kept = 0.0, 0.0
    for epoch in range(epochs):
        if epoch & (epoch - 1) == 0 < epoch:
            decay.step()
        hits = 0
        for x, labels in loader:
            scores = net(x)
            loss = torch.nn.functional.cross_entropy(scores, labels)
            adam.zero_grad()
            loss.backward()
            adam.step()
            hits += int((scores.argmax(dim=1) == labels).sum())
        with torch.no_grad():
            right = sum(int((net(x).argmax(dim=1) == labels).sum()) for x, labels in test_loader)
        if hits / len(z) > best:
            best, kept = hits / len(z), right / len(z_test)
        if hits / len(z) > 0.99:
            break
    return kept


def ours(
    z: NDArray[np.float64],
    y: NDArray[np.int64],
    z_test: NDArray[np.float64],
    y_test: NDArray[np.int64],
    recipe: Recipe,
) -> float:
    """Test accuracy of the same net trained here."""
    head = train_head(z, y, int(y.max()) + 1, recipe, np.random.default_rng(0))
    return float(np.mean(head.predict(z_test) == y_test))


def main(*, epochs: int = 3, factors: int = 3, rows: int = 32_768) -> dict[str, float]:
    """Print the ratio of times and the accuracies; epochs=75 is the whole published schedule.

    With fewer epochs the published time is multiplied up to 75 and accuracies are compared after as many epochs
    on both sides; the converged recipe is always run whole.
    """
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    z, y = table(rows)
    z_test, y_test = table(rows // 4, seed=1)
    short = Recipe(**{**vars(RECIPES["paper"]), "epochs": epochs})
    recipes = {"paper": short, "converged": RECIPES["converged"]}
    seconds = dict.fromkeys(("published", *recipes), 0.0)
    accuracy: dict[str, list[float]] = {name: [] for name in seconds}
    with one_thread():
        for j in range(factors):
            for kept in (np.arange(10), np.delete(np.arange(10), j)):
                data = z[:, kept], y[:, j], z_test[:, kept], y_test[:, j]
                for name in seconds:
                    start = time.process_time()
                    found = published(*data, epochs) if name == "published" else ours(*data, recipes[name])
                    seconds[name] += time.process_time() - start
                    accuracy[name].append(found)
    whole = 75 / epochs
    result = {
        "paper_ratio": seconds["published"] / seconds["paper"],
        "paper_accuracy_difference": float(np.mean(np.subtract(accuracy["paper"], accuracy["published"]))),
        "paper_mean_absolute_difference": float(
            np.mean(np.abs(np.subtract(accuracy["paper"], accuracy["published"])))
        ),
        "converged_ratio": whole * seconds["published"] / seconds["converged"],
        "converged_accuracy_difference": float(np.mean(np.subtract(accuracy["converged"], accuracy["published"]))),
    }
    print(f"{2 * factors} nets, {rows} rows, {epochs} of 75 epochs; published: {seconds['published']:.1f} CPU s")
    print(
        f"recipe paper      {result['paper_ratio']:5.1f} x as fast, mean accuracy "
        f"{np.mean(accuracy['paper']):.3f} against {np.mean(accuracy['published']):.3f}, "
        f"mean absolute difference {result['paper_mean_absolute_difference']:.4f}"
    )
    print(
        f"recipe converged  {result['converged_ratio']:5.1f} x as fast as all 75 epochs"
        f"{'' if epochs == 75 else ' (extrapolated)'}, mean accuracy {np.mean(accuracy['converged']):.3f}"
    )
    return result


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=3, help="75 for the whole published schedule")
    parser.add_argument("--factors", type=int, default=3, choices=[1, 2, 3])
    parser.add_argument("--rows", type=int, default=32_768)
    options = parser.parse_args()
    main(epochs=options.epochs, factors=options.factors, rows=options.rows)
