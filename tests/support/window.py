"""A window of a headless Chromium that shows the console: what a person sees of it, and does in it."""

import base64
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from websockets.sync.client import connect

from tests.support.browser import FOLDER, Page

AXE = FOLDER / "node_modules/axe-core/axe.min.js"
DESKTOP = (1280, 900)
PHONE = (390, 844)
_KEYS = {"Enter": 13, "Tab": 9, "Escape": 27, " ": 32, "ArrowDown": 40, "ArrowRight": 39}
_SERIOUS = ("serious", "critical")


class Window(Page):
    """A window; `complaints` are the errors and warnings of its console."""

    complaints: list[str]

    def start(self) -> None:
        """Listen to the browser's console."""
        self.complaints = []
        for domain in ("Page", "Runtime", "Log"):
            self._command(f"{domain}.enable")

    def show(self, url: str) -> None:
        """Open an address."""
        self._command("Page.navigate", url=url)
        self.until("document.readyState === 'complete'")

    def look(self, *, dark: bool = False, size: tuple[int, int] = DESKTOP) -> None:
        """Set the color scheme and the window's size."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._command("Emulation.setEmulatedMedia", features=[scheme])
        phone = size == PHONE
        self._command(
            "Emulation.setDeviceMetricsOverride",
            width=size[0],
            height=size[1],
            deviceScaleFactor=2 if phone else 1,
            mobile=phone,
        )

    def until(self, condition: str, seconds: float = 20) -> None:
        """Wait until a JavaScript expression is true."""
        start = time.monotonic()
        while not self.evaluate(f"Boolean({condition})"):
            assert time.monotonic() - start < seconds, f"never {condition}: {self.text()!r}"
            time.sleep(0.02)

    def until_text(self, *texts: str, seconds: float = 20) -> None:
        """Wait until the page shows each text."""
        for text in texts:
            self.until(f"document.body.innerText.includes({json.dumps(text)})", seconds)

    def text(self) -> str:
        """Return the text that the page shows."""
        return str(self.evaluate("document.body.innerText"))

    def click(self, name: str, within: str = "body") -> None:
        """Wait for a button or link by its text or accessible name, and click it."""
        found = (
            f"[...document.querySelectorAll({json.dumps(within + ' :is(button, a, summary, [type=radio])')})]"
            f".find((each) => [each.textContent.trim(), each.ariaLabel].includes({json.dumps(name)}) "
            "&& !each.disabled)"
        )
        self.until(f"Boolean({found})")
        self.evaluate(f"{found}.click()")

    def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        for key in keys:
            code = {"key": key, "code": key, "windowsVirtualKeyCode": _KEYS[key]}
            text = {"Enter": {"text": "\r"}, " ": {"text": " "}}.get(key, {})
            self._command("Input.dispatchKeyEvent", type="keyDown", **code, **text)
            self._command("Input.dispatchKeyEvent", type="keyUp", **code)

    def type(self, text: str) -> None:
        """Type text into what has the focus."""
        self._command("Input.insertText", text=text)

    def tab_to(self, name: str) -> None:
        """Press Tab until a control with this label, text or name has the focus."""
        script = (
            "(() => { const at = document.activeElement; "
            "return [at.labels?.[0]?.textContent, at.textContent, at.ariaLabel]"
            ".some((each) => each?.trim().startsWith(" + json.dumps(name) + ")); })()"
        )
        for _ in range(100):
            self.press("Tab")
            if self.evaluate(f"document.activeElement !== document.body && {script}"):
                return
        raise AssertionError(f"Tab never reaches {name!r}")

    def accessibility_faults(self) -> list[str]:
        """Return what axe-core finds serious or critical."""
        self.evaluate(AXE.read_text() + "; undefined")
        result = self.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        return [
            f"{fault['id']}: {node['html']} {node['failureSummary']}"
            for fault in result
            if fault["impact"] in _SERIOUS
            for node in fault["nodes"]
        ]

    def picture(self, path: Path) -> None:
        """Write what the window shows as a PNG."""
        image = self._command("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(image))

    def _notice(self, event: dict[str, Any]) -> None:
        params = event.get("params", {})
        match event["method"]:
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "warning"):
                self.complaints.append(str([each.get("value") for each in params["args"]]))
            case "Runtime.exceptionThrown":
                self.complaints.append(json.dumps(params["exceptionDetails"])[:1000])
            case "Log.entryAdded" if params["entry"]["level"] in ("error", "warning"):
                self.complaints.append(f"{params['entry']['text']} {params['entry'].get('url')}")


@contextmanager
def window(devtools: str) -> Iterator[Window]:
    """Open another window of a browser that is started."""
    opened = httpx.put(f"{devtools}/json/new?about:blank").json()
    with connect(opened["webSocketDebuggerUrl"], max_size=None, max_queue=None) as connection:
        shown = Window(connection)
        shown.start()
        shown.look()
        yield shown
        httpx.get(f"{devtools}/json/close/{opened['id']}")  # so that it asks the server for nothing more
