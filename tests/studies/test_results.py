"""Tables as text."""

import json

import pandas as pd
import pytest

from unknot.studies.results import FORMATS, formatted

STRANGE = pd.DataFrame({"na\x1bme": ["\udcff", "=1", "\x1b[0m"], "x": [0.5, None, 1.0]}, dtype=object)


@pytest.mark.parametrize("form", [form for form in FORMATS if form != "parquet"])
def test_names_that_are_no_text_survive_and_nothing_is_obeyed(form: str) -> None:
    text = formatted(STRANGE.astype({"x": float}), form)
    assert "\x1b" not in text and ("\\udcff" if form == "json" else "\udcff") in text


def test_gaps_are_empty_cells_of_a_csv_and_formulas_are_words() -> None:
    assert formatted(STRANGE.astype({"x": float}), "csv") == "na\\x1bme,x\n\udcff,0.5\n'=1,\n\\x1b[0m,1.0\n"
    assert [row["x"] for row in json.loads(formatted(STRANGE, "json"))] == [0.5, None, 1.0]
