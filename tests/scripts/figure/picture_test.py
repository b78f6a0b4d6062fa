"""Runs figures with tiny settings by the real program, and looks at their pictures: axes, number of points, colour."""

import csv
import io
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from collections import Counter
from pathlib import Path

import rig
from figure.load import load_all
from figure.plot import COLOURS, GREY
from matplotlib import colors, image

GRANARY = os.environ["GRANARY"]
TINY = Path(__file__).resolve().parent / "tiny"
XLINK = "{http://www.w3.org/1999/xlink}href"


class Pictures(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="granary-figure-test-")
        self.addCleanup(holder.cleanup)
        self.out = Path(holder.name)

    def run_figures(self, program, *words):
        done = subprocess.run([*program, *words, f"--out={self.out}"], capture_output=True, text=True, check=False)
        self.assertIn(done.returncode, (0, 1), done.stdout + done.stderr)
        self.assertNotIn("a run failed", done.stdout)
        return done.stdout

    def rows(self, name):
        with (self.out / f"{name}.csv").open() as file:
            return list(csv.DictReader(file))

    def look_at(self, figure):
        """Sees that each series has as many marks as points, that axes have the figure's names, and that colours can be
        seen.
        """
        root = xml.etree.ElementTree.fromstring((self.out / f"{figure.name}.svg").read_text())
        texts = " ".join(" ".join(each.itertext()) for each in root.iter() if each.tag.endswith("text"))
        groups = Counter()
        for group in root.iter("{http://www.w3.org/2000/svg}g"):
            marks = sum(1 for each in group.iter() if each.get(XLINK))
            groups[group.get("id")] += marks or 1
        rows = self.rows(figure.name)
        self.assertTrue(rows)
        points = Counter((row["source"], row["panel"], row["series"]) for row in rows if row["median"])
        for (source, panel, series), count in points.items():
            kind = "ours" if source == "granary" else "paper"
            self.assertEqual(groups[f"{kind} {panel} {series}"], count, f"{kind} {panel} {series}: {groups}")
        for label in [figure.x.label, *(panel.label for panel in figure.panels)]:
            self.assertIn(label, texts)
        for series in {series for source, _, series in points if source == "granary"}:
            self.assertIn(series, texts)
        self.look_at_colours(figure, points)

    def look_at_colours(self, figure, points):
        with (self.out / f"{figure.name}.png").open("rb") as file:
            pixels = (image.imread(io.BytesIO(file.read()))[:, :, :3] * 255).round().astype(int)
        counts = Counter(map(tuple, pixels.reshape(-1, 3)))
        self.assertGreater(counts[255, 255, 255], len(pixels), "no white")
        names = [series.name for series in figure.series]
        wanted = {COLOURS[names.index(series)] for source, _, series in points if source == "granary"}
        if any(source != "granary" for source, _, _ in points):
            wanted.add(GREY)
        for name in wanted:
            colour = tuple(round(255 * each) for each in colors.to_rgb(name))
            self.assertGreater(counts[colour], 20, f"{name} in {figure.name}")

    def test_lines_of_a_paper(self):
        self.run_figures([GRANARY, "figure"], "silo-4", "--quick", "--set", "seconds=0.05", "--set", "warmup=0",
                         "--set", "keys=1000", "--set", "rounds=2")
        figure = next(each for each in load_all(rig.ROOT / "bench/figures") if each.name == "silo-4")
        self.assertEqual(
            len([row for row in self.rows("silo-4") if row["source"] == "granary" and row["series"] == "MemSilo"]),
            len([x for x in (1, 2, 4, 8, 16, 24, 32) if x <= len(os.sched_getaffinity(0))]))
        self.look_at(figure)

    def test_bars_and_time_lines(self):
        script = [sys.executable, "-B", str(rig.ROOT / "scripts/run_figure.py")]
        said = self.run_figures([*script, f"--granary={GRANARY}", f"--figures={TINY}"], "--all")
        self.assertIn("PASS  B1", said)
        self.assertIn("PASS  L1", said)
        for figure in load_all(TINY):
            with self.subTest(figure=figure.name):
                self.look_at(figure)
        page = (self.out / "index.html").read_text()
        self.assertEqual(len(re.findall("<svg", page)), 2)
        self.assertEqual(sorted(path.name for path in self.out.iterdir() if path.is_dir()), ["runs"])


if __name__ == "__main__":
    unittest.main()
