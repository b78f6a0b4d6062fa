"""Runs what the figure files of ours name, once for each series, with the smallest settings. It tests that granary
takes each command line, and that its report has all that is read from it. What is measured is of no use.
"""

import os
import tempfile
import unittest
from pathlib import Path

from rig import ROOT

from figure.load import load_all
from figure.machine import Machine
from figure.plan import plan
from figure.points import read_points
from figure.progress import Progress
from figure.runner import Runner
from figure.store import Store

MACHINE = Machine(2, 1024, "any", False, "Linux")
SMALL = {"rounds": 1, "seconds": 0.3, "warmup": 0, "keys": 2000, "accounts": 1000, "items": 200, "customers": 30,
         "slots": 16384, "tables": 1, "lookups": 20000, "operations": 2000, "region": "8MiB"}
LONGER = {"recovery": 3, "recovery-steps": 3,  # a node is killed after a second, and comes back
          "silo-5.6": 2.2,  # there is one sample each second
          "silo-7-over-time": 1}


class OurCommands(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="granary-figure-test-")
        self.addCleanup(holder.cleanup)
        self.out = Path(holder.name)

    def planned(self, figure):
        """Plans all places of a figure whose places are names, since these are commands or paths. If they are numbers,
        it plans each series' first place, and the second one as well if a figure of the series is its difference to the
        first.
        """
        overrides = SMALL | ({"seconds": LONGER[figure.name]} if figure.name in LONGER else {})
        result = plan(figure, True, MACHINE, overrides)
        if figure.x.scale != "category":
            result.points = [point for point in result.points if point in self.first_ones(result, point.series)]
        return result

    def first_ones(self, planned, series):
        differs = any(measure.extra_each for measure in series.measures.values())
        return [point for point in planned.points if point.series is series][:2 if differs else 1]

    def test_are_taken_and_report_what_is_read(self):
        figures = load_all(ROOT / "bench/figures")
        self.assertGreaterEqual(len(figures), 39)
        with Store(self.out) as store:
            runner = Runner(Path(os.environ["GRANARY"]), "any", store, False, Progress(True))
            for figure in figures:
                with self.subTest(figure=figure.name):
                    self.look_at(self.planned(figure), runner)

    def look_at(self, planned, runner):
        runner.expect([planned])
        runner.run_all(planned)
        points = read_points(planned, runner.store, runner.build)
        self.assertEqual([f"granary {each.command}: {each.trouble}" for each in points.failures], [])
        troubled = [(each.panel, each.series, each.x, each.troubles) for each in points.all() if each.troubles]
        self.assertEqual(troubled, [])
        for point in planned.points:
            for panel in point.series.measures:
                self.assertTrue(points.of(panel, point.series.name), f"{panel}: {point.series.name} has no point")


if __name__ == "__main__":
    unittest.main()
