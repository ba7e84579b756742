"""Chromium without a window, driven through its debugging pipe with the standard library alone."""

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import time
from pathlib import Path
from typing import Any

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
    *("--disable-extensions", "--disable-default-apps", "--remote-debugging-pipe"),
)
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
        try:
            os.killpg(self._child, signal.SIGKILL)
        except ProcessLookupError:
            pass
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
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", media=media, features=scheme)

    def screenshot(self, path: Path, *, clip: dict[str, float] | None = None) -> Path:
        """The whole page as a picture, or a part of it."""
        more = {"clip": clip | {"scale": 1}} if clip else {}
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True, **more)["data"]
        path.write_bytes(base64.b64decode(data))
        return path

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
