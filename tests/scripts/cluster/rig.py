"""Gives tests a cluster file and a release package made of the program under test, and calls scripts/cluster.sh as a
user does.
"""

import hashlib
import io
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "scripts" / "cluster.sh"
GRANARY = pathlib.Path(os.environ.get("GRANARY", ROOT / "build" / "release" / "granary"))
sys.path.insert(0, str(ROOT / "scripts"))

LOCAL = """\
[cluster]
name = "trial"
run_directory = "run"
{cluster}
[membership]
session_timeout_ms = 20000
[defaults]
memory = "64MiB"
{defaults}
[[node]]
id = 1
[[node]]
id = 2
[[node]]
id = 3
"""


def version():
    said = subprocess.run([GRANARY, "--version"], capture_output=True, text=True, check=True).stdout
    return said.split()[1]


def make_package(folder, build="first", named=None, program=None):
    """Makes granary-VERSION-linux-x86_64.tar.gz, with `program` in its bin/, too. Two builds differ in one file only,
    and so in their hash.
    """
    name = f"granary-{named or version()}-linux-x86_64"
    folder = folder / build
    folder.mkdir(parents=True)
    path = folder / f"{name}.tar.gz"
    with tarfile.open(path, "w:gz", compresslevel=1) as tar:
        for source in [GRANARY] + ([program] if program else []):
            small = folder / source.name
            if not shutil.which("strip") or subprocess.run(["strip", "-o", small, source], check=False).returncode != 0:
                shutil.copy(source, small)
            tar.add(small, f"{name}/bin/{source.name}")
        info = tarfile.TarInfo(f"{name}/BUILD")
        info.size = len(build)
        tar.addfile(info, io.BytesIO(build.encode()))
    return path


def package_directory(package):
    return f"{package.name.removesuffix('.tar.gz')}-{hashlib.sha256(package.read_bytes()).hexdigest()[:12]}"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Rig(unittest.TestCase):
    """Each test has a directory of its own, and what it has started has ended when it is over. PACKAGE names a package
    that has been made already.
    """

    patience = 180  # a command may take so many seconds

    @classmethod
    def setUpClass(cls):
        if "PACKAGE" in os.environ:
            cls.package = pathlib.Path(os.environ["PACKAGE"])
            return
        cls.packages = pathlib.Path(tempfile.mkdtemp(prefix="granary-package-"))
        cls.addClassCleanup(shutil.rmtree, cls.packages)
        cls.package = make_package(cls.packages)

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="granary-cluster-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.file = self.folder / "cluster.toml"
        self.flags = []
        self.environment = {}
        self.addCleanup(self.end_all)

    def end_all(self):
        if self.file.exists():
            self.call("down", "--yes")

    def write_file(self, cluster="", defaults='data_directory = "data"'):
        self.file.write_text(LOCAL.format(cluster=cluster, defaults=defaults), encoding="utf-8")

    def call(self, *words):
        """Calls cluster.sh. Returns the exit code, and all that was said."""
        command = [SCRIPT, *words[:1], f"--cluster={self.file}", *self.flags, *words[1:]]
        began = time.monotonic()
        environment = os.environ | {"PYTHON": sys.executable} | self.environment
        done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, env=environment, timeout=self.patience,
                              check=False)
        if os.environ.get('TIMES'):
            print(f'{time.monotonic() - began:6.2f} s', words, flush=True)
        return done.returncode, done.stdout

    def must(self, code, *words):
        """Calls cluster.sh, which must give this exit code. Returns what was said."""
        found, said = self.call(*words)
        self.assertEqual(found, code, f"{' '.join(map(str, words))}:\n{said}")
        return said

    def status(self):
        """Returns the services of all hosts, by name."""
        _, said = self.call("status", "--json")
        return {name: each for host in json.loads(said)["hosts"].values() for name, each in host["services"].items()}
