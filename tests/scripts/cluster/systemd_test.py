"""Tests nodes as units of systemd. A systemctl of ours does what the unit says, and systemd-analyze judges the unit.
real_systemd_test.py has the real one, where that can be had.
"""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest
import unittest.mock

from rig import Rig, free_port

from cluster.agent import journal, place, systemd

FAKE = pathlib.Path(__file__).with_name("fake_systemd")


class Systemd(Rig):
    def setUp(self):
        super().setUp()
        self.units = self.folder / "units"
        self.units.mkdir()
        self.environment = {"PATH": f"{FAKE}:/usr/bin:/usr/sbin:/bin", "FAKE_SYSTEMD": str(self.folder),
                            "GRANARY_UNIT_DIRECTORY": str(self.units)}

    def test_nodes_are_instances_of_one_unit(self):
        self.write_file()
        deploy = ("deploy", f"--package={self.package}", "--supervisor=systemd")
        self.assertIn("unit granary@.service", self.must(0, *deploy))
        self.assertIn("nothing was done", self.must(0, *deploy))
        self.judge_unit()
        self.must(0, "start")
        said = self.must(0, "status")
        self.assertEqual(said.count("serves"), 3)
        self.assertFalse((self.folder / "trial.installed/services").exists(), "no supervisor of our own")
        self.assertIn("node 2 of 3 serves", self.must(0, "logs", "--nodes=2"))
        self.assertIn("stop them before another one takes over", self.must(3, "deploy", f"--package={self.package}",
                                                                           "--supervisor=own"))
        self.must(0, "kill", "3")
        self.assertIn("failed", self.must(1, "status"))
        self.must(0, "start")
        self.must(0, "restart", "--rolling", "--nodes=1")
        (self.folder / "slow").touch()  # a job that waits is not taken for a node that has ended
        self.must(0, "restart", "--rolling", "--nodes=1")
        self.must(0, "stop")
        self.assertEqual(self.must(0, "start").count("started; serves"), 3)
        self.must(0, "stop")
        self.must(0, "down", "--yes")
        self.assertEqual(list(self.units.iterdir()), [])
        calls = (self.folder / "calls").read_text().splitlines()
        self.assertIn("enable --quiet granary@1.service granary@2.service granary@3.service", calls)
        self.assertIn("disable --quiet granary@1.service granary@2.service granary@3.service", calls)
        self.assertEqual(calls.count("daemon-reload"), 2)

    def judge_unit(self):
        unit = self.units / "granary@.service"
        text = unit.read_text()
        for line in ("LimitMEMLOCK=infinity", "LimitNOFILE=65536", "Restart=on-failure",
                     "RestartPreventExitStatus=2 4 5",
                     f"Documentation=file:{self.folder}/trial.installed/current/share/doc/granary/docs/operations.md"):
            self.assertIn(f"\n{line}\n", text)
        if shutil.which("systemd-analyze"):
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True,
                                  check=False)
            self.assertEqual((done.returncode, [line for line in done.stderr.splitlines() if "granary@" in line]),
                             (0, []), done.stderr)

    def begin(self):
        self.write_file()
        self.deploy = ("deploy", f"--package={self.package}", "--supervisor=systemd")
        self.must(0, *self.deploy)
        self.must(0, "start")

    def unit_state(self, node):
        """Returns whether a node's process runs, and whether it is begun at boot."""
        pid = json.loads((self.folder / f"granary@{node}.service").read_text())["pid"]
        enabled = (self.units / f"multi-user.target.wants/granary@{node}.service").is_symlink()
        return pathlib.Path(f"/proc/{pid}/exe").exists(), enabled

    def test_a_node_that_the_cluster_file_has_no_more_is_ended(self):
        self.begin()
        self.assertEqual(self.unit_state(3), (True, True))
        self.file.write_text(self.file.read_text().replace("[[node]]\nid = 3\n", ""))
        self.must(3, *self.deploy)
        self.assertEqual(self.unit_state(3), (True, True))
        self.assertIn("node-3, which the cluster file no longer has: ended", self.must(0, *self.deploy,
                                                                                       "--while-running"))
        self.assertEqual(self.unit_state(3), (False, False))
        self.assertEqual(self.unit_state(2), (True, True))

    def test_down_ends_a_node_that_an_earlier_release_has_forgotten(self):
        self.begin()
        path = self.folder / "trial.installed/deployed.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"nodes": [1, 2]}))
        self.must(0, "down", "--yes")
        self.assertEqual([self.unit_state(node) for node in (1, 2, 3)], [(False, False)] * 3)
        self.assertEqual(list(self.units.iterdir()), [])

    def test_nodes_that_do_not_begin_at_boot(self):
        """systemd forgets such a unit as soon as it has ended."""
        self.begin()
        for node in (1, 2, 3):
            (self.units / f"multi-user.target.wants/granary@{node}.service").unlink()
        self.must(0, "stop")
        self.assertEqual(self.must(0, "start").count("started; serves"), 3)
        self.must(0, "restart")
        self.must(0, "restart", "--rolling")
        self.file.write_text(self.file.read_text().replace("[[node]]\nid = 3\n", ""))
        self.must(0, *self.deploy, "--while-running")
        self.assertEqual(self.unit_state(3), (False, False))

    def test_only_an_end_in_order_is_a_success(self):
        self.begin()
        for node, result, code, status in [(1, "timeout", 2, 9), (2, "exit-code", 1, 5), (3, "success", 2, 15)]:
            (self.folder / f"ended-granary@{node}.service").write_text(
                f"Result={result}\nExecMainCode={code}\nExecMainStatus={status}")
        said = self.must(1, "stop")
        for words in ("killed after 30 s", "ended, exit code 5", "ended, SIGTERM"):
            self.assertIn(f"FAILED: {words}", said)
        self.assertEqual(self.must(0, "stop").count("did not run"), 3)

    def test_the_unit_goes_when_our_own_supervisors_take_over(self):
        self.begin()
        self.must(0, "stop")
        self.assertIn("unit granary@.service removed", self.must(0, *self.deploy[:2], "--supervisor=own"))
        self.assertEqual(list(self.units.iterdir()), [], "nothing begins nodes at boot a second time")

    def test_nodes_whose_lines_the_journal_has_forgotten(self):
        self.write_file()
        self.file.write_text(self.file.read_text() + f'http = "127.0.0.1:{free_port()}"\n')  # node 3 gets this key
        self.must(0, "deploy", f"--package={self.package}", "--supervisor=systemd")
        self.must(0, "start")
        while time.time() < max(each["since"] for each in self.status().values()) + 11:
            time.sleep(0.5)
        for path in [*self.folder.glob("journal-*"), *self.folder.glob("started-*")]:
            path.unlink()
        said = self.must(0, "status")
        self.assertEqual(said.count("is a member; the journal has forgotten whether it serves"), 2, said)
        self.assertRegex(said, r"node-3 .* serving, [0-9,]+ commits/s")
        self.assertEqual(self.must(0, "start").count("runs already; serves"), 3)
        self.assertEqual(self.must(0, "restart", "--rolling").count("restarted; serves"), 3)
        self.assertEqual(self.must(0, "status").count("; the journal"), 0)

    def test_places_that_a_unit_cannot_name(self):
        """systemd cuts its lines at blanks, and puts something else in the place of % and $."""
        for name in ("two words", "50%h"):
            self.write_file(defaults=f'install_directory = "{name}"')
            deploy = ("deploy", f"--package={self.package}", "--supervisor=systemd")
            self.assertIn(f"/{name}' cannot be written into a unit of systemd", self.must(2, *deploy))
            self.assertFalse((self.folder / name).exists())
        self.assertEqual(list(self.units.iterdir()), [])

    def test_the_unit_of_another_cluster_stays(self):
        self.write_file()
        (self.units / "granary@.service").write_text("# Written by hand\n")
        self.assertIn("is not of cluster 'trial'", self.must(3, "deploy", f"--package={self.package}",
                                                             "--supervisor=systemd"))
        self.assertEqual((self.units / "granary@.service").read_text(), "# Written by hand\n")
        self.assertFalse((self.folder / "trial.installed").exists(), "this is found out before anything is done")


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class Unit(unittest.TestCase):
    def test_a_run_directory_below_run_is_made_for_its_user(self):
        """The directory is gone after the host was started again, and only root may make it."""
        with tempfile.TemporaryDirectory(prefix="granary-unit-") as folder:
            os.chown(folder, 65534, 65534)
            for run, line in [("/run/granary/rack", "RuntimeDirectory=granary/rack\n"), ("/var/run/rack", "=rack\n"),
                              ("/srv/rack/run", ""), ("/run/user/1000/rack", ""), ("/run/one two", ""), ("/run", "")]:
                text = systemd.unit_text(place.Place(folder, "rack"), "", run)
                self.assertEqual("RuntimeDirectory=" in text, line != "", run)
                self.assertIn(f"{line}RuntimeDirectoryMode=0700\nRuntimeDirectoryPreserve=yes\n" if line else "", text)
            os.chown(folder, 0, 0)
            self.assertNotIn("RuntimeD", systemd.unit_text(place.Place(folder, "rack"), "", "/run/r"), "root makes it")


class Journal(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="granary-journal-"))
        self.addCleanup(shutil.rmtree, self.folder)
        patch = unittest.mock.patch.dict(os.environ, {"PATH": f"{FAKE}:/usr/bin:/bin", "FAKE_SYSTEMD": str(self.folder)})
        patch.start()
        self.addCleanup(patch.stop)

    def say(self, invocation, *lines):
        (self.folder / f"started-{invocation}").write_text("Started granary@1.service.")
        with open(self.folder / f"journal-{invocation}", "a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)

    def test_it_is_read_on_from_where_it_was_read(self):
        served = (True, 1700000000.0)
        self.say("on", "node 1 joins")
        self.assertEqual(journal.look("on"), (False, None))
        self.say("on", "node 1 of 3 serves")
        self.assertEqual([journal.look("on"), journal.look("on")], [served, served])
        self.say("on", "node 1 starts again with its data in 2 s")
        self.assertEqual(journal.look("on"), (False, None))
        self.assertEqual((self.folder / "journal-calls").read_text().split(), ["0", "2", "3", "3"])

    def test_a_life_whose_beginning_is_gone_is_unknown(self):
        self.assertEqual(journal.look("gone"), (None, None))
        self.say("cut", "node 1 of 3 serves")
        (self.folder / "started-cut").unlink()
        self.assertEqual(journal.look("cut"), (True, 1700000000.0))


if __name__ == "__main__":
    unittest.main()
