"""Tests our own supervisor, with small programs in place of nodes, and what a node tells by HTTP."""

import http.server
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock

from rig import ROOT

from cluster.agent import own, page, processes
from cluster.agent.trouble import Trouble


class Supervisor(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="granary-supervisor-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.supervisor = None
        self.addCleanup(self.end)

    def end(self):
        if self.supervisor is not None and self.supervisor.poll() is None:
            self.supervisor.terminate()
            self.supervisor.wait(20)

    def begin(self, script, **changes):
        job = {"name": "node-1", "command": ["/bin/sh", "-c", script], "directory": str(self.folder), "stop_s": 5,
               "tries": 3,
               "log_bytes": 1 << 20, "log_files": 3, "serves": "^serves$", "serves_not": "again",
               "final_codes": [2, 4, 5]} | changes
        (self.folder / "job.json").write_text(json.dumps(job))
        environment = os.environ | {"PYTHONPATH": str(ROOT / "scripts" / "cluster")}
        self.supervisor = subprocess.Popen([sys.executable, "-B", "-m", "agent.supervisor", str(self.folder)],
                                           env=environment)

    def state(self):
        try:
            return json.loads((self.folder / "state.json").read_text())
        except FileNotFoundError:
            return {}

    def log(self):
        return (self.folder / "log").read_text()

    def wait_for(self, what, seconds=20):
        until = time.monotonic() + seconds
        while not what():
            if time.monotonic() > until:
                self.fail(f"{self.state()}\n{self.log()}")
            time.sleep(0.02)

    def test_it_tells_when_a_node_serves_and_ends_it_in_order(self):
        self.begin("trap 'echo leaves; exit 0' TERM; echo 2026-11-29T16:00:00.000Z slow; echo serves; "
                   "while :; do sleep 0.05; done")
        self.wait_for(lambda: self.state().get("serves"))
        self.supervisor.terminate()
        self.assertEqual(self.supervisor.wait(20), 0)
        self.assertEqual((self.state()["state"], self.state()["why"]), ("ended", "told to, exit code 0"))
        self.assertIn(" leaves\n", self.log())
        self.assertIn("\n2026-11-29T16:00:00.000Z slow\n", self.log(), "a line has one time")

    def test_a_crash_is_followed_by_another_life(self):
        self.begin("test -e once && { echo serves; exec sleep 60; }; touch once; kill -9 $$")
        self.wait_for(lambda: self.state().get("serves"))
        self.assertEqual(self.state()["restarts"], 1)
        self.assertIn("has ended: SIGKILL", self.log())

    def test_codes_that_need_somebody_are_final(self):
        for code in (2, 4, 5):
            self.begin(f"exit {code}")
            self.assertEqual(self.supervisor.wait(20), 0)
            self.assertEqual((self.state()["state"], self.state()["restarts"]), ("failed", 0))
            self.assertIn(f"exit code {code}: somebody", self.state()["why"])

    def test_it_gives_up(self):
        self.begin("exit 3", tries=1)
        self.assertEqual(self.supervisor.wait(20), 0)
        self.assertEqual((self.state()["state"], self.state()["why"]), ("failed", "exit code 3, after 1 tries"))

    def test_it_can_be_ended_while_it_pauses(self):
        self.begin("exit 6", tries=9)
        self.wait_for(lambda: self.state().get("state") == "pausing" and self.state()["restarts"] == 1)
        self.supervisor.terminate()
        self.assertEqual(self.supervisor.wait(20), 0)
        self.assertEqual(self.state()["state"], "ended")

    def test_who_does_not_end_is_killed(self):
        self.begin("trap '' TERM; echo serves; while :; do sleep 0.05; done", stop_s=0.5)
        self.wait_for(lambda: self.state().get("serves"))
        self.supervisor.terminate()
        self.supervisor.wait(20)
        self.assertIn("killed after 0.5 s", self.state()["why"])

    def test_only_an_end_in_order_is_a_success(self):
        place = unittest.mock.Mock(service=lambda _: self.folder)
        waits = "echo serves; while :; do sleep 0.05; done"
        for service, trap, told in [("node-1", "trap '' TERM", ("killed after 0.5 s", False)),
                                    ("node-1", "trap 'exit 5' TERM", ("told to, exit code 5", False)),
                                    ("node-1", "trap 'exit 0' TERM", ("told to, exit code 0", True)),
                                    ("node-1", ":", ("told to, SIGTERM", False)),
                                    ("zookeeper-1", "trap 'exit 143' TERM", ("told to, exit code 143", True)),
                                    ("zookeeper-1", ":", ("told to, SIGTERM", True))]:
            with self.subTest(service=service, trap=trap):
                # Only a service that has to be killed gets little time: the others may wait for a processor.
                self.begin(f"{trap}; {waits}", stop_s=0.5 if "killed" in told[0] else 20)
                self.wait_for(lambda: self.state().get("serves"))
                self.assertEqual(own.stop(place, service), told)
                self.supervisor.wait(20)
        self.begin("exit 6", tries=9)
        self.wait_for(lambda: "begins again in 2 s" in self.state().get("why", ""))
        self.assertEqual(own.stop(place, "node-1"), ("told to, after exit code 6", True))

    def test_a_program_that_is_missing(self):
        self.begin("", command=["/nowhere/granary"])
        self.supervisor.wait(20)
        self.assertEqual(self.state()["state"], "failed")
        self.assertIn("cannot be started", self.state()["why"])

    def test_logs_are_rotated(self):
        self.begin("for i in $(seq 2000); do echo line $i; done; exit 2", log_bytes=8192)
        self.supervisor.wait(20)
        sizes = {path.name: path.stat().st_size for path in self.folder.glob("log*")}
        self.assertEqual(set(sizes), {"log", "log.1", "log.2", "log.3"})
        self.assertLessEqual(max(sizes.values()), 8192)
        text = "".join((self.folder / name).read_text() for name in ("log.3", "log.2", "log.1", "log"))
        numbers = [int(line.split()[2]) for line in text.splitlines() if " line " in line]
        self.assertEqual(numbers, list(range(numbers[0], 2001)), "no line is lost between files")

    def test_a_second_one_is_refused(self):
        self.begin("exec sleep 60")
        self.wait_for(lambda: self.state().get("state") == "running")
        done = subprocess.run([sys.executable, "-B", "-m", "agent.supervisor", str(self.folder)], capture_output=True,
                              text=True,
                              env=os.environ | {"PYTHONPATH": str(ROOT / "scripts" / "cluster")}, check=False)
        self.assertEqual(done.returncode, 3)
        self.assertIn("another supervisor", done.stderr)


class Processes(unittest.TestCase):
    def test_a_number_that_is_another_processs_now_is_not_signalled(self):
        with subprocess.Popen(["sleep", "60"]) as process:
            who = processes.identity(process.pid)
            self.assertTrue(processes.lives(who))
            for changed in (who | {"ticks": who["ticks"] - 1}, who | {"boot": "another"}):
                self.assertFalse(processes.lives(changed))
                self.assertFalse(processes.send(changed, signal.SIGKILL))
            self.assertTrue(processes.send(who, signal.SIGKILL))
            self.assertTrue(processes.await_end(who, 10))
            self.assertFalse(processes.send(who, signal.SIGKILL))


class Stop(unittest.TestCase):
    def test_an_end_that_could_not_be_noted_is_no_success(self):
        """On a full disk, for example, the file still says what was so before."""
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "state.json").write_text('{"state": "running", "supervisor": {"pid": 1}}')
            place = unittest.mock.Mock(service=lambda _: pathlib.Path(folder))
            with unittest.mock.patch.multiple(own.processes, lives=lambda _: True, send=lambda *_: True,
                                              await_end=lambda *_: True):
                with self.assertRaisesRegex(Trouble, "node-1 has ended, but its supervisor could not note how"):
                    own.stop(place, "node-1")


class Page(unittest.TestCase):
    def test_a_node_is_asked_with_its_token(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                allowed = self.path == "/node.json" and self.headers.get("Authorization") == "Bearer secret"
                self.send_response(200 if allowed else 401)
                self.end_headers()
                document = {"stage": "serving", "transactions": {"commits_per_second": 12345.6}}
                self.wfile.write(json.dumps(document).encode())

            def log_message(self, *_):
                pass

        with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server, tempfile.NamedTemporaryFile("w") as token:
            token.write("secret\n")
            token.flush()
            threading.Thread(target=server.serve_forever, daemon=True).start()
            port = server.server_port
            self.assertEqual(page.in_short(page.ask(str(port), token.name)), "serving, 12,346 commits/s")
            self.assertEqual(page.ask(f"0.0.0.0:{port}", token.name)["stage"], "serving")
            self.assertIsNone(page.ask(str(port), ""))
            server.shutdown()
        self.assertIsNone(page.ask(str(port), ""))


if __name__ == "__main__":
    unittest.main()
