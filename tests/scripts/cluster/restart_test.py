"""Tests `restart` with a script in place of `granary`: what it refuses, what it tells meanwhile, and what becomes of
nodes when it is interrupted or when they do not end in order.

Not covered: nodes that work while they are restarted (rolling_test.py).
"""

import contextlib
import fcntl
import os
import pathlib
import signal
import unittest

from stand_in import TWO_HOSTS, StandIn, finding

from cluster import inventory
from cluster.agent import processes


class Restart(StandIn):
    def test_nodes_without_logs_are_restarted_together_only(self):
        self.begin(defaults="")
        before = self.pids()
        for flags in (["--rolling"], ["--nodes=1"], ["--rolling", "--nodes=1,2,3"], ["--rolling", "--dry-run"]):
            said = self.must(3, "restart", "--timeout=1", *flags)
            self.assertIn("keeps no logs", said)
            self.assertIn("nothing was stopped", said)
        self.assertEqual(self.pids(), before)
        self.must(0, "restart", "--nodes=1,2,3")
        self.must(0, "restart")

    def all_are_members(self):
        self.findings(*(finding(f"member {node}") for node in (1, 2, 3)))

    def test_ctrl_c_leaves_no_node_stopped(self):
        self.begin()
        self.all_are_members()
        before = self.pids()
        self.assertIn("localhost goes on with restart node-1\n", self.interrupt_ends("restart", "--rolling"))
        after = self.pids()
        self.assertNotIn(after[0], (None, before[0]))
        self.assertEqual(after[1:], before[1:])

    def test_ctrl_c_tells_what_goes_on(self):
        self.begin()
        self.assertIn("localhost goes on with stop node-1 node-2 node-3\n", self.interrupt_ends("restart"))
        self.assertEqual(self.pids(), [None] * 3)

    def interrupt_ends(self, *words):
        """Ends a command as Ctrl-C does while a node is about to end, and waits for what goes on. Returns what was said.
        """
        (self.folder / "on-term").write_text("touch $STAND_IN/ends; sleep 2")
        command = self.begin_command(*words)
        self.wait_for((self.folder / "ends").exists)
        os.killpg(command.pid, signal.SIGINT)
        _, said = command.communicate(timeout=20)
        self.assertEqual(command.returncode, 128 + signal.SIGINT)
        self.assertIn("ended by SIGINT; ", said)
        for name in ("lock", "held"):
            with open(self.folder / "trial.installed" / name, encoding="utf-8") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
        return said

    def test_ctrl_c_ends_what_only_serves_the_caller(self):
        self.begin()
        follows = self.begin_command("logs", "-f")
        self.assertRegex(follows.stdout.readline(), r"node-\d\| ")
        agents = [int(pid) for path in pathlib.Path(f"/proc/{follows.pid}/task").glob("*/children")
                  for pid in path.read_text().split()]
        self.assertNotEqual(agents, [])
        self.interrupt(follows, agents)
        self.must(0, "stop")
        (self.folder / "bench-lasts").touch()
        measures = self.begin_command("bench", "smallbank")
        pid = self.folder / "bench-pid"
        self.wait_for(lambda: pid.exists() and pid.read_text())
        self.interrupt(measures, [int(pid.read_text())])

    def test_nodes_that_do_not_end_in_order(self):
        self.begin()
        self.all_are_members()
        (self.folder / "on-term").write_text("exit 5")
        before = self.pids()
        said = self.must(1, "restart", "--rolling")
        self.assertRegex(said, "node-1 +FAILED: did not end in order: told to, exit code 5")
        self.assertIn("the nodes after it were not restarted", said)
        after = self.pids()
        self.assertNotIn(after[0], (None, before[0]))
        self.assertEqual(after[1:], before[1:])
        said = self.must(1, "restart")
        self.assertEqual((said.count("FAILED: told to, exit code 5"), said.count("started; serves")), (3, 3), said)
        self.assertEqual(self.must(1, "stop").count("FAILED: told to, exit code 5"), 3)
        self.assertEqual(self.must(0, "stop").count("did not run"), 3)

    def test_one_command_at_a_time_works_on_a_host(self):
        self.begin()
        self.all_are_members()
        before = self.pids()
        works = f"another cluster.sh works here (process {os.getpid()} of this host)"
        for name in ("lock", "held"):
            with self.locked(name):
                for words in (["deploy", f"--package={self.package}"], ["start"], ["stop"], ["restart"],
                              ["restart", "--rolling"], ["wipe", "--yes"], ["down", "--yes"]):
                    with self.subTest(name=name, words=words):
                        said = self.must(3, *words)
                        if words[0] != "wipe":  # this one asks first whether nodes run
                            self.assertIn(works, said)
                self.must(0, "status")
                self.must(0, "logs")
        self.assertEqual(self.pids(), before)
        self.must(0, "stop")
        data = [path for node in inventory.load(str(self.file)).nodes for path in node.directories()]
        for name in data:
            pathlib.Path(name, "MEMBER").write_text(f"granary member 2\nnode {pathlib.Path(name).name[-1]} of trial\n")
        with self.locked("lock"):
            self.assertIn(works, self.must(3, "wipe", "--yes"))
        for name in data:
            self.assertTrue(pathlib.Path(name, "MANIFEST").exists())
        self.must(0, "wipe", "--yes")
        self.assertFalse(any(pathlib.Path(name, "MANIFEST").exists() for name in data))

    @contextlib.contextmanager
    def locked(self, name):
        """Works on the host in the eyes of others as long as the context lasts."""
        with open(self.folder / "trial.installed" / name, "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            lock.write(str(os.getpid()))
            lock.flush()
            yield

    def test_a_host_where_somebody_works_keeps_the_nodes_of_others_from_being_stopped(self):
        self.file.write_text(TWO_HOSTS.format(self.folder))
        self.must(0, "deploy", f"--package={self.package}", "--supervisor=own")
        self.must(0, "start")
        before = self.pids()
        self.assertNotIn(None, before)
        with open(self.folder / "second/lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.assertIn("192.0.2.2: another cluster.sh works here", self.must(3, "restart"))
        self.assertEqual(self.pids(), before)

    def test_a_rolling_restart_keeps_others_from_all_hosts(self):
        self.file.write_text(TWO_HOSTS.format(self.folder))
        self.must(0, "deploy", f"--package={self.package}", "--supervisor=own")
        self.must(0, "start")
        self.all_are_members()
        before = self.pids()
        (self.folder / "on-term").write_text("touch $STAND_IN/ends; while [[ ! -e $STAND_IN/go ]]; do sleep 0.05; done")
        rolls = self.begin_command("restart", "--rolling", "--nodes=1")
        self.wait_for((self.folder / "ends").exists)
        for words in (["restart", "--rolling"], ["stop", "--nodes=2"], ["restart", "--nodes=2"]):
            self.assertIn("another cluster.sh works here", self.must(3, *words))
        self.assertEqual(self.pids()[1], before[1])
        (self.folder / "go").touch()
        said = rolls.communicate(timeout=60)
        self.assertEqual(rolls.returncode, 0, said)
        (self.folder / "on-term").unlink()
        self.must(0, "restart", "--rolling")

    def test_progress_is_told_as_it_comes(self):
        self.begin()
        self.all_are_members()
        before = self.pids()
        (self.folder / "on-term").write_text("while [[ $3 == --id=2 && ! -e $STAND_IN/go ]]; do sleep 0.05; done")
        rolls = self.begin_command("restart", "--rolling", "--nodes=1,2")
        told = [rolls.stderr.readline() for _ in range(5)]
        self.assertRegex(told[0], "^node-1 \\| is told to end$")
        self.assertRegex(told[1], "^node-1 \\| told to, exit code 0; begins again$")
        self.assertRegex(told[2], r"^node-1 \| serves after [0-9.]+ s; waits until the cluster is whole$")
        self.assertRegex(told[3], "^node-1 \\| serves, and the cluster is whole$")
        self.assertRegex(told[4], "^node-2 \\| is told to end$")
        self.assertEqual(self.pids()[1], before[1])
        (self.folder / "go").touch()
        said = rolls.communicate(timeout=60)
        self.assertEqual(rolls.returncode, 0, said)
        said = self.must(0, "stop", "--nodes=1,2")
        self.assertIn("localhost | ends node-1, node-2\nlocalhost | waits no longer\n", said)
        for words, line in [(["start"], "waits for node-1, node-2, node-3"),
                            (["deploy", f"--package={self.package}", "--while-running"], "installs"),
                            (["collect", self.folder / "collected", "--verify"], "verifies the log of node 3")]:
            self.assertIn(f"localhost | {line}\n", self.must(0, *words))
        said = self.must(0, "down", "--yes")
        for line in ("ends node-1, node-2, node-3", "waits no longer", "removes what was installed", "is done"):
            self.assertIn(f"localhost | {line}\n", said)

    def interrupt(self, command, others):
        """Ends a command as Ctrl-C does, and sees that the other processes end, too."""
        self.assertTrue(all(processes.start_ticks(pid) for pid in others))
        os.killpg(command.pid, signal.SIGINT)
        command.communicate(timeout=20)
        self.assertEqual(command.returncode, 128 + signal.SIGINT)
        self.wait_for(lambda: not any(processes.start_ticks(pid) for pid in others))


if __name__ == "__main__":
    unittest.main()
