"""What every metric promises, run over the registry: a new metric inherits all of it."""

import warnings
from contextlib import suppress
from inspect import signature
from typing import Literal, get_args, get_origin

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unknot.errors import UnknotError, UnknotWarning
from unknot.metrics import METRICS
from unknot.metrics.score import identity, parse_identity

LABELLED = [name for name, metric in METRICS.items() if metric.facts.labels]
QUICK = [name for name in LABELLED if METRICS[name].facts.cost == "instant"]
every = pytest.mark.parametrize("name", METRICS)
labelled = pytest.mark.parametrize("name", LABELLED)


def _code(n: int = 180, d: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A leaky code of a complete grid of three small factors, every combination equally often."""
    rng = np.random.default_rng(seed)
    grid = np.stack(np.meshgrid(range(2), range(3), range(3), indexing="ij"), axis=-1).reshape(-1, 3)
    factors = np.repeat(grid, n // len(grid), axis=0)[rng.permutation(n // len(grid) * len(grid))]
    mix = np.eye(3, d) + 0.3 * rng.normal(size=(3, d))
    return factors @ mix + 0.3 * rng.normal(size=(len(factors), d)), factors


def _value(name: str, latents: np.ndarray, factors: np.ndarray, **options: object) -> float:
    """The value on given train and test rows, so that only the data decide."""
    metric = METRICS[name]
    if "latents_test" in signature(metric).parameters:
        options = {"latents_test": latents[::3], "factors_test": factors[::3], **options}
        latents, factors = np.delete(latents, np.s_[::3], 0), np.delete(factors, np.s_[::3], 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return metric(latents, factors, **options).value


def _variants(name: str) -> list[dict[str, object]]:
    """The metric as it is, and with each of the words and switches that it takes."""
    variants: list[dict[str, object]] = [{}]
    for parameter in signature(METRICS[name]).parameters.values():
        if get_origin(parameter.annotation) is Literal:
            variants += [{parameter.name: word} for word in get_args(parameter.annotation)]
        elif parameter.annotation is bool:
            variants.append({parameter.name: not parameter.default})
    return variants


VARIANTS = {identity(METRICS[name], **how): (name, how) for name in METRICS for how in _variants(name)}


@every
def test_facts_are_complete_and_agree_with_the_signature(name: str) -> None:
    metric = METRICS[name]
    facts = metric.facts
    assert metric.__name__ == name
    assert facts.bounds[0] < facts.bounds[1]
    assert facts.title and facts.reference
    assert metric.__doc__
    assert set(facts.identity) <= set(signature(metric).parameters)
    assert parse_identity(identity(metric), METRICS)[0] == name


@every
def test_value_is_within_bounds_and_a_plain_float(name: str) -> None:
    value = _value(name, *_code())
    low, high = METRICS[name].facts.bounds
    assert isinstance(value, float)
    assert low - 1e-9 <= value <= high + 1e-9


@every
def test_the_scalars_beside_the_headline_exist(name: str) -> None:
    latents, factors = _code()
    parts = METRICS[name](latents, factors).parts
    for part in METRICS[name].facts.also:
        assert np.isfinite(float(parts[part]))


@every
def test_inputs_are_left_untouched(name: str) -> None:
    latents, factors = _code()
    before = latents.copy(), factors.copy()
    latents.setflags(write=False)
    factors.setflags(write=False)
    METRICS[name](latents, factors)
    np.testing.assert_array_equal(latents, before[0])
    np.testing.assert_array_equal(factors, before[1])


@every
def test_same_seed_gives_the_same_score_whatever_the_global_state(name: str) -> None:
    latents, factors = _code()
    np.random.seed(1)  # noqa: NPY002
    first = METRICS[name](latents, factors).value
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    np.random.seed(2)  # noqa: NPY002
    assert METRICS[name](latents, factors).value == first
    np.random.seed(1)  # noqa: NPY002
    METRICS[name](latents, factors)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


@every
@pytest.mark.parametrize("change", ["latents", "sign", "scale", "shift", "rotation"])
def test_promised_invariances_hold(name: str, change: str) -> None:
    if change not in METRICS[name].facts.invariances:
        return
    latents, factors = _code()
    rng = np.random.default_rng(5)
    changed = {
        "latents": lambda: latents[:, [2, 0, 3, 1]],
        "sign": lambda: latents * [1, -1, -1, 1],
        "scale": lambda: latents * [2.0, 0.5, 4.0, 8.0],
        "shift": lambda: latents + np.array([1.0, -2.0, 3.0, 0.5]),
        "rotation": lambda: latents @ np.linalg.qr(rng.normal(size=(4, 4)))[0],
    }[change]()
    assert _value(name, changed, factors) == pytest.approx(_value(name, latents, factors), abs=2e-6)


@pytest.mark.parametrize("variant", VARIANTS)
def test_units_of_a_code_matter_only_where_it_is_said(variant: str) -> None:
    name, options = VARIANTS[variant]
    latents, factors = _code()
    try:
        values = [_value(name, latents * 2.0**power, factors, **options) for power in (0, -30, 30)]
    except UnknotError as error:  # a switch that needs another one, an extra
        pytest.skip(str(error))
    assert (np.ptp(values) > 0.01) == METRICS[name].facts.minds_units(options), values


@every
def test_row_order_does_not_matter_where_promised(name: str) -> None:
    if "rows" not in METRICS[name].facts.invariances:
        return
    latents, factors = _code()
    options: dict[str, object] = {}
    metric = METRICS[name]
    order = np.random.default_rng(3).permutation(len(latents))
    if "latents_test" in signature(metric).parameters:
        options = {"latents_test": latents[:60], "factors_test": factors[:60]}
    assert metric(latents[order], factors[order], **options).value == pytest.approx(
        metric(latents, factors, **options).value, abs=2e-6
    )


@labelled
def test_a_constant_factor_is_left_out_with_a_warning_and_changes_nothing(name: str) -> None:
    latents, factors = _code()
    with_constant = np.insert(factors, 1, 7, axis=1)
    plain = METRICS[name](latents, factors)
    with pytest.warns(UnknotWarning, match="constant"):
        score = METRICS[name](latents, with_constant)
    assert score.value == pytest.approx(plain.value, nan_ok=True, abs=1e-9)
    assert score.parts["skipped"] == {"1": "constant"}


@labelled
def test_all_factors_constant_is_an_error(name: str) -> None:
    latents, factors = _code()
    with pytest.raises(UnknotError, match="every factor is constant"):
        METRICS[name](latents, np.zeros_like(factors))


@every
@pytest.mark.parametrize(
    "case", ["dead latent", "all dead", "duplicated", "one latent", "few latents", "one factor"]
)
def test_degenerate_codes_get_a_value_a_note_or_a_reason(name: str, case: str) -> None:
    latents, factors = _code()
    latents = {
        "dead latent": np.insert(latents, 2, 3.0, axis=1),
        "all dead": np.ones_like(latents),
        "duplicated": np.hstack([latents, latents]),
        "one latent": latents[:, :1],
        "few latents": latents[:, :2],
        "one factor": latents,
    }[case]
    if case == "one factor":
        factors = factors[:, 1:2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknotWarning)
        try:
            score = METRICS[name](latents, factors)
        except UnknotError as error:
            assert str(error).startswith(name.split("_from")[0][:3])
            return
    if np.isnan(score.value):
        assert score.parts["notes"], "NaN without a word"
    else:
        low, high = METRICS[name].facts.bounds
        assert low - 1e-9 <= score.value <= high + 1e-9


@every
def test_two_rows_get_a_value_or_a_reason(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            score = METRICS[name](np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([[0, 1], [1, 0]]))
        except UnknotError:
            return
    assert not np.isnan(score.value) or score.parts["notes"]


@every
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_latents_that_are_not_finite_are_refused_naming_the_column(name: str, bad: float) -> None:
    latents, factors = _code()
    latents[5, 2] = bad
    with pytest.raises(UnknotError, match=r"1 NaN or infinite entries, in column\(s\) 2"):
        METRICS[name](latents, factors)


@every
def test_latents_whose_squares_overflow_are_refused(name: str) -> None:
    latents, factors = _code()
    with pytest.raises(UnknotError, match="as large as"):
        METRICS[name](latents * 1e200, factors)


@labelled
def test_wrong_lengths_are_refused_with_both_numbers(name: str) -> None:
    latents, factors = _code()
    with pytest.raises(UnknotError, match="180 rows, factors has 179"):
        METRICS[name](latents, factors[:-1])


@labelled
def test_words_score_as_the_classes_they_are(name: str) -> None:
    latents, factors = _code()
    value = METRICS[name](latents, factors).value
    assert METRICS[name](latents, factors.astype(str)).value == value
    assert METRICS[name](latents, factors.astype(object)).value == value


@labelled
def test_no_factors_are_refused(name: str) -> None:
    with pytest.raises(UnknotError, match="factors"):
        METRICS[name](_code()[0], None)


@every
def test_slots_are_refused_until_flattened(name: str) -> None:
    latents, factors = _code()
    with pytest.raises(UnknotError, match="slots"):
        METRICS[name](latents.reshape(len(latents), 2, 2), factors)


@labelled
def test_an_identifier_is_not_a_factor(name: str) -> None:
    latents, factors = _code()
    with pytest.raises(UnknotError, match="identifier"):
        METRICS[name](latents, np.column_stack([factors, np.arange(len(factors))]))


@labelled
def test_labels_are_names_only(name: str) -> None:
    """Negative or widely spaced labels, or whole numbers stored as floats, score as 0..K-1 do.

    Labels that keep their spacing are compared, because regressions read them as numbers.
    """
    latents, factors = _code()
    plain = _value(name, latents, factors)
    assert _value(name, latents, factors * 5 - 7) == pytest.approx(plain, abs=1e-6, nan_ok=True)
    assert _value(name, latents, factors.astype(float)) == pytest.approx(plain, abs=1e-12, nan_ok=True)


@labelled
def test_real_valued_factors_are_taken_or_refused_in_words(name: str) -> None:
    latents, factors = _code()
    real = np.random.default_rng(0).normal(size=factors.shape) + factors
    try:
        score = METRICS[name](latents, real)
    except UnknotError as error:
        assert "real numbers" in str(error) or "rows" in str(error)
        return
    assert any("continuous" in note for note in score.parts["notes"])


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
@pytest.mark.parametrize("name", QUICK)
def test_any_small_table_gives_a_bounded_value_a_noted_nan_or_a_reason(name: str, data: st.DataObject) -> None:
    n, d, k = (data.draw(st.integers(low, high)) for low, high in ((2, 40), (1, 4), (1, 3)))
    numbers = st.floats(-1e6, 1e6, width=32)
    latents = np.array(data.draw(st.lists(st.lists(numbers, min_size=d, max_size=d), min_size=n, max_size=n)))
    whole = st.integers(-2, 2)
    factors = np.array(data.draw(st.lists(st.lists(whole, min_size=k, max_size=k), min_size=n, max_size=n)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            score = METRICS[name](latents, factors)
        except UnknotError:
            return
    low, high = METRICS[name].facts.bounds
    if np.isnan(score.value):
        assert score.parts["notes"]
    else:
        assert low - 1e-6 <= score.value <= high + 1e-6


@every
def test_the_global_random_state_is_left_alone(name: str) -> None:
    before = str(np.random.get_state())  # noqa: NPY002 - which no metric may move
    for options in _variants(name):
        with warnings.catch_warnings(), suppress(UnknotError):
            warnings.simplefilter("ignore")
            METRICS[name](*_code(), **options)
        assert str(np.random.get_state()) == before, options  # noqa: NPY002


@every
@pytest.mark.parametrize(
    "value", [None, "word", b"bytes", 1j, {}, object(), np.zeros((2, 2)), 10**30, float("nan")]
)
def test_an_option_of_a_wrong_type_is_refused_by_name(name: str, value: object) -> None:
    data = {"latents", "factors", "latents_test", "factors_test"}
    for option in set(signature(METRICS[name]).parameters) - data:
        with warnings.catch_warnings(), suppress(UnknotError):
            warnings.simplefilter("ignore")
            METRICS[name](*_code(), **{option: value})


@labelled
def test_masked_labels_are_refused(name: str) -> None:
    latents, factors = _code()
    with pytest.raises(UnknotError, match=r"factors is a masked array that hides \d+ of 540 entries"):
        METRICS[name](latents, np.ma.masked_array(factors, factors == 1))


@labelled
@pytest.mark.parametrize(
    "large",
    [
        lambda factors: factors + 2**53,
        lambda factors: factors.astype(np.uint64) + np.uint64(2**63),
        lambda factors: factors - 2**62,
    ],
    ids=["2^53", "unsigned", "negative"],
)
def test_labels_that_float64_cannot_tell_apart_score_as_small_ones(name: str, large) -> None:
    if METRICS[name].facts.cost != "instant" and name not in ("mcc", "r2"):
        pytest.skip("sees the same codes as the instant ones")
    latents, factors = _code()
    assert _value(name, latents, large(factors)) == pytest.approx(_value(name, latents, factors), abs=1e-6)


@labelled
def test_whole_floats_beyond_integers_are_not_constant(name: str) -> None:
    if METRICS[name].facts.cost != "instant":
        pytest.skip("sees the same codes as the instant ones")
    latents, factors = _code()
    score = METRICS[name](latents, factors * 1e19)
    assert not score.parts["skipped"]
    assert np.isfinite(score.value)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("mig", {"bins": 99_999_999_999}),
        ("mig", {"bins": 10**9}),
        ("beta_vae_score", {"batch": 10**9}),
        ("beta_vae_score", {"points": 10**9}),
        ("factor_vae_score", {"votes": 10**9}),
        ("factor_vae_score", {"variance_rows": 10**9}),
    ],
)
def test_counts_that_no_memory_holds_are_refused(name: str, options: dict[str, int]) -> None:
    with pytest.raises(UnknotError, match=r"expected .*\d,000"):
        METRICS[name](*_code(), **options)
