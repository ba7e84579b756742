"""Write `docs/licences.md` from what installed distributions say of themselves; `make lock` runs it."""

import re
from importlib.metadata import metadata

from packaging.utils import canonicalize_name

from tools.requirements import LOCK, ROOT, Pin, following, read_pins, wanted

PAGE = ROOT / "docs" / "licences.md"
HEAD = """\
# Licences of dependencies

Unknot is licensed under Apache-2.0 and ships no code of others. pip installs beside it what is listed here: every
distribution of `requirements.lock`, with the licence that its own metadata state. Made by `make lock`.

Copyleft: {copyleft}. The Mozilla Public License asks that changes to their own files be published; it does not reach
programs that use them. Binary wheels may hold further libraries (NumPy and SciPy the runtime of GCC, under the GPL with
its runtime exception); the licence files in each wheel name them.

| distribution | version | licence | comes with |
|---|---|---|---|
"""
COPYLEFT = re.compile(r"\b(A?GPL|LGPL|MPL|EPL|EUPL|CDDL)|Mozilla|Eclipse|GNU")


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), "utf-8")


def page() -> str:
    """The whole page."""
    pins = [pin for pin in read_pins(LOCK) if pin.here]
    homes = {group: {canonicalize_name(need.name) for _, need in following(group)} for group in wanted()}
    copyleft = [f"{pin.name} ({licence(pin.name)})" for pin in pins if COPYLEFT.search(licence(pin.name))]
    return HEAD.format(copyleft=", ".join(copyleft) or "none") + "".join(_row(pin, homes) for pin in pins)


def licence(name: str) -> str:
    """The licence of an installed distribution: its SPDX expression, else the field, else classifiers."""
    facts = metadata(name)
    field = facts.get("License", "").strip()
    classes = [c.rpartition(" :: ")[2] for c in facts.get_all("Classifier", []) if c.startswith("License ::")]
    return facts.get("License-Expression") or (field if "\n" not in field else "") or ", ".join(classes)


def _row(pin: Pin, homes: dict[str, set[str]]) -> str:
    extras = [group for group, names in homes.items() if pin.name in names and group not in ("all", "dev")]
    home = "Unknot" if "" in extras else ", ".join(f"`{extra}`" for extra in extras or ["dev"])
    return f"| {pin.name} | {pin.version} | {licence(pin.name)} | {home} |\n"


if __name__ == "__main__":
    main()
