"""Softmax regression whose penalty is chosen by cross-validation, at any width."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.metrics.arrays import WIDE, Floats, Ints
from unknot.metrics.ridge import Gram, best_penalties
from unknot.processes.threads import one_thread, side_by_side

Singles = NDArray[np.float32]
FOLDS, REPEATS = 5, 4  # parts of the rows, and how often at most few rows are cut into them anew
JUDGES, JUDGES_WIDE = 2_000, 1_200  # rows that judge a penalty: as many folds as hold them; of wide codes
FIRST = 300.0  # the strongest penalty tried, relative to that of least squares
STEP = 10.0**0.5  # from one penalty to the next
LONGEST = 20  # penalties in a row
PATIENCE = 2  # weaker penalties in a row that are no better, before the search ends; of wide codes one
# A fit ends where the loss falls by less than this share of it: while penalties compete, those of wide codes, at last.
ROUGH, ROUGH_WIDE, FINE = 1e-4, 2e-4, 1e-5
ITERATIONS = 1000  # at most
SMALLEST = 1e-6  # penalty, relative to the mean eigenvalue of X'X, that keeps the coordinates of a fit finite
CHUNK = 2048  # rows whose class scores stay in the cache


@dataclass(frozen=True)
class PenalisedHead:
    """A fitted head.

    Attributes:
        test: (m,) class of each held-out row.
        train: (n,) class of each training row.
        penalty: of the weights, 1 / C in scikit-learn's terms.
        log_loss: mean over the rows that judged the penalty, in nats.
    """

    test: Ints
    train: Ints
    penalty: float
    log_loss: float


class PenalisedHeads:
    """Softmax heads on the same latents, for one factor after the other.

    A head minimises  sum_i -log softmax(x_i w + b)[y_i] + penalty |w|^2 / 2  over standardised latents x.
    """

    def __init__(self, gram: Gram) -> None:
        self.gram = gram
        # Rows (n, r + 1) in the basis of the tridiagonal form, the last column for the bias.
        self.inputs = np.ones((len(gram.x), gram.x.shape[1] + 1), dtype=np.float32)
        self.inputs[:, :-1] = gram.turn(gram.x.T.astype(np.float32)).T
        self.columns = np.ascontiguousarray(self.inputs.T)

    @classmethod
    def of(cls, latents: Floats, latents_test: Floats) -> "PenalisedHeads":
        """Those on latents (n, d), judged on latents (m, d)."""
        return cls(Gram.of(latents, latents_test))

    @classmethod
    def in_units(cls, latents: Any, latents_test: Any) -> "PenalisedHeads":
        """The same on latents in units in which rare ones count as such."""
        return cls(Gram.in_units(latents, latents_test))

    def fit(self, classes: Ints, n_classes: int, rng: np.random.Generator) -> PenalisedHead:
        """The head for classes (n,), with the penalty that predicts most rows of held-out folds right.

        Penalties fall from one that is strong for least squares on the class indicators, each starting where the one
        before ended, until two in a row have no more rows right; where no more are right than by guessing the most
        common class, and of penalties with as many right, the log-loss decides. Folds are fifths of the rows, as
        many as hold 2,000; up to four cuts into fifths where there are fewer rows. Of wide codes folds hold 1,200, and
        penalties fall by tens until one is no better; then that half-way from the best to the second best is tried.
        """
        n, wide = len(classes), self.inputs.shape[1] > WIDE + 1
        enough = JUDGES_WIDE if wide else JUDGES
        repeats = min(REPEATS, -(-enough // n))
        folds = [part for _ in range(repeats) for part in np.array_split(rng.permutation(n), min(FOLDS, n))]
        judges = folds[: -(-enough // max(1, len(folds[0])))]
        seen = np.ones((len(judges), n), dtype=np.float32)
        for row, fold in zip(seen, judges, strict=True):
            row[fold] = 0.0
        w = np.zeros((len(judges), n_classes, self.inputs.shape[1]))
        chosen, idle, results = (-1.0, -np.inf, 0.0, w), 0, []
        guessed = float(
            np.mean(np.concatenate([classes[fold] for fold in judges]) == np.bincount(classes).argmax())
        )

        def tried(penalty: float, start: Floats) -> tuple[float, float, float, Floats]:
            """The share of rows that is right, if that is more than by guessing; how likely they were; the weights."""
            w, _ = self._minimised(start, classes, seen, penalty, ROUGH_WIDE if wide else ROUGH)
            loss, hits = self._judged(w.astype(np.float32), classes, judges)
            return max(hits, guessed), -loss, penalty, w

        with one_thread():
            own = (classes[:, None] == np.arange(n_classes)).astype(np.float64)
            strongest = FIRST * float(best_penalties(self.gram, own)[1].max()) / n_classes
            for penalty in strongest * STEP ** -np.arange(0.0, LONGEST, 2 if wide else 1):
                result = tried(penalty, w)
                results.append(result)
                w, better = result[3], result[:2] > chosen[:2]
                idle = 0 if result[0] > chosen[0] or (better and result[0] == guessed) else idle + 1
                chosen = result if better else chosen
                if idle == (1 if wide else PATIENCE):
                    break
            if wide:
                others = [result[:3] for result in results if result is not chosen]
                way = STEP if max(others, default=(0.0, 0.0, 0.0))[2] > chosen[2] else 1 / STEP
                chosen = max(chosen, tried(chosen[2] * way, chosen[3]), key=lambda each: each[:2])
        _, loss, penalty, w = chosen
        scores, scores_train, _ = self.scores(classes, n_classes, penalty, start=w.mean(axis=0, keepdims=True))
        return PenalisedHead(scores.argmax(axis=1), scores_train.argmax(axis=1), penalty, -loss)

    def scores_of(self, factors: Ints, sizes: Ints, penalty: float) -> list[tuple[Floats, Singles, bool]]:
        """What `scores` gives for each factor (n, k), on all cores."""
        return side_by_side(lambda y, size: self.scores(y, int(size), penalty), factors.T, sizes)

    def scores(
        self,
        classes: Ints,
        n_classes: int,
        penalty: float,
        *,
        start: Floats | None = None,
        balanced: bool = False,
        iterations: int = ITERATIONS,
    ) -> tuple[Floats, Singles, bool]:
        """Logits of the held-out (m, K) and training rows (n, K) by the head of one penalty, and whether it converged.

        Args:
            classes: (n,) codes 0..n_classes-1.
            n_classes: how many codes there are.
            penalty: 1 / C in scikit-learn's terms; may be 0.
            start: weights (1, K, r + 1) to begin at.
            balanced: weigh classes alike, whatever their sizes.
            iterations: at most.
        """
        counts = np.bincount(classes, minlength=n_classes)
        share = len(classes) / ((counts > 0).sum() * np.maximum(counts, 1)) if balanced else np.ones(n_classes)
        seen = share[classes][None].astype(np.float32)
        w = np.zeros((1, n_classes, self.inputs.shape[1])) if start is None else start
        with one_thread():
            w, converged = self._minimised(w, classes, seen, penalty, FINE, iterations)
            weights, bias = w[0, :, :-1].T, w[0, :, -1]
            scores = self.gram.x_test @ self.gram.turn(weights, back=True) + bias
            return scores, self.inputs @ w[0].T.astype(np.float32), converged

    def _judged(self, w: Singles, classes: Ints, judges: list[Ints]) -> tuple[float, float]:
        """Mean log-loss of the rows of each head's fold, and the share of them that is right."""
        losses, hits = [], []
        for head, fold in zip(w, judges, strict=True):
            scores = self.inputs[fold] @ head.T
            own = scores[np.arange(len(fold)), classes[fold]]
            hits.append(scores.argmax(axis=1) == classes[fold])
            top = scores.max(axis=1)
            losses.append(np.log(np.exp(scores - top[:, None]).sum(axis=1)) + top - own)
        return float(np.concatenate(losses).mean()), float(np.concatenate(hits).mean())

    def _minimised(
        self,
        w: Floats,
        classes: Ints,
        seen: Singles,
        penalty: float,
        tolerance: float,
        iterations: int = ITERATIONS,
    ) -> tuple[Floats, bool]:
        """Weights (heads, K, r + 1) of heads that each weigh rows by `seen` (heads, n), from where they stand.

        All heads together, in coordinates in which the curvature at weights 0 is one in all directions: it is
        (T + K penalty) / K there, whose Cholesky factor B has two diagonals. With w = theta B^-1, gradients by theta
        are those by w times B'^-1.
        """
        from scipy.linalg import cholesky_banded, lapack
        from scipy.optimize import minimize

        n, (_, n_classes, width) = len(classes), w.shape
        band = np.zeros((2, width))
        least = SMALLEST * float(self.gram.diagonal.mean()) or 1.0
        band[0] = np.append(self.gram.diagonal / n_classes + max(penalty, least), n / n_classes) / n
        band[1, : len(self.gram.beside)] = self.gram.beside / n_classes / n
        factor = cholesky_banded(band, lower=True)

        def weights(theta: Floats) -> Floats:
            return np.asarray(lapack.dtbtrs(factor, theta.reshape(-1, width).T, uplo="L", trans="T")[0].T)

        def objective(theta: Floats) -> tuple[float, Floats]:
            v = weights(theta)
            losses, gradient = self._losses(v.reshape(w.shape).astype(np.float32), classes, seen)
            gradient[:, :-1] += penalty / n * v[:, :-1]
            moved = lapack.dtbtrs(factor, gradient.T, uplo="L", trans="N")[0].T
            return float((losses * seen).sum() / n + penalty / n * 0.5 * np.sum(v[:, :-1] ** 2)), moved.ravel()

        start = w.reshape(-1, width) * factor[0]
        start[:, :-1] += w.reshape(-1, width)[:, 1:] * factor[1, :-1]
        options = {"maxiter": iterations, "gtol": 1e-5, "ftol": tolerance, "maxcor": 10}
        result: Any = minimize(objective, start.ravel(), jac=True, method="L-BFGS-B", options=options)
        return weights(result.x).reshape(w.shape), bool(result.status == 0)

    def _losses(self, w: Singles, classes: Ints, seen: Singles) -> tuple[Floats, Floats]:
        """Log-loss (heads, n) of each row, and the gradient (heads * K, r + 1) of those `seen` (heads, n), over n."""
        (heads, n_classes, width), n = w.shape, len(classes)
        flat = w.reshape(-1, width)
        losses, gradient = np.empty((heads, n)), np.zeros(flat.shape)
        for first in range(0, n, CHUNK):
            part = slice(first, first + CHUNK)
            p = (flat @ self.columns[:, part]).reshape(heads, n_classes, -1)
            p -= p.max(axis=1, keepdims=True)
            own, at = classes[part], np.arange(p.shape[2])
            right = p[:, own, at].astype(np.float64)
            np.exp(p, out=p)
            total = p.sum(axis=1)
            losses[:, part] = np.log(total.astype(np.float64)) - right
            p *= (seen[:, part] / total)[:, None]
            p[:, own, at] -= seen[:, part]
            gradient += p.reshape(len(flat), -1) @ self.inputs[part]
        return losses, gradient / n
