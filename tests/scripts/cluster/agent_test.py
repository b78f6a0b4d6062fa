"""Tests the agent's side of deploy, called as cluster.sh calls it for another host: a secret that is there may differ
from the one that is to be deployed. On one host, cluster.sh reads and writes the same file.
"""

import hashlib
import json
import os
import pathlib
import sys
import tempfile
import unittest

from rig import Rig

from cluster import hosts, inventory, package
from cluster.agent import install
from cluster.agent.place import Place
from cluster.agent.trouble import Trouble
from cluster.errors import HostError


class Install(Rig):
    def setUp(self):
        super().setUp()
        self.key = self.folder / "key"
        self.write_file('key_file = "key"')
        self.deployed = self.folder / "trial.installed/deployed.json"
        self.write_key("first")
        self.must(0, "deploy", f"--package={self.package}")  # this puts the package into place
        self.key.unlink()

    def write_key(self, text):
        self.key.touch(mode=0o600)
        self.key.write_text(text)

    def install(self, text, *others, while_running=False):
        """Deploys this key, which need not be that of the file, and then the other secrets."""
        found = inventory.load(str(self.file))
        modules = hosts.agent_modules()
        return hosts.Host(found.name, found.hosts[0], modules).call("install", {
            "package": package.load(self.package).facts(), "file_text": found.text, "directories": [],
            "run_directory": found.run_directory,
            "secrets": [{"what": "cluster key", "path": str(self.key), "text": text}, *others], "modules": modules,
            "nodes": [1, 2, 3], "supervisor": "own", "while_running": while_running, "program": None, "zookeepers": [],
            "ensemble": [], "http": {}})

    def refused(self, text):
        before = self.key.read_text()
        with self.assertRaisesRegex(HostError, "cluster key '.*/key' is there already, with another content"):
            self.install(text)
        self.assertEqual(self.key.read_text(), before)

    def test_one_of_somebody_else_is_not_overwritten(self):
        self.write_key("theirs")
        self.refused("ours")
        self.assertEqual(self.install("theirs")["done"], [])
        self.refused("ours")
        self.must(0, "down", "--yes")
        self.assertEqual(self.key.read_text(), "theirs")

    def test_one_that_was_handed_out_is_replaced_until_somebody_changes_it(self):
        for text in ("one", "two"):
            self.assertEqual(self.install(text)["done"], [f"cluster key '{self.key}'"])
            self.assertEqual((self.key.read_text(), self.key.stat().st_mode & 0o777), (text, 0o600))
        self.assertEqual(self.install("two")["done"], [])
        self.write_key("changed")
        self.refused("three")
        self.must(0, "down", "--yes")
        self.assertEqual(self.key.read_text(), "changed")

    def test_one_by_which_nodes_run_is_not_replaced(self):
        token = {"what": "token for HTTP", "path": str(self.folder / "token"), "text": "one"}
        self.install("ab" * 32, token)
        self.must(0, "start")
        with self.assertRaisesRegex(HostError, "'.*/token' would be another one, but node-1 runs by it: stop the clus"):
            self.install("ab" * 32, token | {"text": "two"})
        self.assertEqual((self.folder / "token").read_text(), "one")
        self.install("ab" * 32, token | {"text": "two"}, while_running=True)
        self.assertEqual((self.folder / "token").read_text(), "two")
        for flag in (False, True):
            with self.assertRaisesRegex(HostError, "cluster key .* but node-1 runs by it, .*: stop all nodes first"):
                self.install("cd" * 32, while_running=flag)
            self.assertEqual(self.key.read_text(), "ab" * 32)
        self.must(0, "stop")
        self.install("cd" * 32)
        self.assertEqual(self.key.read_text(), "cd" * 32)

    def test_down_takes_what_was_handed_out(self):
        self.install("one")
        self.must(0, "down", "--yes")
        self.assertFalse(self.key.exists())

    def test_one_that_an_interrupted_deploy_has_handed_out_is_ours(self):
        versions = self.folder / "trial.installed/versions"
        for text in ("one", "two"):
            with self.assertRaisesRegex(HostError, "/proc"):
                self.install(text, {"what": "password", "path": "/proc/nope", "text": ""})
            self.assertEqual(self.key.read_text(), text)
        left = [versions / ".4194305-archive", versions.parent / ".current.4194305",  # no process has this number
                versions / f".{os.getpid()}-folder"]
        for path in left:
            path.touch()
        self.assertEqual(self.install("three")["done"], [f"cluster key '{self.key}'"])
        self.assertEqual([path.exists() for path in left], [False, False, True])
        with self.assertRaises(HostError):
            self.install("four", {"what": "password", "path": "/proc/nope", "text": ""})
        self.must(0, "down", "--yes")
        self.assertFalse(self.key.exists())
        self.assertFalse(versions.parent.exists())

    def test_texts_of_earlier_cluster_files_are_kept_until_deploy_is_done(self):
        former, texts = self.deployed.with_name("former.json"), []
        for before, after in (("64MiB", "65MiB"), ("65MiB", "66MiB"), ("66MiB", "64MiB")):
            texts.append(inventory.load(str(self.file)).text)
            self.file.write_text(self.file.read_text().replace(before, after))
            self.assertEqual(self.install("one")["done"][-1], "cluster file")
            self.assertEqual(json.loads(former.read_text()), texts)
        self.assertIn("nothing was done", self.must(0, "deploy", f"--package={self.package}"))
        self.assertFalse(former.exists())
        self.file.write_text(self.file.read_text().replace("64MiB", "65MiB"))
        self.install("one")
        self.assertTrue(former.exists())
        self.must(0, "down", "--yes")
        self.assertFalse(former.parent.exists())

    def test_no_hash_of_it_is_told(self):
        self.install("password")
        digest = hashlib.sha256(b"password").hexdigest()
        self.assertNotIn(digest, self.deployed.read_text())
        known = json.loads(self.deployed.read_text())
        self.deployed.write_text(json.dumps(known | {"handed_out": {str(self.key): digest}}))  # earlier releases did so
        self.assertNotIn(digest, self.call("status", "--json")[1])
        self.must(0, "collect", self.folder / "collected")
        self.assertNotIn(digest, (self.folder / "collected/localhost/deployed.json").read_text())
        self.install("another")
        self.assertEqual(self.key.read_text(), "another")
        self.assertNotIn(digest, self.deployed.read_text())
        self.deployed.write_text(json.dumps(known | {"handed_out": {
            str(self.key): hashlib.sha256(b"another").hexdigest()}}))
        self.must(0, "down", "--yes")
        self.assertFalse(self.key.exists())


class Partial(unittest.TestCase):
    def test_a_copy_of_the_cluster_file_that_is_left_is_known(self):
        """A deploy that is killed while it looks at the file leaves a copy of it, which the next deploy removes by its
        name.
        """
        with tempfile.TemporaryDirectory() as folder:
            place = Place(folder, "trial")
            program = place.versions / "first/bin/granary"
            program.parent.mkdir(parents=True)
            program.write_text("#!/bin/sh\ncat \"$3\" >&2; exit 2\n")
            program.chmod(0o755)
            opened = []
            sys.addaudithook(lambda event, arguments: opened.append(str(arguments[0])) if event == "open" else None)
            with self.assertRaisesRegex(Trouble, "\nwhat it has$"):
                install._refuse_wrong_file(place, {"directory": "first"}, "what it has")  # pylint: disable=protected-access
            names = {path.name for path in map(pathlib.Path, opened) if path.parent == place.versions}
            self.assertEqual([name for name in names if not install.PARTIAL.fullmatch(name)], [])
            self.assertIn(f".{os.getpid()}-cluster.toml", names)
            self.assertEqual([path.name for path in place.versions.iterdir()], ["first"])


if __name__ == "__main__":
    unittest.main()
