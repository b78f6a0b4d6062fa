"""Tests `restart` with a script in place of `granary`: what it refuses, what it tells meanwhile, and what becomes of
nodes when it is interrupted or when they do not end in order.

Not covered: nodes that work while they are restarted (rolling_test.py).
"""

import unittest

from stand_in import StandIn


class Restart(StandIn):
    def test_nodes_without_logs_are_restarted_together_only(self):
        self.begin(defaults="")
        before = self.pids()
        for flags in (["--rolling"], ["--nodes=1"], ["--rolling", "--nodes=1,2,3"], ["--rolling", "--dry-run"]):
            said = self.must(3, "restart", *flags)
            self.assertIn("keeps no logs", said)
            self.assertIn("nothing was stopped", said)
        self.assertEqual(self.pids(), before)
        self.must(0, "restart", "--nodes=1,2,3")
        self.must(0, "restart")


if __name__ == "__main__":
    unittest.main()
