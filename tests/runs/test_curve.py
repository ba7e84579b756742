"""The curve of a run finds the step that went wrong, whenever it is read."""

import math

import pytest
import torch

from unknot.runs.curve import ENOUGH, EXPLODED, Broken, Curve, Exploded


def read(values: list[float], *, name: str = "norm", every: int = 1, row: int = 4) -> Broken | Exploded | None:
    """What is found in the norms of steps, read and ended in rows every few of them."""
    curve = Curve(norms=["norm"])
    for step, value in enumerate(values):
        curve.add(step, {name: torch.tensor(value)})
        if (step + 1) % every == 0 or (step + 1) % row == 0 or step + 1 == len(values):
            found = curve.read()
            if found:
                return found
        if (step + 1) % row == 0:
            curve.close_row(step + 1)
    return None


@pytest.mark.parametrize("every", [1, 3, 100])
@pytest.mark.parametrize("row", [4, 100])
def test_a_norm_far_above_those_before_is_found_at_its_step_whenever_it_is_read(every: int, row: int) -> None:
    values = [2.0] * 40 + [2.1 * EXPLODED, math.inf, 2.0]
    found = read(values, every=every, row=row)
    assert isinstance(found, Exploded)
    assert (found.step, found.name, found.median) == (40, "norm", 2.0)
    assert found.values == {"norm": found.norm} == {"norm": pytest.approx(2.1 * EXPLODED)}


def test_a_norm_just_below_that_is_none() -> None:
    assert read([2.0] * 40 + [1.9 * EXPLODED]) is None


def test_a_median_takes_ten_steps_or_a_row() -> None:
    assert read([1.0] * (ENOUGH - 1) + [1e9], row=100) is None
    assert read([1.0] * ENOUGH + [1e9], row=100) is not None
    assert read([1.0] * ENOUGH + [1e9], row=ENOUGH) is not None


def test_gradients_that_started_large_or_at_zero_may_be_large_again() -> None:
    assert read([1e9] + [1.0] * 40 + [1e8], row=100) is None
    assert read([0.0] * 40 + [1.0]) is None
    assert read([1e-9] * 40 + [1e-3]) is None  # a collapsed model wakes up


def test_other_values_may_be_of_any_size() -> None:
    assert read([1.0] * 40 + [1e30], name="loss") is None
    assert read([1.0] * 40 + [math.nan], name="loss") == Broken(40, {"loss": pytest.approx(math.nan, nan_ok=True)})


def test_what_is_not_finite_comes_before_an_explosion_of_the_same_step() -> None:
    curve = Curve(norms=["norm"])
    for step in range(12):
        curve.add(
            step, {"norm": torch.tensor(1e9 if step == 11 else 1.0), "term": torch.tensor(1.0 / (11 - step or 1))}
        )
    curve.add(11, {"other": torch.tensor(math.inf)})
    assert curve.read() == Broken(11, {"other": math.inf})


def test_a_curve_that_goes_on_knows_what_was_before() -> None:
    first, second = Curve(norms=["norm"]), Curve(norms=["norm"])
    for step in range(20):
        first.add(step, {"norm": torch.tensor(1.0)})
        assert first.read() is None
        if step % 5 == 4 and step < 19:
            first.close_row(step + 1)
    second.load(first.state())
    for curve in (first, second):
        curve.add(20, {"norm": torch.tensor(1e6)})
    assert first.read() == second.read() == Exploded(20, "norm", 1e6, 1.0, {"norm": 1e6})
