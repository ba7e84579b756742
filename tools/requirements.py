"""What Unknot asks for, what the lock pins, and what follows from what is installed."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements.lock"
DEMO_LOCK = ROOT / "requirements-demo.lock"
CONSTRAINTS = ROOT / "constraints.txt"
UNLOCKED = ("docs",)  # an extra with versions of its own, which neither tests nor the demo install


@dataclass(frozen=True)
class Pin:
    """One entry of a lock: the version where its marker holds, and the SHA-256 of every file that may be installed."""

    requirement: Requirement
    hashes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name as indexes spell it."""
        return canonicalize_name(self.requirement.name)

    @property
    def version(self) -> Version:
        """The only version that it allows."""
        (specifier,) = self.requirement.specifier
        return Version(specifier.version)

    @property
    def here(self) -> bool:
        """Whether it is meant for this Python on this machine."""
        return self.requirement.marker is None or self.requirement.marker.evaluate()

    def __str__(self) -> str:
        return " \\\n".join([str(self.requirement), *(f"    --hash=sha256:{digest}" for digest in self.hashes)])


def read_pins(path: Path) -> list[Pin]:
    """The entries of `requirements.lock`, or of `constraints.txt`, which have no hashes."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    entries = "\n".join(lines).replace(" \\\n   ", "").splitlines()
    return [
        Pin(Requirement(text), tuple(digests)) for text, *digests in (e.split(" --hash=sha256:") for e in entries)
    ]


def wanted() -> dict[str, list[Requirement]]:
    """What `pyproject.toml` asks for: under "" what Unknot always needs, its locked extras by name, and "build"."""
    tables = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project, build = tables["project"], tables["build-system"]
    extras = {name: needs for name, needs in project["optional-dependencies"].items() if name not in UNLOCKED}
    groups = {"": project["dependencies"], **extras, "build": build["requires"]}
    return {group: [Requirement(text) for text in texts] for group, texts in groups.items()}


def following(*groups: str) -> Iterator[tuple[str, Requirement]]:
    """Everything that groups of `wanted` ask for and what follows from it here, with who asks.

    Distributions that are not installed cannot tell what they need.
    """
    waiting, seen = [("unknot", group) for group in groups], set()
    while waiting:
        asker, extra = waiting.pop()
        if (asker, extra) in seen:
            continue
        seen.add((asker, extra))
        for requirement in wanted()[extra] if asker == "unknot" else _needs(asker, extra):
            name = canonicalize_name(requirement.name)
            if name != "unknot":
                yield asker, requirement
            waiting += [(name, further) for further in ("", *requirement.extras)]


def _needs(name: str, extra: str) -> list[Requirement]:
    try:
        needs = [Requirement(text) for text in requires(name) or ()]
    except PackageNotFoundError:
        return []
    return [need for need in needs if need.marker is None or need.marker.evaluate({"extra": extra})]
