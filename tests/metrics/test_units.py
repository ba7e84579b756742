import numpy as np
import pytest
from scipy import sparse

from unknot.metrics.probes import linear_accuracy
from unknot.metrics.r2 import r2
from unknot.metrics.units import in_units, rare, sparse_in_units

WIDTH = 101  # the least number of latents that is a wide code


def _firings(n, d, active, seed=0):
    """Latents that fire in few rows, with sizes of their own; some of them, wherever a factor has its value."""
    rng = np.random.default_rng(seed)
    factors = rng.integers(0, [4, 5], size=(n, 2))
    columns = rng.integers(0, d, size=(n, active))
    columns[:, 0], columns[:, 1] = factors[:, 0], 10 + factors[:, 1]
    sizes = rng.exponential(size=(n, active))
    sizes[:, :2] += 1
    table = sparse.coo_array((sizes.ravel(), (np.repeat(np.arange(n), active), columns.ravel())), shape=(n, d))
    return table.tocsr(), factors


def test_a_rare_latent_has_the_size_of_its_firings_for_a_unit_and_others_their_deviation():
    latents = np.random.default_rng(0).normal(size=(8, WIDTH)) + 5
    latents[:, 0] = [3, 0, 0, 0, 0, 0, 0, 4]
    latents[:, 1] = [1, 1, 1, 1, 0, 0, 0, 0]  # in half of the rows: not rare
    latents[:, 2] = 0
    mean, unit, held_out = in_units(latents, np.full((1, WIDTH), 9.0))
    assert rare(latents).tolist() == [0]
    assert unit[:3] == pytest.approx([np.sqrt((9 + 16) / 2), 0.5, np.inf])
    assert mean[0] == 7 / 8
    assert held_out[0, :3].tolist() == [4.0, 9.0, 9.0]  # no firing is beyond those that were seen


def test_narrow_codes_have_no_rare_latents():
    assert not len(rare(np.eye(100)))


def test_units_of_sparse_latents_are_those_of_dense_ones():
    latents, _ = _firings(60, 300, 6)
    latents = sparse.hstack([latents, sparse.csr_array(np.full((60, 2), [[4.0, 0.0]]))]).tocsr()
    found = sparse_in_units(latents[:40], latents[40:])
    expected = in_units(latents[:40].toarray(), latents[40:].toarray())
    for own, other in zip(found[:2], expected[:2], strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-12)
    np.testing.assert_allclose(found[2].toarray() / found[1], expected[2] / expected[1], rtol=1e-12)


def test_probes_of_many_rare_latents_find_the_few_that_know_the_factors():
    latents, factors = _firings(900, 2_048, 16)
    # In units of deviations R² was -54 and accuracy 0.37: the rarest latents counted most.
    assert r2(latents, factors, readout="ridge").value > 0.6
    assert linear_accuracy(latents, factors, recipe="penalised").value > 0.97


def test_the_unit_of_each_latent_does_not_matter():
    latents, factors = _firings(300, 400, 8)
    scaled = latents.multiply(np.random.default_rng(1).uniform(0.01, 100, size=400)).tocsr()
    values = [r2(each, factors, readout="ridge").value for each in (latents, scaled)]
    assert values[0] == pytest.approx(values[1], abs=1e-9)
