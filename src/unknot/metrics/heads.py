"""Probes: small classifiers that ask what can be read from a code, and the recipes they are trained by."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError, check_known
from unknot.metrics.arrays import Floats
from unknot.metrics.latents import dead
from unknot.metrics.net import Adam, Codes, Net

Latents = Floats

HIDDEN = 256  # units of the one hidden layer, in the paper and in the published code
LEAST_VALIDATION_ROWS = 20
CHECKS = 20  # how often validation accuracy is looked at
ROWS_TO_BE_SURE = 200  # validation rows that must all be right, twice in a row, for training to end early


@dataclass(frozen=True)
class Recipe:
    """How a head is trained; part of the identity of every number that comes from one.

    Attributes:
        rate: learning rate of Adam at the start.
        batch: rows in a step.
        decay: "cosine" to zero over all steps, "powers" (x 0.65 before epochs 1, 2, 4, 8, ...) or "constant".
        epochs: passes over the training rows.
        steps: fewest and most steps, where the number of rows would ask for less or more.
        own: whether this is our recipe: standardised latents, a rate that falls with the root of the number of
            latents beyond 16, the weights of the best validation accuracy, a linear head fitted to convergence.
            Otherwise that of the published code: latents as they are, the weights of the epoch with the best
            running training accuracy, a stop above 0.99, a linear head trained like the other.
    """

    rate: float
    batch: int
    decay: Literal["cosine", "powers", "constant"]
    epochs: int
    steps: tuple[int, int] = (0, 2**62)
    own: bool = False


RECIPES = {
    "converged": Recipe(0.02, 128, "cosine", 10, steps=(3_000, 10_000), own=True),
    "paper": Recipe(0.01, 4096, "powers", 75),
    "paper_text": Recipe(0.001, 4096, "constant", 75),
}


def find_recipe(name: str) -> Recipe:
    """The recipe of that name."""
    check_known("recipe", name, RECIPES)
    return RECIPES[name]


@dataclass(frozen=True)
class Head:
    """A trained classifier: shift and scale, then one or two layers."""

    mean: Floats
    scale: Floats
    layers: tuple[NDArray[Any], ...]  # per layer (n_out, n_in + 1), the bias in the last column

    def logits(self, latents: Latents) -> NDArray[np.floating]:
        """The scores (n, n_classes) before the softmax."""
        x = ((latents - self.mean) / self.scale).astype(self.layers[0].dtype)
        for i, layer in enumerate(self.layers):
            x = (np.maximum(x, 0) if i else x) @ layer[:, :-1].T + layer[:, -1]
        return x

    def predict(self, latents: Latents) -> Codes:
        """The most probable class of each row."""
        parts = [self.logits(latents[i : i + 8192]).argmax(axis=1) for i in range(0, len(latents), 8192)]
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def standardiser(latents: Latents) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each latent; infinite that of a dead one, so that nothing is left of it."""
    return latents.mean(axis=0), np.where(dead(latents), np.inf, latents.std(axis=0))


def train_head(
    latents: Latents,
    classes: Codes,
    n_classes: int,
    recipe: Recipe,
    rng: np.random.Generator,
    *,
    hidden: int = HIDDEN,
) -> Head:
    """A softmax head trained on latents (n, d) to tell classes (n,); hidden=0 makes it linear."""
    d = latents.shape[1]
    mean, scale = standardiser(latents) if recipe.own else (np.zeros(d), np.ones(d))
    x = np.ones((len(latents), d + 1), dtype=np.float32)  # the last column meets the bias
    with np.errstate(over="ignore"):
        np.divide(latents - mean, scale, out=x[:, :-1], casting="unsafe")
    if not np.isfinite(x).all():
        raise UnknotError("probe: latents do not fit single precision; divide them by their scale first.")
    net = Net(d, n_classes, hidden, rng, min(recipe.batch, len(x)))
    (_until_validated if recipe.own else _as_published)(net, x, classes, recipe, rng)
    return Head(mean, scale, net.layers())


def _until_validated(net: Net, x: NDArray[np.float32], y: Codes, recipe: Recipe, rng: np.random.Generator) -> None:
    order = rng.permutation(len(x))
    n_held = len(x) // 10 if len(x) // 10 >= LEAST_VALIDATION_ROWS else 0
    x_held, y_held, x, y = x[order[:n_held]], y[order[:n_held]], x[order[n_held:]], y[order[n_held:]]
    batch = min(recipe.batch, max(16, len(x) // 8), len(x))
    per_epoch = len(x) // batch  # the rows left over are others in every epoch
    steps = int(np.clip(recipe.epochs * per_epoch, *recipe.steps))
    rate = recipe.rate * min(1.0, (16 / x.shape[1]) ** 0.5)
    adam, best, best_theta, perfect = Adam(net.theta.size), -1.0, net.theta, 0
    for step in range(steps):
        at = step % per_epoch
        if at == 0:
            order = rng.permutation(len(x))
            x_mixed, y_mixed = x[order], y[order]
        rows = slice(at * batch, (at + 1) * batch)
        net.backward(x_mixed[rows], y_mixed[rows])
        adam.step(net.theta, net.grad, rate * (0.5 + 0.5 * float(np.cos(np.pi * step / steps))))
        if n_held and (step + 1) % (steps // CHECKS) == 0:
            accuracy = net.hits(x_held, y_held) / n_held
            if accuracy >= best:  # the later of two equals has the smaller learning rate behind it
                best, best_theta = accuracy, net.theta.copy()
            perfect = perfect + 1 if accuracy == 1 else 0
            if perfect == 2 and n_held >= ROWS_TO_BE_SURE:
                break
    net.theta[:] = best_theta


def _as_published(net: Net, x: NDArray[np.float32], y: Codes, recipe: Recipe, rng: np.random.Generator) -> None:
    adam, best, best_theta, rate = Adam(net.theta.size), 0.0, net.theta, recipe.rate
    for epoch in range(recipe.epochs):
        if recipe.decay == "powers" and epoch & (epoch - 1) == 0 < epoch:
            rate *= 0.65
        order = rng.permutation(len(x))
        x_mixed, y_mixed = x[order], y[order]
        hits = 0
        for start in range(0, len(x), recipe.batch):
            rows = slice(start, start + recipe.batch)
            hits += net.backward(x_mixed[rows], y_mixed[rows])
            adam.step(net.theta, net.grad, rate)
        accuracy = hits / len(x)
        # The epoch that crosses 0.99 ends the training and is not kept, unless it is the first.
        if accuracy > best and (accuracy <= 0.99 or epoch == 0):
            best, best_theta = accuracy, net.theta.copy()
        if accuracy > 0.99:
            break
    net.theta[:] = best_theta
