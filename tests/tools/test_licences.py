"""The page of licences names every distribution of the lock, with the licence that it states."""

import re

from tools.licences import PAGE, home, page
from tools.requirements import LOCK, read_pins


def test_the_page_of_licences_is_what_installed_metadata_say() -> None:
    assert PAGE.read_text("utf-8") == page(), "`make lock` writes it anew"


def test_every_locked_distribution_is_listed_with_a_licence() -> None:
    table = PAGE.read_text("utf-8").partition("|---|---|---|---|\n")[2]
    rows = re.findall(r"^\| (\S+) \| (\S+) \| ([^|]+) \| [^|]+ \|$", table, re.MULTILINE)
    assert [row[:2] for row in rows] == [(pin.name, str(pin.version)) for pin in read_pins(LOCK) if pin.here]
    assert not [name for name, _, licence in rows if licence.lower() in ("unknown", "none", "other")]


def test_copyleft_is_told_apart_with_what_it_comes_with() -> None:
    copyleft = PAGE.read_text("utf-8").partition("## Copyleft")[2].partition("## All")[0]
    assert "- certifi: MPL-2.0; `ray`\n" in copyleft and "- numpy:" not in copyleft


def test_what_tests_alone_need_is_told_apart_from_what_an_extra_needs() -> None:
    assert home(["", "dev"]) == "always" and home(["torch", "all", "dev", "build"]) == "`torch`"
    assert home(["dev", "build"]) == "`dev`, `build`"
