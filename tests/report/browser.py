"""A real browser for tests: Chromium without a window, spoken to over its DevTools pipe.

The protocol is JSON with a zero byte after each message; the browser reads it from its file
descriptor 3 and answers on 4, so nothing listens on a port and no driver is needed.
"""

import base64
import contextlib
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--no-default-browser-check",
    "--remote-debugging-pipe",
)
# The parent's ends of the pipes may have any numbers; the browser wants 3 and 4.
LAUNCHER = """
import fcntl, os, sys
reading, writing = (fcntl.fcntl(int(n), fcntl.F_DUPFD, 20) for n in sys.argv[1:3])
os.dup2(reading, 3)
os.dup2(writing, 4)
os.close(reading)
os.close(writing)
os.execv(sys.argv[3], sys.argv[3:])
"""
KEYS = {
    "Tab": 9,
    "Enter": 13,
    "End": 35,
    "Home": 36,
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowRight": 39,
    "ArrowDown": 40,
}


def executable() -> str | None:
    """Return the path of a browser, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One tab. `messages`, `exceptions`, `requests` and `dialogs` begin anew with each page."""

    def __init__(self, path: str, *, timeout: float = 30.0) -> None:
        self.path = path
        self.timeout = timeout
        self.forget()

    def forget(self) -> None:
        self.messages: list[str] = []
        self.exceptions: list[str] = []
        self.requests: list[str] = []
        self.dialogs: list[str] = []

    def __enter__(self) -> "Browser":
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        theirs_in, self.outgoing = os.pipe()
        self.incoming, theirs_out = os.pipe()
        command = [sys.executable, "-c", LAUNCHER, str(theirs_in), str(theirs_out), self.path]
        self.process = subprocess.Popen(
            [*command, *OPTIONS, f"--user-data-dir={self.profile.name}", "about:blank"],
            pass_fds=(theirs_in, theirs_out),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self.count = 0
        self.session = ""
        self.arrived: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        try:
            self._attach()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        # The browser's helpers are in the session that was started for it, and nothing else is.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(self.timeout)
        os.close(self.outgoing)
        self.reader.join(self.timeout)
        os.close(self.incoming)
        self.profile.cleanup()

    def _attach(self) -> None:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def _read(self) -> None:
        rest = b""
        while chunk := os.read(self.incoming, 1 << 16):
            *whole, rest = (rest + chunk).split(b"\0")
            for text in whole:
                self.arrived.put(json.loads(text))
        self.arrived.put(None)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result."""
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        text = json.dumps(message).encode() + b"\0"
        while text:
            text = text[os.write(self.outgoing, text) :]
        answer = self._until(lambda found: found.get("id") == self.count, method)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def _until(self, wanted: Any, waiting_for: str) -> dict[str, Any]:
        end = time.monotonic() + self.timeout
        while True:
            try:
                found = self.arrived.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                raise TimeoutError(f"The browser did not answer {waiting_for}.") from None
            if found is None:
                raise RuntimeError(f"The browser ended during {waiting_for}.")
            self._note(found)
            if wanted(found):
                return found

    def _note(self, found: dict[str, Any]) -> None:
        about = found.get("params", {})
        match found.get("method"):
            case "Runtime.consoleAPICalled":
                self.messages.append(f"{about['type']}: {about['args']}")
            case "Log.entryAdded":
                self.messages.append(f"{about['entry']['level']}: {about['entry']['text']}")
            case "Runtime.exceptionThrown":
                self.exceptions.append(json.dumps(about["exceptionDetails"]))
            case "Network.requestWillBeSent":
                self.requests.append(about["request"]["url"])
            case "Page.javascriptDialogOpening":
                self.dialogs.append(about["message"])

    def open(self, file: Path) -> None:
        """Load a page from a file and wait until it is complete and was drawn once."""
        self.forget()
        self.call("Page.navigate", url=file.as_uri())
        self._until(lambda found: found.get("method") == "Page.loadEventFired", str(file))
        self.evaluate("document.fonts.ready.then(() => true)")

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression; a promise is waited for."""
        found = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in found:
            raise RuntimeError(f"{expression}: {found['exceptionDetails']}")
        return found["result"].get("value")

    def text(self, selector: str) -> str:
        """Return what an element says."""
        return self.evaluate(f"document.querySelector({json.dumps(selector)}).textContent")

    def press(self, key: str, times: int = 1) -> None:
        """Press a key where the focus is."""
        about = {"key": key, "code": key, "windowsVirtualKeyCode": KEYS[key]}
        for _ in range(times):
            text = {"text": "\r"} if key == "Enter" else {}
            kind = "keyDown" if text else "rawKeyDown"
            self.call("Input.dispatchKeyEvent", type=kind, **about, **text)
            self.call("Input.dispatchKeyEvent", type="keyUp", **about)

    def focus(self, selector: str) -> None:
        self.evaluate(f"document.querySelector({json.dumps(selector)}).focus()")

    def hover(self, selector: str) -> tuple[float, float]:
        """Move the mouse over the middle of an element."""
        x, y = self.evaluate(
            f"""(() => {{
                const element = document.querySelector({json.dumps(selector)});
                element.scrollIntoView({{ block: "center", behavior: "instant" }});
                const box = element.getBoundingClientRect();
                return [box.x + box.width / 2, box.y + box.height / 2];
            }})()"""
        )
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        return x, y

    def click(self, selector: str) -> None:
        x, y = self.hover(selector)
        for kind in ("mousePressed", "mouseReleased"):
            button = {"button": "left", "clickCount": 1}
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **button)

    def emulate(
        self,
        *,
        width: int = 1280,
        height: int = 900,
        scheme: str = "light",
        media: str = "",
        script: bool = True,
    ) -> None:
        """Set the window's size, light or dark, screen or print, and whether scripts run."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)
        self.call("Emulation.setScriptExecutionDisabled", value=not script)

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        found = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(found["data"]))

    def pdf(self) -> bytes:
        """Print the page."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])
