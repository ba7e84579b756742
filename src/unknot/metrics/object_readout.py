"""What can be read of objects from slots: the properties of each, once slots and objects are matched."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError, check_known
from unknot.metrics.arrays import Bools, Floats, Ints
from unknot.metrics.inputs import Rng
from unknot.metrics.score import Score
from unknot.metrics.slots import check_slots
from unknot.metrics.tre import held_out
from unknot.processes.threads import one_thread
from unknot.reading.arguments import must_be
from unknot.reading.arrays import as_array

Probe = Literal["linear", "mlp"]
STARTS, ROUNDS = 3, 20  # random matchings that are begun with, and fits after each at most
PENALTY = 1e-3  # of the ridge, as a share of a slot's mean square
HIDDEN, EPOCHS, REFITS = 128, 60, 2  # of the MLP, which begins with the matching of the linear probe
NEAR = 0.5  # standard deviations within which a number counts as read
FEWEST = 10  # images


@dataclass(frozen=True)
class _Property:
    """One property as columns of the targets: classes one-hot, numbers as they are, with a variance of 1 in all."""

    name: str
    columns: slice
    classes: Ints | None  # (n, m), of a number None
    shift: Floats  # added to columns it makes them shares of classes, but for a factor


def object_readout(
    slots: Any,
    properties: Mapping[str, Any],
    present: Any,
    *,
    probe: Probe = "linear",
    groups: Any = None,
    rng: Rng = 0,
) -> Score:
    """How well a probe reads the properties of every object from the slot that is matched with it.

    One probe is shared by all slots. Objects and slots are matched by the Hungarian method, with the squared error of
    its predictions as cost, and the probe is fitted again to the slots that it was matched with, until nothing changes;
    the best of three random starts is kept. It is fitted to four fifths of the images and measured on the rest,
    where objects are matched in the same way. Words are scored by accuracy, numbers by R^2, in which properties weigh
    alike; both at most 1, and 1 is best.

    Since matching looks at the truth, a useless code is better than chance. `parts["floor"]` is what the same probe
    reads from the slots of other images. An object is recalled if all its words are right and all its numbers are
    within half a standard deviation.

    Edge cases: an object without a slot (more objects than slots) counts as read wrongly. Properties that do not vary
    are left out (`parts["skipped"]`); a number that varies, but not among the held-out objects, is NaN and out of the
    mean (`parts["notes"]`). Where held-out images are of too few groups, the floor is of images that were fitted to.
    Departs from the paper: Locatello et al. 2020 train the encoder with the probe and score by average precision; here
    the slots are frozen, as in Dittadi et al. 2022 ("loss matching").
    Reference: Locatello et al. 2020, arXiv:2006.15055, section 4.2; Dittadi et al. 2022, Generalization and
    Robustness Implications in Object-Centric Learning, arXiv:2107.00637.

    Args:
        slots: (n, k, d).
        properties: name -> (n, m) of each object: words or whole numbers are classes, other numbers are read as such.
        present: (n, m) which objects are there.
        probe: "linear" or "mlp", one hidden layer of 128.
        groups: (n,) images of one group stay on one side of the split.
        rng: decides the split, the first matchings and the MLP.

    Returns:
        Score whose value is the mean over properties; `parts`: per_property, floor, recall, recall_floor, n_objects,
        skipped.

    >>> rng = np.random.default_rng(0)
    >>> color, x = rng.integers(0, 3, (200, 4)), rng.normal(size=(200, 4))
    >>> slots = np.concatenate([np.eye(3)[color], x[:, :, None]], axis=2)[:, ::-1]
    >>> score = object_readout(slots, {"color": color, "x": x}, np.ones((200, 4), bool))
    >>> round(score.value, 3), score.parts["recall"]
    (1.0, 1.0)
    """
    check_known("probe of object_readout", probe, get_args(Probe))
    must_be("object_readout", "properties", properties, Mapping[str, Any])
    codes, shown = check_slots("object_readout", "slots", slots), as_array(present)
    there = shown.astype(np.bool_) if shown.dtype.kind in "biu" else np.zeros(0, dtype=np.bool_)
    if len(codes) < FEWEST or there.ndim != 2 or len(there) != len(codes) or not there.any():
        raise UnknotError(
            f"object_readout: {len(codes)} images, present {shown.dtype} of shape {shown.shape}; expected at least "
            f"{FEWEST} images, and yes or no for each object, (n, m), with one somewhere."
        )
    generator = np.random.default_rng(rng)
    together = np.arange(len(codes)) if groups is None else as_array(groups)
    test = held_out(len(codes), groups, generator, who="object_readout")
    if not (there[test].any() and there[~test].any()):
        raise UnknotError("object_readout: objects are in too few images; expected some in each of five parts.")
    targets, kept, skipped = _targets(properties, there, test)
    scale = codes[~test].std(axis=(0, 1))
    codes = (codes - codes[~test].mean(axis=(0, 1))) / np.where(scale > 0, scale, 1.0)
    with one_thread():
        fit = _Reader(codes[~test], targets[~test], there[~test])
        predict = fit.mlp(generator) if probe == "mlp" else fit.linear(generator)[0]
        read = predict(codes[test])
        others = predict(codes[_of_another_group(together, test, generator)])
    values, recall = _scores(read, targets[test], there[test], kept, test)
    floor, recall_floor = _scores(others, targets[test], there[test], kept, test)
    measured = [value for value in values.values() if not np.isnan(value)]
    notes = [
        f"property '{name}' is the same for all held-out objects: it has no R^2, and the mean is over the others."
        for name, value in values.items()
        if np.isnan(value)
    ]
    parts = {
        "per_property": values, "floor": floor, "recall": recall, "recall_floor": recall_floor,
        "n_objects": int(there[test].sum()), "n_train": int((~test).sum()), "n_test": int(test.sum()),
        "skipped": skipped, "notes": notes,
    }  # fmt: skip
    return Score(float(np.mean(measured)) if measured else np.nan, parts)


def _of_another_group(groups: NDArray[Any], test: Bools, rng: np.random.Generator) -> Ints:
    """For each image that is held out, the number of one of another group.

    It is held out too, half of them further on; where groups are too few or too large for that, it is fitted to.
    """
    order = np.argsort(groups[test], kind="stable")
    others = np.empty_like(order)
    others[order] = np.roll(order, len(order) // 2)
    others = np.flatnonzero(test)[others]
    same = bool((groups[others] == groups[test]).any())
    return rng.choice(np.flatnonzero(~test), len(others)) if same else others


def _targets(
    properties: Mapping[str, Any], there: Bools, test: Bools
) -> tuple[Floats, list[_Property], dict[str, str]]:
    """(n, m, c) properties side by side, each with mean 0 and a variance of 1 over the objects that are fitted to."""
    fitted, parts, kept = there & ~test[:, None], [], []
    skipped: dict[str, str] = {}
    at = 0
    for name, values in properties.items():
        array = as_array(values)
        if array.shape != there.shape or array.dtype.kind not in "biufUS":
            raise UnknotError(
                f"object_readout: property '{name}' is {array.dtype} of shape {array.shape}; expected words or numbers "
                f"of shape {there.shape}."
            )
        classes = None
        if array.dtype.kind == "f":
            if not np.isfinite(array[there]).all():
                raise UnknotError(
                    f"object_readout: property '{name}' has NaN or infinity for an object that is there."
                )
            columns = np.where(there, array, 0.0)[:, :, None].astype(np.float64)
        else:
            known, flat = np.unique(array[there], return_inverse=True)
            classes = np.full(there.shape, -1)
            classes[there] = flat
            columns = (classes[:, :, None] == np.arange(len(known))).astype(np.float64)
        mean = columns[fitted].mean(axis=0)
        columns = columns - mean
        spread = np.sqrt(columns[fitted].var(axis=0).sum())
        if not spread > 0:
            skipped[str(name)] = "is the same for all objects"
            continue
        parts.append(columns / spread)
        kept.append(_Property(str(name), slice(at, at + columns.shape[2]), classes, mean / spread))
        at += columns.shape[2]
    if not parts:
        raise UnknotError("object_readout: no property varies between objects; expected at least one that does.")
    return np.concatenate(parts, axis=2), kept, skipped


class _Reader:
    """Slots (n, k, d) and targets (n, m, c) that a probe is fitted to."""

    def __init__(self, slots: Floats, targets: Floats, there: Bools) -> None:
        self.slots, self.targets, self.there = slots, targets, there

    def linear(self, rng: np.random.Generator) -> tuple[Any, Ints]:
        """The best linear probe of some starts, and which slot (n, m) it reads each object from, -1 for none."""
        starts: list[tuple[float, Any, Ints]] = []
        for _ in range(STARTS):
            match = _matched(rng.random((len(self.slots), self.there.shape[1], self.slots.shape[1])), self.there)
            for _ in range(ROUNDS):
                predict = self._ridge(match)
                cost = _costs(predict(self.slots), self.targets)
                before, match = match, _matched(cost, self.there)
                if (before == match).all():
                    break
            loss = float(np.take_along_axis(cost, np.maximum(match, 0)[:, :, None], 2)[match >= 0].sum())
            starts.append((loss, predict, match))
        _, predict, match = min(starts, key=lambda start: start[0])
        return predict, match

    def mlp(self, rng: np.random.Generator) -> Any:
        """A network that begins with the matching of the linear probe."""
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.neural_network import MLPRegressor

        _, match = self.linear(rng)
        for _ in range(REFITS):
            network = MLPRegressor(
                hidden_layer_sizes=(HIDDEN,), max_iter=EPOCHS, random_state=int(rng.integers(2**31))
            )
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore", ConvergenceWarning
                )  # it is trained for so many epochs and no longer
                network.fit(*self._pairs(match))

            def predict(slots: Floats, network: Any = network) -> Floats:
                read: Floats = network.predict(slots.reshape(-1, slots.shape[2])).reshape(*slots.shape[:2], -1)
                return read

            match = _matched(_costs(predict(self.slots), self.targets), self.there)
        return predict

    def _pairs(self, match: Ints) -> tuple[Floats, Floats]:
        """Slots and targets of the objects that have a slot."""
        image, thing = np.nonzero(match >= 0)
        return self.slots[image, match[image, thing]], self.targets[image, thing]

    def _ridge(self, match: Ints) -> Any:
        x, y = self._pairs(match)
        x = np.hstack([x, np.ones((len(x), 1))])
        weights = np.linalg.solve(x.T @ x + PENALTY * len(x) * np.eye(x.shape[1]), x.T @ y)

        def predict(slots: Floats) -> Floats:
            read: Floats = slots @ weights[:-1] + weights[-1]
            return read

        return predict


def _costs(read: Floats, targets: Floats) -> Floats:
    """(n, m, k) squared errors of what is read from each slot about each object."""
    products = np.einsum("nmc,nkc->nmk", targets, read)
    costs: Floats = (targets**2).sum(2)[:, :, None] + (read**2).sum(2)[:, None] - 2 * products
    return costs


def _matched(costs: Floats, there: Bools) -> Ints:
    """(n, m) the slot of each object, -1 where there is none, by the Hungarian method."""
    from scipy.optimize import linear_sum_assignment

    match = np.full(there.shape, -1)
    for image, cost in enumerate(costs):
        things = np.flatnonzero(there[image])
        rows, columns = linear_sum_assignment(cost[things])
        match[image, things[rows]] = columns
    return match


def _scores(
    read: Floats, targets: Floats, there: Bools, kept: list[_Property], test: Bools
) -> tuple[dict[str, float], float]:
    """The score of each property, NaN if it is a number that is constant, and the share of objects read rightly."""
    match = _matched(_costs(read, targets), there)
    found = np.take_along_axis(read, np.maximum(match, 0)[:, :, None], axis=1) * (match >= 0)[:, :, None]
    right, values = match >= 0, {}
    for each in kept:
        guess, truth = found[:, :, each.columns], targets[:, :, each.columns]
        if each.classes is None:
            errors, spread = (guess - truth)[there], truth[there] - truth[there].mean()
            total = float((spread**2).sum())
            values[each.name] = 1 - float((errors**2).sum()) / total if total > 1e-12 else np.nan
            right &= (np.abs(guess - truth) < NEAR)[:, :, 0]
        else:
            same = (guess + each.shift).argmax(axis=2) == each.classes[test]
            values[each.name] = float((same & (match >= 0))[there].mean())
            right &= same
    return values, float(right[there].mean())
