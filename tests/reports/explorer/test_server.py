"""The page of sliders: what its server answers and refuses, and the page in a real browser."""

import base64
import http.client
import io
import json
import re
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from tests.reports.conftest import SPEC
from tests.reports.test_browser import NASTY, PATIENCE, PROGRAM, Chromium

from unknot.errors import UnknotError
from unknot.reports.explorer.drawing import ExploredRun
from unknot.reports.explorer.server import Code, Decoded, Explored, Explorer, Seen, Slider, explored_place
from unknot.reports.explorer.study import StudyExplorer, study_place
from unknot.runs.training import train
from unknot.studies.folder import StudyFolder


class Squares:
    """A model of two numbers a slot: nothing, and how bright its half of the picture is. Every name is hostile.

    The second of its slots is a copy of the first, the last is not.
    """

    title, about, draws = NASTY, NASTY, NASTY
    sliders = (Slider(1, NASTY, NASTY, -1, 1), Slider(0, "z0", "KL 0.00", -1, 1, off=True))
    n_images = 10

    def __init__(self, slots: int = 0) -> None:
        self.slots = slots

    def image(self, number: int) -> Seen:
        if number == 9:
            raise OSError("the disk is gone")
        code = np.full((max(1, self.slots), 2), number / 10)
        code[2:, 0] += 0.5
        return Seen(np.full((8, 8, 1), number / 10), code, {NASTY: NASTY, "number": str(number)})

    def decode(self, code: Code) -> Decoded:
        pictures = [np.full((8, 8, 3), row[1]) for row in code]
        slots = [(picture, np.eye(8)) for picture in pictures] if self.slots else []
        return Decoded(np.mean(pictures, axis=0), slots)

    def draw(self, rng: np.random.Generator) -> Code:
        return rng.uniform(2, 3, (max(1, self.slots), 2))


def _serve(explored: Explored) -> Iterator[Explorer]:
    explorer = Explorer(explored_place(explored))
    explorer.explored = explored  # for tests to ask what the page should show
    yield from _served(explorer)


def _served(explorer: Explorer) -> Iterator[Explorer]:
    with explorer as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def squares() -> Iterator[Explorer]:
    yield from _serve(Squares())


@pytest.fixture(scope="module")
def slots() -> Iterator[Explorer]:
    yield from _serve(Squares(slots=3))


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explorer]:
    """A trained run."""
    yield from _serve(ExploredRun(train(SPEC, tmp_path_factory.mktemp("explored"))))


def _ask(
    server: Explorer, path: str, question: Any = None, *, method: str = "POST", body: bytes = b"", **headers: str
) -> tuple[int, Any]:
    """Status and answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=PATIENCE)
    sent = {"Content-Type": "application/json"} | {name.replace("_", "-"): text for name, text in headers.items()}
    connection.request(method, path, body or json.dumps(question).encode(), sent)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, json.loads(text) if answer.headers["Content-Type"] == "application/json" else text


def _pixels(address: str) -> np.ndarray:
    assert address.startswith("data:image/png;base64,")
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2]))))


def test_a_code_is_answered_with_its_picture_and_an_image_with_its_code(
    squares: Explorer, slots: Explorer
) -> None:
    status, made = _ask(squares, "/decode", {"code": [[5, 0.4]]})
    assert status == 200
    assert made["code"] == [[5, 0.4]]
    assert (_pixels(made["picture"]) == 102).all()
    assert made["slots"] == []
    status, made = _ask(squares, "/image", {"number": 3})
    assert (status, made["number"], made["code"]) == (200, 3, [[0.3, 0.3]])
    assert made["factors"] == [[NASTY, NASTY], ["number", "3"]]
    assert _pixels(made["image"]).shape == (8, 8)
    first, again = (_ask(squares, "/draw", {"seed": 4})[1]["code"] for _ in range(2))
    assert first == again
    status, made = _ask(slots, "/decode", {"code": [[0, 0.2], [0, 0.4], [0, 0.6]]})
    assert status == 200
    assert [int(_pixels(slot["picture"]).max()) for slot in made["slots"]] == [51, 102, 153]
    assert (_pixels(made["slots"][2]["mask"]) == 255 * np.eye(8)).all()


@pytest.mark.parametrize(
    ("path", "question", "says"),
    [
        ("/decode", {}, "expected 1 row(s) of 2 numbers"),
        ("/decode", {"code": [[1]]}, "expected 1 row(s) of 2 numbers"),
        ("/decode", {"code": [[1, 2], [1, 2]]}, "expected 1 row(s) of 2 numbers"),
        ("/decode", {"code": [[1, "2"]]}, "expected 1 row(s)"),
        ("/decode", {"code": [[1, True]]}, "expected 1 row(s)"),
        ("/decode", {"code": [[1, 1e9]]}, "expected 1 row(s)"),
        ("/decode", {"code": "ab"}, "expected 1 row(s)"),
        ("/decode", [1], "no JSON object"),
        ("/image", {"number": 10}, "Image 10 is not there; expected a number from 0 to 9"),
        ("/image", {"number": -1}, "from 0 to 9"),
        ("/image", {"number": 1.0}, "from 0 to 9"),
        ("/image", {"number": "../../etc/passwd"}, "from 0 to 9"),
        ("/draw", {"seed": -1}, "from 0 up"),
    ],
)
def test_a_wrong_question_is_refused_in_words(squares: Explorer, path: str, question: Any, says: str) -> None:
    status, answer = _ask(squares, path, question)
    assert status == 400
    assert says in answer["error"]


def test_what_is_no_json_or_too_much_of_it_is_refused(squares: Explorer) -> None:
    for body in (b'{"code": [[NaN, 1]]}', b'{"code": [[1e999, 1]]}', b"{", b"\xff\xfe", b"[" * 100_000):
        assert _ask(squares, "/decode", body=body)[0] == 400
    for length in ("1000001", "-5"):  # refused by what is announced: nothing of it is read
        assert _ask(squares, "/decode", {"code": [[1, 2]]}, Content_Length=length)[0] == 413
    assert _ask(squares, "/decode", {"code": [[1, 2]]}, Content_Type="text/plain")[0] == 415
    status, answer = _ask(squares, "/image", {"number": 9})
    assert (status, answer["error"]) == (500, "OSError: the disk is gone")
    assert _ask(squares, "/decode", {"code": [[1, 2]]})[0] == 200, "none of it broke anything"


def test_other_sites_and_other_machines_are_kept_out(squares: Explorer) -> None:
    port = squares.server_address[1]
    for host in (
        f"127.0.0.1:{port}",
        f"localhost:{port}",
        "localhost:8000",
        "LOCALHOST",
    ):  # the latter by a tunnel
        assert _ask(squares, "/", method="GET", Host=host)[0] == 200
        assert _ask(squares, "/decode", {"code": [[0, 0]]}, Host=host, Origin=f"http://{host}")[0] == 200
    for host in (f"evil.example:{port}", "127.0.0.1.evil.example", "", "[::1", "127.0.0.1@evil.example"):
        assert _ask(squares, "/", method="GET", Host=host)[0] == 403
        assert _ask(squares, "/decode", {"code": [[0, 0]]}, Host=host)[0] == 403
    for origin in ("http://evil.example", "null", "http://localhost:1", f"https://127.0.0.1:{port}"):
        assert _ask(squares, "/decode", {"code": [[0, 0]]}, Origin=origin)[0] == 403
    assert squares.server_address[0] == "127.0.0.1"
    with socket.socket() as other:
        other.settimeout(2)
        assert other.connect_ex(("127.0.0.2", port)) != 0


def test_there_is_one_page_and_no_file(squares: Explorer) -> None:
    for path in ("/page.css", "/../explorer.py", "//etc/passwd", "/?x", "/decode", "/%2e%2e/x"):
        assert _ask(squares, path, method="GET")[0] == 404
    for path in ("/", "/nothing", "/decode/"):
        assert _ask(squares, path, {})[0] == 404
    assert _ask(squares, "/", method="DELETE")[0] == 501


def test_the_page_asks_for_nothing_elsewhere_and_names_are_escaped(squares: Explorer) -> None:
    page = _ask(squares, "/", method="GET")[1]
    assert "<script>alert(1)" not in page
    assert not re.search(r"<img src=x", page)
    assert not re.search(r"https?://", page)
    assert "default-src 'none'" in squares.home.policy


def test_a_port_that_is_taken_or_is_none_is_refused(squares: Explorer) -> None:
    port = squares.server_address[1]
    with pytest.raises(UnknotError, match=f"port {port} cannot be opened .*choose another with --port"):
        Explorer(squares.home, port)
    with pytest.raises(UnknotError, match="port is 70000; expected 1 to 65535"):
        Explorer(squares.home, 70_000)


@pytest.fixture(scope="module")
def runs(study: Path) -> Iterator[Explorer]:
    """The chart of a study."""
    yield from _served(StudyExplorer(StudyFolder(study)))


def test_a_study_shows_its_runs_their_traversals_and_the_sliders_of_each(runs: Explorer, trained: Path) -> None:
    page = _ask(runs, "/", method="GET")[1]
    known = json.loads(re.search(r'id="known">(.*?)</script>', page).group(1))
    assert (
        len(known["runs"]) == 19
        and {"words": "MIG", "column": "mig[bins=20]", "higher": True} in known["measures"]
    )
    assert _ask(runs, "/look", {"id": trained.name})[1]["picture"].startswith("data:image/png")
    for id_ in ("f" * 12, "../../etc", None):
        assert _ask(runs, "/look", {"id": id_}) == (200, {"picture": ""})
    status, page = _ask(runs, f"/run/{trained.name}/", method="GET")
    assert status == 200 and 'class="explorer"' in page
    assert re.search(r'"carries": "[^"]*"', page), "what each latent knows, from the scores"
    assert _ask(runs, f"/run/{trained.name}/decode", {"code": [[0.0] * 4]})[0] == 200
    assert _ask(runs, "/run/000000000012/", method="GET")[0] == 404
    assert _ask(runs, "/run/..%2f/decode", {"code": []})[0] == 404


def test_a_study_without_scores_is_refused(study: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(study, tmp_path / "study"))
    for table in ("scores", "ranks"):
        path = copy / "tables" / f"{table}.parquet"
        pd.read_parquet(path).head(0).to_parquet(path)
    with pytest.raises(UnknotError, match="has no scores yet; run `unknot study` first"):
        study_place(StudyFolder(copy))


if PROGRAM is not None:

    @pytest.fixture(scope="module")
    def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
        started = Chromium(tmp_path_factory.mktemp("explorer") / "profile")
        yield started
        started.close()

    def _until(browser: Chromium, condition: str) -> None:
        """Wait until something is true in the page."""
        end = time.monotonic() + PATIENCE
        while not browser.run(condition):
            assert time.monotonic() < end, f"never came true: {condition}"
            time.sleep(0.02)

    def _open(browser: Chromium, server: Explorer, *, width: int = 1200, dark: bool = False) -> None:
        browser.emulate(width=width, dark=dark)
        browser.call("Page.navigate", url="about:blank")
        browser.events.clear()
        browser.call("Page.navigate", url=server.address)
        _until(browser, "location.protocol === 'http:' && document.getElementById('decoded')?.naturalWidth > 0")

    def _move(browser: Chromium, which: int, value: float) -> None:
        slider = f"document.querySelectorAll('#sliders input')[{which}]"
        browser.run(f"{slider}.value = {value}; {slider}.dispatchEvent(new Event('input'))")

    def _press(browser: Chromium, button: str) -> None:
        browser.run(f"document.querySelector('{button}').click()")

    def _complaints(browser: Chromium, server: Explorer) -> list[str]:
        """As `Chromium.complaints`, but requests to the server are what the page is for."""
        return [said for said in browser.complaints() if not said.startswith(server.address)]

    PICTURE = "document.getElementById('decoded').src"

    def test_a_moved_slider_changes_the_picture_and_reset_brings_it_back(
        browser: Chromium, real: Explorer
    ) -> None:
        _open(browser, real)
        first = browser.run(PICTURE)
        values = "[...document.querySelectorAll('#sliders input')].map((input) => input.value)"
        before = browser.run(values)
        assert len(before) == 4
        for value in (-2.5, 0.5, 2.5):  # faster than answers come
            _move(browser, 0, value)
        _until(browser, f"{PICTURE} !== {json.dumps(first)}")
        moved = real.explored.image(0).code.copy()
        moved[0, real.explored.sliders[0].index] = 2.5
        expected = _ask(real, "/decode", {"code": moved.astype(float).tolist()})[1]["picture"]
        _until(browser, f"{PICTURE} === {json.dumps(expected)}")  # the last question is the one that counts
        assert browser.run("document.querySelector('.slider output').textContent") == "2.50"
        _press(browser, "#reset")
        _until(browser, f"{PICTURE} === {json.dumps(first)}")
        assert browser.run(values) == before
        assert _complaints(browser, real) == []

    def test_an_image_is_encoded_by_its_number_and_shows_its_factors(browser: Chromium, real: Explorer) -> None:
        _open(browser, real)
        browser.run("document.getElementById('number').value = 123456")
        _press(browser, "#choose [type=submit]")
        _until(browser, "document.getElementById('which').textContent === 'image 123,456'")
        seen = real.explored.image(123_456)
        rows = browser.run(
            "[...document.querySelectorAll('#factors tr')].map((r) => [...r.cells].map((c) => c.textContent))"
        )
        assert rows == [list(pair) for pair in seen.factors.items()]
        browser.run("document.getElementById('number').value = 999999999")
        _press(browser, "#choose [type=submit]")  # the browser itself says what is wrong
        assert browser.run("document.getElementById('number').validity.rangeOverflow")
        _press(browser, "#draw")
        _until(browser, "document.getElementById('original').hidden && document.getElementById('factors').hidden")
        assert _complaints(browser, real) == []

    def test_keys_move_a_slider_and_every_control_has_a_name(browser: Chromium, real: Explorer) -> None:
        _open(browser, real)
        first = browser.run(PICTURE)
        browser.run("document.querySelector('#sliders input').focus()")
        for _ in range(8):
            for kind in ("rawKeyDown", "keyUp"):
                key = {"key": "ArrowRight", "code": "ArrowRight", "windowsVirtualKeyCode": 39}
                browser.call("Input.dispatchKeyEvent", type=kind, **key)
        _until(browser, f"{PICTURE} !== {json.dumps(first)}")
        unnamed = (
            "[...document.querySelectorAll('input, button')].filter((control) =>"
            " !control.textContent.trim() && ![...control.labels].some((label) => label.textContent.trim())).length"
        )
        assert browser.run(unnamed) == 0
        assert browser.run("[...document.images].filter((picture) => !picture.alt).length") == 0

    def test_a_finger_sees_the_values_of_a_run_before_it_opens_its_sliders(
        browser: Chromium, runs: Explorer, trained: Path
    ) -> None:
        browser.emulate(width=390)
        browser.call("Page.navigate", url=runs.address)
        _until(browser, "document.querySelectorAll('.dot').length === 18")
        tap = (
            "(() => { const dot = [...document.querySelectorAll('.dot')].at(-1);"
            "dot.dispatchEvent(new PointerEvent('pointerenter', { pointerType: 'touch' }));"
            "dot.dispatchEvent(new MouseEvent('click')); })()"
        )
        browser.run(tap)
        said = browser.run("document.getElementById('which').textContent")
        assert re.search(r"seed 2 \(\w{12}\): MIG 0\.46, DCI 0\.\d+$", said), said
        assert browser.run("document.getElementById('status').textContent") != "The folder of this run is gone."
        browser.run(tap)
        _until(browser, "document.getElementById('status').textContent === 'The folder of this run is gone.'")

    @pytest.mark.parametrize("width", [390, 1200])
    @pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
    @pytest.mark.parametrize("name", ["squares", "slots", "real"])
    def test_the_page_fits_the_screen_and_complains_of_nothing(
        browser: Chromium, name: str, dark: bool, width: int, request: pytest.FixtureRequest
    ) -> None:
        server = request.getfixturevalue(name)
        _open(browser, server, width=width, dark=dark)
        assert _complaints(browser, server) == []
        assert browser.run("document.documentElement.scrollWidth") == width
        luminance = browser.run("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0]")
        assert luminance < 60 if dark else luminance > 200

    def test_a_code_beyond_a_slider_s_range_is_shown_as_it_is(browser: Chromium, squares: Explorer) -> None:
        _open(browser, squares)
        assert browser.run("document.querySelectorAll('.slider.off').length") == 1
        _press(browser, "#draw")  # of numbers above 2, where sliders end at 1
        _until(browser, "Number(document.querySelector('#sliders input').value) > 2")

    def test_a_slot_is_chosen_and_its_numbers_moved_with_those_of_its_copy(
        browser: Chromium, slots: Explorer
    ) -> None:
        _open(browser, slots)
        pictures = "[...document.querySelectorAll('.slots label')].map((label) => label.querySelector('img').src)"
        before = browser.run(pictures)
        assert len(set(before)) == 1
        _press(browser, 'input[name=slot][value="1"]')
        _move(browser, 0, 0.8)
        _until(browser, f"({pictures})[1] !== {json.dumps(before[1])}")
        after = browser.run(pictures)
        assert after[0] == after[1]
        assert after[2] == before[2]
        _press(browser, 'input[name=slot][value="2"]')
        assert browser.run("document.querySelector('#sliders input').value") == "0"

    def test_a_server_that_does_not_answer_is_spoken_of(browser: Chromium, squares: Explorer) -> None:
        _open(browser, squares)
        line = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        try:
            browser.call("Network.emulateNetworkConditions", offline=True, **line)
            _move(browser, 0, 0.5)
            _until(
                browser, "document.getElementById('status').textContent.includes('has the command been stopped?')"
            )
        finally:
            browser.call("Network.emulateNetworkConditions", offline=False, **line)
        _move(browser, 0, 0.6)
        _until(browser, "document.getElementById('status').textContent === ''")

    def test_the_axes_of_a_study_are_chosen_and_a_run_is_opened(
        browser: Chromium, runs: Explorer, trained: Path
    ) -> None:
        dots = "[...document.querySelectorAll('#chart .dot')]"
        browser.emulate(width=390, dark=True)
        browser.call("Page.navigate", url=runs.address)
        _until(browser, f"location.protocol === 'http:' && {dots}.length === 18")
        assert browser.run(f"new Set({dots}.map((dot) => getComputedStyle(dot).fill)).size") == 6, (
            "one each setting"
        )
        before = browser.run(f"{dots}.map((dot) => dot.getAttribute('cx')).join()")
        browser.run("const x = document.getElementById('x'); x.value = '3'; x.dispatchEvent(new Event('change'))")
        assert browser.run(f"{dots}.map((dot) => dot.getAttribute('cx')).join()") != before
        assert browser.run("document.documentElement.scrollWidth <= innerWidth")
        labels = browser.run("[...document.querySelectorAll('#chart .tick')].map((tick) => tick.textContent)")
        assert 4 <= len(labels) <= 10 and all(len(label.strip("−0.").replace(".", "")) <= 2 for label in labels)
        browser.run(f"{dots}[0].dispatchEvent(new Event('pointerenter'))")
        _until(browser, "document.getElementById('look').naturalWidth > 0")
        browser.run(f"{dots}[0].dispatchEvent(new Event('click'))")
        _until(browser, "document.getElementById('decoded')?.naturalWidth > 0")
        assert browser.run("location.pathname").startswith("/run/")
