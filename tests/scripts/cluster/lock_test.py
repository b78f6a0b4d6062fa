"""Tests the lock of an install directory where the file system does not do as it should.

Not covered: what is refused while another command works (restart_test.py).
"""

import errno
import fcntl
import json
import os
import pathlib
import shutil
import tempfile
import unittest
from unittest import mock

from rig import ROOT  # rig also makes `cluster` importable

from cluster.agent import lock
from cluster.agent.place import MARKER, Place
from cluster.agent.trouble import Trouble


class Lock(unittest.TestCase):
    def setUp(self):
        self.assertTrue((ROOT / "scripts/cluster/agent/lock.py").exists())
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="granary-lock-"))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / MARKER).write_text(json.dumps({"cluster": "trial"}))
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

    def test_a_number_that_is_not_known_is_not_told(self):
        for text, words in [("", "works here; wait"), ("12", r"works here \(process 12\); wait")]:
            (self.folder / "lock").write_text(text)
            with open(self.folder / "lock", "rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                with self.assertRaisesRegex(Trouble, words):
                    lock.take(self.place, holder=0)


if __name__ == "__main__":
    unittest.main()
