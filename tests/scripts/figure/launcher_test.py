"""Tests how the program `granary` finds and starts what does `granary figure`."""

import os
import shutil
import subprocess
import unittest

from rig import FIGURE, PAPERS, ROOT, Rig

GRANARY = os.environ["GRANARY"]


class Launcher(Rig):
    def granary(self, *words, program=GRANARY, **environment):
        done = subprocess.run([program, *words], capture_output=True, text=True, check=False,
                              env=os.environ | environment)
        return done.returncode, done.stdout + done.stderr

    def test_in_a_build_folder(self):
        code, said = self.granary("figure")
        self.assertEqual(code, 0, said)
        listed = {line.split()[0] for line in said.splitlines() if line.strip()}
        for file in (ROOT / "bench/figures").glob("*.toml"):
            self.assertEqual(file.stem in listed, file.stem != "papers", said)

    def test_help(self):
        for words in (("figure", "--help"), ("help", "figure")):
            code, said = self.granary(*words)
            self.assertEqual(code, 0)
            self.assertIn("granary figure silo-4 --quick", said)
        self.assertIn("granary figure compare", self.granary("figure", "compare", "--help")[1])
        self.assertIn("granary figure NAME", self.granary("help")[1])
        self.assertEqual(self.granary("figur"), (2, "granary: 'figur': no such command; did you mean figure?\n"))

    def test_another_python(self):
        code, said = self.granary("figure", PYTHON="/nowhere/python")
        self.assertEqual(code, 3)
        self.assertIn("'/nowhere/python' does not start (No such file or directory); install the package python3", said)

    def test_installed(self):
        """It runs in any folder, such as the archive's, and says so where the scripts are missing."""
        program = self.folder / "bin/granary"
        program.parent.mkdir()
        shutil.copy(GRANARY, program)
        code, said = self.granary("figure", program=program)
        self.assertEqual(code, 3)
        self.assertIn(f"its scripts are missing, in '{self.folder}/share/granary'; install all of Granary", said)
        data = self.folder / "share/granary"
        shutil.copytree(ROOT / "scripts/figure", data / "scripts/figure")
        shutil.copy(ROOT / "scripts/run_figure.py", data / "scripts")
        (data / "figures").mkdir()
        (data / "figures/papers.toml").write_text(PAPERS)
        (data / "figures/mine.toml").write_text(FIGURE)
        code, said = self.granary("figure", program=program)
        self.assertEqual(code, 0, said)
        self.assertIn("mine  Paper, Figure 1: A figure", said)


if __name__ == "__main__":
    unittest.main()
