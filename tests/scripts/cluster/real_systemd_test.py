"""Tests nodes as units of a real systemd, which is the first process here (real_systemd.sh). systemd_test.py has what
is refused.

Not covered: other hosts' systemd, which is reached by the same calls; a restart of the machine, of which only the
target that starts the nodes is tested.
"""

import json
import os
import pathlib
import resource
import signal
import subprocess
import time
import unittest

from rig import SCRIPT, Rig

NOBODY = 65534


def systemctl(*words):
    return subprocess.run(["systemctl", *words], capture_output=True, text=True, check=False).stdout.strip()


def limits(pid):
    """Returns the soft and the hard limit of locked memory, and those of open files."""
    text = pathlib.Path(f"/proc/{pid}/limits").read_text(encoding="utf-8")
    return [tuple(text.partition(name)[2].split()[:2]) for name in ("Max locked memory", "Max open files")]


class RealSystemd(Rig):
    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)
        self.unit = pathlib.Path("/etc/systemd/system/granary@.service")

    def deploy_and_start(self):
        self.write_file()
        self.assertIn("supervisor systemd", self.must(0, "deploy", f"--package={self.package}"))
        self.must(0, "start")

    def await_status(self, wanted):
        """Waits until `wanted` holds of the services, and returns them."""
        until = time.monotonic() + 60
        while not wanted(found := self.status()):
            self.assertLess(time.monotonic(), until, found)
            time.sleep(0.2)
        return found

    def test_from_deploy_to_down(self):
        self.deploy_and_start()
        self.assertEqual(self.must(0, "status").count("serves"), 3)
        self.see_limits()
        self.assertIn("node 2 of 3 serves", self.must(0, "logs", "--nodes=2"))
        self.must(0, "kill", "3")
        found = self.await_status(lambda found: found["node-3"]["serves"] and found["node-3"]["restarts"] == 1)
        self.assertEqual(found["node-1"]["restarts"], 0)
        self.assertEqual(self.must(0, "restart", "--rolling").count("restarted; serves"), 3)
        self.must(0, "collect", self.folder / "collected")
        log = next((self.folder / "collected").glob("*/node-3/log")).read_text()
        self.assertGreaterEqual(log.count("node 3 of 3 serves"), 3, log)
        self.must(0, "stop")
        self.assertEqual({each["state"] for each in self.status().values()}, {"ended"})
        subprocess.run(["systemctl", "start", "multi-user.target"], check=True)  # a boot does this, too
        self.await_status(lambda found: all(each["serves"] for each in found.values()))
        systemctl("disable", "granary@2.service")  # it is not loaded any more once it has ended
        self.must(0, "stop", "--nodes=2")
        self.must(0, "start", "--nodes=2")
        self.forget_node_3()
        self.must(0, "down", "--yes")
        self.assertFalse(self.unit.exists())
        self.assertEqual(list(self.unit.parent.glob("*.wants/granary@*")), [])
        self.assertEqual(systemctl("list-units", "--all", "--plain", "--no-legend", "granary@*"), "")

    def forget_node_3(self):
        """Forgets the node as an earlier release did when the cluster file lost it. `down` ends it all the same."""
        path = next(self.folder.glob("*.installed")) / "deployed.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"nodes": [1, 2]}))

    def see_limits(self):
        """Sees that what the unit asks for is in force, as far as this machine lets systemd raise it."""
        may_raise = int(pathlib.Path("/proc/self/status").read_text().partition("CapEff:")[2].split()[0], 16) >> 24 & 1
        _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
        for each in self.status().values():
            memory, files = limits(each["pid"])
            if may_raise:
                self.assertEqual((memory, files), (("unlimited",) * 2, ("65536",) * 2))
                self.assertEqual(pathlib.Path(f"/proc/{each['pid']}/oom_score_adj").read_text().strip(), "-500")
            else:
                print(f"this machine has no CAP_SYS_RESOURCE: memory {memory}, files {files}", flush=True)
                self.assertEqual(files, (str(min(65536, most_files)),) * 2)

    def test_nodes_whose_lines_the_journal_has_forgotten(self):
        self.deploy_and_start()
        life = systemctl("show", "--property=InvocationID", "--value", "granary@1.service")
        self.assertIn("Started", self.journal(f"INVOCATION_ID={life}", "--output=cat"))  # this line is its beginning
        self.await_status(lambda found: all(time.time() - each["since"] > 11 for each in found.values()))
        self.journal("--rotate")
        time.sleep(1.5)
        self.journal("--vacuum-time=1s")
        self.assertEqual(self.journal("--quiet", f"_SYSTEMD_INVOCATION_ID={life}"), "")
        self.assertEqual(self.must(0, "status").count("is a member; the journal has forgotten whether it serves"), 3)
        self.assertEqual(self.must(0, "restart", "--rolling").count("restarted; serves"), 3)

    @staticmethod
    def journal(*words):
        return subprocess.run(["journalctl", *words], capture_output=True, text=True, check=True).stdout

    def test_damaged_data_are_final(self):
        self.deploy_and_start()
        self.must(0, "stop")
        manifest = self.folder / "data/node-2/MANIFEST"
        whole = manifest.read_bytes()
        manifest.write_bytes(b"garbage")
        self.assertIn("MANIFEST", self.must(3, "start", "--nodes=2", "--timeout=30"))
        time.sleep(3)  # systemd would not wait so long before another try
        found = self.status()["node-2"]
        self.assertEqual((found["state"], found["restarts"]), ("failed", 0))
        self.assertIn("exit code 4", found["why"])
        manifest.write_bytes(whole)
        self.must(0, "start")

    def test_following_ends_with_its_caller(self):
        self.deploy_and_start()
        for number in (signal.SIGINT, signal.SIGKILL):
            with self.subTest(number), subprocess.Popen([SCRIPT, "logs", "-f", f"--cluster={self.file}"],
                                                        stdout=subprocess.PIPE, text=True) as following:
                try:
                    for line in following.stdout:
                        if line.rstrip().endswith("node 3 of 3 serves"):
                            break
                    self.assertNotEqual(self.journals_followed(), [])
                    following.send_signal(number)
                    following.wait(20)
                finally:
                    following.kill()
                until = time.monotonic() + 20
                while self.journals_followed() and time.monotonic() < until:
                    time.sleep(0.1)
                self.assertEqual(self.journals_followed(), [])

    @staticmethod
    def journals_followed():
        done = subprocess.run(["pgrep", "--full", "journalctl .*--follow"], capture_output=True, text=True, check=False)
        return done.stdout.split()

    def test_nodes_run_as_the_owner_of_the_install_directory(self):
        for name in ("data", "trial.installed"):
            (self.folder / name).mkdir()
            os.chown(self.folder / name, NOBODY, NOBODY)
        self.deploy_and_start()
        for each in self.status().values():
            self.assertEqual(os.stat(f"/proc/{each['pid']}").st_uid, NOBODY)
        self.see_limits()
        self.must(0, "stop")


if __name__ == "__main__":
    unittest.main()
