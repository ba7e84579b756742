"""One-to-one matching by similarity, beside SciPy's on matrices that it can hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from unknot.metrics import matching
from unknot.metrics.matching import directions, match, match_directions


@st.composite
def matrices(draw: st.DrawFn) -> np.ndarray:
    """Square and rectangular, many of them full of ties, zeros and rows that are alike."""
    shape = draw(st.tuples(st.integers(1, 24), st.integers(1, 24)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["real", "ties", "signs", "few", "one"]))
    if kind == "real":
        return rng.normal(size=shape).astype(np.float32)
    if kind == "few":  # most pairs have nothing in common, some rows nothing with anybody
        return (rng.random(shape) * (rng.random(shape) < 0.1)).astype(np.float32)
    if kind == "one":
        return np.full(shape, rng.integers(0, 2), dtype=np.float32)
    return (rng.integers(0, 3, size=shape) - (kind == "signs")).astype(np.float32) / 4


@settings(max_examples=150, deadline=None)
@given(matrices(), st.integers(1, 6))
def test_the_matching_is_that_of_scipy_however_few_candidates_there_are(matrix: np.ndarray, k: int) -> None:
    result = match(lambda rows: matrix[rows], matrix.shape, candidates=k)
    sizes = np.abs(matrix.astype(np.float64))
    best = sizes[linear_sum_assignment(sizes, maximize=True)].sum() / min(matrix.shape)
    assert result.mean == pytest.approx(best, abs=1e-9)
    assert result.exact and result.bound >= best - 1e-9
    rows = np.flatnonzero(result.partner >= 0)
    assert len(set(result.partner[rows])) == len(rows)
    np.testing.assert_array_equal(result.similarity[rows], sizes[rows, result.partner[rows]])
    assert not result.similarity[result.partner < 0].any()


def test_what_is_no_candidate_is_found_where_prices_do_not_settle_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "ROOM", 4 * 300 * 7)  # blocks of seven rows
    rng = np.random.default_rng(0)
    a = rng.normal(size=(300, 16))
    b = np.vstack([a[:150] + 0.3 * rng.normal(size=(150, 16)), rng.normal(size=(150, 16))])[rng.permutation(300)]
    first, second = directions(a), directions(b)
    few, many = (match_directions(first, second, candidates=k) for k in (1, 64))
    sizes = np.abs(first @ second.T).astype(np.float64)
    best = sizes[linear_sum_assignment(sizes, maximize=True)].mean()
    assert few.rounds > many.rounds
    assert few.mean == pytest.approx(best, abs=1e-7) and many.mean == pytest.approx(best, abs=1e-7)
    assert few.exact and many.exact


def test_directions_without_length_are_like_nothing() -> None:
    a = directions([[3.0, 4.0], [0.0, 0.0]])
    np.testing.assert_allclose(a, [[0.6, 0.8], [0.0, 0.0]], rtol=1e-6)
    result = match_directions(a, a)
    assert result.partner.tolist() == [0, -1] and result.mean == pytest.approx(0.5)
