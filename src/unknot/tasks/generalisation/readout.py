"""The readout of a frozen encoder: a small network from latents to factors."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unknot.errors import UnknotError, unknown
from unknot.metrics.net import Adam
from unknot.processes.threads import one_thread

F32 = NDArray[np.float32]
Recipe = Literal["paper", "quick"]

HIDDEN = (40, 40, 40)  # units of the hidden layers
BATCH = {"paper": 64, "quick": 128}  # rows in a step
RATE = {"paper": 1e-3, "quick": 5e-3}  # learning rate of Adam; the paper gives none, this is the usual default
EPOCHS = 8
QUICK_STEPS = (4_000, 10_000)  # fewest and most of the quick recipe
CHUNK = 8192  # rows predicted at a time


@dataclass(frozen=True, eq=False)
class Readout:
    """A trained readout.

    Attributes:
        scale: latents are divided by it first.
        layers: per layer the weights (n_in, n_out) and the biases (n_out,), ReLU between.
        steps: how many the training took.
    """

    scale: float
    layers: tuple[tuple[F32, F32], ...]
    steps: int

    def predict(self, latents: ArrayLike) -> NDArray[np.float64]:
        """Factors (n, f) of latents (n, d), on the scale of the targets trained on."""
        x = _table("latents", latents)
        n_in = len(self.layers[0][0])
        if x.shape[1] != n_in:
            raise UnknotError(f"readout: latents have {x.shape[1]} columns; it was trained on {n_in}.")
        out = np.empty((len(x), len(self.layers[-1][1])))
        with one_thread():
            for start in range(0, len(x), CHUNK):
                h = _scaled(x[start : start + CHUNK], self.scale)
                for i, (weights, biases) in enumerate(self.layers):
                    h = (np.maximum(h, 0) if i else h) @ weights + biases
                out[start : start + CHUNK] = h
        return out


def train_readout(
    latents: ArrayLike,
    targets: ArrayLike,
    *,
    steps: int | None = None,
    rng: int | np.random.Generator = 0,
    recipe: Recipe = "paper",
) -> Readout:
    """A network with three layers of 40 ReLU units, trained to tell factors from latents.

    loss = mean over rows of sum_i (y_i - f_i)^2

    "paper" is the published recipe: latents as they are, 8 epochs in batches of 64, Adam at 1e-3. "quick" is ours:
    all latents divided by the largest of their deviations, batches of 128, a rate that falls from 5e-3 to zero along a
    cosine, and 8 epochs or what is nearest to them from 4,000 to 10,000 steps, so that small tables are fitted and
    large ones take seconds. One scale for all latents, because one each would blow up those that are switched off.

    Departs from the paper: it does not give the learning rate.
    Reference: Schott et al. 2022, Visual Representation Learning Does Not Generalize Strongly Within the Same
    Domain, arXiv:2107.08221, appendix H.4.

    Args:
        latents: (n, d) of the training images.
        targets: (n, f) factors scaled to [0, 1]: class / (number of classes - 1), categorical factors too.
        steps: how many; the recipe's if left out.
        rng: decides the first weights and the order of the rows.
        recipe: "paper" or "quick".

    >>> latents = np.random.default_rng(0).normal(size=(2000, 3))
    >>> targets = np.tanh(latents[:, :2])
    >>> readout = train_readout(latents, targets, recipe="quick")
    >>> bool(np.mean((readout.predict(latents) - targets) ** 2) < 1e-3)
    True
    """
    if recipe not in get_args(Recipe):
        raise unknown("recipe of the readout", recipe, get_args(Recipe))
    x, y = _table("latents", latents), _table("targets", targets)
    if len(x) != len(y) or not len(x):
        raise UnknotError(f"readout: {len(x)} rows of latents, {len(y)} of targets; both need one row per image.")
    rng = np.random.default_rng(rng)
    d, batch = x.shape[1], min(BATCH[recipe], len(x))
    scale = (float(x.std(axis=0).max()) or 1.0) if recipe == "quick" else 1.0
    inputs, wanted = _scaled(x, scale), y.astype(np.float32)
    if steps is None:
        steps = EPOCHS * -(-len(x) // batch)
        steps = int(np.clip(steps, *QUICK_STEPS)) if recipe == "quick" else steps
    if steps < 1:
        raise UnknotError(f"readout: {steps} steps; expected at least one.")
    net = _Net((d, *HIDDEN, y.shape[1]), rng, batch)
    adam, rate = Adam(net.theta.size), RATE[recipe]
    with one_thread():
        for step, rows in enumerate(_batches(len(x), batch, steps, rng)):
            net.backward(inputs[rows], wanted[rows])
            fall = 0.5 + 0.5 * float(np.cos(np.pi * step / steps)) if recipe == "quick" else 1.0
            adam.step(net.theta, net.grad, rate * fall)
    if not np.isfinite(net.theta).all():
        raise UnknotError("readout: training diverged; divide the latents by their scale, or use recipe 'quick'.")
    return Readout(scale, net.layers(), steps)


def steps_over(rows: int, recipe: Recipe) -> int | None:
    """Steps of the paper's 8 epochs over a whole training part, also where only some of it is read; None for "quick".

    >>> steps_over(230_400, "paper")
    28800
    """
    return EPOCHS * -(-rows // BATCH["paper"]) if recipe == "paper" else None


def _batches(n: int, batch: int, steps: int, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """Rows of one step after another: epochs in random order, the last batch of each smaller."""
    taken = 0
    while True:
        order = rng.permutation(n)
        for start in range(0, n, batch):
            if taken == steps:
                return
            yield order[start : start + batch]
            taken += 1


class _Net:
    """Weights and gradient as views of two flat vectors, and the activations of one pass."""

    def __init__(self, widths: tuple[int, ...], rng: np.random.Generator, rows: int) -> None:
        """Draw weights and biases as PyTorch's Linear does: uniform within 1 / sqrt(number of inputs)."""
        self._pairs = list(pairwise(widths))
        size = sum((n_in + 1) * n_out for n_in, n_out in self._pairs)
        self.theta: F32 = np.empty(size, dtype=np.float32)
        self.grad: F32 = np.empty(size, dtype=np.float32)
        self._weights, self._slopes = self._views(self.theta), self._views(self.grad)
        for (n_in, _), (weights, biases) in zip(self._pairs, self._weights, strict=True):
            weights[:] = rng.uniform(-1, 1, weights.shape) * n_in**-0.5
            biases[:] = rng.uniform(-1, 1, biases.shape) * n_in**-0.5
        self._outputs: list[F32] = [np.empty((rows, n_out), dtype=np.float32) for _, n_out in self._pairs]
        self._errors: list[F32] = [np.empty_like(out) for out in self._outputs]

    def _views(self, flat: F32) -> list[tuple[F32, F32]]:
        views, start = [], 0
        for n_in, n_out in self._pairs:
            middle, end = start + n_in * n_out, start + (n_in + 1) * n_out
            views.append((flat[start:middle].reshape(n_in, n_out), flat[middle:end]))
            start = end
        return views

    def layers(self) -> tuple[tuple[F32, F32], ...]:
        """A copy of weights and biases."""
        return tuple((weights.copy(), biases.copy()) for weights, biases in self._weights)

    def backward(self, x: F32, y: F32) -> None:
        """Set `grad` to that of mean_rows sum_i (y_i - f_i)^2."""
        outputs = [out[: len(x)] for out in self._outputs]
        errors = [error[: len(x)] for error in self._errors]
        h, last = x, len(outputs) - 1
        for i, ((weights, biases), out) in enumerate(zip(self._weights, outputs, strict=True)):
            np.matmul(h, weights, out=out)
            np.add(out, biases, out=out)
            h = np.maximum(out, 0, out=out) if i < last else out
        np.subtract(h, y, out=errors[last])
        np.multiply(errors[last], np.float32(2 / len(x)), out=errors[last])
        for i in range(last, -1, -1):
            slopes, bias_slopes = self._slopes[i]
            np.matmul((outputs[i - 1] if i else x).T, errors[i], out=slopes)
            np.sum(errors[i], axis=0, out=bias_slopes)
            if i:
                np.matmul(errors[i], self._weights[i][0].T, out=errors[i - 1])
                np.multiply(errors[i - 1], outputs[i - 1] > 0, out=errors[i - 1])


def _table(what: str, values: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2 or not array.shape[1]:
        raise UnknotError(f"readout: {what} have shape {array.shape}; expected (n, columns).")
    if not np.isfinite(array).all():
        raise UnknotError(f"readout: {what} hold {int((~np.isfinite(array)).sum())} NaN or infinite entries.")
    return array


def _scaled(x: NDArray[np.float64], scale: float) -> F32:
    with np.errstate(over="ignore"):
        scaled = (x / scale).astype(np.float32)
    if not np.isfinite(scaled).all():
        raise UnknotError("readout: latents do not fit single precision; divide them by their scale first.")
    return scaled
