"""Tests the figure files that we have, and which words refuse others. claims_test.py has what the figures claim."""

import contextlib
import unittest

from rig import FIGURE, ROOT, Rig

from figure.errors import UsageError
from figure.load import load, load_all, load_papers
from figure.results import undivided_unit
from figure.transcript import number_of

OURS = ROOT / "bench/figures"


class OurFiles(unittest.TestCase):
    def test_all_can_be_read(self):
        self.assertGreaterEqual(len(load_all(OURS)), 1)

    def test_units_of_numbers_that_are_not_divided_are_known(self):
        units = {undivided_unit(panel) for figure in load_all(OURS) for panel in figure.panels}
        self.assertLessEqual({"txns/sec", "txn/s", "ops/sec", "txns/sec/core", "ns", "us", "%"}, units)
        self.assertEqual([unit for unit in units if " / " in unit], [])

    def test_points_of_the_papers_are_typed_in_twice_or_cite_the_raw_file(self):
        for figure in load_all(OURS):
            for published in figure.published:
                with self.subTest(figure=figure.name, series=published.series, panel=published.panel):
                    self.compare(published)

    def test_what_a_program_has_read_can_be_read_again(self):
        read = 0
        for figure in load_all(OURS):
            for published in figure.published:
                for typing in published.typings:
                    if typing.by == "text":
                        read += 1
                        self.assertTrue(typing.rows, f"{figure.name}: {published.series}: no rows of the paper's text")
        self.assertGreaterEqual(read, 37)

    def compare(self, published):
        first, *others = published.typings
        drawn = dict(first.points)
        self.assertEqual(len(drawn), len(first.points), "a place is there twice")
        if first.by == "raw":
            self.assertRegex(first.commit, "^[0-9a-f]{40}$")
        in_common = 0
        for other in others:
            for x, y in other.points:
                if x in drawn:
                    in_common += 1
                    self.assertLessEqual(abs(y - drawn[x]), published.within * max(abs(y), abs(drawn[x])) + 1e-12,
                                         f"at {x}: {drawn[x]} by {first.by}, {y} by {other.by}")
        self.assertTrue(in_common or first.by == "raw", "the typings have no place in common")


class Transcripts(unittest.TestCase):
    def test_numbers_as_transcripts_have_them(self):
        row = "w/o logging 3, 670, 355 1. 348 13.26 SI \u2013 9.9% 64\u00d7 10"
        found = [number_of([row], 1, place) for place in range(9)]
        self.assertEqual(found, [None, 3670355, 1.348, 13.26, None, 9.9, 64, 10, None])
        self.assertIsNone(number_of([row], 2, 1))

    def test_a_point_typed_wrong_is_found(self):
        text = FIGURE.replace('by = "picture"\nsource = "Figure 1"\npoints = [[8, 158]]',
                              'by = "sentence"\nsource = "page 1"\npoints = [[8, {}]]').replace(
                                  'points = [[1, 19], [8, 160]]', 'rows = ["0. 019 0. 160"]\ntimes = 1e3\n'
                                  'read = [[1, 1, 1], [8, 1, 2]]')
        rig = Refusals()
        rig.setUp()
        self.addCleanup(rig.doCleanups)
        for typed, right in (("160", True), ("106", False)):
            published, = load(rig.write(text.replace("{}", typed)), load_papers(rig.figures)).published
            self.assertEqual(published.points, ((1, 19), (8, 160)))
            with contextlib.nullcontext() if right else self.assertRaises(AssertionError):
                OurFiles().compare(published)


class Refusals(Rig):
    def refused(self, text, *words):
        file = self.write(text)
        with self.assertRaises(UsageError) as caught:
            load(file, load_papers(self.figures))
        self.assertTrue(str(caught.exception).startswith(str(file)), caught.exception)
        for each in words:
            self.assertIn(each, str(caught.exception))

    def changed(self, old, new):
        self.assertIn(old, FIGURE)
        return FIGURE.replace(old, new, 1)

    def test_what_is_written_right_is_read(self):
        figure = load(self.write(FIGURE), load_papers(self.figures))
        self.assertEqual([series.name for series in figure.series], ["Fast", "Slow"])
        self.assertEqual([value.x for value in figure.quick.values], [1, 2])

    def test_what_is_counted_needs_one_round_only(self):
        text = FIGURE.replace("rounds = 3", "rounds = 1").replace('section = "1"', 'section = "1"\ncounts = true')
        self.assertEqual(load(self.write(text), load_papers(self.figures)).quick.rounds, 1)

    def test_what_is_no_toml(self):
        self.refused("format = ", "Invalid value")

    def test_values(self):
        for old, new, *words in [
                ("format = 1", "format = 2", "format is 2; expected 1"),
                ('paper = "paper"', 'paper = "other"', "paper is 'other'; expected one of paper"),
                ('title = "A figure"', "", "no key 'title'"),
                ('title = "A figure"', 'titel = "A figure"', "'title'"),
                ("rounds = 3", "rounds = 0", "full: rounds is 0; expected a whole number of at least 1"),
                ("rounds = 3", "rounds = 2", "full: rounds is 2; expected at least 3, or counts = true"),
                ("[quick]\nrounds = 3", "[quick]\nrounds = 1", "quick: rounds is 1; expected at least 3"),
                ('title = "A figure"', 'title = "A figure"\ncounts = 1', "counts is 1; expected true or false"),
                ("values = [1, 2, 4]", "values = []", "a list that is not empty"),
                ("values = [1, 2, 4]", "values = [1, 1]", "each place once"),
                ("values = [1, 2, 4]", 'values = ["a"]', "expected numbers"),
                ("seconds = 2", "Seconds = 2", "'Seconds' cannot be a variable"),
                ("seconds = 2", "cores = 2", "'cores' cannot be a variable"),
                ("slope = 10", "slope = {per_core = 0}", "whole numbers"),
                ("slope = 10", "slope = {at_most = 4}", "expected per_core or cores_each"),
                ("slope = 10", "slope = {per_core = 1, cores_each = 2}", "expected per_core or cores_each"),
                ('label = "Workers"', 'label = "Workers"\nline = "dashed"', "unknown key 'line'"),
                ('name = "Slow"', 'name = "Slow"\nline = "dotted"', "expected one of solid, dashed"),
                ('name = "Slow"', 'name = "Slow"\ny = {value = "a", per = [1]}', "expected a path, or a list of paths"),
                ('name = "Slow"', 'name = "Slow"\ny = {value = "a", extra_each = "b//c"}', "no path into a report"),
                ('name = "Slow"', 'name = "Slow"\ny = {value = "a", extra_each = "b", relative_to = "Fast"}',
                 "expected it without 'never', 'relative_to'"),
                ('label = "Workers"', 'label = "Workers"\nscale = "cubic"', "expected one of linear, log, category"),
                ('label = "Workers"', 'label = "Workers"\nlimits = [2, 1]', "the smaller one first"),
                ('label = "Workers"', 'label = "Workers"\nalong = "a"', "no key 'measured'"),
                ('unit = "K/s"', 'units = "K/s"', "unknown key 'units'"),
                ('y = "throughput/median"', 'y = "throughput//median"', "no path into a report"),
                ('y = "throughput/median"', "", "series Fast", "no key 'y'")]:
            with self.subTest(new=new):
                self.refused(self.changed(old, new), *words)

    def test_commands(self):
        for command, *words in [("rm -rf {x}", "no command of granary"), ("bench made '", "No closing quotation"),
                                ("bench made --x={missing}", "nothing has a value for {missing}"),
                                ("cluster run made --cluster={cluster}", "cluster")]:
            with self.subTest(command=command):
                self.refused(FIGURE.replace("bench made --workers={x} --seconds={seconds} --slope={slope}", command),
                             *words)

    def test_names_of_series_and_panels(self):
        self.refused(self.changed('name = "Slow"', 'name = "Fast"'), "two of [[series]] are named 'Fast'")
        self.refused(self.changed('to = "Slow"', 'to = "Slwo"'), "claim A1",
                     "no series 'Slwo'; expected one of Fast, Slow")
        self.refused(self.changed('check = "ratio"', 'check = "ratio"\npanel = "aborts"'), "no panel 'aborts'")
        self.refused(self.changed('name = "Slow"', 'name = "Slow"\ny.aborts = "aborts"'), "no panel 'aborts'")
        self.refused(self.changed('name = "Slow"', 'name = "Slow"\ny = {value = "a", relative_to = "Fats"}'), "'Fats'")

    def test_clusters(self):
        self.refused(
            self.changed("[with]", 'cluster = {nodes = 0}\n[with]').replace("--workers",
                                                                            "--cluster={cluster} --workers"),
            "nodes is 0")
        self.refused(self.changed("[with]", 'cluster = {nodes = 2}\n[with]'), "cluster")

    def test_points_of_the_paper(self):
        once = FIGURE[:FIGURE.index('[[published.typed]]\nby = "picture"')] + FIGURE[FIGURE.index("[[claim]]"):]
        self.refused(once, "published Fast", "two that were made in different ways")
        self.refused(once.replace('by = "text"', 'by = "raw"'), "no key 'repository'")
        self.refused(self.changed("[[8, 158]]", "[[8]]"), "found [8]; expected [x, y]")
        rows = 'rows = ["1 \u2013 3"]\nread = [[8, 1, 2]]'
        self.refused(self.changed("points = [[8, 158]]", rows), "row 1 has no number 2")
        self.refused(self.changed("points = [[8, 158]]", rows.replace(", 2]", "]")), "expected [x, row, number]")

    def test_claims(self):
        for old, new, *words in [
                ('check = "ratio"', 'check = "magic"', "expected one of value, ratio"),
                ("at_least = 1.8", "", "at_least, at_most or both"),
                ("at_least = 1.8", "at_least = 2\nat_most = 1", "at most 1"),
                ('to = "Slow"', "", "another place than 'at'"),
                ("at_least = 1.8", "at_least = 1.8\nneeds = {gpus = 1}", "unknown key 'gpus'"),
                ("at_least = 1.8", "at_least = 1.8\nslack = 1", "unknown key 'slack'")]:
            with self.subTest(new=new):
                self.refused(self.changed(old, new), "claim A1", *words)


if __name__ == "__main__":
    unittest.main()
