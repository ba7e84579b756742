"""Sliders on latents in the browser: one page, served to this machine alone by the standard library.

The server listens on 127.0.0.1. It answers requests that name this machine (so that no other site can reach it by a
name of its own), come from its own page, and are what the page sends; it reads no file on anybody's behalf.
"""

import json
import math
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.reports.kit.page import Picture, part, render

HOST = "127.0.0.1"
NAMES = (HOST, "localhost")  # what a browser on this machine, or at the end of a tunnel to it, calls us
LARGEST = 1_000_000  # bytes of a request
FAR = 1e6  # as far from zero as a latent may be
Code = NDArray[np.floating[Any]]  # (k, d): one row, or one for each slot
Pixels = NDArray[np.floating[Any]]  # (h, w, c) or (h, w), in [0, 1]


@dataclass(frozen=True)
class Slider:
    """One latent.

    Attributes:
        index: its column in a code.
        name: what it is called.
        remark: how much it says.
        low: where its range begins.
        high: where its range ends.
        off: whether it says nothing.
        carries: the factors that it knows, if that was scored.
    """

    index: int
    name: str
    remark: str
    low: float
    high: float
    off: bool = False
    carries: str = ""


@dataclass(frozen=True)
class Seen:
    """An image, its code, and its factors in words."""

    picture: Pixels
    code: Code
    factors: Mapping[str, str]


@dataclass(frozen=True)
class Decoded:
    """The image of a code, and for each slot its picture and its mask."""

    picture: Pixels
    slots: Sequence[tuple[Pixels, Pixels]] = field(default_factory=tuple)


class Explored(Protocol):
    """What can be explored; `unknot.reports.explorer.drawing.ExploredRun` is."""

    title: str
    about: str
    sliders: Sequence[Slider]
    slots: int
    n_images: int
    draws: str

    def image(self, number: int) -> Seen:
        """An image by its number."""

    def decode(self, code: Code) -> Decoded:
        """The image of a code."""

    def draw(self, rng: np.random.Generator) -> Code:
        """A random code."""


Answer = Callable[[Mapping[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class Place:
    """A page, what it may do, and what it may ask: path -> answer."""

    page: bytes
    policy: str
    answers: Mapping[str, Answer]


class Explorer(ThreadingHTTPServer):
    """The server of one page. `with Explorer(run) as server: server.serve_forever()`."""

    daemon_threads = True  # a browser that keeps its connection does not keep us
    allow_reuse_address = os.name == "posix"  # elsewhere it would let two servers share a port

    def __init__(self, home: Place, port: int = 0) -> None:
        if not 0 <= port < 2**16:
            raise UnknotError(f"explore: port is {port}; expected 1 to 65535, or 0 for any that is free.")
        self.home = home
        self.lock = threading.Lock()  # one model, one question at a time
        try:
            super().__init__((HOST, port), _Handler)
        except OSError as error:
            raise UnknotError(
                f"explore: port {port} cannot be opened ({error.strerror or error}); choose another with --port, or "
                "leave it out for one that is free."
            ) from None

    def place(self, folder: str) -> Place | None:
        """The page at a path that ends in a slash; there is one."""
        return self.home if folder == "/" else None

    @property
    def address(self) -> str:
        """Of the page."""
        return f"http://{HOST}:{self.server_address[1]}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes away in the middle of an answer is no error."""


class _Handler(BaseHTTPRequestHandler):
    """Answers one browser."""

    server: Explorer
    protocol_version = "HTTP/1.1"  # sliders ask often: keep the connection
    server_version, sys_version = "Unknot", ""
    timeout = 60

    def do_GET(self) -> None:
        """A page, and nothing else."""
        if not self._for_us():
            self._say(403, f"This page is at {self.server.address} only.")
            return
        try:
            with self.server.lock:
                place = self.server.place(self.path)
        except UnknotError as error:  # of a run that cannot be explored
            self._say(404, str(error))
            return
        if place is None:
            self._say(404, "There is one page here: /")
        else:
            self._send(200, "text/html; charset=utf-8", place.page, place.policy)

    def do_POST(self) -> None:
        """What the page asks for."""
        folder, _, name = self.path.rpartition("/")
        if not self._for_us():
            self._refuse(403, f"Requests are answered from the page at {self.server.address} only.")
            return
        place = None
        with suppress(UnknotError), self.server.lock:
            place = self.server.place(f"{folder}/")
        if place is None or (answer := place.answers.get(f"/{name}")) is None:
            known = ", ".join((place or self.server.home).answers)
            self._refuse(404, f"Nothing is at this path; there are {known}.")
        elif self.headers.get_content_type() != "application/json":
            self._refuse(415, "Expected JSON.")
        elif not 0 < (length := _whole(self.headers.get("Content-Length"))) <= LARGEST:
            self._refuse(413, f"Expected a request of 1 to {LARGEST} bytes.")
        else:
            try:
                asked = _json(self.rfile.read(length))
                with self.server.lock:
                    answered = answer(asked)
            except UnknotError as error:
                self._say(400, json.dumps({"error": str(error)}), "application/json")
            except Exception as error:
                self._say(500, json.dumps({"error": f"{type(error).__name__}: {error}"}), "application/json")
            else:
                self._say(200, json.dumps(answered), "application/json")

    def _for_us(self) -> bool:
        """Whether a request names this machine, and comes from the page itself if it says where it comes from."""
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        try:
            ours = urlsplit(f"//{host}").hostname in NAMES
        except ValueError:
            return False
        return ours and origin in (None, f"http://{host}")

    def _refuse(self, status: int, text: str) -> None:
        """An answer to a request that is not looked at."""
        if 0 < (length := _whole(self.headers.get("Content-Length"))) <= LARGEST:
            self.rfile.read(length)  # a connection closed on what was sent may take the answer with it
        self.close_connection = True
        self._say(status, json.dumps({"error": text}), "application/json")

    def _say(self, status: int, text: str, kind: str = "text/plain; charset=utf-8") -> None:
        self._send(status, kind, text.encode())

    def _send(self, status: int, kind: str, body: bytes, policy: str = "default-src 'none'") -> None:
        self.send_response(status)
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(len(body))),
            ("Content-Security-Policy", policy),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cache-Control", "no-store"),
        ):
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is said of requests."""


def _decode(explored: Explored, asked: Mapping[str, Any]) -> dict[str, Any]:
    return _shown(explored, _code(explored, asked.get("code")))


def _image(explored: Explored, asked: Mapping[str, Any]) -> dict[str, Any]:
    number = asked.get("number")
    if type(number) is not int or not 0 <= number < explored.n_images:
        raise UnknotError(f"Image {number!r} is not there; expected a number from 0 to {explored.n_images - 1}.")
    seen = explored.image(number)
    return {
        **_shown(explored, seen.code),
        "number": number,
        "image": png(seen.picture),
        "factors": list(seen.factors.items()),
    }


def _draw(explored: Explored, asked: Mapping[str, Any]) -> dict[str, Any]:
    seed = asked.get("seed")
    if type(seed) is not int or not 0 <= seed < 2**53:
        raise UnknotError(f"The seed is {seed!r}; expected a whole number from 0 up.")
    return _shown(explored, explored.draw(np.random.default_rng(seed)))


ANSWERS = {"/decode": _decode, "/image": _image, "/draw": _draw}


def _shown(explored: Explored, code: Code) -> dict[str, Any]:
    """A code and what it looks like."""
    decoded = explored.decode(code)
    slots = [{"picture": png(picture), "mask": png(mask)} for picture, mask in decoded.slots]
    return {"code": np.asarray(code, dtype=np.float64).tolist(), "picture": png(decoded.picture), "slots": slots}


def _code(explored: Explored, sent: Any) -> Code:
    """A code from JSON: rows of finite numbers, as many as there are latents."""
    shape = (max(1, explored.slots), len(explored.sliders))
    rows = sent if isinstance(sent, list) else []
    fits = len(rows) == shape[0] and all(isinstance(row, list) and len(row) == shape[1] for row in rows)
    if not fits or not all(type(x) in (int, float) and abs(x) <= FAR for row in rows for x in row):
        raise UnknotError(f"The code does not fit; expected {shape[0]} row(s) of {shape[1]} numbers.")
    return np.array(rows, dtype=np.float64)


def _json(body: bytes) -> dict[str, Any]:
    def refuse(word: str) -> float:
        raise ValueError(word)

    try:
        asked = json.loads(body, parse_constant=refuse)
    except (ValueError, RecursionError):
        raise UnknotError("The request is not JSON.") from None
    if not isinstance(asked, dict):
        raise UnknotError("The request is no JSON object.")
    return asked


def _whole(text: str | None) -> int:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 10 else 0


def png(pixels: Pixels) -> str:
    """A picture as an address that needs no other request."""
    from PIL import Image

    levels = (np.clip(np.nan_to_num(pixels), 0, 1) * 255).round().astype(np.uint8)
    if levels.ndim == 3 and levels.shape[2] == 1:
        levels = levels[:, :, 0]
    return Picture.of(Image.fromarray(np.ascontiguousarray(levels)), "").source


def explored_place(explored: Explored) -> Place:
    """The page of sliders."""
    sliders = [asdict(slider) for slider in explored.sliders]
    if not all(math.isfinite(slider[end]) for slider in sliders for end in ("low", "high")):
        raise UnknotError("explore: the codes of this model are not finite; it cannot be explored.")
    known = {"sliders": sliders, "slots": explored.slots, "images": explored.n_images}
    answers = {path: partial(answer, explored) for path, answer in ANSWERS.items()}
    return made_place("explorer", answers, explored=explored, known=known)


def made_place(name: str, answers: Mapping[str, Answer], **values: Any) -> Place:
    """A page that may run its own script, ask this server, and show pictures that come with the answers.

    Args:
        name: of its template, script and style.
        answers: to what it asks.
        values: that the template names.
    """
    style = part("page.css") + part(f"{name}.css", __package__)
    html, permitted = render(name, "explore: the page", __package__, "asking.js", style=style, **values)
    policy = (
        "default-src 'none'; connect-src 'self'; img-src data:; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{permitted}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return Place(html.encode(), policy, answers)
