from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from unknot.errors import UnknotError
from unknot.metrics.kernels import columns
from unknot.metrics.kernels.columns import Binning, column_information, column_tables
from unknot.metrics.kernels.information import bin_entropy, table_information, width_contingency

SIZES = np.array([3, 6, 40, 2, 2, 10, 2, 300])


def _table(n: int = 3_000, d: int = 23, density: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    factors = rng.integers(0, SIZES, size=(n, len(SIZES)))
    latents = (rng.exponential(size=(n, d)) * (rng.random((n, d)) < density)).astype(np.float16)
    latents[:, 3] = 1.5  # dead
    latents[:, 4] = 0.0
    latents[:, 5] -= 1.0  # no zeros but many equal values
    latents[:, 6] *= factors[:, 0]
    return latents, factors


def _layouts(latents: np.ndarray, folder: Path) -> dict[str, object]:
    np.save(folder / "latents.npy", latents)
    return {
        "float16": latents,
        "float32": latents.astype(np.float32),
        "float64": latents.astype(np.float64),
        "columns first": np.asfortranarray(latents, dtype=np.float32),
        "mapped": np.load(folder / "latents.npy", mmap_mode="r"),
        "csc": sparse.csc_matrix(latents.astype(np.float32)),
        "csr": sparse.csr_matrix(latents.astype(np.float64)),
    }


@pytest.mark.parametrize("room", [columns.ROOM, 300_000])
def test_counts_of_all_layouts_and_blocks_are_those_of_the_dense_table(tmp_path, monkeypatch, room):
    monkeypatch.setattr(columns, "ROOM", room)
    monkeypatch.setattr(columns, "ROWS", 700)
    latents, factors = _table()
    expected = np.concatenate(width_contingency(latents.astype(np.float64), factors, SIZES, 20), axis=2)
    for name, layout in _layouts(latents, tmp_path).items():
        blocks = list(column_tables(layout, factors, SIZES, 20))
        assert (len(blocks) > 1) == (room < columns.JOINT * 10_000), name
        np.testing.assert_array_equal(np.concatenate([tables for _, tables in blocks]), expected, err_msg=name)


@pytest.mark.parametrize("correct", [False, True])
def test_information_is_that_of_the_dense_table(tmp_path, correct):
    latents, factors = _table()
    tables = width_contingency(latents.astype(np.float64), factors, SIZES, 20)
    for name, layout in _layouts(latents, tmp_path).items():
        result = column_information(layout, factors, SIZES, 20, correct=correct)
        expected = table_information(tables, correct=correct)
        np.testing.assert_allclose(result.mutual, expected, rtol=1e-12, atol=1e-14, err_msg=name)
        np.testing.assert_allclose(result.entropy[:, 0], bin_entropy(tables), rtol=1e-12, atol=1e-14, err_msg=name)


def test_zero_has_a_bin_of_its_own_and_the_others_are_cut_into_equal_counts(tmp_path):
    latents, factors = _table()
    for name, layout in _layouts(latents, tmp_path).items():
        counts = np.concatenate([tables for _, tables in column_tables(layout, factors, SIZES, "zero+4")])
        of_bin = counts[:, :, :3].sum(axis=2)
        np.testing.assert_array_equal(of_bin[:, 0], (latents == 0).sum(axis=0), err_msg=name)
        for i in (0, 1, 2, 7):  # nothing repeats much
            values = np.sort(latents[:, i][latents[:, i] != 0].astype(np.float64))
            assert of_bin[i, 1:].sum() == len(values)
            assert np.abs(of_bin[i, 1:] - len(values) / 4).max() <= 5
    np.testing.assert_array_equal(of_bin[3], [0, 3_000, 0, 0, 0])
    np.testing.assert_array_equal(of_bin[4], [3_000, 0, 0, 0, 0])


def test_independent_tables_have_exactly_no_information():
    factors = np.stack(np.meshgrid(range(4), range(3)), axis=-1).reshape(-1, 2)
    result = column_information(factors[:, :1] * 1.0, factors, np.array([4, 3]))
    assert result.mutual[0, 1] == 0.0
    assert result.mutual[0, 0] == pytest.approx(np.log(4))


def test_a_mapped_array_does_not_stay_in_memory(tmp_path):
    """Resident pages of the file, as the system counts them, fall back after each chunk."""
    latents = np.random.default_rng(0).normal(size=(40_000, 64))
    np.save(tmp_path / "z.npy", latents)
    mapped = np.load(tmp_path / "z.npy", mmap_mode="r")
    column_information(mapped, np.arange(40_000)[:, None] % 3, np.array([3]))
    maps = Path("/proc/self/smaps")
    if not maps.exists():
        pytest.skip("the system does not tell which pages are in memory")
    text = maps.read_text().split("z.npy")[1]
    resident = int(text.split("Rss:")[1].split()[0])
    assert resident < 4_000  # of 20,000 kB


@pytest.mark.parametrize("bins", [0, -3, True, "ten", "zero+", "zero+0", "one+10", 2.5, "zero+" + "9" * 5000])
def test_what_is_no_binning_is_refused(bins):
    with pytest.raises(UnknotError, match="bins is"):
        Binning.of(bins)
