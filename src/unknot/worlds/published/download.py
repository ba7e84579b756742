"""Published files from the web: mirrors in turn, interrupted downloads taken up again, checksums verified.

A file arrives as `NAME.part`, which a later call continues, and is renamed when its checksum is right. It comes by
https, and by http only where a checksum tells whether it was changed on its way.
"""

import hashlib
import http.client
import re
import shutil
import urllib.error
import urllib.request
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from unknot.errors import UnknotError
from unknot.progress import Progress, silent
from unknot.worlds.entry import PublishedFile
from unknot.worlds.published.data_folders import bytes_in_words

BLOCK = 1 << 18
TRIES = 3  # connections to one address that break before the next address is tried
TIMEOUT = 30.0  # seconds without a byte


class _NotFromHereError(Exception):
    """This address does not give the file; the message says why."""


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Goes where a server sends it, but from https to https only."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        """The request to send instead."""
        if urlsplit(newurl).scheme not in {"https", req.type}:
            fp.close()
            raise _NotFromHereError(f"sends from {req.type} on to {newurl}; refused")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def download(file: PublishedFile, folder: Path, progress: Progress = silent) -> Path:
    """Fetch one file into a folder, unless it is there and whole.

    Args:
        file: its name, addresses and checksums.
        folder: where it is put; made if need be.
        progress: told the bytes so far and the bytes in all, or so far again if nobody says how many there are.
    """
    target = folder / file.name
    if target.exists():
        wrong = flaw(target, file)
        if wrong:
            raise UnknotError(f"{target}: is there already, but {wrong}. Move it away to download it afresh.")
        return target
    if not file.urls:
        raise UnknotError(f"{file.name}: no address is known; put the file into {folder} yourself.")
    part = _begun(target)
    try:
        _room(part, file)
        reasons = []
        for url in file.urls:
            try:
                _fetch(url, part, file, progress)
            except _NotFromHereError as reason:
                reasons.append(f"{urlsplit(url).hostname}: {reason}")
                continue
            part.replace(target)
            return target
        kept = part.stat().st_size
        resume = f" {bytes_in_words(kept)} are kept in {part}; run it again to continue." if kept else ""
        raise UnknotError(
            f"{file.name}: could not be downloaded. {'. '.join(reasons)}. Check the connection, or put the file into "
            f"{folder} by hand.{resume}"
        )
    finally:
        if part.exists() and not part.stat().st_size:
            part.unlink()


def flaw(path: Path, file: PublishedFile) -> str:
    """What is wrong with a file: its size or its checksum; nothing if it is whole or nothing is known to check."""
    size = path.stat().st_size
    if file.size is not None and size != file.size:
        return f"it has {size:,} bytes and should have {file.size:,}"
    for kind, expected in (("sha256", file.sha256), ("md5", file.md5)):
        if expected:
            actual = checksum(path, kind)
            return "" if actual == expected else f"its {kind} is {actual} and should be {expected}"
    return ""


def checksum(path: Path, kind: str, progress: Progress = silent) -> str:
    """The md5 or sha256 of a file, in hexadecimal."""
    total, done = path.stat().st_size, 0
    stage = f"checksum ({bytes_in_words(total)})"
    digest = hashlib.new(kind, usedforsecurity=False)
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
            done += len(block)
            progress(stage, done, total)
    return digest.hexdigest()


def _begun(target: Path) -> Path:
    part = target.with_name(f"{target.name}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part.touch()
    except OSError as error:
        raise UnknotError(
            f"{target.parent}: cannot be written to ({error.strerror}); choose another --data."
        ) from None
    return part


def _room(part: Path, file: PublishedFile) -> None:
    free, lacking = shutil.disk_usage(part.parent).free, (file.size or 0) - part.stat().st_size
    if lacking > free:
        raise UnknotError(
            f"{file.name}: {bytes_in_words(lacking)} are still to come, but {part.parent} has only "
            f"{bytes_in_words(free)} free; choose another --data."
        )


def _fetch(url: str, part: Path, file: PublishedFile, progress: Progress) -> None:
    """Bring the part to its full length and check it; one begun before that turns out wrong is begun anew, once."""
    if urlsplit(url).scheme != "https" and not (file.sha256 or file.md5):
        raise _NotFromHereError(
            f"{url} is not https, and no checksum is known to tell whether what came was changed"
        )
    for _ in range(2):
        begun = part.stat().st_size
        _continue(url, part, file, progress)
        wrong = flaw(part, file)
        if not wrong:
            return
        part.write_bytes(b"")
        if not begun:
            break
    raise _NotFromHereError(f"what came is not the published file: {wrong}")


def _continue(url: str, part: Path, file: PublishedFile, progress: Progress) -> None:
    failure = ""
    for _ in range(TRIES):
        try:
            if _receive(url, part, file, progress):
                return
            failure = "the connection broke off"
        except urllib.error.HTTPError as error:
            raise _NotFromHereError(f"answered {error.code} {error.reason}") from None
        except urllib.error.URLError as error:
            failure = str(error.reason) or type(error).__name__
            if not part.stat().st_size:
                break  # never reached: trying again at once does not help
        except (http.client.HTTPException, OSError) as error:
            failure = str(error) or type(error).__name__
    raise _NotFromHereError(failure)


def _receive(url: str, part: Path, file: PublishedFile, progress: Progress) -> bool:
    """Append what is missing; whether the file is as long as the server says."""
    have = part.stat().st_size
    headers = {"User-Agent": "unknot", "Accept-Encoding": "identity"}
    request = urllib.request.Request(url, headers=headers | ({"Range": f"bytes={have}-"} if have else {}))
    try:
        response = urllib.request.build_opener(_SafeRedirects).open(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        # Nothing after what we have: it is complete, or of another file; the checksum tells.
        if error.code == 416 and have:
            error.close()
            return _length(error.headers.get("Content-Range")) in (None, have) or _begin_anew(part)
        raise
    with response:
        if response.headers.get_content_type() == "text/html":
            raise _NotFromHereError("sent a web page instead of the file")
        content_range = response.headers.get("Content-Range") or ""
        resumed = response.status == 206 and content_range.startswith(f"bytes {have}-")
        if response.status == 206 and not resumed:
            return _begin_anew(part)
        have = have if resumed else 0
        length = _count(response.headers.get("Content-Length"))
        total = None if length is None else have + length
        with part.open("ab" if resumed else "wb") as stream:
            progress(file.name, have, total or file.size or have)
            while block := response.read(BLOCK):
                stream.write(block)
                have += len(block)
                progress(file.name, have, total or file.size or have)
    return total is None or have == total


def _begin_anew(part: Path) -> bool:
    part.write_bytes(b"")
    return False


def _length(content_range: str | None) -> int | None:
    match = re.fullmatch(r"bytes \S+/(\S+)", content_range or "")
    return _count(match[1]) if match else None


def _count(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch(r"\d{1,18}", text) else None
