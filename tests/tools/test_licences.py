"""The page of licences names every distribution of the lock, with the licence that it states."""

import re

from tools.licences import PAGE, page
from tools.requirements import LOCK, read_pins


def test_the_page_of_licences_is_what_installed_metadata_say() -> None:
    assert PAGE.read_text("utf-8") == page(), "`make lock` writes it anew"


def test_every_locked_distribution_is_listed_with_a_licence() -> None:
    rows = re.findall(r"^\| (\S+) \| (\S+) \| ([^|]+) \| [^|]+ \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert [row[:2] for row in rows] == [(pin.name, str(pin.version)) for pin in read_pins(LOCK) if pin.here]
    assert not [name for name, _, licence in rows if licence in ("", "UNKNOWN", "None")]


def test_copyleft_is_named_above_the_table() -> None:
    head = PAGE.read_text("utf-8").partition("\n| ")[0]
    assert "certifi (MPL-2.0)" in head and "tqdm (MPL-2.0 AND MIT)" in head and "numpy" not in head
