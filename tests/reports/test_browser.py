"""The pages in a real browser, driven through its debugging pipe with the standard library alone.

Where Chromium is not installed these tests cannot run; the pages are then checked as text, by a test that says so.
"""

import base64
import csv
import fcntl
import io
import json
import os
import select
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import unknot
from unknot.reports.kit.page import Grid, Line, LineChart, Section, write_page
from unknot.reports.run_page import write_run_page
from unknot.reports.score_page import write_score_page
from unknot.reports.study_page import write_study_page
from unknot.reports.task_page import write_task_page
from unknot.runs.run import Run
from unknot.scoring.record import scorecard_record
from unknot.tasks import TaskResult
from unknot.tasks.kept_results import keep_result

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *(
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-dev-shm-usage",
    ),
    *("--disable-extensions", "--disable-default-apps", "--remote-debugging-pipe"),
)
NASTY = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(2)>"
LONG = "gaussian_wasserstein_correlation_norm"
PATIENCE = 60  # seconds until a browser that does not answer is given up


class Chromium:
    """One browser with one tab."""

    def __init__(self, profile: Path) -> None:
        to_child, self._write = os.pipe()
        self._read, from_child = os.pipe()
        # the browser reads from descriptor 3 and writes to 4; ours are moved out of the way first
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_child, from_child)]
        log = os.open(profile.with_suffix(".log"), os.O_WRONLY | os.O_CREAT)
        actions = [(os.POSIX_SPAWN_DUP2, ends[0], 3), (os.POSIX_SPAWN_DUP2, ends[1], 4)]
        actions += [(os.POSIX_SPAWN_DUP2, log, 1), (os.POSIX_SPAWN_DUP2, log, 2)]
        command = [str(PROGRAM), *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self._child = os.posix_spawn(command[0], command, os.environ, file_actions=actions, setpgroup=0)
        for end in (to_child, from_child, log, *ends):
            os.close(end)
        self._rest, self._number, self._session = b"", 0, ""
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        """End this browser and what it started."""
        os.close(self._write)
        os.close(self._read)
        with suppress(ProcessLookupError):
            os.killpg(self._child, signal.SIGKILL)
        os.waitpid(self._child, 0)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Ask the browser for something, and wait for its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, page: Path, fragment: str = "") -> None:
        """Load a page and wait until it is there."""
        self.call("Page.navigate", url="about:blank")
        self.events.clear()
        self.call("Page.navigate", url=page.resolve().as_uri() + fragment)
        while self.run("document.readyState") != "complete" or self.run("location.protocol") != "file:":
            time.sleep(0.05)

    def run(self, script: str) -> Any:
        """The value of an expression in the page; a promise is waited for."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def emulate(self, *, width: int = 1200, dark: bool = False, media: str = "") -> None:
        """Be a screen of another width, in the dark, or paper."""
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        self.call("Emulation.setEmulatedMedia", media=media, features=scheme)

    def printed(self) -> bytes:
        """The page as PDF."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"])

    def complaints(self) -> list[str]:
        """What went to the console, what was thrown, and every request for anything but files and data."""
        self.run("0")  # what happened before this has been told by now
        found = []
        for event in self.events:
            what, details = event.get("method"), event.get("params", {})
            if what in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"):
                found.append(json.dumps(details))
            elif what == "Network.requestWillBeSent":
                url = details["request"]["url"]
                if not url.startswith(("file:", "data:", "about:", "blob:")):
                    found.append(url)
        return found

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            if not select.select([self._read], [], [], PATIENCE)[0]:
                raise TimeoutError("Chromium does not answer.")
            more = os.read(self._read, 1 << 20)
            if not more:
                raise RuntimeError("Chromium has gone.")
            self._rest += more
        message, self._rest = self._rest.split(b"\0", 1)
        answer: dict[str, Any] = json.loads(message)
        return answer


@pytest.fixture(scope="module")
def pages(
    study: Path, trained: Path, task_results: dict[str, TaskResult], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """A page of each kind, some with hostile names."""
    folder = tmp_path_factory.mktemp("pages")
    hostile = Path(shutil.copytree(study, folder / "hostile"))
    for name, columns in (("runs", ("model", "setting", "world", "error")), ("scores", ("measures",))):
        path = hostile / "tables" / f"{name}.parquet"
        pd.read_parquet(path).assign(**dict.fromkeys(columns, NASTY)).to_parquet(path)
    table = Grid(("name", "value"), [[NASTY, 1.5], ["=1+1", None], ['a, "b"', -2], ["Zoë", 10]], name=NASTY)
    run = Path(shutil.copytree(trained, folder / "run"))
    for result in task_results.values():
        keep_result(Run(run), result)
    keep_result(
        Run(run), replace(task_results["fairness"], settings=task_results["fairness"].settings | {"seed": 1})
    )
    (run / "tasks" / "by_hand" / "damaged.json").write_text("{")
    named = [replace(result, source=NASTY, world=NASTY, notes=[NASTY]) for result in task_results.values()]
    card = unknot.score(
        unknot.read_representation("example"), metrics=["linear_accuracy", "jemmig", LONG], limit=600
    )
    return {
        "scores": write_score_page(folder / "scores.html", scorecard_record(card), ["example"]),
        "study": write_study_page(folder / "study.html", study),
        "run": write_run_page(folder / "run.html", trained),
        "tasks": write_run_page(folder / "tasks.html", run),
        "hostile tasks": write_task_page(folder / "hostile_tasks.html", named),
        "hostile": write_study_page(folder / "hostile.html", hostile),
        "table": write_page(folder / "table.html", NASTY, NASTY, [Section(NASTY, contents=[table, _chart()])]),
    }


def _chart() -> LineChart:
    """Two lines, one of them with a hostile name and a gap, and a panel of a single point."""
    steps = list(range(0, 1000, 100))
    lines = [Line("up", "a", steps, steps), Line(NASTY, NASTY, steps, [float("nan"), *reversed(steps[1:])])]
    return LineChart(NASTY, {"loss": lines, NASTY: [Line("alone", "a", [5], [0.5])]}, NASTY)


class Parts(HTMLParser):
    """Scripts, pictures' addresses, and names of tables."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


if PROGRAM is None:

    def test_chromium_is_not_installed_so_pages_are_checked_as_text_only(pages: dict[str, Path]) -> None:
        for page in pages.values():
            found = Parts(page.read_text(encoding="utf-8")).found
            assert [tag for tag, _ in found].count("script") == 1
            assert not [name for _, attributes in found for name in attributes if name.startswith("on")]
            assert all(
                str(attributes["src"]).startswith("data:image/") for tag, attributes in found if tag == "img"
            )
            assert [attributes for tag, attributes in found if tag == "table" and attributes.get("data-name")]

else:

    @pytest.fixture(scope="module")
    def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
        """A browser with a new, empty profile."""
        started = Chromium(tmp_path_factory.mktemp("chromium") / "profile")
        yield started
        started.close()

    def _column(browser: Chromium, table: str, column: int) -> list[str]:
        """What a column shows, of the rows that are not hidden."""
        cells = f"tr:not([hidden]) > td:nth-child({column})"
        query = json.dumps(f'table[data-name="{table}"] tbody {cells}')
        return browser.run(f"[...document.querySelectorAll({query})].map((cell) => cell.textContent)")

    def _press(browser: Chromium, table: str, column: int) -> None:
        query = json.dumps(f'table[data-name="{table}"] th:nth-child({column}) button')
        browser.run(f"document.querySelector({query}).click()")

    @pytest.mark.parametrize("width", [390, 1200])
    @pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
    @pytest.mark.parametrize("name", ["study", "run", "tasks", "hostile tasks", "hostile", "table"])
    def test_a_page_loads_without_a_complaint_and_fits_the_screen(
        browser: Chromium, pages: dict[str, Path], name: str, dark: bool, width: int
    ) -> None:
        browser.emulate(width=width, dark=dark)
        browser.open(pages[name])
        assert browser.complaints() == []
        assert browser.run("document.documentElement.scrollWidth") == width
        luminance = browser.run("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0]")
        assert luminance < 60 if dark else luminance > 200
        assert browser.run("[...document.images].filter((picture) => !picture.naturalWidth).length") == 0

    def test_the_page_of_a_run_shows_every_task_and_unfolds_each_of_several_results(
        browser: Chromium, pages: dict[str, Path], task_results: dict[str, TaskResult]
    ) -> None:
        browser.emulate()
        browser.open(pages["tasks"], "#task--fairness-2")
        titles = browser.run("[...document.querySelectorAll('h2')].map((title) => title.textContent)")
        assert [title for title in titles if title.startswith("Task: ")] == [
            f"Task: {name}" for name in task_results
        ]
        drawn = "section[id='task--%s']"
        for name in task_results:
            charts = json.dumps(f"{drawn % name} svg")
            assert browser.run(f"document.querySelectorAll({charts}).length") > 0
        folded = browser.run(
            "[...document.querySelectorAll('#task--fairness > details')].map((part) => part.open)"
        )
        assert folded == [False, True]
        names = browser.run("[...document.querySelectorAll('table')].map((table) => table.dataset.name)")
        assert len(set(names)) == len(names)
        anchors = browser.run("[...document.querySelectorAll('[id]')].map((one) => one.id)")
        assert len(set(anchors)) == len(anchors)
        assert browser.complaints() == []

    def test_a_script_that_is_not_the_page_s_own_is_kept_from_running_and_complained_about(
        browser: Chromium, pages: dict[str, Path], tmp_path: Path
    ) -> None:
        html = pages["table"].read_text(encoding="utf-8")
        (tmp_path / "page.html").write_text(html.replace("</body>", "<script>window.ran = 1</script></body>"))
        browser.open(tmp_path / "page.html")
        assert browser.run("window.ran") is None
        (complaint,) = browser.complaints()
        assert "Content Security Policy" in complaint

    def test_a_press_on_a_head_sorts_and_another_turns_it_round(browser: Chromium, pages: dict[str, Path]) -> None:
        browser.open(pages["study"])
        mig = 1 + browser.run(
            "[...document.querySelectorAll('table[data-name=leaderboard] th')]"
            ".findIndex((head) => head.textContent.startsWith('MIG'))"
        )
        assert mig > 1
        for sign in (-1, 1):
            _press(browser, "leaderboard", mig)
            *numbers, last = _column(browser, "leaderboard", mig)
            assert last == "–"  # the failed run has no score, and stays last in either direction
            values = [float(number) for number in numbers]
            assert len(values) == 18
            assert values == sorted(values, reverse=sign < 0)
            assert f"sort={sign * mig}" in browser.run("location.hash")
        assert browser.complaints() == []

    def test_curves_of_several_runs_are_in_one_chart_with_values_a_legend_and_zoom(
        browser: Chromium, pages: dict[str, Path]
    ) -> None:
        browser.emulate()
        browser.open(pages["table"])
        lines = "[...document.querySelectorAll('svg.lines .line')].map((line) => line.getAttribute('d'))"
        before = browser.run(lines)
        assert len(before) == 2 and before[1].count("L") == 8
        browser.run(
            "(() => { const chart = document.querySelector('svg.lines'), box = chart.getBoundingClientRect();"
            "chart.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + box.width * 730 / 760,"
            " clientY: box.top + 20 })) })()"
        )
        assert browser.run("document.querySelector('.line-chart .value').textContent") == "up: 900 at step 900"
        for press, changed in (("zoom in", True), ("all steps", False)):
            browser.run(f"document.querySelector('.line-chart [title^=\"{press}\"]').click()")
            assert (browser.run(lines) != before) is changed
        browser.run("document.querySelector('.legend button').click()")
        assert len(browser.run(lines)) == 1, "a press in the legend hides a group"
        keys = browser.run("[...document.querySelectorAll('.legend button')].map((key) => key.textContent)")
        assert keys == ["a", NASTY]
        browser.open(pages["study"])
        panels = browser.run("[...document.querySelectorAll('.line-chart option')].map((o) => o.textContent)")
        assert "loss" in panels and len(panels) > 1
        assert browser.run("document.querySelectorAll('svg.lines circle').length") == 2, "runs of a single point"
        assert browser.complaints() == []

    def test_a_phone_shows_what_matters_of_the_leaderboard_and_the_rest_when_asked(
        browser: Chromium, pages: dict[str, Path]
    ) -> None:
        browser.emulate(width=390)
        browser.open(pages["study"])
        table = "document.querySelector('#leaderboard .scroll')"
        wide = f"{table}.scrollWidth > {table}.clientWidth"
        heads = (
            "[...document.querySelectorAll('#leaderboard th')].filter((head) => head.offsetWidth)"
            ".map((head) => head.textContent)"
        )
        assert browser.run(heads)[:4] == ["run", "setting", "seed", "mean place"] and "MIG" in browser.run(heads)
        assert browser.run(wide) is False, browser.run(f"[{table}.scrollWidth, {table}.clientWidth]")
        browser.run("document.querySelector('#leaderboard .all-columns').click()")
        assert browser.run(wide) is True and "status" in browser.run(heads)
        browser.emulate()

    def test_a_phone_shows_the_scores_of_settings_and_of_rankings(
        browser: Chromium, pages: dict[str, Path]
    ) -> None:
        browser.emulate(width=390)
        browser.open(pages["study"])
        for name in ("settings", "best by d", "ranking", "study"):
            table = f"document.querySelector('table[data-name=\"{name}\"]').parentElement"
            assert browser.run(f"[{table}.scrollWidth, {table}.clientWidth]") == [358, 358], name
        browser.emulate()

    def test_options_of_commands_are_not_broken_after_their_hyphens(
        browser: Chromium, pages: dict[str, Path]
    ) -> None:
        browser.emulate(width=390)
        browser.open(pages["study"])
        options = "[...document.querySelectorAll('.command .option')].filter((one) => one.offsetWidth)"
        assert browser.run(f"{options}.length") > 0
        assert browser.run(f"Math.max(...{options}.map((one) => one.getClientRects().length))") == 1
        assert browser.run("document.querySelector('#leaderboard .command code').textContent").endswith(
            "latents.npz --metrics METRIC"
        )
        browser.emulate()

    def test_a_phone_shows_every_score_with_its_chance(browser: Chromium, pages: dict[str, Path]) -> None:
        browser.emulate(width=390)
        browser.open(pages["scores"])
        assert browser.run("document.querySelectorAll('table[data-name=scores] td.number').length") > 2
        for name in ("scores", "alignment"):
            cells = f"[...document.querySelectorAll('table[data-name={name}] td.number')]"
            ends = f"{cells}.map((cell) => cell.getBoundingClientRect()).filter((box) => box.width)"
            assert browser.run(f"Math.max(...{ends}.map((box) => box.right))") <= 390
        browser.emulate()

    def test_words_filter_rows_and_the_address_remembers_them(browser: Chromium, pages: dict[str, Path]) -> None:
        browser.open(pages["study"])
        browser.run(
            "(() => { const input = document.querySelector('#leaderboard input');"
            "input.value = 'GAMMA 16'; input.dispatchEvent(new Event('input')); })()"
        )
        assert _column(browser, "leaderboard", 3) == ["gamma 16"] * 4
        assert browser.run("document.querySelector('#leaderboard .tools span').textContent") == "4 of 19 rows"
        assert browser.run("location.hash") == "#table=leaderboard&filter=GAMMA+16"

    def test_a_link_opens_a_table_sorted_and_filtered(browser: Chromium, pages: dict[str, Path]) -> None:
        browser.open(pages["study"], "#table=leaderboard&sort=-4&filter=gamma+16")
        assert _column(browser, "leaderboard", 4) == ["9", "2", "1", "0"]
        assert browser.complaints() == []
        browser.open(pages["study"], "#table=nothing&sort=x&filter=%")  # a link of another page does no harm
        assert browser.complaints() == []

    def test_a_link_to_a_folded_run_unfolds_it(browser: Chromium, pages: dict[str, Path]) -> None:
        browser.open(pages["study"])
        last = browser.run("[...document.querySelectorAll('details[id^=run-]')].at(-1).id")
        assert browser.run(f"document.getElementById('{last}').open") is False
        browser.run(f"document.querySelector('#leaderboard a[href=\"#{last}\"]').click()")
        assert browser.run(
            f"new Promise((done) => setTimeout(() => done(document.getElementById('{last}').open)))"
        )

    def test_a_table_is_saved_as_csv_with_all_digits_and_no_formulas(
        browser: Chromium, pages: dict[str, Path]
    ) -> None:
        browser.open(pages["table"])
        browser.run("URL.createObjectURL = (blob) => { window.saved = blob; return '#'; }")
        browser.run("document.querySelector('.tools button').click()")
        rows = list(csv.reader(io.StringIO(browser.run("window.saved.text()"), newline="")))
        assert rows == [["name", "value"], [NASTY, "1.5"], ["'=1+1", ""], ['a, "b"', "-2"], ["Zoë", "10"]]

    def test_the_saved_leaderboard_holds_the_numbers_of_the_study(
        browser: Chromium, pages: dict[str, Path], study: Path
    ) -> None:
        browser.open(pages["study"])
        browser.run("URL.createObjectURL = (blob) => { window.saved = blob; return '#'; }")
        browser.run("document.querySelector('#leaderboard .tools button').click()")
        saved = pd.read_csv(io.StringIO(browser.run("window.saved.text()"))).set_index("run")
        scores = pd.read_parquet(study / "tables" / "scores.parquet")
        for row in scores[(scores["metric"] == "dci[gbt]") & (scores["part"] == "")].itertuples():
            assert saved.loc[row.id, "dci[gbt]"] == row.value

    def test_a_page_prints_light_and_with_all_its_parts(browser: Chromium, pages: dict[str, Path]) -> None:
        browser.emulate(dark=True, media="print")
        browser.open(pages["study"])
        assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert browser.run("getComputedStyle(document.querySelector('.tools')).display") == "none"
        browser.run("window.dispatchEvent(new Event('beforeprint'))")
        assert browser.run("document.querySelectorAll('details:not([open])').length") == 0
        browser.run("window.dispatchEvent(new Event('afterprint'))")
        assert browser.run("document.querySelectorAll('details:not([open])').length") > 0
        browser.emulate()
        pdf = browser.printed()
        assert pdf.startswith(b"%PDF")
        assert 4 <= pdf.count(b"/Type /Page\n") <= 30
        assert browser.complaints() == []
