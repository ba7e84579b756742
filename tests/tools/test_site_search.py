"""The search of the site that `make docs` has built, by its index and in a real browser."""

import json
import os
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.reports.test_browser import PATIENCE, PROGRAM, Chromium
from tools.requirements import ROOT

SITE = Path(os.environ.get("UNKNOT_SITE", ROOT / "site"))

pytestmark = pytest.mark.skipif(not (SITE / "index.html").is_file(), reason="make docs builds the site")


class Silent(SimpleHTTPRequestHandler):
    """The files of a folder, without a word about requests."""

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_the_index_knows_the_words_of_guides_metrics_and_notebooks() -> None:
    (path,) = SITE.rglob("search_index.json")
    texts = {entry["location"]: entry["text"] for entry in json.loads(path.read_text(encoding="utf-8"))["docs"]}
    for page, word in (("all_metrics", "mutual"), ("notebooks", "unknot.compare"), ("explore", "histogram")):
        assert any(word in text for place, text in texts.items() if place.startswith(page)), page


if PROGRAM is not None:

    def test_a_word_typed_into_the_search_finds_its_page(tmp_path: Path) -> None:
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=str(SITE)))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        browser = Chromium(tmp_path / "profile")
        address = f"http://127.0.0.1:{server.server_address[1]}/"
        try:
            browser.call("Page.navigate", url=address)
            end = time.monotonic() + PATIENCE
            while not browser.run("document.querySelector('[data-md-component=search-query]') !== null"):
                assert time.monotonic() < end
                time.sleep(0.1)
            results = "[...document.querySelectorAll('.md-search-result__link')].map((link) => link.href)"
            while not any("explore" in link for link in browser.run(results)):
                assert time.monotonic() < end, browser.run(results)
                browser.run(
                    "(() => { const query = document.querySelector('[data-md-component=search-query]'); query.focus();"
                    "query.value = 'histogram sliders'; query.dispatchEvent(new Event('keyup', { bubbles: true }));"
                    "query.dispatchEvent(new Event('input', { bubbles: true })) })()"
                )
                time.sleep(0.5)
            asked = [said for said in browser.complaints() if said.startswith("http")]
            assert all(said.startswith(address) for said in asked), "nothing is fetched from elsewhere"
        finally:
            browser.close()
            server.shutdown()
            server.server_close()
            thread.join()
