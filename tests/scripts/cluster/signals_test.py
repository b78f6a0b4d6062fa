"""Tests signals that end cluster.sh: its exit code, and that no connection and no folder is left. A script stands in
for ssh.

Not covered: a real ssh (hosts_test.py), and what becomes of the agents on the hosts.
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from rig import SCRIPT

# A connection is a process in the background, which ends by `-O exit` and takes the sessions along. While the file
# `slow` is there, no connection comes about. No session ever says anything.
SSH = """\
#!/usr/bin/env bash
here=$(dirname "$0")
case " $* " in
  *" -O exit "*) kill $(cat "$here"/pids/*) ;;
  *" -M "*)
    if [[ -e $here/slow ]]; then touch "$here/begun"; exec sleep 1000; fi
    sleep 1000 &
    echo $! > "$here/pids/$!" ;;
  *)
    echo $$ > "$here/pids/$$"
    touch "$here/begun"
    exec sleep 1000 ;;
esac
"""

FILE = """\
[cluster]
name = "trial"
[[node]]
id = 1
host = "192.0.2.1"
install_directory = "/nowhere"
data_directory = "data"
"""


class Signals(unittest.TestCase):
    def setUp(self):
        # pylint: disable-next=consider-using-with
        folder = tempfile.TemporaryDirectory(prefix="granary-signals-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name in ("pids", "temporary"):
            (self.folder / name).mkdir()
        (self.folder / "ssh").write_text(SSH)
        (self.folder / "ssh").chmod(0o755)
        (self.folder / "cluster.toml").write_text(FILE)
        self.addCleanup(self.end_connections)

    def all_ended(self):
        return not any(self.runs(pid.name) for pid in (self.folder / "pids").iterdir())

    @staticmethod
    def runs(pid):
        """Tells whether the process has not ended. A process that has ended has no command line, even if nobody has
        waited for it.
        """
        try:
            return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes() != b""
        except OSError:
            return False

    def end_connections(self):
        for pid in (self.folder / "pids").iterdir():
            if self.runs(pid.name):
                os.kill(int(pid.name), signal.SIGKILL)

    def begin(self, *words, **more):
        """Returns a command that waits for its host."""
        for left in (*(self.folder / "pids").iterdir(), self.folder / "begun"):
            left.unlink(missing_ok=True)
        environment = os.environ | {"PATH": f"{self.folder}:{os.environ['PATH']}", "PYTHON": sys.executable,
                                    "TMPDIR": str(self.folder / "temporary")}
        process = subprocess.Popen([SCRIPT, *words, f"--cluster={self.folder / 'cluster.toml'}"], env=environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True, **more)
        self.addCleanup(process.kill)
        self.wait_for((self.folder / "begun").exists)
        return process

    def wait_for(self, condition):
        until = time.monotonic() + 20
        while not condition():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)

    def ends_clean(self, process, *numbers):
        for number in numbers:
            process.send_signal(number)
        said, _ = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 128 + numbers[0], said)
        self.assertNotIn("Traceback", said)
        self.assertNotIn("is not followed any more", said)
        self.assertEqual(list((self.folder / "temporary").iterdir()), [])
        self.wait_for(self.all_ended)
        return said

    def test_connections_are_closed(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            for words in (["status"], ["logs", "-f"], ["restart", "--rolling"], ["stop"]):
                with self.subTest(words=words, number=number):
                    said = self.ends_clean(self.begin(*words), number)
                    self.assertEqual("192.0.2.1 goes on with stop node-1\n" in said, words == ["stop"], said)

    def test_a_connection_that_does_not_come_about(self):
        (self.folder / "slow").touch()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            for verb in ("status", "stop"):
                with self.subTest(verb=verb, number=number):
                    self.assertNotIn("goes on with", self.ends_clean(self.begin(verb), number))

    def test_a_repeat_at_once_is_the_same_request(self):
        """`timeout` sends its signal twice."""
        self.ends_clean(self.begin("status"), signal.SIGTERM, signal.SIGTERM)

    def test_what_is_ignored_stays_so(self):
        process = self.begin("status", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        self.assertIsNone(process.poll())
        self.ends_clean(process, signal.SIGTERM)


if __name__ == "__main__":
    unittest.main()
