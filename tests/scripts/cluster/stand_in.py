"""Gives tests a release package with a script in place of `granary`, which says and does what the real one does seldom,
and a script in place of ssh.
"""

import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

from rig import SCRIPT, Rig

from cluster import inventory

NAME = "granary-9.9.9-linux-x86_64"
GRANARY = """\
#!/usr/bin/env bash
case "$*" in
  --version) echo "granary 9.9.9 (stand-in)" ;;
  node*)
    echo "node ${3#--id=} of 3 serves"
    trap '[[ ! -e $STAND_IN/on-term ]] || . "$STAND_IN/on-term"; exit 0' TERM
    while :; do sleep 0.05; done ;;
  "cluster check"*) cat "$STAND_IN/findings" ;;
  limits) ulimit -l ;;
  "log verify"*)
    if [[ -e $STAND_IN/verify ]]; then . "$STAND_IN/verify"; fi
    echo "all was read" ;;
  "cluster run"*) exec "$0" bench "${@:3}" ;;
  "cluster merge"*) echo "all conditions hold" ;;
  bench*)
    if [[ -e $STAND_IN/bench-lasts ]]; then echo $$ > "$STAND_IN/bench-pid"; exec sleep 1000; fi
    last=${!#}
    if [[ $* != *--node=2\\ * || ! -e $STAND_IN/node-2-reports-nothing ]]; then echo '{}' > "${last#--json=}"; fi
    if [[ $* == *--node=2\\ * && -e $STAND_IN/node-2-dies ]]; then kill -SEGV $$; fi ;;
esac
"""
SSH = """\
#!/usr/bin/env bash
if [[ -e $STAND_IN/away && $* == *"-- 192.0.2.2"* ]]; then echo "Connection refused" >&2; exit 255; fi
case " $* " in
  *" -O exit "* | *" -M "*) ;;
  *"-- 192.0.2.2"*) echo $$ > "$STAND_IN/session"; exec bash -c "${@: -1}" ;;
  *) exec bash -c "${@: -1}" ;;
esac
"""
TWO_HOSTS = """\
[cluster]
name = "trial"
run_directory = "run"
[defaults]
data_directory = "data"
[[node]]
id = 1
host = "192.0.2.1"
install_directory = "{0}/first"
[[node]]
id = 2
host = "192.0.2.2"
install_directory = "{0}/second"
"""


def finding(subject, verdict="ok", found="so it is"):
    return {"check": subject, "verdict": verdict, "found": found, "mend": ""}


class StandIn(Rig):
    """Has nodes that serve at once. When one is told to end, it does first what the file `on-term` says."""

    @classmethod
    def setUpClass(cls):
        cls.packages = pathlib.Path(tempfile.mkdtemp(prefix="granary-package-"))
        cls.addClassCleanup(shutil.rmtree, cls.packages)
        cls.package = cls.packages / f"{NAME}.tar.gz"
        with tarfile.open(cls.package, "w:gz") as tar:
            program = tarfile.TarInfo(f"{NAME}/bin/granary")
            program.size, program.mode = len(GRANARY), 0o755
            tar.addfile(program, io.BytesIO(GRANARY.encode()))
        digest = hashlib.sha256(cls.package.read_bytes()).hexdigest()
        cls.package.with_name(cls.package.name + ".sha256").write_text(f"{digest}  {cls.package.name}\n")

    def setUp(self):
        super().setUp()
        (self.folder / "ssh").write_text(SSH)
        (self.folder / "ssh").chmod(0o755)
        self.environment = {"STAND_IN": str(self.folder), "PATH": f"{self.folder}:{os.environ['PATH']}"}

    def findings(self, *each):
        (self.folder / "findings").write_text(json.dumps({"findings": each}))

    def pids(self):
        return [each["pid"] for each in self.status().values()]

    def begin(self, **file):
        self.write_file(**file)
        self.must(0, "deploy", f"--package={self.package}", "--supervisor=own")
        self.must(0, "start")
        for node in inventory.load(str(self.file)).nodes:
            if node.data_directory:
                pathlib.Path(node.data_directory, "MANIFEST").touch()

    def begin_command(self, *words):
        """Starts cluster.sh as a shell does in a terminal: in a group of processes of its own, which Ctrl-C signals."""
        # pylint: disable-next=consider-using-with
        process = subprocess.Popen([SCRIPT, *words, f"--cluster={self.file}"], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0,
                                   env=os.environ | {"PYTHON": sys.executable} | self.environment)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def wait_for(self, condition, seconds=20):
        until = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.02)

    def begin_on_two(self):
        """Starts two nodes, node 2 on 192.0.2.3. Returns the file by which they run, what is called to deploy another,
        and the nodes' processes.
        """
        whole = TWO_HOSTS.format(self.folder).replace("192.0.2.2", "192.0.2.3")
        self.file.write_text(whole)
        deploy = ("deploy", f"--package={self.package}", "--supervisor=own")
        self.must(0, *deploy)
        self.must(0, "start")
        self.addCleanup(self.end_by, whole)
        return whole, deploy, self.pids()

    def end_by(self, file):
        self.file.write_text(file)
        self.end_all()
