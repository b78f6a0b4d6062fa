"""Tests commands of cluster.sh with a script in place of `granary`, which says and does what the real one does seldom,
and one in place of ssh.

Not covered: what the real `granary cluster check` finds (tests/cli), and real hosts (hosts_test.py).
"""

import argparse
import contextlib
import json
import os
import pathlib
import resource
import select
import signal
import subprocess
import unittest
from unittest import mock

from stand_in import TWO_HOSTS, StandIn, finding

from cluster import errors, hosts, inventory, session
from cluster.agent import collect, logs, processes
from cluster.agent.place import Place
from cluster.verbs import gone


class Commands(StandIn):
    def test_rolling_needs_to_know_of_all_members(self):
        self.begin()
        before = self.pids()
        for found, why in [([], "names no member"),
                           ([finding("clock", "bad")], "names no member"),
                           ([finding("members", "warning", "not looked at: no majority")], "not looked at"),
                           ([finding("member 1"), finding("dead node 2", "warning", "owed")], "dead node 2: owed")]:
            with self.subTest(why):
                self.findings(*found)
                self.assertIn(why, self.must(3, "restart", "--rolling", "--timeout=1"))
                self.assertEqual(self.pids(), before)
        self.findings(finding("clock", "bad"), *(finding(f"member {node}") for node in (1, 2, 3)))
        self.must(0, "restart", "--rolling", "--nodes=1")
        self.assertNotEqual(self.pids()[0], before[0])
        before = self.pids()
        away = finding("ZooKeeper", "warning", "one is away")
        members = [finding(f"member {node}") for node in (1, 2, 3)]
        self.findings(away, finding("ZooKeeper", "bad", "no majority"), *members)
        self.assertIn("no majority", self.must(3, "restart", "--rolling", "--timeout=1"))
        self.assertEqual(self.pids(), before)
        self.findings(away, *members)
        self.must(0, "restart", "--rolling", "--nodes=1")
        self.assertNotEqual(self.pids()[0], before[0])
        before = self.pids()
        self.assertIn("node-2 runs, which needs ZooKeeper", self.must(3, "stop", "--nodes=1", "--with-zookeeper"))
        self.assertEqual(self.pids(), before)

    def test_status_tells_of_members_beside_what_is_bad(self):
        self.begin()
        self.assertRegex(self.must(0, "status"), "membership: `granary cluster check` says only: cat: .*No such file")
        self.findings(finding("host of 2", "bad"), finding("ZooKeeper", "warning", "one server is away"),
                      finding("member 1"))
        self.assertIn("membership: members 1; nothing is owed; one server is away", self.must(0, "status"))
        self.findings()
        self.assertIn("membership: it names no member", self.must(0, "status"))

    def test_programs_have_the_limits_of_nodes(self):
        """The limits of an ssh session may be a user's: `check` would judge these, and `bench` pin too little."""
        soft, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
        self.begin()
        self.addCleanup(resource.setrlimit, resource.RLIMIT_MEMLOCK, (soft, hard))
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (64 << 10, hard))
        entry, lines = inventory.load(str(self.file)).hosts[0], []
        hosts.Host("trial", entry, hosts.agent_modules()).call("run", {"words": ["limits"]}, on_event=lines.append)
        self.assertIn(lines[0]["line"], ("unlimited", str(hard >> 10)))

    def test_a_log_that_is_not_followed_any_more(self):
        self.file.write_text(TWO_HOSTS.format(self.folder))
        self.must(0, "deploy", f"--package={self.package}", "--supervisor=own")
        self.must(0, "start")
        follows = self.begin_command("logs", "-f", "--lines=1")
        self.assertEqual({follows.stdout.readline()[:6] for _ in range(2)}, {"node-1", "node-2"})
        os.kill(int((self.folder / "session").read_text()), signal.SIGKILL)
        self.assertTrue(select.select([follows.stderr], [], [], 5)[0])
        self.assertIn("192.0.2.2: node-2: its log is not followed any more: ", follows.stderr.readline())
        self.assertIsNone(follows.poll())
        follows.send_signal(signal.SIGINT)
        self.assertRegex(follows.communicate(timeout=20)[0], "192.0.2.2 +logs +FAILED: ")

    def test_collect_locks_no_directory_that_somebody_may_need(self):
        """`granary log verify` locks its directory: a node cannot begin again there, and others cannot recover it."""
        self.begin()
        self.findings()
        self.must(0, "stop", "--nodes=1")
        self.must(0, "kill", "2")
        for where, flags, read in [("some", [], [1]), ("all", ["--verify"], [1, 2, 3]), ("none", ["--no-verify"], [])]:
            self.must(0, "collect", self.folder / where, *flags)
            said = {node: (self.folder / f"{where}/localhost/node-{node}/log-verify") for node in (1, 2, 3)}
            found = {node: path.read_text() for node, path in said.items() if path.exists()}
            self.assertEqual([node for node, text in found.items() if "all was read" in text], read)
            if where == "some":
                self.assertIn("collect --verify", found[2])

    def test_collect_tells_what_was_not_verified(self):
        self.begin()
        self.findings()
        self.must(0, "stop")
        for script, code, said in [("exit 4", 1, "node-3: `granary log verify` finds damage"),
                                   ("echo 'it is open'; exit 3", 3, "node-2: not verified: it is open"),
                                   ("exit 5", 3, "node-1: not verified: exit code 5")]:
            (self.folder / "verify").write_text(script)
            self.assertIn(said, self.must(code, "collect", self.folder / f"collected-{script[-1]}"))
        (self.folder / "verify").write_text("exec sleep 1000")
        entry = inventory.load(str(self.file)).hosts[0]
        with mock.patch.multiple(collect, VERIFY_S=0.1, channel=mock.DEFAULT), mock.patch.object(logs, "tell"), \
                mock.patch.dict(os.environ, self.environment):
            result = collect.collect(Place(entry.install_directory, "trial"),
                                     {"nodes": [entry.nodes[0].places()], "verify": "left"})
        self.assertEqual(result, {"failed": [], "unverified": ["node-1: not verified: timed out after 0.1 s"]})

    def test_collect_verifies_no_directory_that_no_node_has_written_to(self):
        """Below systemd, a unit that was never started looks as if its node had ended in order."""
        self.begin()
        self.findings()
        self.must(0, "stop")
        data = {node.id: pathlib.Path(node.data_directory) for node in inventory.load(str(self.file)).nodes}
        for directory in data.values():
            (directory / "MANIFEST").unlink()
            (directory / "LOCK").touch()
        (self.folder / "verify").write_text("echo 'it holds no database'; exit 3")
        self.must(0, "collect", self.folder / "empty", "--verify")
        self.assertIn("no database", (self.folder / "empty/localhost/node-1/log-verify").read_text())
        (data[2] / "checkpoint-3").touch()  # whose MANIFEST is lost
        (self.folder / "verify").write_text("exit 4")
        self.assertEqual(self.must(1, "collect", self.folder / "damaged").count("finds damage"), 1)

    def test_a_node_of_a_benchmark_that_does_not_end_well(self):
        self.file.write_text(TWO_HOSTS.format(self.folder))
        self.must(0, "deploy", f"--package={self.package}", "--supervisor=own")
        self.assertIn("all conditions hold", self.must(0, "bench", "smallbank"))
        dies, is_silent = (self.folder / f"node-2-{word}" for word in ("dies", "reports-nothing"))
        dies.touch()
        self.assertRegex(self.must(139, "bench", "smallbank"), "192.0.2.2 +node-2 +FAILED: exit code 139")
        is_silent.touch()
        self.assertIn("exit code 139", self.must(139, "bench", "smallbank"))
        dies.unlink()
        self.assertIn("reported nothing", self.must(3, "bench", "smallbank"))

    def test_a_host_that_does_not_answer_keeps_no_other_from_beginning(self):
        self.file.write_text(TWO_HOSTS.format(self.folder))
        self.must(0, "deploy", f"--package={self.package}", "--supervisor=own")
        (self.folder / "away").touch()
        said = self.must(3, "start")
        self.assertRegex(said, "192.0.2.1 +node-1 +started; serves")
        self.assertRegex(said, "192.0.2.2 +start +FAILED: .*Connection refused")
        self.must(0, "restart", "--nodes=1")
        self.must(0, "stop", "--nodes=1")
        self.assertIn("started; serves", self.must(0, "start", "--nodes=1"))
        (self.folder / "away").unlink()

    def test_hosts_that_the_file_has_no_more(self):
        self.file.write_text(TWO_HOSTS.format(self.folder))
        deploy = ("deploy", f"--package={self.package}", "--supervisor=own")
        self.must(0, *deploy)
        self.must(0, "start")
        pids = self.pids()
        whole = self.file.read_text()
        self.addCleanup(self.end_by, whole)
        self.file.write_text(whole.replace("192.0.2.2", "192.0.2.3"))  # this is another way to the same host
        self.must(0, *deploy, "--while-running")
        self.assertEqual(self.pids(), pids)
        self.file.write_text(whole[: whole.rindex("[[node]]")])
        said = self.must(3, *deploy)
        self.assertIn(f"192.0.2.3, '{self.folder}/second' is no longer in the cluster file, but runs node-2", said)
        said = self.must(0, *deploy, "--while-running")
        self.assertRegex(said, "192.0.2.3 +deploy +ended node-2, as the cluster file no longer has .*/second'")
        self.assertEqual([pathlib.Path(f"/proc/{pid}/exe").exists() for pid in pids], [True, False])

    def test_a_host_that_may_be_one_that_does_not_answer_is_not_gone(self):
        whole, deploy, pids = self.begin_on_two()
        copy = (self.folder / "first/cluster.toml").read_text()
        self.file.write_text(TWO_HOSTS.format(self.folder))  # this names 192.0.2.2, which is wrong
        (self.folder / "away").touch()
        for flags in (["--while-running"], ["--while-running", "--dry-run"], []):
            said = self.must(3, *deploy, *flags)
            self.assertIn(f"192.0.2.3, '{self.folder}/second' is no longer in the cluster file, but runs node-2", said)
            self.assertIn("may be 192.0.2.2, which does not answer; nothing was deployed", said)
        (self.folder / "away").unlink()
        self.file.write_text(whole)
        self.assertEqual(self.pids(), pids)
        self.assertEqual((self.folder / "first/cluster.toml").read_text(), copy)

    def test_nodes_that_are_gone_go_on_until_all_hosts_have_taken_the_file(self):
        whole, deploy, pids = self.begin_on_two()
        self.file.write_text(whole[: whole.rindex("[[node]]")])
        said = self.must(2, *deploy, "--while-running", "--program=nope")
        self.assertIn("--program=nope: the package has no bin/nope", said)
        self.assertRegex(said, "192.0.2.3 .*node-2 was not ended, .* 'stop --nodes=2' by the earlier file")
        self.assertRegex(self.must(0, *deploy, "--while-running", "--dry-run"), "192.0.2.3 +deploy +would end node-2")
        self.file.write_text(whole)
        self.assertEqual(self.pids(), pids)

    @contextlib.contextmanager
    def supervisor(self, installed, node, state):
        """Puts a process that SIGTERM does not end in the place of a node's supervisor."""
        with subprocess.Popen(["bash", "-c", "trap '' TERM; echo; exec sleep 600"], stdout=subprocess.PIPE) as process:
            try:
                process.stdout.readline()
                directory = self.folder / installed / f"services/node-{node}"
                directory.mkdir(exist_ok=True)
                (directory / "job.json").write_text(json.dumps({"stop_s": -5}))  # nobody waits for the process then
                known = {"supervisor": processes.identity(process.pid), "state": state}
                (directory / "state.json").write_text(json.dumps(known))
                yield
            finally:
                process.kill()

    def test_nodes_that_are_gone_are_found_after_a_deploy_that_failed(self):
        """At first, the host that is left takes the new file, and a new host fails. Then the host that is left fails,
        but has the new file by then.
        """
        whole, deploy, pids = self.begin_on_two()
        deploy = (*deploy, "--while-running")
        third = whole.replace("192.0.2.3", "192.0.2.4").replace("/second", "/third").replace("id = 2", "id = 3")
        (self.folder / "third").mkdir()
        (self.folder / "third/theirs").touch()
        not_ended = "192.0.2.3 .*node-2 was not ended, .*: deploy again, or "
        self.file.write_text(third)
        said = self.must(3, *deploy)
        self.assertIn("third' is not empty", said)
        self.assertRegex(said, not_ended)
        self.file.write_text(whole[: whole.rindex("[[node]]")])
        with self.supervisor("first", 9, "running"):
            said = self.must(3, *deploy)
            self.assertRegex(said, "192.0.2.1 .*node-9: its supervisor, process .*, does not end")
            self.assertRegex(said, not_ended)
        self.assertNotIn("id = 3", (self.folder / "first/cluster.toml").read_text())
        self.assertIn("but runs node-2: stop the cluster", self.must(3, *deploy[:-1]))
        self.assertRegex(self.must(0, *deploy), "192.0.2.3 +deploy +ended node-2, as the cluster file no longer has ")
        self.assertEqual([pathlib.Path(f"/proc/{pid}/exe").exists() for pid in pids], [True, False])
        self.assertFalse((self.folder / "first/former.json").exists())

    def begin_server(self, host):
        """Runs a process that is taken for a server of ZooKeeper, as if an earlier deploy had put it on this host, the
        first or the second. Returns its number.
        """
        entry = inventory.load(str(self.file)).hosts[host - 1]
        deployed = pathlib.Path(entry.install_directory, "deployed.json")
        server = {"name": f"zookeeper-{host}", "address": "127.0.0.1", "port": 1, "command": ["/bin/sleep", "600"]}
        deployed.write_text(json.dumps(json.loads(deployed.read_text()) | {"zookeepers": [server]}))
        started = hosts.Host("trial", entry, hosts.agent_modules()).call("start", {"services": [server["name"]]})
        self.assertTrue(started[server["name"]]["ok"], started)
        return self.status()[server["name"]]["pid"]

    def test_a_server_of_zookeeper_on_a_host_that_is_gone(self):
        """No deploy may end the server, since nodes need it."""
        whole, deploy, _ = self.begin_on_two()
        self.must(0, "stop", "--nodes=2")
        self.begin_server(2)
        pids = self.pids()
        self.file.write_text(whole[: whole.rindex("[[node]]")])
        for flags in ([], ["--while-running"], ["--while-running", "--dry-run"]):
            said = self.must(3, *deploy, *flags)
            self.assertIn("no longer in the cluster file, but runs zookeeper-2: 'stop --with-zookeeper' by the earlier "
                          "file first", said)
        self.file.write_text(whole)
        self.assertEqual(self.pids(), pids)
        self.must(0, "stop", "--with-zookeeper")
        self.file.write_text(whole[: whole.rindex("[[node]]")])
        self.must(0, *deploy)

    def test_a_host_that_is_gone_and_does_not_answer(self):
        whole = TWO_HOSTS.format(self.folder)
        self.file.write_text(whole)
        deploy = ("deploy", f"--package={self.package}", "--supervisor=own")
        self.must(0, *deploy)
        self.addCleanup(self.end_by, whole)
        self.file.write_text(whole[: whole.rindex("[[node]]")])
        (self.folder / "away").touch()
        self.assertIn("192.0.2.2, '", self.must(3, *deploy))
        said = self.must(0, *deploy, "--while-running")
        self.assertRegex(said, "192.0.2.2 +deploy +warning: it is no longer in the cluster file, and does not answer, ")
        self.assertRegex(said, "192.0.2.1 +deploy +installed in ")
        (self.folder / "away").unlink()

    def test_a_host_that_is_gone_and_stops_answering(self):
        entry = inventory.HostEntry(inventory.Access("192.0.2.2"), "/second")
        silent, other = (hosts.Host("trial", entry, {}) for _ in range(2))
        silent.call = mock.Mock(side_effect=errors.HostError("Connection refused"))
        other.call = mock.Mock(return_value={"ended": ["node-3"]})
        run = session.Session(None, [], argparse.Namespace(), None)
        self.assertFalse(gone.end(run, {silent: ["node-2"], other: ["node-3"]}, installed=True))
        self.assertRegex(run.report.text(), "192.0.2.2 +deploy +FAILED: .*/second' there, but node-2 may run on: Conn")
        self.assertRegex(run.report.text(), "192.0.2.2 +deploy +ended node-3")
        self.assertEqual(run.report.exit_code(), 3)

    def test_servers_of_zookeeper_end_although_a_host_does_not_answer(self):
        """The nodes of that host cannot be asked. With --nodes the others may need the servers, so that is refused."""
        self.file.write_text(TWO_HOSTS.format(self.folder))
        self.must(0, "deploy", f"--package={self.package}", "--supervisor=own")
        self.must(0, "start")
        server = self.begin_server(1)
        runs = pathlib.Path(f"/proc/{server}/exe")
        (self.folder / "away").touch()
        self.assertIn("nothing was stopped", self.must(3, "stop", "--with-zookeeper", "--nodes=1"))
        self.assertIn("its servers go on", self.must(3, "stop", "--with-zookeeper", "--nodes=1,2"))
        self.assertTrue(runs.exists())
        said = self.must(3, "stop", "--with-zookeeper")
        self.assertRegex(said, "192.0.2.1 +zookeeper-1 +told to, SIGTERM")
        self.assertEqual(said.count("192.0.2.2  stop         FAILED: ssh: Connection refused"), 1, said)
        self.assertFalse(runs.exists())
        (self.folder / "away").unlink()

    def test_rolling_needs_no_server_of_zookeeper_that_deploy_set_up(self):
        self.begin()
        self.begin_server(1)
        self.findings(*(finding(f"member {node}") for node in (1, 2, 3)))
        self.assertIn("does not serve", self.must(1, "status"))  # its process serves nobody
        self.must(0, "restart", "--rolling", "--nodes=1", "--timeout=20")
        self.must(0, "stop", "--with-zookeeper")

    def test_servers_of_zookeeper_go_on_under_nodes_that_have_not_ended(self):
        """Here a host answers, but refuses to stop its nodes, since it does not know them all."""
        whole = TWO_HOSTS.format(self.folder)
        self.file.write_text(whole)
        self.must(0, "deploy", f"--package={self.package}", "--supervisor=own")
        self.must(0, "start")
        runs = pathlib.Path(f"/proc/{self.begin_server(1)}/exe")
        self.addCleanup(self.end_by, whole)
        third = whole[whole.rindex("[[node]]") :].replace("id = 2", "id = 3")
        self.file.write_text(whole + third)
        said = self.must(3, "stop", "--with-zookeeper")
        self.assertIn("node-3 is not installed", said)
        self.assertIn("its servers go on", said)
        self.assertTrue(runs.exists())
        self.file.write_text(whole)
        self.must(0, "stop", "--with-zookeeper")
        self.assertFalse(runs.exists())

    def test_servers_of_zookeeper_go_on_under_nodes_that_stop_does_not_name(self):
        self.begin()
        self.begin_server(1)
        pids = self.pids()
        whole = self.file.read_text()
        self.file.write_text(whole.replace("[[node]]\nid = 3\n", ""))
        for flags in ([], ["--nodes=1,2"]):
            said = self.must(3, "stop", "--with-zookeeper", *flags)
            self.assertIn("node-3 runs, which needs ZooKeeper, and the cluster file no longer has it there: 'deploy "
                          "--while-running' ends it; nothing was stopped", said)
        self.file.write_text(whole)
        self.assertEqual(self.pids(), pids)
        self.must(0, "stop", "--nodes=3")
        with self.supervisor("trial.installed", 3, "pausing"):
            said = self.must(3, "stop", "--with-zookeeper", "--nodes=1,2")
            self.assertIn("node-3 is about to begin again, which needs ZooKeeper, and is not one of --nodes", said)
            said = self.must(3, "wipe", "--yes")
            self.assertRegex(said, "node-3 +FAILED: is about to begin again: stop the cluster first; nothing was rem")
        self.assertEqual([pid for pid in self.pids() if pid], [pid for pid in pids if pid != pids[-1]])
        self.must(0, "stop", "--with-zookeeper", "--nodes=1,2")

    def test_servers_of_zookeeper_with_addresses_of_ipv6(self):
        text = TWO_HOSTS.format(self.folder).replace("192.0.2.2", "fd00::2")
        deploy = ("deploy", f"--package={self.package}", "--dry-run", "--with-zookeeper")
        for place, code, said in [("[fd00::2]:2181", 0, "would send"), ("[FD00:0::0002]:2181", 0, "would send"),
                                  ("[fd00::3]:2181", 2, "server 'fd00::3' is on none of the cluster's hosts"),
                                  ("fd00::2:2181", 2, "expected host:port"), ("[]:1", 2, "expected host:port")]:
            with self.subTest(place):
                self.file.write_text(f'{text}[membership]\nkind = "zookeeper"\nservers = ["{place}"]\n')
                self.assertIn(said, self.must(code, *deploy))


if __name__ == "__main__":
    unittest.main()
