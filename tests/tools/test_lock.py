"""The lock is current: it pins what `pyproject.toml` and installed distributions ask for, and nothing else."""

import hashlib
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name
from packaging.version import Version
from pip._internal.models.link import Link
from tools.lock import pinned, release_of
from tools.requirements import CONSTRAINTS, DEMO_LOCK, LOCK, following, read_pins, wanted

from tools import demo_lock

PINS = read_pins(LOCK)
HERE = {pin.name: pin for pin in PINS if pin.here}
locked_torch = pytest.mark.skipif(
    Version(version("torch")) != HERE["torch"].version
    and Version(version("torch")).public == HERE["torch"].version.public,
    reason="another build of torch is installed, as where the lock does not fit; it needs what no lock has",
)


@locked_torch
def test_everything_that_is_asked_for_is_pinned_to_a_version_that_serves() -> None:
    for asker, need in following(*wanted()):
        name = canonicalize_name(need.name)
        assert name in HERE, f"{asker} asks for {need}, which is not locked; run `make lock`"
        assert need.specifier.contains(HERE[name].version, prereleases=True), (
            f"{asker} asks for {need}, and {HERE[name].version} is locked; run `make lock`"
        )


@locked_torch
def test_nothing_is_pinned_that_nobody_asks_for() -> None:
    assert set(HERE) == {canonicalize_name(need.name) for _, need in following(*wanted())}


@pytest.mark.parametrize("name", HERE)
def test_what_is_installed_is_what_is_locked(name: str) -> None:
    try:
        installed = version(name)
    except PackageNotFoundError:
        pytest.fail(f"{name} is locked but not installed; run `make .venv/installed`")
    assert Version(installed).public == HERE[name].version.public


@locked_torch
def test_the_demo_installs_the_part_it_needs() -> None:
    assert DEMO_LOCK.read_text(encoding="utf-8") == demo_lock.text(), "run `make lock`"
    assert {"torch", "jinja2"} < {pin.name for pin in read_pins(DEMO_LOCK)} < {pin.name for pin in PINS} - {"ray"}


def test_every_entry_has_the_sums_of_its_files() -> None:
    for pin in PINS:
        assert pin.hashes and list(pin.hashes) == sorted(set(pin.hashes)), pin.name
        assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in pin.hashes), pin.name


def test_the_constraints_are_the_versions_of_the_lock() -> None:
    plain = [(pin.name, str(pin.version)) for pin in read_pins(CONSTRAINTS)]
    assert plain == sorted({(pin.name, pin.version.public) for pin in PINS})
    assert not any(pin.hashes for pin in read_pins(CONSTRAINTS))


def test_lock_and_constraints_name_no_place() -> None:
    assert not re.search(r"://|index-url|find-links|^/", LOCK.read_text() + CONSTRAINTS.read_text(), re.MULTILINE)


def test_torch_is_locked_for_every_system() -> None:
    torch = [pin for pin in PINS if pin.name == "torch"]
    assert [str(pin.requirement.marker) for pin in torch] == ['sys_platform == "linux"', 'sys_platform != "linux"']
    assert not set(torch[0].hashes) & set(torch[1].hashes)


def test_what_follows_is_found_through_extras_and_said_with_who_asks() -> None:
    asked = {(asker, canonicalize_name(need.name)) for asker, need in following("timm")}
    assert {("unknot", "timm"), ("unknot", "torch"), ("timm", "torchvision"), ("torch", "sympy")} <= asked
    assert not any(name in ("unknot", "pytest", "ray") for _, name in asked)


@pytest.mark.parametrize(
    ("filename", "release"),
    [
        ("torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl", ("torch", Version("2.13.0+cpu"))),
        ("Jinja2-3.1.6.tar.gz", ("jinja2", Version("3.1.6"))),
        ("Jinja2-3.1.6.tar.bz2", None),
        ("Jinja2-3.1.6-py2.4.egg", None),
    ],
)
def test_files_tell_their_release(filename: str, release: tuple[str, Version] | None) -> None:
    assert release_of(filename) == release


def test_a_build_for_this_system_gets_an_entry_of_its_own(tmp_path: Path) -> None:
    here = tmp_path / "torch-2.13.0+cpu-cp311-cp311-linux_x86_64.whl"
    here.write_bytes(b"wheel")
    names = ["torch-2.13.0-cp311-none-macosx_14_0_arm64.whl", "torch-2.12.0.tar.gz", "torchvision-2.13.0.tar.gz"]
    links = [Link(here.as_uri()), *(Link(f"https://127.0.0.1/{name}#sha256={'0' * 64}") for name in names)]
    own, others = pinned("torch", Version("2.13.0+cpu"), links)
    assert (
        own.version == Version("2.13.0+cpu") and own.here and own.hashes == (hashlib.sha256(b"wheel").hexdigest(),)
    )
    assert others.version == Version("2.13.0") and not others.here and others.hashes == ("0" * 64,)
    (only,) = pinned("torch", Version("2.13.0"), links)
    assert only.here and only.requirement.marker is None
    with pytest.raises(SystemExit, match=r"torch 2\.14: .* no index lists its files"):
        list(pinned("torch", Version("2.14"), links))
