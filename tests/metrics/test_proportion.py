import pytest

from unknot.metrics.proportion import proportion_test


@pytest.mark.parametrize(
    ("n", "threshold"), [(200, 0.591), (256, 0.581), (1000, 0.541), (1600, 0.532), (8000, 0.514)]
)
def test_the_threshold_of_alpha_half_a_percent_lies_where_the_normal_law_puts_it(n, threshold):
    least = next(k for k in range(n + 1) if proportion_test(k, n).passed)
    assert least / n == pytest.approx(threshold, abs=0.5 / n + 5e-4 + 1 / n)
    assert not proportion_test(least - 1, n).passed


def test_z_and_p_of_sixty_out_of_a_hundred_worked_by_hand():
    found = proportion_test(60, 100)
    assert found.z == pytest.approx(2.0)  # 0.1 / sqrt(0.25 / 100)
    assert found.p_value == pytest.approx(0.0227501, abs=1e-7)
    assert not found.passed
    assert proportion_test(60, 100, alpha=0.05).passed


def test_wilsons_interval_keeps_a_width_at_one_and_agrees_with_the_table_value():
    low, high = proportion_test(10, 10).interval
    assert low == pytest.approx(0.7225, abs=1e-4)
    assert high == 1.0
    low, high = proportion_test(0, 10).interval
    assert (low, high) == pytest.approx((0.0, 0.2775), abs=1e-4)
