"""Tests two hosts that share neither files nor memory, by ssh, with RDMA between them (Soft-RoCE); two_machines.sh
makes them.

Not covered: leases, for which the hosts need clocks that agree (tests/node/two_hosts.sh has them).
"""

import json
import os
import pathlib
import re
import subprocess
import time
import unittest
import urllib.request

from rig import Rig

FILE = """\
[cluster]
name = "pair"
provider = "verbs"
swap_stores = "tolerated"
run_directory = "/run/granary"
key_file = "/etc/granary-pair.key"
[membership]
kind = "zookeeper"
servers = ["10.77.0.1:2181"]
chroot = "/pair"
session_timeout_ms = 20000
[clock]
kind = "none"
[defaults]
workers = 1
memory = "512MiB"
data_directory = "/dev/shm/data"
reliable_directory = "/dev/shm/rings"
install_directory = "/opt/pair"
ssh_user = "root"
http_token_file = "/etc/granary-pair.token"
"""
NODE = """\
[[node]]
id = {0}
host = "10.77.0.{0}"
address = "10.77.0.{0}"
http = "10.77.0.{0}:9100"
"""


class TwoMachines(Rig):
    patience = 400

    def setUp(self):
        super().setUp()
        self.file.write_text(FILE + NODE.format(1) + NODE.format(2))
        secret = "umask 077; head -c 32 /dev/urandom | od -An -tx1 -w32 | tr -d ' \\n' > "
        for each in ("key", "token"):
            subprocess.run(secret + f"/etc/granary-pair.{each}", shell=True, check=True)
        self.flags = ["--ssh_config=/tmp/machine/ssh_config"]

    def test_from_deploy_to_down(self):
        self.must(0, "check", "--accept-new")
        self.see_the_way_between()
        self.must(0, "deploy", f"--package={self.package}", "--with-zookeeper")
        self.must(0, "start", "--timeout=300")
        said = self.must(0, "status")
        self.assertEqual(len(re.findall(r"node-[12] .* (serving, [0-9,]+ commits/s|serves)$", said, re.MULTILINE)), 2, said)
        self.assertEqual(self.document()["cluster"]["nodes_ready"], 2)
        self.must(0, "kill", "2")
        self.serve_again(300)
        self.assertEqual(self.must(0, "restart", "--rolling").count("restarted; serves"), 2)
        self.must(0, "stop")
        for name, flags in (("smallbank", ["--accounts=1000", "--distributed_percent=50"]),
                            ("tpcc", ["--items=100", "--customers=30", "--cross_warehouse_percent=10"])):
            with self.subTest(name):
                self.bench(name, *flags)
        self.must(0, "collect", self.folder / "collected")
        self.assertTrue((self.folder / "collected/10.77.0.2/node-2/log").exists())
        self.must(0, "wipe", "--yes")
        self.must(0, "down", "--yes")

    def see_the_way_between(self):
        """Runs `granary doctor` on both hosts, of which the first also reads the second's memory."""
        program = os.environ["GRANARY"]
        with subprocess.Popen(["ssh", "-F", "/tmp/machine/ssh_config", "10.77.0.2", program, "doctor", "--listen",
                               "--timeout=120"]) as listener:
            until = time.monotonic() + 100
            said = ""
            while "10.77.0.2 port 18520 answers" not in said and time.monotonic() < until:
                time.sleep(2)
                said = subprocess.run([program, "doctor", "--peer=10.77.0.2"], stdout=subprocess.PIPE, text=True,
                                      check=False).stdout
            listener.terminate()
        print(said, flush=True)
        self.assertRegex(said, r"RDMA round trip.* 1000 READs of 64 bytes from 10\.77\.0\.2: ")

    @staticmethod
    def document():
        token = pathlib.Path("/etc/granary-pair.token").read_text(encoding="utf-8")
        page = urllib.request.Request("http://10.77.0.1:9100/status.json", headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(page, timeout=60) as answer:
            return json.load(answer)

    def serve_again(self, seconds):
        """Waits until all nodes serve: a supervisor starts the one that was killed."""
        until = time.monotonic() + seconds
        said = ""
        while time.monotonic() < until:
            code, said = self.call("status")
            if code == 0:
                return
            time.sleep(2)
        self.fail(said)

    def bench(self, name, *flags):
        report = self.folder / f"{name}.json"
        said = self.must(0, "bench", name, *flags, "--workers=1", "--seconds=3", "--warmup=1", f"--json={report}")
        self.assertIn("conditions hold", said)
        self.assertEqual(len(json.loads(report.read_text())["granary"]["machines"]), 2)
        print(said, flush=True)


if __name__ == "__main__":
    unittest.main()
