"""A softmax net of at most one hidden layer, with its backward pass and Adam written out in numpy.

Thousands of small steps are dominated by what surrounds the arithmetic (graphs, allocations, loaders), so here
everything is written into buffers that are made once.
"""

import numpy as np
from numpy.typing import NDArray

from unknot.metrics.arrays import Ints

F32 = NDArray[np.float32]
Codes = Ints

CHUNK = 1024  # rows whose activations stay in the cache; the gradient of a larger batch is summed from chunks
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8  # Adam's, as in the paper and in every framework


class Net:
    """Weights and their gradient as views of two flat vectors, and the buffers of one pass.

    The first layer's bias meets a column of ones that the caller appends to the input. Logits are kept with
    classes first, because numpy reduces over a long last axis many times faster than over a short one.

    Attributes:
        theta: all weights.
        grad: the gradient at the last `backward`.
        w1: (n_inputs + 1, hidden), none of it without a hidden layer.
        w2: (n_classes, hidden), or (n_classes, n_inputs + 1) without a hidden layer.
        b2: (n_classes,), none of it without a hidden layer.
    """

    def __init__(self, n_inputs: int, n_classes: int, hidden: int, rng: np.random.Generator, rows: int) -> None:
        """Draw the weights as PyTorch's Linear does: uniform within 1 / sqrt(number of inputs)."""
        self._shapes = (n_inputs + 1, hidden), (n_classes, hidden or n_inputs + 1), (n_classes if hidden else 0,)
        size = sum(int(np.prod(shape)) for shape in self._shapes)
        self.theta: F32 = np.empty(size, dtype=np.float32)
        self.grad: F32 = np.zeros(size, dtype=np.float32)
        self.w1, self.w2, self.b2 = self._views(self.theta)
        self.g1, self.g2, self.gb2 = self._views(self.grad)
        self.w1[:] = rng.uniform(-1, 1, self.w1.shape) / np.sqrt(max(n_inputs, 1))
        for second in (self.w2, self.b2):
            second[:] = rng.uniform(-1, 1, second.shape) / np.sqrt(hidden or max(n_inputs, 1))
        rows = min(rows, CHUNK)
        self._h: F32 = np.empty((rows, hidden), dtype=np.float32)
        self._dh: F32 = np.empty((rows, hidden), dtype=np.float32)
        self._on = np.empty((rows, hidden), dtype=np.bool_)
        self._p: F32 = np.empty(n_classes * rows, dtype=np.float32)
        self._sum: F32 = np.empty(size, dtype=np.float32)
        self._at = np.arange(rows)

    def _views(self, flat: F32) -> list[F32]:
        ends = np.cumsum([np.prod(shape) for shape in self._shapes])
        return [part.reshape(shape) for part, shape in zip(np.split(flat, ends[:-1]), self._shapes, strict=True)]

    def layers(self) -> tuple[F32, ...]:
        """A copy of the weights, per layer (n_out, n_in + 1) with the bias in the last column."""
        if not self.w1.size:
            return (self.w2.copy(),)
        return np.ascontiguousarray(self.w1.T), np.hstack([self.w2, self.b2[:, None]])

    def hits(self, x: F32, y: Codes) -> int:
        """How many rows of x (n, n_inputs + 1) get their class y (n,) as the most probable one."""
        total, step = 0, len(self._at)
        for start in range(0, len(x), step):
            p = self._logits(x[start : start + step])
            total += int(np.count_nonzero(p.argmax(axis=0) == y[start : start + step]))
        return total

    def backward(self, x: F32, y: Codes) -> int:
        """Set `grad` to that of the mean cross-entropy on x (n, n_inputs + 1) and y (n,); how many were right."""
        hits = self._chunk(x[:CHUNK], y[:CHUNK], len(x))
        if len(x) > CHUNK:
            np.copyto(self._sum, self.grad)
            for start in range(CHUNK, len(x), CHUNK):
                hits += self._chunk(x[start : start + CHUNK], y[start : start + CHUNK], len(x))
                np.add(self._sum, self.grad, out=self._sum)
            np.copyto(self.grad, self._sum)
        return hits

    def _logits(self, x: F32) -> F32:
        rows, n_classes = len(x), len(self.w2)
        p = self._p[: n_classes * rows].reshape(n_classes, rows)
        if not self.w1.size:
            return np.matmul(self.w2, x.T, out=p)
        h, on = self._h[:rows], self._on[:rows]
        np.matmul(x, self.w1, out=h)
        np.greater(h, 0, out=on)
        np.multiply(h, on, out=h)
        np.matmul(self.w2, h.T, out=p)
        return np.add(p, self.b2[:, None], out=p)

    def _chunk(self, x: F32, y: Codes, n: int) -> int:
        p, at = self._logits(x), self._at[: len(x)]
        top = p.max(axis=0)
        hits = int(np.count_nonzero(p[y, at] == top))
        np.subtract(p, top, out=p)
        np.exp(p, out=p)
        np.multiply(p, 1 / (n * p.sum(axis=0)), out=p)
        p[y, at] -= np.float32(1 / n)  # now the gradient by the logits: (softmax - one-hot) / n
        if not self.w1.size:
            np.matmul(p, x, out=self.g2)
            return hits
        h, dh, on = self._h[: len(x)], self._dh[: len(x)], self._on[: len(x)]
        np.matmul(p, h, out=self.g2)
        np.sum(p, axis=1, out=self.gb2)
        np.matmul(p.T, self.w2, out=dh)
        np.multiply(dh, on, out=dh)
        np.matmul(x.T, dh, out=self.g1)
        return hits


class Adam:
    """Adam (Kingma & Ba 2015, arXiv:1412.6980) on a flat vector, in place."""

    def __init__(self, size: int) -> None:
        self._m: F32 = np.zeros(size, dtype=np.float32)
        self._v: F32 = np.zeros(size, dtype=np.float32)
        self._s: F32 = np.empty(size, dtype=np.float32)
        self._t = 0

    def step(self, theta: F32, grad: F32, rate: float) -> None:
        """Move theta against the gradient."""
        m, v, s = self._m, self._v, self._s
        self._t += 1
        np.multiply(m, np.float32(BETA1), out=m)
        np.multiply(grad, np.float32(1 - BETA1), out=s)
        np.add(m, s, out=m)
        np.multiply(v, np.float32(BETA2), out=v)
        np.multiply(grad, grad, out=s)
        np.multiply(s, np.float32(1 - BETA2), out=s)
        np.add(v, s, out=v)
        # Both bias corrections as scalars: m^ / (sqrt(v^) + eps) = m root / (1 - b1^t) / (sqrt(v) + eps root).
        root = (1 - BETA2**self._t) ** 0.5
        np.sqrt(v, out=s)
        np.add(s, np.float32(EPSILON * root), out=s)
        np.divide(m, s, out=s)
        np.multiply(s, np.float32(rate * root / (1 - BETA1**self._t)), out=s)
        np.subtract(theta, s, out=theta)
