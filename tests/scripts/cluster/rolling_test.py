"""Restarts nodes one after the other while an application (rolled_node.cc) works: nothing released is lost, and no key
is away for long.
"""

import os
import pathlib
import time
import unittest

from rig import Rig, make_package

MOST_AWAY_MS = 5000


class Rolling(Rig):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.packages_with_program = [make_package(cls.packages, build, program=pathlib.Path(os.environ["ROLLED_NODE"]))
                                     for build in ("a", "b")]

    def test_under_load(self):
        self.write_file()
        first, second = self.packages_with_program
        self.assertIn("the package has no bin/rolled", self.must(2, "deploy", f"--package={first}", "--program=rolled"))
        self.must(0, "deploy", f"--package={first}", "--program=rolled_node")
        self.must(0, "start")
        time.sleep(2)
        self.must(0, "deploy", f"--package={second}", "--program=rolled_node", "--while-running")
        before = self.status()
        self.assertEqual(self.must(0, "restart", "--rolling").count("restarted; serves"), 3)
        time.sleep(1)
        after = self.status()
        for name, each in after.items():
            self.assertEqual((each["serves"], each["restarts"]), (True, 0), self.must(0, "logs", f"--nodes={name[-1]}"))
            self.assertNotEqual(each["version"], before[name]["version"])
        self.stop_all()
        self.must(0, "start")  # each node counts the money once more, and its own moves
        self.stop_all()
        away = [int((self.folder / f"trial.installed/{node}.away").read_text()) for node in (1, 2, 3)]
        moves = [int((self.folder / f"trial.installed/{node}.receipt").read_text()) for node in (1, 2, 3)]
        print(f"the longest time that a key could not be read, by node: {away} ms; released moves: {moves}", flush=True)
        self.assertLessEqual(max(away), MOST_AWAY_MS * max(1.0, os.getloadavg()[0] / os.cpu_count()))
        self.assertGreater(min(moves), 0)
        for node in (1, 2, 3):
            log = (self.folder / f"trial.installed/services/node-{node}/log").read_text()
            self.assertEqual(log.count("has ended: exit code 0"), 3, log)
            if node == 1:
                self.assertEqual(log.count("money 1200, moves"), 3, log)

    def stop_all(self):
        """Stops the nodes, each of which must have left in order: a stop is also done when a program could not."""
        said = self.must(0, "stop")
        self.assertEqual(said.count("told to, exit code 0"), 3, said)


if __name__ == "__main__":
    unittest.main()
