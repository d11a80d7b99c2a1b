"""A headless Chromium, controlled over the DevTools protocol; and a page of Amplify in it."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import ClientConnection, connect

FOLDER = Path(__file__).parents[1] / "browser"
ESBUILD = FOLDER / "node_modules/.bin/esbuild"
NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    "--headless=new",
    "--remote-debugging-port=0",
    "--ignore-certificate-errors",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
)


def find(package: Path = ESBUILD, name: str = "Amplify and esbuild") -> str:
    """Return the browser's command. If it or a file from npm is missing, skip the test, or fail it in CI."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    missing = []
    if found is None:
        missing.append("Chromium (Debian: apt-get install chromium)")
    if not package.exists():
        missing.append(f"{name} from npm (make setup-dev)")
    if missing:
        message = "the tests in a browser need " + " and ".join(missing)
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    assert found
    return found


def bundle(out: Path) -> str:
    """Return one script with the page's code and Amplify."""
    command = [
        str(ESBUILD),
        "page.js",
        "--bundle",
        "--format=iife",
        "--log-level=warning",
        f"--outfile={out}",
    ]
    subprocess.run(command, cwd=FOLDER, check=True)
    return out.read_text()


class Page:
    """The page; its script offers functions in `window.page`."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._last = 0

    def call(self, function: str, *arguments: Any) -> Any:
        """Call a function of the page's script; return its result."""
        values = ", ".join(json.dumps(argument) for argument in arguments)
        return self.evaluate(f"page.{function}({values})")

    def evaluate(self, expression: str) -> Any:
        """Evaluate an expression in the page; return its result."""
        result = self._command(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def until_heard(self, name: str, condition: str, seconds: float = 20) -> dict[str, Any]:
        """Wait until what a subscription has received meets a condition; return it."""
        start = time.monotonic()
        while True:
            heard: dict[str, Any] = self.call("heard", name)
            if eval(condition, heard):  # the condition is the test's own
                return {key: value for key, value in heard.items() if key != "__builtins__"}
            assert time.monotonic() - start < seconds, f"never {condition}: {heard}"
            time.sleep(0.02)

    def _command(self, method: str, **params: Any) -> dict[str, Any]:
        self._last += 1
        self._connection.send(json.dumps({"id": self._last, "method": method, "params": params}))
        while True:
            message = json.loads(self._connection.recv(timeout=60))
            if "id" not in message:
                self._notice(message)
            elif message["id"] == self._last:
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result

    def _notice(self, event: dict[str, Any]) -> None:
        """Take an event of the DevTools protocol."""


@contextmanager
def started(command: str, folder: Path) -> Iterator[str]:
    """Start the browser with an empty page; yield the address of its DevTools."""
    process = subprocess.Popen(
        [command, *_FLAGS, f"--user-data-dir={folder}", "about:blank"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        port_file = folder / "DevToolsActivePort"
        start = time.monotonic()
        while not port_file.exists() or not port_file.read_text().strip():
            assert process.poll() is None, "the browser ended"
            assert time.monotonic() - start < 60, "the browser did not start"
            time.sleep(0.02)
        yield f"http://127.0.0.1:{port_file.read_text().split()[0]}"
    finally:
        process.terminate()
        process.wait(timeout=30)


@contextmanager
def opened(command: str, script: str, folder: Path) -> Iterator[Page]:
    """Open the browser with an empty page and run a script in it."""
    with started(command, folder) as devtools:
        pages = httpx.get(f"{devtools}/json/list").json()
        (url,) = [page["webSocketDebuggerUrl"] for page in pages if page["type"] == "page"]
        with connect(url, max_size=None) as connection:
            page = Page(connection)
            page.evaluate(script)
            yield page
