"""Tests three nodes on this host, from the first deploy to the end. Not covered: a host that is started again."""

import json
import os
import pathlib
import shutil
import signal
import time
import unittest

from rig import Rig, make_package, package_directory


class Life(Rig):
    def test_from_deploy_to_down(self):
        self.write_file()
        deploy = ("deploy", f"--package={self.package}")
        self.assertIn("would send", self.must(0, *deploy, "--dry-run"))
        self.assertFalse((self.folder / "trial.installed").exists())
        self.assertIn(f"current version {package_directory(self.package)}", self.must(0, *deploy))
        self.assertIn("nothing was done", self.must(0, *deploy))
        self.must(0, "check")
        self.assertIn("ok       run directory", self.must(0, "check", "--verbose", "--nodes=2"))
        self.must(1, "status")
        self.assertEqual(self.must(0, "start").count("started; serves"), 3)
        self.assertEqual(self.must(0, "start").count("runs already; serves"), 3)
        self.assertIn("membership: members 1, 2, 3; nothing is owed", self.must(0, "status"))
        self.crash()
        self.assertIn("node-2| ", self.must(0, "logs", "--lines=3"))
        self.assertEqual(self.must(0, "restart", "--rolling").count("restarted; serves"), 3)
        self.refuse_to_remove_what_runs()
        self.collect()
        self.assertEqual(self.must(0, "stop").count("told to, exit code 0"), 3)
        self.assertEqual(self.must(0, "stop").count("did not run"), 3)
        self.assertIn("exit code 0", self.verdict())
        self.wipe()
        self.must(0, "start", "--nodes=1,2,3")
        self.must(0, "down", "--yes")
        self.assertFalse((self.folder / "trial.installed").exists())
        self.assertTrue((self.folder / "data/node-1/MANIFEST").exists(), "down leaves data")
        self.assertIn("nothing was installed", self.must(0, "down", "--yes"))

    def crash(self):
        before = self.status()["node-2"]["pid"]
        self.assertIn(f"process {before} killed", self.must(0, "kill", "2"))
        until = time.monotonic() + 60
        while not (found := self.status()["node-2"])["serves"] or found["pid"] == before:
            self.assertLess(time.monotonic(), until, found)
        self.assertEqual(found["restarts"], 1)

    def refuse_to_remove_what_runs(self):
        self.assertIn("stop the cluster first", self.must(3, "wipe", "--yes"))
        self.assertIn("say --yes", self.must(2, "wipe"))
        self.assertIn("'stop' first", self.must(3, "bench", "smallbank"))

    def collect(self):
        where = self.folder / "collected"
        self.must(0, "collect", where)
        self.assertIn("serves", (where / "localhost/node-1/log").read_text())
        self.assertIn("granary ", json.loads((where / "localhost/host.json").read_text())["granary"])
        self.assertIn("a new directory", self.must(2, "collect", where))

    def verdict(self):
        where = self.folder / "verified"
        self.must(0, "collect", where)
        return (where / "localhost/node-3/log-verify").read_text()

    def wipe(self):
        self.assertEqual(self.must(0, "wipe", "--yes").count("removed"), 4)
        self.assertEqual(list((self.folder / "data").iterdir()), [])
        self.assertFalse((self.folder / "run").exists())
        self.assertEqual(self.must(0, "wipe", "--yes").count("had no data"), 3)

    def test_another_version_is_refused_while_nodes_run_or_rolled_out(self):
        self.write_file()
        self.must(0, "deploy", f"--package={self.package}")
        self.must(0, "start")
        other = make_package(self.packages, "second")
        old, new = package_directory(self.package), package_directory(other)
        self.assertIn(f"with version '{old}': stop", self.must(3, "deploy", f"--package={other}"))
        self.must(0, "deploy", f"--package={other}", "--while-running")
        self.assertIn(f"{old} (deployed: {new})", self.must(0, "status"))
        self.must(0, "restart", "--rolling")
        self.assertEqual({each["version"] for each in self.status().values()}, {package_directory(other)})
        self.file.write_text(self.file.read_text().replace('"64MiB"', '"65MiB"'))
        self.assertIn("has changed since it was deployed", self.must(3, "start"))
        before = self.status()
        for words in (["restart"], ["restart", "--rolling"], ["restart", "--nodes=2"]):
            self.assertIn("nothing was stopped", self.must(3, *words))
            self.must(0, "status")
        self.assertEqual([each["pid"] for each in self.status().values()], [each["pid"] for each in before.values()])
        self.assertIn("by the cluster file of the last deploy", self.must(3, "deploy", f"--package={other}"))
        self.must(0, "stop")
        self.assertIn("cluster file", self.must(0, "deploy", f"--package={other}"))

    def test_a_node_that_the_cluster_file_has_no_more_is_ended(self):
        self.write_file()
        deploy = ("deploy", f"--package={self.package}")
        self.must(0, *deploy)
        self.must(0, "start")
        pid = self.status()["node-3"]["pid"]
        self.file.write_text(self.file.read_text().replace("[[node]]\nid = 3\n", ""))
        self.must(3, *deploy)
        self.assertIn("node-3, which the cluster file no longer has: ended", self.must(0, *deploy, "--while-running"))
        self.assertFalse(pathlib.Path(f"/proc/{pid}/exe").exists())
        self.assertEqual(set(self.status()), {"node-1", "node-2"})
        self.assertIn("nothing was done", self.must(0, *deploy, "--while-running"))

    def test_a_node_outlives_its_supervisor(self):
        self.write_file(defaults="")
        self.must(0, "deploy", f"--package={self.package}")
        self.must(0, "start")
        directory = self.folder / "trial.installed/services/node-1"
        os.kill(json.loads((directory / "state.json").read_text())["supervisor"]["pid"], signal.SIGKILL)
        self.assertIn("running, supervisor gone", self.must(0, "status"))
        self.assertIn("without a supervisor", self.must(0, "start"))
        self.assertIn("ended, without a supervisor", self.must(0, "stop"))

    def test_all_that_is_left_of_crashed_nodes_is_wiped(self):
        self.write_file(defaults='data_directory = "data"\nreliable_directory = "rings"\nlog_directories = ["a", "b"]')
        self.must(0, "deploy", f"--package={self.package}")
        self.must(0, "start")
        for node in ("node-1", "node-2", "node-3"):
            state = json.loads((self.folder / f"trial.installed/services/{node}/state.json").read_text())
            for who in ("supervisor", "process"):
                os.kill(state[who]["pid"], signal.SIGKILL)
        self.assertEqual(self.must(1, "status").count("dead: ended"), 3)
        self.assertTrue(list((self.folder / "rings/node-2").glob("granary-*/ring-*")))
        self.must(0, "wipe", "--yes")
        left = [path for name in ("data", "rings", "a", "b") for path in (self.folder / name).rglob("*")]
        self.assertEqual([path for path in left if path.is_file()], [])
        self.must(0, "start")

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_nodes_run_as_the_owner_of_the_install_directory(self):
        self.write_file('key_file = "key"')
        self.folder.chmod(0o755)
        nobody = 65534
        installed, key = self.folder / "trial.installed", self.folder / "key"
        installed.mkdir()
        (self.folder / "data").mkdir()
        key.write_text("ab" * 32)
        key.chmod(0o600)
        for path in (installed, key, self.folder / "data"):
            os.chown(path, nobody, nobody)
        self.must(0, "deploy", f"--package={self.package}")
        euids = self.shadow_a_module(installed)
        (self.folder / "run").rmdir()  # below /run it is gone, too, once the host was started again
        (installed / "services").mkdir()  # it is root's for a moment when nodes are started at the same time
        self.must(0, "start")
        self.must(0, "status")
        for each in self.status().values():
            self.assertEqual(os.stat(f"/proc/{each['pid']}").st_uid, nobody)
        for path in (self.folder / "run", self.folder / "data/node-1/MEMBER", installed / "services/node-1/log"):
            self.assertEqual(path.stat().st_uid, nobody, path)
        self.must(0, "check")
        self.must(0, "stop")
        self.assertEqual(set(euids.read_text().split()) - {str(nobody)}, set())

        self.wipe_rings_of(nobody)

    def wipe_rings_of(self, user):
        """Lets root wipe rings of the user whose data these are. It names others, which may be somebody else's."""
        for name, owner in (("granary-left", user), ("granary-other", 1)):
            ring = pathlib.Path("/dev/shm") / f"{name}-{self.folder.name}"
            ring.mkdir(mode=0o700)
            self.addCleanup(shutil.rmtree, ring, ignore_errors=True)
            (ring / "OWNER").write_text(f"directory {os.path.realpath(self.folder)}/data/node-1\n")
            (ring / "ring-0").touch()
            os.chown(ring, owner, owner)
        said = self.must(3, "wipe", "--yes")
        self.assertIn(f"removed /dev/shm/granary-left-{self.folder.name}", said)
        self.assertIn(f"'/dev/shm/granary-other-{self.folder.name}' is left: it belongs to user 1", said)

    def shadow_a_module(self, installed):
        """Puts a module of Python's library into the install directory, as its owner may. Returns the file that tells
        by whom it was loaded.
        """
        euids = self.folder / "euids"
        euids.touch()
        euids.chmod(0o666)
        lines = ["import os, sys", f"open({str(euids)!r}, 'a').write(f'{{os.geteuid()}}\\n')",
                 f"sys.path.remove({str(installed)!r})", "del sys.modules['socket']", "import socket"]
        (installed / "socket.py").write_text("\n".join(lines))
        return euids

    def test_a_later_deploy_keeps_the_program_unless_told_otherwise(self):
        self.write_file()
        application = self.folder / "application"
        application.write_text('#!/bin/sh\nexec "$(dirname "$0")/granary" node "$@"\n')
        application.chmod(0o755)
        first, second = (make_package(self.packages, build, program=application) for build in ("app-1", "app-2"))
        self.must(0, "deploy", f"--package={first}", "--program=application")
        self.assertIn("nothing was done", self.must(0, "deploy", f"--package={first}"))
        self.must(0, "start")
        self.must(0, "deploy", f"--package={second}", "--while-running")
        self.must(0, "restart", "--rolling")
        job = self.folder / "trial.installed/services/node-1/job.json"
        self.assertIn("bin/application", job.read_text())
        self.must(0, "stop")
        self.assertIn("has no bin/application, which", self.must(2, "deploy", f"--package={self.package}"))
        self.must(0, "deploy", f"--package={self.package}", "--no-program")
        self.must(0, "start")
        self.assertIn("bin/granary", job.read_text())

    def test_bench_on_one_host(self):
        self.write_file(defaults="")
        self.must(0, "deploy", f"--package={self.package}")
        report = self.folder / "report.json"
        said = self.must(0, "bench", "smallbank", "--accounts=1000", "--seconds=1", "--warmup=0", "--repeat=1",
                         f"--json={report}")
        self.assertIn("2 of 2 conditions hold", said)
        self.assertRegex(said, r"node-3 \| \[ +1 s\]")
        self.assertGreater(json.loads(report.read_text())["Throughput (requests/second)"], 0)
        self.assertIn("no such flag", self.must(2, "bench", "smallbank", "--frobnicate=1"))


if __name__ == "__main__":
    unittest.main()
