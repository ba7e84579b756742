import hashlib
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from unknot.errors import UnknotError
from unknot.worlds.entry import PublishedFile
from unknot.worlds.published import download as module
from unknot.worlds.published.download import checksum, download

CONTENT = bytes(range(256)) * 4000  # a megabyte
MD5 = hashlib.md5(CONTENT).hexdigest()
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@dataclass
class Site:
    """A web server on this machine, and what it was asked for."""

    address: str = ""
    asked: list[tuple[str, str]] = field(default_factory=list)  # path, range
    elsewhere: str = ""


@pytest.fixture
def site(monkeypatch) -> Iterator[Site]:
    """Serves the file by http."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serving() as site:
        yield site


@pytest.fixture
def safe_site(monkeypatch, tmp_path_factory) -> Iterator[Site]:
    """Serves the file by https, with a certificate that is trusted during the test."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    pem = tmp_path_factory.mktemp("certificate") / "127.0.0.1.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", pem, "-out", f"{pem}.crt"]
    subprocess.run(
        [*command, "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True,
        capture_output=True,
    )
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("SSL_CERT_FILE", f"{pem}.crt")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{pem}.crt", pem)
    with serving(context) as site:
        yield site


@contextmanager
def serving(context: ssl.SSLContext | None = None) -> Iterator[Site]:
    """Serves the file whole or by ranges.

    `/breaks` hangs up half way, `/corrupt` lies, `/gone` has nothing, `/moved` sends elsewhere.
    """
    state = Site()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked = self.headers.get("Range", "")
            state.asked.append((self.path, asked))
            if self.path == "/gone":
                self.send_error(404)
                return
            if self.path == "/moved":
                self.send_response(302)
                self.send_header("Location", state.elsewhere)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            body = CONTENT[::-1] if self.path == "/corrupt" else CONTENT
            kind = "text/html" if self.path == "/page" else "application/octet-stream"
            start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and self.path != "/whole" else 0
            if start >= len(body) > 0 and start:
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(body)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body) - start))
            self.end_headers()
            rest = body[start:]
            if self.path == "/breaks" or (self.path == "/breaks-once" and not start):
                self.wfile.write(rest[: len(rest) // 2])
                self.wfile.flush()
                self.close_connection = True
            else:
                self.wfile.write(rest)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    state.address = f"{'https' if context else 'http'}://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def published(site: Site, *paths: str, md5: str = MD5) -> PublishedFile:
    return PublishedFile("data.bin", tuple(site.address + path for path in paths), md5=md5)


def test_a_file_arrives_whole_and_alone(site: Site, tmp_path: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    path = download(
        published(site, "/file"), tmp_path / "new", lambda stage, done, total: seen.append((done, total))
    )
    assert path.read_bytes() == CONTENT and [p.name for p in path.parent.iterdir()] == ["data.bin"]
    assert seen[0] == (0, len(CONTENT)) and seen[-1] == (len(CONTENT), len(CONTENT))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_a_whole_file_is_not_fetched_again(site: Site, tmp_path: Path) -> None:
    (tmp_path / "data.bin").write_bytes(CONTENT)
    download(published(site, "/file"), tmp_path)
    assert site.asked == []


def test_a_wrong_file_is_not_overwritten(site: Site, tmp_path: Path) -> None:
    (tmp_path / "data.bin").write_bytes(b"mine")
    with pytest.raises(UnknotError, match=r"is there already, but its md5 is .* Move it away"):
        download(published(site, "/file"), tmp_path)
    assert (tmp_path / "data.bin").read_bytes() == b"mine"


def test_a_connection_that_breaks_is_taken_up_where_it_broke(site: Site, tmp_path: Path) -> None:
    path = download(published(site, "/breaks-once"), tmp_path)
    assert path.read_bytes() == CONTENT
    assert site.asked == [("/breaks-once", ""), ("/breaks-once", f"bytes={len(CONTENT) // 2}-")]


def test_what_came_before_a_lasting_break_is_kept_and_continued_by_the_next_call(
    site: Site, tmp_path: Path
) -> None:
    with pytest.raises(
        UnknotError, match=r"the connection broke off.* are kept in .*data\.bin\.part; run it again"
    ):
        download(published(site, "/breaks"), tmp_path)
    kept = (tmp_path / "data.bin.part").stat().st_size
    assert 0 < kept < len(CONTENT) and not (tmp_path / "data.bin").exists()
    assert len(site.asked) == module.TRIES
    assert download(published(site, "/file"), tmp_path).read_bytes() == CONTENT
    assert site.asked[-1] == ("/file", f"bytes={kept}-")


def test_a_server_without_ranges_sends_it_all_again(site: Site, tmp_path: Path) -> None:
    (tmp_path / "data.bin.part").write_bytes(CONTENT[:1000])
    assert download(published(site, "/whole"), tmp_path).read_bytes() == CONTENT


def test_a_part_that_is_complete_already_is_only_verified(site: Site, tmp_path: Path) -> None:
    (tmp_path / "data.bin.part").write_bytes(CONTENT)
    assert download(published(site, "/file"), tmp_path).read_bytes() == CONTENT
    assert len(site.asked) == 1


@pytest.mark.parametrize("length", [1000, len(CONTENT), len(CONTENT) + 5])
def test_a_part_of_another_file_is_begun_anew(site: Site, tmp_path: Path, length: int) -> None:
    (tmp_path / "data.bin.part").write_bytes(b"x" * length)
    assert download(published(site, "/file"), tmp_path).read_bytes() == CONTENT


def test_corrupted_bytes_are_refused_and_leave_nothing_behind(site: Site, tmp_path: Path) -> None:
    with pytest.raises(UnknotError, match="what came is not the published file: its md5 is"):
        download(published(site, "/corrupt"), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("first", ["/gone", "/corrupt", "/page", "/breaks"])
def test_the_next_address_is_tried(site: Site, tmp_path: Path, first: str) -> None:
    assert download(published(site, first, "/file"), tmp_path).read_bytes() == CONTENT
    assert site.asked[-1][0] == "/file"


def test_every_failure_is_told(site: Site, tmp_path: Path) -> None:
    with pytest.raises(UnknotError, match=r"answered 404 Not Found\. 127\.0\.0\.1: sent a web page"):
        download(published(site, "/gone", "/page"), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_without_a_connection_it_says_so(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        port = server.server_port  # free again, and nobody listens
    with pytest.raises(UnknotError, match=r"Connection refused\. Check the connection, or put the file into"):
        download(PublishedFile("data.bin", (f"https://127.0.0.1:{port}/file",)), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_size_and_sha256_are_verified(site: Site, tmp_path: Path) -> None:
    urls = (f"{site.address}/file",)
    with pytest.raises(UnknotError, match="it has 1,024,000 bytes and should have 7"):
        download(PublishedFile("a", urls, size=7, md5=MD5), tmp_path)
    with pytest.raises(UnknotError, match=f"its sha256 is {SHA256} and should be 00"):
        download(PublishedFile("b", urls, sha256="00"), tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert download(PublishedFile("c", urls, len(CONTENT), sha256=SHA256), tmp_path).read_bytes() == CONTENT


def test_a_file_comes_by_https_without_a_checksum(safe_site: Site, tmp_path: Path) -> None:
    assert download(published(safe_site, "/file", md5=""), tmp_path).read_bytes() == CONTENT


def test_a_certificate_that_nobody_vouches_for_is_refused(safe_site: Site, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(UnknotError, match="CERTIFICATE_VERIFY_FAILED"):
        download(published(safe_site, "/file"), tmp_path)
    assert safe_site.asked == []


def test_http_without_a_checksum_is_refused_before_anything_is_asked(site: Site, tmp_path: Path) -> None:
    with pytest.raises(UnknotError, match=r"/file is not https, and no checksum is known"):
        download(PublishedFile("a", (f"{site.address}/file",), size=len(CONTENT)), tmp_path)
    assert site.asked == [] and list(tmp_path.iterdir()) == []


def test_a_redirect_from_https_to_http_is_refused(safe_site: Site, site: Site, tmp_path: Path) -> None:
    safe_site.elsewhere = f"{site.address}/file"
    with pytest.raises(UnknotError, match=rf"sends from https on to {site.address}/file; refused"):
        download(published(safe_site, "/moved"), tmp_path)
    assert site.asked == [] and list(tmp_path.iterdir()) == []


def test_redirects_that_stay_as_safe_or_become_safer_are_followed(
    safe_site: Site, site: Site, tmp_path: Path
) -> None:
    site.elsewhere = f"{safe_site.address}/moved"
    safe_site.elsewhere = f"{safe_site.address}/file"
    assert download(published(site, "/moved"), tmp_path).read_bytes() == CONTENT


def test_a_redirect_from_http_leads_to_the_web_only(site: Site, tmp_path: Path) -> None:
    site.elsewhere = "ftp://127.0.0.1/file"
    with pytest.raises(UnknotError, match=r"sends from http on to ftp://127\.0\.0\.1/file; refused"):
        download(published(site, "/moved"), tmp_path)


def test_too_small_a_disk_is_told_before_anything_is_fetched(site: Site, tmp_path: Path) -> None:
    with pytest.raises(UnknotError, match=r"are still to come, but .* free; choose another --data"):
        download(PublishedFile("a", (f"{site.address}/file",), size=10**18), tmp_path)
    assert site.asked == [] and list(tmp_path.iterdir()) == []


def test_a_file_without_address_is_the_users_to_bring(tmp_path: Path) -> None:
    with pytest.raises(UnknotError, match="no address is known; put the file into"):
        download(PublishedFile("a"), tmp_path)


def test_checksums_are_those_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(CONTENT)
    assert (checksum(tmp_path / "a", "md5"), checksum(tmp_path / "a", "sha256")) == (MD5, SHA256)
