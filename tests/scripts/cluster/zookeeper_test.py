"""Tests a server of ZooKeeper that deploy set up on this host: its data last as long as those of the nodes.

Not covered: an ensemble on several hosts, which hosts_test.py has.
"""

import os
import pathlib
import socket
import unittest

from rig import Rig, free_port

JAR = pathlib.Path("/usr/share/java/zookeeper.jar")

FILE = """\
[cluster]
name = "trial"
run_directory = "run"
[membership]
kind = "zookeeper"
servers = ["127.0.0.1:{port}"]
session_timeout_ms = 20000
[defaults]
memory = "64MiB"
data_directory = "data"
[[node]]
id = 1
[[node]]
id = 2
"""


def has_ipv6():
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@unittest.skipUnless(JAR.exists() and os.access("/usr/bin/java", os.X_OK), "needs ZooKeeper: scripts/setup.sh --deploy")
class ZooKeeper(Rig):
    def setUp(self):
        super().setUp()
        self.file.write_text(FILE.format(port=free_port()))
        self.installed = self.folder / "trial.installed"
        self.deploy = ("deploy", f"--package={self.package}")

    def test_down_leaves_what_the_data_of_nodes_need(self):
        self.must(0, *self.deploy, "--with-zookeeper")
        self.must(0, "start")
        self.must(0, "stop")
        self.assertIn(f"'{self.installed}/zookeeper/1/data' stays", self.must(0, "down", "--yes"))
        left = sorted(path.name for path in self.installed.iterdir())
        self.assertEqual(left, [".granary-cluster", "zookeeper"])
        self.assertIn("zookeeper/1/data' stays", self.must(0, "down", "--yes"))
        self.must(0, *self.deploy, "--with-zookeeper")
        self.assertEqual(self.must(0, "start").count("; serves"), 3)
        self.must(0, "stop")
        self.must(0, "wipe", "--yes")
        self.must(0, "down", "--yes")
        self.assertFalse(self.installed.exists())

    def test_a_later_deploy_keeps_the_server_unless_told_otherwise(self):
        self.must(0, *self.deploy, "--with-zookeeper")
        self.assertIn("nothing was done", self.must(0, *self.deploy))
        self.must(0, "start")
        self.assertIn("standalone", self.must(0, "status"))
        self.must(0, "stop")
        self.assertIn("zookeeper-1 runs, process", self.must(3, *self.deploy, "--no-zookeeper"))
        self.assertIn("zookeeper-1", self.must(0, "stop", "--with-zookeeper"))
        self.must(0, *self.deploy, "--no-zookeeper")
        self.assertEqual(set(self.status()), {"node-1", "node-2"})
        self.assertIn("nothing was done", self.must(0, *self.deploy))

    @unittest.skipUnless(has_ipv6(), "needs IPv6")
    def test_servers_with_addresses_of_ipv6(self):
        servers = ", ".join(f'"[::1]:{free_port()}"' for _ in range(3))
        self.file.write_text(FILE.replace('"127.0.0.1:{port}"', servers))
        self.must(0, *self.deploy, "--with-zookeeper")
        self.assertEqual(self.must(0, "start").count("; serves"), 5)
        self.assertEqual(self.must(0, "status").count("follower"), 2)
        self.must(0, "stop", "--with-zookeeper")

    def test_a_server_for_which_the_cluster_file_has_no_place_any_more(self):
        self.must(0, *self.deploy, "--with-zookeeper")
        self.file.write_text(FILE.format(port=1).replace('kind = "zookeeper"\nservers = ["127.0.0.1:1"]\n', ""))
        self.assertIn("--no-zookeeper", self.must(2, *self.deploy))
        self.must(0, *self.deploy, "--no-zookeeper")


if __name__ == "__main__":
    unittest.main()
