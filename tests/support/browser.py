"""A headless Chromium, driven by the DevTools protocol over two pipes: no port, no library.

A message is a line of JSON that ends in a NUL byte (chromium --remote-debugging-pipe: it reads
from descriptor 3 and writes to 4).
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium")
DEADLINE_S = 60.0
_SWITCHES = (
    *("--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--hide-scrollbars"),
    *("--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


class Browser:
    """One tab. `events` are those that have come so far: (method, parameters)."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, from_browser
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[tuple[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> Any:
        """The result of a command. Raises AssertionError where it fails."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        self._write(json.dumps(message).encode() + b"\0")
        deadline_s = time.monotonic() + DEADLINE_S
        while True:
            found = self._next(deadline_s)
            if "method" in found:
                self.events.append((found["method"], found["params"]))
            elif found["id"] == self._number:
                assert "error" not in found, (method, found["error"])
                return found["result"]

    def evaluate(self, expression: str) -> Any:
        """The value of JavaScript, awaited if it is a promise."""
        done = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def wait_for(self, condition: str) -> None:
        """Wait until the JavaScript is true; evaluating it also takes in what events there are."""
        deadline_s = time.monotonic() + DEADLINE_S
        while not self.evaluate(condition):
            assert time.monotonic() < deadline_s, f"{condition}: {self.complaints()}"
            time.sleep(0.02)

    def open(self, path: Path, width: int, height: int, scheme: str = "light") -> None:
        """Open a file in a window of this size, for a reader who prefers the colour scheme."""
        self.events.clear()
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=features)
        self.call("Page.navigate", url=path.as_uri())
        self.wait_for(f"location.href === {json.dumps(path.as_uri())}")

    def complaints(self) -> list[Any]:
        """Every message on the console, uncaught error and violated policy."""
        kinds = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [parameters for method, parameters in self.events if method in kinds]

    def requests(self) -> list[str]:
        """The addresses of all that was asked for."""
        name = "Network.requestWillBeSent"
        return [found["request"]["url"] for method, found in self.events if method == name]

    def _write(self, message: bytes) -> None:
        while message:
            message = message[os.write(self._to, message) :]

    def _next(self, deadline_s: float) -> Any:
        while b"\0" not in self._buffer:
            left_s = deadline_s - time.monotonic()
            ready, _, _ = select.select([self._from], [], [], max(0, left_s))
            assert ready, "the browser does not answer"
            read = os.read(self._from, 1 << 16)
            assert read, "the browser has ended"
            self._buffer += read
        line, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(line)


@contextmanager
def browsing(profile: Path) -> Iterator[Browser]:
    """A browser with an empty profile, which has ended after the block."""
    assert CHROMIUM is not None, "chromium is missing: apt-get install chromium"
    with ExitStack() as ends:
        commands, to_browser = _pipe(ends)
        from_browser, answers = _pipe(ends)
        process = subprocess.Popen(
            [
                *("bash", "-c", f'exec "$@" 3<&{commands} 4>&{answers}', "bash"),
                *(CHROMIUM, *_SWITCHES, f"--user-data-dir={profile}"),
            ],
            pass_fds=(commands, answers),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            yield Browser(to_browser, from_browser)
        finally:
            # All its processes are in a session of their own.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _pipe(ends: ExitStack) -> tuple[int, int]:
    """Both ends of a pipe, with numbers above those that the browser wants."""
    low = os.pipe()
    read, write = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in low)
    for end in low:
        os.close(end)
    for end in (read, write):
        ends.callback(os.close, end)
    return read, write
