"""Names of metrics and their variants."""

import pytest

from unknot import UnknotError
from unknot.metrics import METRICS, Score, identity, parse_identity


@pytest.mark.parametrize(
    ("text", "name", "options"),
    [
        ("mig", "mig", {}),
        ("mig[bins=10]", "mig", {"bins": 10}),
        (" sap[ regression ]", "sap", {"mode": "regression"}),
        ("irs[quantile=1.0]", "irs", {"quantile": 1.0}),
        ("snc[gcd,table1]", "snc", {"bins": "gcd", "adjustment": "table1"}),
        ("explicitness[scaled]", "explicitness", {"scaled": True}),
        ("explicitness[scaled=False]", "explicitness", {"scaled": False}),
        ("mig[bias_correction,normaliser=code]", "mig", {"bias_correction": True, "normaliser": "code"}),
        ("modularity[min_mi=0.1]", "modularity", {"min_mi": 0.1}),
        ("irs[rebin=20]", "irs", {"rebin": 20}),
    ],
)
def test_a_full_name_is_read_back_as_options(text: str, name: str, options: dict[str, object]) -> None:
    assert parse_identity(text, METRICS) == (name, options)


@pytest.mark.parametrize(
    "text",
    [
        "mig[bins=10]",
        "sap[regression]",
        "snc[gcd,table1]",
        "explicitness[scaled]",
        "mig[auto,corrected]",
        "mig[bins=20,normaliser=code,bias_correction]",
        "med[bins=20,normalise=False]",
        "irs[quantile=0.99,rebin=20]",
    ],
)
def test_a_name_survives_being_read_and_written(text: str) -> None:
    name, options = parse_identity(text, METRICS)
    assert identity(METRICS[name], **options) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("migs", "did you mean 'mig'"),
        ("mig[20]", "'20' is not an option of mig's name; those are: bins"),
        ("mig[bins=many]", "should be a number"),
        ("mig(20)", "not a name like"),
        ("rankme[bins=3]", "those are: none"),
    ],
)
def test_a_name_that_cannot_be_read_is_refused(text: str, message: str) -> None:
    with pytest.raises(UnknotError, match=message):
        parse_identity(text, METRICS)


def test_the_full_name_of_every_metric_is_read_back() -> None:
    for name, metric in METRICS.items():
        assert parse_identity(identity(metric), METRICS)[0] == name


def test_a_score_is_a_number_where_one_is_needed() -> None:
    assert float(Score(0.25, {"notes": []})) == 0.25
