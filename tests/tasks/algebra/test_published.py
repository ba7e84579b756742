"""The published rows of COAT are Tables 1 and 2, as printed."""

from unknot.tasks.algebra.published import published_rows


def row(name: str, corpus: str = "occluded") -> dict[str, object]:
    (one,) = [row for row in published_rows() if (row["representation"], row["corpus"]) == (name, corpus)]
    return dict(one)


def test_table_1_is_complete_with_ari_errors_and_tre_of_table_2() -> None:
    rows = published_rows()
    assert len(rows) == 12 + 4 and {tuple(row) for row in rows} == {tuple(rows[0])}
    plain = row("slot attention (IID)")
    assert (plain["l2"], plain["l2_error"], plain["ari"], plain["ari_error"]) == (48.55, 14.11, 95.53, 1.84)
    assert (plain["tre"], plain["tre_spread"]) == (5.79, 1.23)
    assert row("beta-VAE (beta 0, IID)")["tre"] == 10.32
    assert sum(row["tre"] is not None for row in rows) == 7


def test_pixels_were_not_put_to_the_test_and_so_neither_passed_nor_failed() -> None:
    for corpus in ("occluded", "clear"):
        assert (row("pixels", corpus)["l2_passed"], row("pixels", corpus)["acos_passed"]) == (None, None)


def test_models_that_fail_have_no_score() -> None:
    for name in ("autoencoder (IID)", "beta-TC-VAE (IID)"):
        assert (row(name)["l2"], row(name)["l2_passed"], row(name)["acos_passed"]) == (None, False, False)
    assert (row("MoCo v2 (IID)")["l2_passed"], row("MoCo v2 (IID)")["acos"]) == (False, 14.05)


def test_that_one_row_is_without_occlusion_is_said_to_be_an_inference() -> None:
    name = "slot attention without duplicates and invisible slots (IID)"
    assert row(name)["l2"] == 77.07
    assert row(name, "clear (an inference; printed as occluded)")["l2"] == 83.84
