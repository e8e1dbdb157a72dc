"""A page in headless Chromium, over the DevTools protocol on a pipe; only what tests of pages need."""
import fcntl
import json
import os
import select
import shutil
import subprocess
import time


def find_browser():
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def high(fd):
    """Above the numbers that the browser's ends of the pipes get."""
    number = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(fd)
    return number


# Texts whose contrast with what is behind them is below 4.5 (WCAG 2, level AA); not those of pictures.
FAINT = r"""(() => {
    const color = text => text.match(/[\d.]+/g).map(Number);
    const luminance = rgb => {
        const [r, g, b] = rgb.slice(0, 3).map(x => x / 255 <= 0.03928 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = e => {
        for (; e; e = e.parentElement) {
            const c = color(getComputedStyle(e).backgroundColor);
            if (c.length < 4 || c[3] > 0.5)
                return c;
        }
        return [255, 255, 255];
    };
    const faint = [], texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const text = texts.currentNode.data.trim(), e = texts.currentNode.parentElement;
        if (!text || !e.checkVisibility({visibilityProperty: true}) || e.closest('svg, script, style, noscript'))
            continue;
        const [low, high] = [luminance(color(getComputedStyle(e).color)), luminance(behind(e))].sort((x, y) => x - y);
        if ((high + 0.05) / (low + 0.05) < 4.5)
            faint.push(`${e.tagName} ${text.slice(0, 30)}: ${getComputedStyle(e).color} on ${behind(e)}`);
    }
    return faint;
})()"""


class Browser:
    """messages: what the page wrote to its console as warning or error, exceptions, and what was blocked."""

    def __init__(self, folder, seconds=240):
        self.deadline = time.monotonic() + seconds
        theirs_in, self.to = map(high, os.pipe())
        self.out, theirs_out = map(high, os.pipe())

        def descriptors():
            os.dup2(theirs_in, 3)
            os.dup2(theirs_out, 4)

        self.process = subprocess.Popen(
            [find_browser(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-pipe",
             f"--user-data-dir={folder}/browser", "about:blank"],
            preexec_fn=descriptors, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self.buffer, self.number, self.session, self.messages = b"", 0, None, []

    def receive(self):
        while b"\0" not in self.buffer:
            left = self.deadline - time.monotonic()
            if left <= 0 or not select.select([self.out], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            got = os.read(self.out, 1 << 16)
            if not got:
                raise EOFError("the browser ended")
            self.buffer += got
        one, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(one)

    def note(self, message):
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.messages.append(json.dumps(params["exceptionDetails"])[:500])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.messages.append(f"{params['type']}: {[a.get('value') for a in params['args']]}")
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.messages.append(params["entry"]["text"])

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            got = self.receive()
            if got.get("id") == self.number:
                if "error" in got:
                    raise RuntimeError(f"{method}: {got['error']}")
                return got["result"]
            self.note(got)

    def open(self, path, width=1280, height=900, dark=False, has_script=True):
        """A new page; returns when it is loaded, or when its script, in a file, says that it is ready."""
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Accessibility"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.navigate", url=path if path.startswith("http") else "file://" + path)
        self.until("document.documentElement?.dataset.ready === 'yes'" if has_script and not path.startswith("http") else "document.readyState === 'complete'")

    def js(self, code):
        result = self.call("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{code}: {json.dumps(result['exceptionDetails'])[:400]}")
        return result["result"].get("value")

    def until(self, code):
        while not self.js(code):
            time.sleep(0.02)
            if time.monotonic() > self.deadline:
                raise TimeoutError(code)

    def key(self, key):
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def tabs(self):
        """Of a page as it was opened: what Tab goes to, until it leaves the page, and all that can be gone to; as places in the document at
        the end, as a live page changes meanwhile."""
        self.js("void (window.went = [])")
        for _ in range(500):
            for kind in ("rawKeyDown", "keyUp"):
                self.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
            if not self.js("(at => at !== document.body && !went.includes(at) && went.push(at))(document.activeElement)"):
                break
        return self.js("(all => [went.map(e => all.indexOf(e)), all.flatMap((e, i) => e.tabIndex >= 0 && !e.disabled && e !== document.documentElement && "
                       "e.checkVisibility({visibilityProperty: true}) && !e.matches('svg *') ? [i] : [])])([...document.querySelectorAll('*')])")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", buttons=1, clickCount=1)

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
        except (OSError, EOFError, TimeoutError):
            self.process.kill()
        self.process.wait()
        os.close(self.to)
        os.close(self.out)
