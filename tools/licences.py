"""Write `docs/licences.md` from what installed distributions say of themselves; `make lock` runs it."""

import re
from importlib.metadata import files, metadata

from packaging.utils import canonicalize_name

from tools.requirements import LOCK, ROOT, following, read_pins, wanted

PAGE = ROOT / "docs" / "licences.md"
HEAD = """\
# Licences of dependencies

Unknot is licensed under Apache-2.0 and ships no code of others. pip installs beside it what stands in
`requirements.lock`; listed here is the licence that each distribution states in its own metadata. "always" comes with
Unknot, the rest with its extras, `dev` with the tests, `build` with building it. Made by `make lock`.

## Copyleft

{copyleft}

The Mozilla Public License covers the files of these distributions, not the programs that use them. The wheels of NumPy
and SciPy also hold libraries of GCC: libgfortran (GPL-3.0-or-later WITH GCC-exception-3.1) and libquadmath
(LGPL-2.1-or-later); the licence files in a wheel name everything that it holds.

## All

| distribution | version | licence | comes with |
|---|---|---|---|
{rows}
"""
COPYLEFT = re.compile(r"\b(A?GPL|LGPL|MPL|EPL|EUPL|CDDL)|Mozilla|Eclipse|GNU")


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), "utf-8")


def page() -> str:
    """The whole page."""
    pins = [pin for pin in read_pins(LOCK) if pin.here]
    names = {group: {canonicalize_name(need.name) for _, need in following(group)} for group in wanted()}
    homes = {pin.name: home([group for group in names if pin.name in names[group]]) for pin in pins}
    rows = [f"| {pin.name} | {pin.version} | {licence(pin.name)} | {homes[pin.name]} |" for pin in pins]
    copyleft = [pin.name for pin in pins if COPYLEFT.search(licence(pin.name))]
    return HEAD.format(
        copyleft="\n".join(f"- {name}: {licence(name)}; {homes[name]}" for name in copyleft) or "None.",
        rows="\n".join(rows),
    )


def licence(name: str) -> str:
    """The licence of an installed distribution: its SPDX expression, the field, classifiers, or its file's title."""
    facts = metadata(name)
    field = facts.get("License", "").strip()
    classes = [c.rpartition(" :: ")[2] for c in facts.get_all("Classifier", []) if c.startswith("License ::")]
    stated = facts.get("License-Expression") or (field if "\n" not in field else "") or ", ".join(classes)
    return stated or title(name)


def title(name: str) -> str:
    """The first line of a distribution's licence file that says so."""
    texts = (path.read_text() for path in files(name) or () if path.parent.name == "licenses")
    return next((line.strip(" ;") for text in texts for line in text.splitlines() if "icen" in line), "")


def home(groups: list[str]) -> str:
    """With which extras something comes; tests and building count only if no other needs it."""
    extras = [group for group in groups if group not in ("all", "dev", "build")]
    shown = extras or [group for group in groups if group != "all"]
    return "always" if "" in shown else ", ".join(f"`{group}`" for group in shown)


if __name__ == "__main__":
    main()
