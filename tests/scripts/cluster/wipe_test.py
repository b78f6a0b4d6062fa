"""Tests `wipe` of what is still in use: by a node that was started by hand, or by a server of ZooKeeper that does not
end.

Not covered: what it removes (life_test.py), and what it leaves since it is not the cluster's (refusals_test.py and
life_test.py).
"""

import fcntl
import json
import os
import pathlib
import shutil
import tempfile
import unittest
import unittest.mock

from rig import ROOT  # rig also makes `cluster` importable

from cluster.agent import data, processes, services
from cluster.agent.place import MARKER, Place
from cluster.agent.trouble import Trouble

SERVER = "zookeeper-1"


class Wipe(unittest.TestCase):
    def setUp(self):
        self.assertTrue((ROOT / "scripts/cluster/agent/data.py").exists())
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="granary-wipe-"))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / MARKER).write_text(json.dumps({"cluster": "trial"}))
        deployed = {"nodes": [1, 2], "supervisor": "own", "zookeepers": [{"name": SERVER, "command": []}]}
        (self.folder / "deployed.json").write_text(json.dumps(deployed))
        self.place = Place(str(self.folder), "trial")
        self.nodes = [self.node(number) for number in (1, 2)]

    def node(self, number):
        directory = self.folder / f"node-{number}"
        directory.mkdir()
        (directory / "MEMBER").write_text(f"granary member 2\nnode {number} of trial\n")
        for name in ("MANIFEST", "LOCK"):
            (directory / name).touch()
        return {"id": number, "data_directory": str(directory), "log_directories": [],
                "reliable_directory": str(self.folder)}

    def test_a_directory_that_a_process_has_open(self):
        """A node that was started by hand has the lock alone, and `granary log verify` shares it."""
        for kind in (fcntl.LOCK_EX, fcntl.LOCK_SH):
            with open(self.folder / "node-2/LOCK", "rb") as lock:
                fcntl.flock(lock, kind)
                with self.assertRaisesRegex(Trouble, "node-2.*stop it first; nothing was removed"):
                    data.wipe(self.place, {"nodes": self.nodes})
            for number in (1, 2):
                self.assertEqual({each.name for each in (self.folder / f"node-{number}").iterdir()},
                                 {"LOCK", "MANIFEST", "MEMBER"})
        done = data.wipe(self.place, {"nodes": self.nodes})
        self.assertEqual([each["left"] for each in done.values()], [[], []])
        for number in (1, 2):
            left = self.folder / f"node-{number}"
            self.assertFalse(left.exists() and list(left.iterdir()))

    def test_a_node_that_is_about_to_begin_again(self):
        """Nobody has its lock while its supervisor pauses."""
        directory = self.folder / "services/node-1"
        directory.mkdir(parents=True)
        known = {"supervisor": processes.identity(os.getpid()), "state": "pausing"}
        (directory / "state.json").write_text(json.dumps(known))
        with self.assertRaisesRegex(Trouble, "node-1 is about to begin again: stop the cluster first"):
            data.wipe(self.place, {"nodes": self.nodes})
        self.assertTrue((self.folder / "node-1/MANIFEST").exists())

    def test_a_lock_that_is_gone_or_is_none(self):
        (self.folder / "node-1/LOCK").unlink()
        (self.folder / "node-2/LOCK").unlink()
        (self.folder / "node-2/LOCK").symlink_to("nothing")
        data.wipe(self.place, {"nodes": self.nodes})
        self.assertFalse((self.folder / "node-1/MANIFEST").exists())
        self.assertFalse((self.folder / "node-2/MANIFEST").exists())

    def test_a_server_of_zookeeper_that_does_not_end(self):
        stored = self.folder / "zookeeper/1/data/version-2"
        stored.mkdir(parents=True)
        for ends in (False, True):
            result = {SERVER: {"ended": ends, "what": "does not end", "seconds": 1.0}}
            with unittest.mock.patch.object(services, "stop", return_value=result):
                if ends:
                    self.assertEqual(data.wipe_zookeeper(self.place), {"removed": [str(stored)]})
                else:
                    with self.assertRaisesRegex(Trouble, f"{SERVER}: does not end; what it has stored stays"):
                        data.wipe_zookeeper(self.place)
            self.assertEqual(stored.exists(), not ends)


if __name__ == "__main__":
    unittest.main()
