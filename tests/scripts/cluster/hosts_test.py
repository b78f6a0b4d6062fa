"""Tests three hosts that are reached by ssh, with ZooKeeper; hosts.sh makes them.

Not covered: hosts with files and memory of their own, and a user who is not root.
"""

import json
import os
import pathlib
import signal
import subprocess
import time
import unittest

from rig import Rig

HOSTS = pathlib.Path(os.environ.get("HOSTS", "/nowhere"))

FILE = """\
[cluster]
name = "rack"
run_directory = "run"
key_file = "rack.key"
[membership]
kind = "zookeeper"
servers = ["10.99.0.1:2181", "10.99.0.2:2181", "10.99.0.3:2181"]
chroot = "/rack"
session_timeout_ms = 20000
[defaults]
memory = "64MiB"
data_directory = "data"
"""


class Hosts(Rig):
    def setUp(self):
        super().setUp()
        node = '[[node]]\nid = {}\nssh_host = "10.99.0.{}"\nssh_user = "root"\ninstall_directory = "installed/{}"\n'
        nodes = [node.format(n, n, n) for n in (1, 2, 3)]
        self.file.write_text(FILE + "".join(nodes))
        key = self.folder / "rack.key"
        key.write_text("ab" * 32)
        key.chmod(0o600)
        self.flags = [f"--ssh_config={HOSTS}/ssh_config"]
        (HOSTS / "known_hosts").unlink(missing_ok=True)

    def test_from_deploy_to_down(self):
        said = self.must(3, "check")
        self.assertEqual(said.count("Host key verification failed"), 3, said)
        self.assertEqual(self.must(0, "check", "--accept-new").count("nothing is installed yet"), 3)
        deploy = ("deploy", f"--package={self.package}", "--with-zookeeper")
        self.must(0, *deploy)
        self.assertEqual(self.must(0, *deploy).count("nothing was done"), 3)
        said = self.must(1, "check")
        self.assertIn("zookeeper-1, zookeeper-2, zookeeper-3 of 'deploy --with-zookeeper' does not run: 'start'", said)
        said = self.must(0, "start")
        self.assertEqual(said.count("started; serves"), 6, "three nodes, three servers of ZooKeeper")
        self.must(0, "check")
        said = self.must(0, "status")
        self.assertEqual(said.count("serves"), 3)
        self.assertEqual((said.count("leader"), said.count("follower")), (1, 2), said)
        self.assertEqual(self.must(0, "restart", "--rolling").count("restarted; serves"), 3)
        self.assertIn("node-2| ", self.must(0, "logs", "--nodes=2"))
        self.follow()
        self.without_one_host()
        self.assertIn("stop the cluster first", self.must(3, "wipe", "--yes"))
        self.must(0, "stop")
        self.bench()
        self.must(0, "collect", self.folder / "collected")
        self.assertTrue((self.folder / "collected/10.99.0.3/node-3/log").exists())
        self.assertEqual(self.must(0, "down", "--yes").count("/data' stays"), 3, "what ZooKeeper knows is data")
        self.must(0, *deploy)
        self.must(0, "start")
        self.must(0, "stop")
        self.must(0, "wipe", "--yes")
        self.must(0, "down", "--yes")
        self.assertEqual(list((self.folder / "installed").iterdir()), [])
        self.assertTrue((self.folder / "rack.key").exists(), "a key that was there before stays")

    def follow(self):
        command = [str(pathlib.Path(__file__).resolve().parents[3] / "scripts/cluster.sh"), "logs", "-f", "--lines=0",
                   f"--cluster={self.file}", *self.flags]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as following:
            self.must(0, "kill", "3")
            for line in following.stdout:
                if line.startswith("node-3| ") and line.rstrip().endswith("node 3 of 3 serves"):
                    break
            following.send_signal(signal.SIGTERM)
            self.assertEqual(following.wait(20), 128 + signal.SIGTERM)
        until = time.monotonic() + 10
        while subprocess.run(["pgrep", "-f", "granary-ssh-"], stdout=subprocess.DEVNULL, check=False).returncode == 0:
            self.assertLess(time.monotonic(), until, "a connection is still open")
            time.sleep(0.1)

    def without_one_host(self):
        """Ends the sshd of one host, which does not answer then. Commands look after the others all the same."""
        pid = int((HOSTS / "sshd2.pid").read_text())
        os.kill(pid, signal.SIGKILL)
        said = self.must(3, "status")
        self.assertEqual(said.count("serves"), 2, said)
        self.assertRegex(said, r"10\.99\.0\.2 +status +FAILED: ssh: .*Connection refused")
        said = self.must(3, "restart", "--rolling")
        self.assertIn("a host does not answer", said)
        said = self.must(0, "restart", "--nodes=1")
        self.assertEqual(said.count("runs already; serves"), 2, "the servers of ZooKeeper that can be asked")
        self.assertRegex(said, "node-1 +started; serves")
        subprocess.run(["nsenter", f"--net={HOSTS}/network2", "/usr/sbin/sshd", "-f", HOSTS / "sshd2"], check=True)
        self.must(0, "status")

    def bench(self):
        report = self.folder / "report.json"
        said = self.must(0, "bench", "smallbank", "--accounts=1000", "--distributed_percent=10", "--seconds=1",
                         "--warmup=0", f"--json={report}")
        self.assertIn("2 of 2 conditions hold", said)
        for node in (1, 2, 3):  # a node that gets no processor for half a second rounds its first second up
            self.assertRegex(said, rf"node-{node} \| \[ +[12] s\] +[\d,]+ /s ")
        self.assertEqual(len(json.loads(report.read_text())["granary"]["machines"]), 3)


if __name__ == "__main__":
    began = time.monotonic()
    unittest.main()
