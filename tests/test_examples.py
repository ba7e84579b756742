from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import unknot
from unknot import papers
from unknot.errors import UnknotError
from unknot.examples import dictionary, entangled, misleading, toy_m1, toy_m2
from unknot.metrics.linear_head import fit_linear
from unknot.metrics.mig import mig
from unknot.metrics.modularity import modularity
from unknot.metrics.snc import snc
from unknot.reading.decoders import read_decoder

TOYS = [toy_m1, toy_m2]


@pytest.mark.parametrize("toy", TOYS)
def test_toy_tables_are_exactly_balanced(toy):
    z, y = toy()
    assert z.shape == y.shape == (80, 2)
    assert np.bincount(y @ [1, 2]).tolist() == [20] * 4
    agree = y[:, 0] == y[:, 1]
    np.testing.assert_array_equal(z[agree, 0], y[agree, 0])
    assert z[~agree, 0].mean() == 0.5
    # The second latent is independent of the first given the factors.
    for cell in np.unique(y, axis=0):
        rows = (y == cell).all(axis=1)
        for first in np.unique(z[rows, 0]):
            assert z[rows & (z[:, 0] == first), 1].mean() == z[rows, 1].mean()


@pytest.mark.parametrize(("toy", "mig_100", "snc_100"), [(toy_m1, 18.87, 12.5), (toy_m2, 12.94, 22.5)])
def test_toy_models_have_the_calculated_scores(toy, mig_100, snc_100):
    z, y = toy()
    assert 100 * mig(z, y).value == pytest.approx(mig_100, abs=0.005)
    table1 = snc(z, y, latents_test=z, factors_test=y, adjustment="table1")
    assert 100 * table1.value == pytest.approx(snc_100)


@pytest.mark.parametrize(("toy", "expected"), [(toy_m1, 0.0), (toy_m2, 0.5)])
def test_toy_models_have_the_calculated_modularity(toy, expected):
    assert modularity(*toy()).value == pytest.approx(expected, abs=1e-9)


def test_copies_repeat_the_table():
    z, y = toy_m2(copies=3)
    np.testing.assert_array_equal(z, np.tile(toy_m2()[0], (3, 1)))
    assert len(y) == 240
    with pytest.raises(UnknotError, match="copies is 0"):
        toy_m1(copies=0)


@pytest.mark.parametrize("sizes", [(3, 3, 3), (2, 3, 4), (2, 5)])
def test_every_factor_is_a_function_of_two_latents_and_independent_of_each(sizes):
    z, y = entangled(sizes)
    n = len(sizes)
    assert len(z) == np.prod(sizes) ** 2
    for j in range(n):
        pair = np.unique(z[:, [j, (j + 1) % n]], axis=0, return_inverse=True)[1].ravel()
        assert all(len(np.unique(y[pair == p, j])) == 1 for p in range(pair.max() + 1))
        for i in range(n):
            level = np.unique(z[:, i], return_inverse=True)[1].ravel()
            table = np.zeros((level.max() + 1, sizes[j]))
            np.add.at(table, (level, y[:, j]), 1)
            assert (table == table[0, 0]).all()


def test_the_entangled_code_fools_every_single_latent_score():
    z, y = entangled()
    assert mig(z, y).value == 0.0
    assert modularity(z, y).value == 0.0
    assert snc(z, y, latents_test=z, factors_test=y).value == 0.0
    head, _ = fit_linear(z, y[:, 0], 3, penalty=1e-3)
    np.testing.assert_allclose(head.logits(z) - head.logits(z).mean(axis=1, keepdims=True), 0, atol=1e-4)


def test_the_stored_table_is_the_enumerated_one(golden):
    arrays, _ = golden("theorem31_n4k3")
    z, y = entangled((3, 3, 3, 3))
    ours = np.unique(np.hstack([z.astype(np.float32), y]), axis=0)
    theirs = np.unique(np.hstack([arrays["latents"], arrays["factors"]]), axis=0)
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_drawn_rows_are_rows_of_the_table():
    z, y = entangled((2, 2, 2), n=500, rng=np.random.default_rng(0))
    whole = {tuple(row) for row in np.hstack(entangled((2, 2, 2))).tolist()}
    assert z.shape == (500, 3)
    assert {tuple(row) for row in np.hstack([z, y]).tolist()} <= whole


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"sizes": (3,)}, "two or more factors"),
        ({"sizes": (3, 1)}, "two or more classes"),
        ({"sizes": (2,) * 16}, "pass n and rng"),
        ({"n": 5}, "rng is missing"),
    ],
)
def test_codes_that_cannot_be_made_are_refused(options, match):
    with pytest.raises(UnknotError, match=match):
        entangled(**options)


@pytest.mark.parametrize("name", ["é" * 200, "a\0b", "~nobody-has-this-home/x"])
def test_a_name_that_no_file_can_have_is_refused(name: str) -> None:
    asked = [
        lambda: unknot.score(name, metrics=["mig"]),
        lambda: unknot.from_table(name),
        lambda: unknot.open_world(name),
        lambda: read_decoder(name),
    ]
    for ask in asked:
        with pytest.raises(
            UnknotError, match=r"expected names of 255 bytes at most|expected a name that a file can"
        ):
            ask()


@pytest.mark.parametrize("odd", [None, "abc", [1], np.zeros((2, 2)), 1.5, -1, 10**30])
@pytest.mark.parametrize(
    "call",
    [
        lambda odd: toy_m1(odd),
        lambda odd: toy_m2(odd),
        lambda odd: entangled(n=odd if odd is not None else "none", rng=np.random.default_rng(0)),
        lambda odd: entangled((odd, odd)),
        lambda odd: dictionary(odd),
        lambda odd: misleading("independent factors", n=odd),
        lambda odd: misleading(odd),
        lambda odd: papers.table(odd, "table1"),
        lambda odd: papers.table("duan2020", odd),
    ],
)
def test_arguments_that_are_none_are_refused(call: Callable[[Any], Any], odd: Any) -> None:
    with pytest.raises(UnknotError):
        call(odd)
