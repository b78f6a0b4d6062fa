#!/usr/bin/env python3
"""scripts/shared_lines.py finds the lines that two threads of a program write, and no others. Not covered: other numbers of
workers than two, and programs that end too early.
"""

import collections
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts"))
import shared_lines  # noqa: E402

COUNTERS = pathlib.Path(__file__).resolve().parent / "counters.cc"
SKIPPED, COUNTED = 200, 500
MARKS = ("(anonymous namespace)::begin(", "(anonymous namespace)::transact(")


class SharedLines(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        path = f"{cls.folder.name}/counters"
        subprocess.run(["g++", "-std=c++20", "-O1", "-g1", COUNTERS, "-pthread", "-o", path], check=True)
        cls.program = shared_lines.Program(path)

    def counts(self, *arguments):
        command = [self.program.path, *arguments]
        workers = shared_lines.run(self.program, command, MARKS, 2, SKIPPED, COUNTED)
        self.assertEqual([len(each) for each in workers], [COUNTED, COUNTED])
        return shared_lines.Counts(workers)

    def by_function(self, places):
        self.program.learn(places)
        counts = collections.Counter()
        for place, count in places.items():
            counts[self.program.name(place).partition(" (")[0]] += count
        return dict(counts)

    def test_the_shared_counter_is_found_and_no_other(self):
        counts = self.counts()
        # Each store but the first follows one of the other thread.
        self.assertEqual(self.by_function(counts.stores), {"count_together": 2 * COUNTED - 1})
        self.assertEqual(self.by_function(counts.loads), {})
        self.assertEqual(len(counts.lines), 1)
        self.assertEqual(counts.each_thousand(2 * COUNTED), 1000)

    def test_words_of_one_line_are_shared_too(self):
        counts = self.counts("neighbours")
        both = {"count_together": 2 * COUNTED - 1, "count_beside_the_other": 2 * COUNTED - 1}
        self.assertEqual(self.by_function(counts.stores), both)
        self.assertEqual(len(counts.lines), 2)

    def test_loads_of_what_another_stores(self):
        counts = self.counts("readers")
        self.assertEqual(self.by_function(counts.stores), {"count_together": 2 * COUNTED - 1})
        self.assertEqual(self.by_function(counts.loads), {"read_one": COUNTED})
        self.assertEqual(len(counts.lines), 1)

    def test_the_table_has_a_column_for_each_number_of_workers(self):
        lines = shared_lines.table({1: shared_lines.Counts([]), 2: self.counts()}, self.program).splitlines()
        self.assertEqual(lines[0], "| workers | 1 | 2 |")
        self.assertIn("| stores: other | 0.0 | 999.0 |", lines)
        self.assertIn("| lines that several store to | 0.0 | 1.0 |", lines)


if __name__ == "__main__":
    unittest.main()
