"""Tests what cluster.sh refuses, with which words and exit code, and that it has changed nothing then."""

import gzip
import hashlib
import io
import shutil
import subprocess
import tarfile
import unittest

from rig import SCRIPT, Rig, make_package


class Refusals(Rig):
    def refused(self, code, words, *call):
        self.assertIn(words, self.must(code, *call))
        self.assertFalse((self.folder / "trial.installed").exists())

    def test_the_command_line(self):
        for words, code, said in [((), 2, "COMMAND"), (("dance",), 2, "dance"), (("start",), 2, "--cluster"),
                                  (("kill", "--cluster=x", "first"), 2, "first"), (("--help",), 0, "rolling"),
                                  (("status", "--cluster=/nowhere"), 2, "no cluster file")]:
            done = subprocess.run([SCRIPT, *words], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, code, words)
            if words != ("--help",):
                self.assertIn(said, done.stderr)

    def test_the_cluster_file(self):
        for text, words in [("[cluster", "cluster.toml: "),
                            ("[cluster]\nname = 1\n[[node]]\nid = 1", "name is 1; expected text"),
                            ('[cluster]\nname = "a"\n', "there are no nodes"),
                            ('[cluster]\nname = "a"\n[[node]]\n', "no id of its own"),
                            ('[cluster]\nname = "a"\n[[node]]\nid = 1\n[[node]]\nid = 1', "the same id"),
                            ('[cluster]\nname = "a"\n[[node]]\nid = 1\nhost = "h"', "needs an install_directory"),
                            ('[cluster]\nname = "a"\n[[node]]\nid = 1\nhost = "-oProxyCommand=x"\ninstall_directory = '
                             '"/x"', "is no name"),
                            ('[cluster]\nname = "a"\n[[node]]\nid = 1\nssh_port = 0', "expected 1 to 65535"),
                            ('[cluster]\nname = "a"\nrun_directory = ""\n[[node]]\nid = 1', "is ''; expected text"),
                            ('[cluster]\nname = "a"\n[[node]]\nid = 1\nlog_directories = "logs"', "a list of texts"),
                            ('[cluster]\nname = "a"\n[[node]]\nid = 1\nlog_directories = [""]', "is ''; expected"),
                            ('[cluster]\nname = "a"\n[defaults]\ndata_directory = "~/d"\n[[node]]\nid = 1', "'~/d'"),
                            ('[cluster]\nname = "a"\nx = {a = 1}\n[[node]]\nid = 1', "x is {'a': 1}; expected"),
                            ('[cluster]\nname = "a"\nx = 2026-11-29\n[[node]]\nid = 1', "[cluster] x is 2026-1"),
                            ('[cluster]\nname = "a"\n[defaults]\nhost = "h"\ninstall_directory = "/x"\n[[node]]\n'
                             'id = 1\n[[node]]\nid = 2\nssh_user = "u"', "nodes 1 and 2 are on one host, 'h'")]:
            self.file.write_text(text)
            self.refused(2, words, "status")
        self.file.unlink()

    def test_a_node_that_the_file_does_not_have(self):
        self.write_file()
        self.refused(2, "has no node 7; it has 1, 2, 3", "kill", "7")
        self.refused(2, "'x' is no number of a node", "stop", "--nodes=1,x")
        self.refused(2, "'²' is no number of a node", "stop", "--nodes=²")

    def test_a_rolling_restart_that_does_not_wait(self):
        self.write_file()
        self.refused(2, "--rolling --no-wait: the next node is", "restart", "--rolling", "--no-wait")

    def test_results_that_cannot_be_written(self):
        """`bench` finds out before it runs that its result cannot be written."""
        self.write_file()
        for words in (["bench", "smallbank", "--json=/proc/nope"], ["collect", "/proc/nope/x"],
                      ["collect", f"{self.file}/x"]):
            said = self.must(3, *words)
            self.assertRegex(said, "^cluster.sh: '.*': (No such file or directory|Not a directory)\n$")
        bench = self.folder / "result.json"
        self.refused(3, "run 'deploy' first", "bench", "smallbank", f"--json={bench}")
        self.assertFalse(bench.exists())

    def test_an_empty_list_of_nodes_is_not_all(self):
        self.write_file()
        for verb in ("check", "start", "stop", "restart", "logs"):
            for given in ("--nodes=", "--nodes=,"):
                self.refused(2, f"{given}: '' is no number of a node; expected as 1,3, or no --nodes for", verb, given)

    def test_what_is_not_deployed(self):
        self.write_file()
        for verb in ("start", "stop", "status"):
            self.refused(3, "run 'deploy' first", verb)
        self.refused(0, "nothing is installed yet", "check")

    def test_packages(self):
        self.write_file()
        self.refused(2, "there is no such file", "deploy", "--package=/nowhere.tar.gz")
        self.refused(2, "is no release package: its name", "deploy", f"--package={self.file}")
        beside = self.package.with_name(self.package.name + ".sha256")
        kept = beside.read_text() if beside.exists() else None
        beside.write_text("0" * 64 + "  x\n")
        self.refused(2, "one of them is damaged", "deploy", f"--package={self.package}")
        beside.unlink()
        self.refused(0, "would send", "deploy", f"--package={self.package}", "--dry-run")
        self.assertFalse(beside.exists(), "a dry run changes nothing")
        if kept is not None:
            beside.write_text(kept)

    def test_a_package_that_is_of_another_version_than_its_name(self):
        self.write_file()
        self.assertIn("is named 'granary-9.9.9-linux-x86_64', but its program says",
                      self.must(2, "deploy", f"--package={make_package(self.packages, 'misnamed', '9.9.9')}"))
        self.assertEqual(list((self.folder / "trial.installed/versions").iterdir()), [])

    def test_damaged_packages(self):
        """Without a hash beside it, a package is read before it is sent; with one, each host says what is wrong."""
        self.write_file()
        whole = self.package.read_bytes()
        flipped = bytearray(whole)
        flipped[len(whole) // 2] ^= 0xFF
        checksum = bytearray(whole)
        checksum[-6] ^= 0xFF
        name = "granary-1.0-linux-x86_64"
        for what, content in [("cut", whole[: len(whole) // 2]), ("flipped", bytes(flipped)), ("plain", b"no archive"),
                              ("checksum", bytes(checksum)), ("empty", b""), ("zip", b"PK" + whole[2:]),
                              ("tar", gzip.compress(b"no tar" * 1000)), ("part", gzip.compress(
                                  gzip.decompress(whole)[:100_000]))]:
            path = self.folder / what / f"{name}.tar.gz"
            path.parent.mkdir()
            path.write_bytes(content)
            beside = path.with_name(path.name + ".sha256")
            with self.subTest(what):
                said = self.must(2, "deploy", f"--package={path}")
                self.assertRegex(said, rf"^cluster.sh: '{path}' is damaged \(.*\): download or build it again\n$")
                self.assertFalse(beside.exists(), "the mended package has another hash")
                beside.write_text(hashlib.sha256(content).hexdigest())
                said = self.must(2, "deploy", f"--package={path}")
                self.assertRegex(said, rf"FAILED: '{path.name}' is damaged \(.*\): download or build it again\n$")
                self.assertNotIn("Traceback", said)

    def test_a_package_without_its_program(self):
        self.write_file()
        path = self.packages / "granary-2.0-linux-x86_64.tar.gz"
        with tarfile.open(path, "w:gz") as tar:
            tar.addfile(tarfile.TarInfo("granary-2.0-linux-x86_64/README"), io.BytesIO())
        self.assertIn(f"'{path.name}' has no 'granary-2.0-linux-x86_64/bin/granary': download or build it again",
                      self.must(2, "deploy", f"--package={path}"))

    def test_output_that_cannot_be_written(self):
        self.write_file()
        self.must(0, "deploy", f"--package={self.package}")
        service = self.folder / "trial.installed/services/node-1"
        service.mkdir(parents=True, exist_ok=True)
        (service / "log").write_text("a line\n")
        lost = "cluster.sh: standard output could not be written, so what was to be reported there is not whole: "
        gone, full, closed = f"{lost}Broken pipe\n", f"{lost}No space left on device\n", "standard output is closed"
        for words in ["status", "status --json", "logs", "logs -f", "stop", "stop --dry-run", "--help"]:
            for where, said in [(">/dev/full", full), ("| true", gone), (">&-", closed)]:
                command = f"exec {SCRIPT} {words} --cluster={self.file}"
                # The shell notices when it writes that the reader has gone. The script begins no sooner.
                reader_goes = "while (printf x) 2> /dev/null; do sleep 0.01; done"
                command = f"({reader_goes}; {command}) {where}" if where.startswith("|") else f"{command} {where}"
                done = subprocess.run(["bash", "-c", f"{command}; exit ${{PIPESTATUS[0]}}"], text=True, check=False,
                                      stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
                with self.subTest(words + where):
                    self.assertEqual(done.returncode, 3, done.stderr)
                    self.assertIn(said, done.stderr)
                    progress = done.stderr.count("localhost | ")  # `stop` also tells there what it does
                    self.assertEqual(progress, 2 if words == "stop" and where != ">&-" else 0, done.stderr)
                    self.assertEqual(done.stderr.count("\n"), progress + 1, done.stderr)

    @staticmethod
    def contents(installed):
        """Returns all that is installed, but for the files that each call locks."""
        return {path: path.is_file() and path.read_bytes() for path in installed.rglob("*")
                if path.name not in ("lock", "held")}

    def test_a_file_that_nodes_would_refuse(self):
        """Nodes that run would notice the mistake only at their next start, when the former file is gone."""
        self.write_file()
        deploy = ("deploy", f"--package={self.package}", "--while-running")
        self.must(0, *deploy)
        installed = self.folder / "trial.installed"
        before = self.contents(installed)
        for wrong, words in [('memory = "64MiB"\nmemmory = "1GiB"\nreliable_directory = "new"', "did you mean memory?"),
                             ('memory = "64MiB"\nhttp = "127.0.0.1:80"', "http")]:
            self.write_file()
            self.file.write_text(self.file.read_text().replace('memory = "64MiB"', wrong))
            said = self.must(2, *deploy)
            self.assertIn("the nodes of this package would refuse the cluster file", said)
            self.assertIn(words, said)
            self.assertEqual(self.contents(installed), before)
            self.assertFalse((self.folder / "new").exists())
        self.write_file()

    def test_a_package_that_reaches_out_of_its_folder(self):
        self.write_file()
        path = self.packages / "granary-1.0-linux-x86_64.tar.gz"
        with tarfile.open(path, "w:gz") as tar:
            tar.addfile(tarfile.TarInfo("granary-1.0-linux-x86_64/../../../outside"), io.BytesIO())
        self.assertIn("no plain file or folder within it", self.must(2, "deploy", f"--package={path}"))
        self.assertFalse((self.folder / "outside").exists())

    def test_directories_of_others(self):
        self.write_file()
        installed = self.folder / "trial.installed"
        installed.mkdir()
        (installed / "theirs").write_text("keep")
        deploy = ("deploy", f"--package={self.package}")
        self.assertIn("is not empty, and nothing in it is of a cluster", self.must(3, *deploy))
        self.assertIn("nothing was installed", self.must(0, "down", "--yes"))
        self.assertTrue((installed / "theirs").exists())
        shutil.rmtree(installed)
        self.must(0, *deploy)
        self.file.write_text(self.file.read_text().replace('"trial"', '"other"').replace(
            "[defaults]", f'[defaults]\ninstall_directory = "{installed}"'))
        for call in (deploy, ("start",), ("down", "--yes"), ("wipe", "--yes")):
            self.assertIn("has cluster 'trial' installed", self.must(3, *call))
        self.write_file()

    def test_keys_that_others_may_read(self):
        key = self.folder / "key"
        self.write_file('key_file = "key"')
        self.refused(2, "'granary cluster key' makes one", "deploy", f"--package={self.package}")
        key.write_bytes(b"\xff" * 32)
        key.chmod(0o600)
        self.refused(2, "is no text in UTF-8", "deploy", f"--package={self.package}")
        key.write_text("ab" * 32)
        key.chmod(0o644)
        self.refused(2, "chmod 600", "deploy", f"--package={self.package}")

    def test_data_of_others_are_not_wiped(self):
        self.write_file()
        self.must(0, "deploy", f"--package={self.package}")
        data = self.folder / "data"
        (data / "node-1/photo").write_text("keep")
        (data / "node-2/MEMBER").write_text("granary member 2\nnode 2 of another\n")
        (data / "node-3/MEMBER").write_text("granary member 2\nnode 3 of trial\n")
        (data / "node-3/MANIFEST").write_text("")
        (data / "node-3/notes").write_text("keep")
        said = self.must(3, "wipe", "--yes")
        self.assertIn("it has no MEMBER with 'node 1 of trial'", said)
        self.assertIn("it has no MEMBER with 'node 2 of trial'", said)
        self.assertIn("also has what is not ours: notes", said)
        left = sorted(str(path.relative_to(data)) for path in data.rglob("*") if path.is_file())
        self.assertEqual(left, ["node-1/photo", "node-2/MEMBER", "node-3/notes"])


if __name__ == "__main__":
    unittest.main()
