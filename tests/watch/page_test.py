#!/usr/bin/env python3
"""A real browser (headless Chromium) opens the page of a cluster under load; a node is killed meanwhile, and comes back.

    page_test.py GRANARY [--screenshot=FILE.png] [--seconds=N]

Asks the page what it shows: tiles, a line for each node, lines in the charts, the message about the dead node. Nothing may be loaded from
elsewhere, and the browser may report no error. Exit code 3 if there is no browser (scripts/setup.sh --watch).
"""

import argparse
import base64
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


class Browser:
    """Talks to a browser over its debugging pipe: JSON messages that end with a zero byte."""

    def __init__(self, program, profile):
        to_browser, self.input = os.pipe()
        self.output, from_browser = os.pipe()

        def as_three_and_four():
            read, write = os.dup(to_browser), os.dup(from_browser)
            os.dup2(read, 3)
            os.dup2(write, 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--hide-scrollbars", "--remote-debugging-pipe", f"--user-data-dir={profile}",
             "about:blank"],
            preexec_fn=as_three_and_four, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.number = 0
        self.buffer = b""
        self.events = []
        self.session = None

    def receive(self):
        while b"\0" not in self.buffer:
            more = os.read(self.output, 1 << 16)
            if not more:
                raise RuntimeError("the browser has ended")
            self.buffer += more
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.input, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, url, width, height):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Page.navigate", url=url)

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def screenshot(self, path):
        height = self.value("document.documentElement.scrollHeight")
        width = self.value("document.documentElement.clientWidth")
        picture = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                            clip={"x": 0, "y": 0, "width": width, "height": height, "scale": 1})
        pathlib.Path(path).write_bytes(base64.b64decode(picture["data"]))

    def end(self):
        self.process.kill()
        self.process.wait()


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def write_cluster(folder, nodes):
    ports = [free_port() for _ in range(nodes)]
    (folder / "run").mkdir(mode=0o700)
    text = ('[cluster]\nname = "bank"\nrun_directory = "run"\n'
            '[defaults]\nmemory = "256MiB"\ndata_directory = "data"\nreliable_directory = "rings"\n')
    for number, port in enumerate(ports, start=1):
        text += f'[[node]]\nid = {number}\nhttp = "{port}"\n'
    (folder / "cluster.toml").write_text(text)
    return ports


def until(what, holds, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if holds():
                return
        except RuntimeError:
            pass  # the page is being loaded
        time.sleep(0.2)
    raise AssertionError(f"it has not come to that after {seconds} s: {what}")


def check_page(browser, url, port, seconds, screenshot):
    browser.open(url, 1280, 900)
    text = "document.body.innerText"
    until("three nodes are ready", lambda: "3 of 3" in browser.value(text))
    until("each chart has lines", lambda: browser.value(
        "[...document.querySelectorAll('path.serie')].filter((path) => path.getAttribute('d').includes('L')).length") >= 13)
    assert browser.value("document.querySelectorAll('#nodes tbody tr').length") == 3
    until("the dead node is named", lambda: "node 2 is dead" in browser.value(text), seconds)
    until("it is recovered", lambda: browser.value("document.getElementById('recoveries').innerText").find("recovered") >= 0)
    until("it is back", lambda: "3 of 3" in browser.value(text))
    requests = [event["params"]["request"]["url"] for event in browser.events if event["method"] == "Network.requestWillBeSent"]
    strangers = [each for each in requests if not each.startswith((f"http://127.0.0.1:{port}/", "data:", "about:"))]
    assert not strangers, f"asked elsewhere: {strangers}"
    errors = [event["params"] for event in browser.events if event["method"] in ("Log.entryAdded", "Runtime.exceptionThrown")]
    assert not errors, f"the browser complains: {errors}"
    if screenshot:
        time.sleep(seconds // 4)
        browser.screenshot(screenshot)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("granary")
    parser.add_argument("--screenshot")
    parser.add_argument("--seconds", type=int, default=30, help="of load")
    options = parser.parse_args()
    program = next((found for found in map(shutil.which, BROWSERS) if found), None)
    if program is None:
        print("page_test: no browser; scripts/setup.sh --watch")
        return 3
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        ports = write_cluster(folder, 3)
        with open(folder / "load.txt", "w") as said:
            load = subprocess.Popen(
                [options.granary, "cluster", "run", "smallbank", f"--cluster={folder / 'cluster.toml'}", "--accounts=2000",
                 "--distributed_percent=20", f"--seconds={options.seconds}", "--warmup=0", "--repeat=1", "--noprogress",
                 f"--kill=2@{options.seconds // 3}", "--restart_after=6"], stdout=said, stderr=said)
        browser = Browser(program, folder / "profile")
        try:
            check_page(browser, f"http://127.0.0.1:{ports[0]}/", ports[0], options.seconds, options.screenshot)
            code = load.wait(timeout=120)
            assert code == 0, f"the load ended with {code}: {(folder / 'load.txt').read_text()}"
        finally:
            browser.end()
            if load.poll() is None:
                load.terminate()
                load.wait()
    print("page_test: the page shows the cluster, a death, and the way back")
    return 0


if __name__ == "__main__":
    sys.exit(main())
