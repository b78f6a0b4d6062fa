"""Provides what these tests share: small figure files, and a program that reports made-up figures as granary does."""

import contextlib
import io
import os
import stat
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts"))

from figure import results
from figure.main import main
from figure.places import Places

PAPERS = """
[paper]
name = "Paper"
title = "A paper"
venue = "Somewhere 2013"
machine = "32 cores"
"""

FIGURE = """
format = 1
paper = "paper"
figure = "Figure 1"
section = "1"
title = "A figure"
about = "Made up."
command = "bench made --workers={x} --seconds={seconds} --slope={slope}"
[with]
slope = 10
[full]
rounds = 3
values = [1, 2, 4]
seconds = 2
[quick]
rounds = 3
values = [1, 2]
seconds = 0.1
[x]
label = "Workers"
[[panel]]
name = "rate"
label = "Throughput"
unit = "K/s"
divide = 1000
y = "throughput/median"
[[series]]
name = "Fast"
with = {slope = 20}
[[series]]
name = "Slow"
[[published]]
series = "Fast"
[[published.typed]]
by = "text"
source = "page 1"
points = [[1, 19], [8, 160]]
[[published.typed]]
by = "picture"
source = "Figure 1"
points = [[8, 158]]
[[claim]]
id = "A1"
text = "Fast is twice as fast."
check = "ratio"
series = "Fast"
to = "Slow"
at = "all"
at_least = 1.8
"""

# This program takes granary's place. Its reports depend on the command line only. Files beside it change what it does:
# - `fails` has words and a code: a command with all of these words says what `says` has, and ends with the code;
# - `state` has the final state that the program reports;
# - `slow` has the seconds that each command takes, and perhaps from which command on.
# The program is started hundreds of times: -I and -S spare it to look for packages.
PROGRAM = f"#!{sys.executable} -IS" + """
import json, os, sys, time
here = os.path.dirname(os.path.abspath(__file__))
if sys.argv[1:] == ["--version"]:
    print("granary made up")
    sys.exit(0)
def told(name, otherwise=""):
    path = os.path.join(here, name)
    return open(path).read() if os.path.exists(path) else otherwise
with open(os.path.join(here, "calls"), "a") as file:
    file.write(" ".join(sys.argv[1:]) + "\\n")
fails = told("fails").split()
if fails and all(word in sys.argv for word in fails[:-1]):
    print(told("says", "granary: something is wrong"), file=sys.stderr)
    sys.exit(int(fails[-1]))
state = told("state", "EXIT")
seconds, first, *_ = [*told("slow", "0").split(), "1"]
if told("calls").count("\\n") >= int(first):
    time.sleep(float(seconds))
flags = dict(word[2:].partition("=")[::2] for word in sys.argv if word.startswith("--"))
rate = float(flags.get("slope", 1)) * float(flags.get("workers", 1)) * (1 + 0.001 * int(flags["seed"]))
report = {"Throughput (requests/second)": rate, "Final State": state, "granary": {"throughput": {"median": rate},
          "parameters": flags, "machine": {"cpus": 2},
          "repeats": [{"samples": [{"seconds": s + 0.001, "requests": rate * s} for s in range(4)]}],
          "lookups": [{"table": "a", "reads": 1.5}, {"table": "b", "reads": 3}]}}
with open(flags["json"], "w") as file:
    json.dump(report, file)
"""


PICTURES = unittest.mock.patch.object(results, "pictures", return_value=("<svg/>", b""))


class Rig(unittest.TestCase):
    def setUp(self):
        self.draws = False  # whether figure() draws pictures, which takes most of its time
        holder = tempfile.TemporaryDirectory(prefix="granary-figure-test-")
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.figures = self.folder / "figures"
        self.figures.mkdir()
        self.out = self.folder / "out"
        self.program = self.folder / "granary"
        self.program.write_text(PROGRAM)
        self.program.chmod(self.program.stat().st_mode | stat.S_IXUSR)
        self.write(FIGURE)
        self.addCleanup(self.remove_what_killed_figures_leave)

    def remove_what_killed_figures_leave(self):
        for out in self.folder.glob("out*"):
            Places(out).remove()

    def write(self, text, name="one"):
        (self.figures / "papers.toml").write_text(PAPERS)
        (self.figures / f"{name}.toml").write_text(text)
        return self.figures / f"{name}.toml"

    def words(self, *words):
        return [sys.executable, "-B", str(ROOT / "scripts/run_figure.py"), f"--granary={self.program}",
                f"--figures={self.figures}", *words]

    def call(self, *words, **options):
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        return subprocess.run(self.words(*words), capture_output=True, text=True, check=False, env=environment,
                              **options)

    def figure(self, code, *words):
        """Returns the output of `granary figure WORDS --out=...`, which must end with the code. It runs in this
        process, which loads matplotlib once.
        """
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            try:
                with contextlib.nullcontext() if self.draws else PICTURES:
                    ended = main([*self.words(*words)[3:], f"--out={self.out}"])
            except SystemExit as end:
                ended = end.code
        self.assertEqual(ended, code, said.getvalue())
        return said.getvalue()

    def calls(self):
        path = self.folder / "calls"
        return path.read_text().splitlines() if path.exists() else []
