"""Tests the lock of an install directory where the file system does not do as it should, and how long a caller has it.

Not covered: what is refused while another command works (restart_test.py).
"""

import errno
import fcntl
import json
import os
import pathlib
import shutil
import tempfile
import time
import unittest
from unittest import mock

from rig import ROOT  # rig also makes `cluster` importable

from cluster import holding, hosts, inventory
from cluster.agent import lock
from cluster.agent.place import MARKER, Place
from cluster.agent.trouble import Trouble

# After so long an agent lets go here, instead of after 20 s: longer than a process waits for a processor.
SILENCE_S = 4.0


class Lock(unittest.TestCase):
    def setUp(self):
        self.assertTrue((ROOT / "scripts/cluster/agent/lock.py").exists())
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="granary-lock-"))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / MARKER).write_text(json.dumps({"cluster": "trial"}))
        (self.folder / "deployed.json").write_text(json.dumps({"nodes": []}))
        self.place = Place(str(self.folder), "trial")
        self.addCleanup(self.let_go)

    @staticmethod
    def let_go():
        for handle in lock._kept.values():
            os.close(handle)
        lock._kept.clear()

    def test_a_file_system_without_locks_keeps_nobody_from_working(self):
        for number in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
            with mock.patch.object(fcntl, "flock", side_effect=OSError(number, "")):
                lock.take(self.place, holder=0)
            self.assertEqual(lock._kept, {})

    def test_a_place_is_not_held_if_its_holder_cannot_be_told(self):
        (self.folder / "held").write_text("1")
        with mock.patch.object(os, "pwrite", side_effect=OSError(errno.ENOSPC, "")), \
                mock.patch.object(lock, "tell", side_effect=AssertionError("it is held")), \
                self.assertRaisesRegex(Trouble, "held' cannot be written; is the disk full?"):
            lock.hold(self.place)

    def host(self):
        """Returns a host whose agent lets go after SILENCE_S."""
        modules = hosts.agent_modules()
        self.assertIn("SILENCE_S = 20.0", modules["agent.lock"])
        modules["agent.lock"] = modules["agent.lock"].replace("SILENCE_S = 20.0", f"SILENCE_S = {SILENCE_S}")
        return hosts.Host("trial", inventory.HostEntry(inventory.Access(""), str(self.folder)), modules)

    def is_held(self):
        with open(self.folder / "held", "rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    def test_a_caller_that_speaks_holds_the_place(self):
        """It speaks as often in the time of a silence as it does in the real one."""
        host = self.host()
        with mock.patch.object(holding, "PULSE_S", holding.PULSE_S * SILENCE_S / 20.0), holding.held([host]):
            self.assertGreater(host.holder, 0)
            time.sleep(SILENCE_S + 1)
            self.assertTrue(self.is_held())
        self.assertFalse(self.is_held())

    def test_a_caller_that_is_silent_does_not_hold_the_place_for_ever(self):
        """Its connection is still there, as behind a network that was cut."""
        with mock.patch.object(holding, "PULSE_S", 600), holding.held([self.host()]):
            self.assertTrue(self.is_held())
            until = time.monotonic() + 20
            while self.is_held():
                self.assertLess(time.monotonic(), until)
                time.sleep(0.05)

    def test_a_number_that_is_not_known_is_not_told(self):
        for text, words in [("", "works here; wait"), ("12", r"works here \(process 12 of this host\); wait")]:
            (self.folder / "lock").write_text(text)
            with open(self.folder / "lock", "rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                with self.assertRaisesRegex(Trouble, words):
                    lock.take(self.place, holder=0)


if __name__ == "__main__":
    unittest.main()
