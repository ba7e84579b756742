"""Write `requirements.lock` and `constraints.txt` from `pyproject.toml`; `make lock` runs it.

Versions of `constraints.txt` stay where they still serve: take a line out of it to have the newest version of that
distribution. pip resolves, and pip's own search, with whatever indexes and links it is set up with, lists the files.
"""

import hashlib
import json
import logging
import platform
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from packaging.requirements import Requirement
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version
from pip._internal.commands import create_command
from pip._internal.index.collector import LinkCollector, parse_links
from pip._internal.models.link import Link

from tools.requirements import CONSTRAINTS, LOCK, Pin, wanted

LOCK_HEAD = f"""\
# All that `make` installs, and the SHA-256 of every file that may serve. Made by `make lock`; not to be edited.
# Resolved with Python {platform.python_version()} on {platform.system()}; see CONTRIBUTING.md, "Dependencies".
"""
CONSTRAINTS_HEAD = """\
# The versions of requirements.lock, for `pip install -c constraints.txt -e .`. Made by `make lock`.
"""


def main() -> None:
    """Resolve, look up the hashes, write both files."""
    versions = resolved()
    pins = [pin for name, files in published(versions) for pin in pinned(name, versions[name], files)]
    plain = [f"{name}=={version.public}" for name, version in versions.items()]
    LOCK.write_text(LOCK_HEAD + "".join(f"{pin}\n" for pin in pins), "utf-8")
    CONSTRAINTS.write_text(CONSTRAINTS_HEAD + "".join(f"{line}\n" for line in plain), "utf-8")
    print(f"{LOCK.name}: {len(versions)} distributions, {sum(len(pin.hashes) for pin in pins)} files.")


def resolved() -> dict[str, Version]:
    """The version of everything that is needed, as pip would install it into an empty environment."""
    texts = {str(need) for needs in wanted().values() for need in needs if need.name != "unknot"}
    flags = ["-qq", "--dry-run", "--ignore-installed", "--report", "-", "--constraint", str(CONSTRAINTS)]
    pip = subprocess.run([sys.executable, "-m", "pip", "install", *flags, *sorted(texts)], stdout=subprocess.PIPE)
    if pip.returncode:
        sys.exit(f"pip found no versions that fit. If a pin is too old, take its line out of {CONSTRAINTS.name}.")
    metadata = [item["metadata"] for item in json.loads(pip.stdout)["install"]]
    versions = {canonicalize_name(facts["name"]): Version(facts["version"]) for facts in metadata}
    return dict(sorted(versions.items()))


def published(names: Iterable[str]) -> Iterator[tuple[str, list[Link]]]:
    """Every file of each distribution that pip is told of, for whatever machine."""
    logging.getLogger("pip").setLevel(logging.ERROR)  # that an index lacks a distribution is no news
    command = create_command("install")
    options, _ = command.parse_args([])
    with command.main_context():
        collector = LinkCollector.create(command.get_default_session(options), options)

        def on_page(page: Link) -> list[Link]:
            content = collector.fetch_response(page)
            return list(parse_links(content)) if content else []

        for name in names:
            places = collector.collect_sources(name, on_page)
            sources = [source for source in (*places.find_links, *places.index_urls) if source]
            yield name, [link for source in sources for link in (*source.page_candidates(), *source.file_links())]


def pinned(name: str, version: Version, files: Iterable[Link]) -> Iterator[Pin]:
    """The entry of a distribution; two if this system has a build of its own, as it has of torch."""
    hashes = defaultdict(set)
    for link in files:
        release = release_of(link.filename)
        if release in ((name, version), (name, Version(version.public))):
            hashes[release[1]].add(sha256(link))
    if version not in hashes:
        sys.exit(f"{name} {version}: pip would install it, but no index lists its files now; try again.")
    for build, digests in sorted(hashes.items(), reverse=True):
        sign = "==" if build == version else "!="
        marker = f' ; sys_platform {sign} "{sys.platform}"' if version.local else ""
        yield Pin(Requirement(f"{name}=={build}{marker}"), tuple(sorted(digests)))


def release_of(filename: str) -> tuple[str, Version] | None:
    """Name and version of a file; nothing for one that is neither a wheel nor a source archive."""
    try:
        return parse_wheel_filename(filename)[:2] if filename.endswith(".whl") else parse_sdist_filename(filename)
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
        return None


def sha256(link: Link) -> str:
    """The sum that the index gives for a file, or that of the file itself if it lies here."""
    if link.hash_name == "sha256" and link.hash:
        return link.hash
    if link.scheme != "file":
        sys.exit(f"{link.filename}: the index gives no SHA-256.")
    return hashlib.sha256(Path(url2pathname(urlsplit(link.url).path)).read_bytes()).hexdigest()


if __name__ == "__main__":
    main()
