"""Tests how points are made of reports: paths, ratios, measured places, time lines; and what runs need beside their
words.
"""

import json
import tomllib
import unittest
from pathlib import Path

from rig import FIGURE, ROOT, Rig

from figure.checks import Value
from figure.load import load, load_papers
from figure.machine import Machine
from figure.measure import Measure, NotInReport, everything_at, number_at
from figure.noise import FAIL, NEVER, CannotTell
from figure.places import Places
from figure.plan import plan
from figure.points import Point, read_points
from figure.store import Store
from figure.template import filled_words, plain

MACHINE = Machine(2, 16, "made up", False, "Linux 6")
REPORT = {
    "top / all": 7, "granary": {
        "a": {"b": 2, "p99.9_us": 9}, "list": [{"t": "x", "n": 1.5}, {"t": "y", "n": 2.5, "m": 1}], "zero": 0, "text":
        "x"
    }
}


class Paths(unittest.TestCase):
    def test_steps(self):
        for path, value in [("a/b", 2), ("a/p99.9_us", 9), ("list/1/n", 2.5), ("list/*/n", 4), ("list/t=y/n", 2.5),
                            ("list/t=y&m=1.0/n", 2.5), ("/top ~1 all", 7), ("/granary/a/b", 2)]:
            self.assertEqual(number_at(REPORT, path), value, path)
        self.assertEqual(everything_at(REPORT, "list/*/t"), ["x", "y"])

    def test_what_is_not_there(self):
        for path, words in [("c", "no 'c'"), ("list/2", "no '2'"), ("list/t=z/n", "0 members"), ("text", "no number"),
                            ("a", "no number"), ("list/t=y&m=2/n", "0 members")]:
            with self.subTest(path=path), self.assertRaisesRegex(NotInReport, words):
                number_at(REPORT, path)

    def test_measures(self):
        self.assertEqual(Measure("a/b", ("list/0/n",), 3).of(REPORT), 4)
        self.assertEqual(Measure("none", missing=0).of(REPORT), 0)
        self.assertEqual(Measure("v", ("r",), per_less=("v",)).of({"v": 5, "r": 100}), 5 / 95)
        ends = {"v": 9, "a": 20, "b": 10, "begin": {"v": 4, "a": 5, "b": 5}}
        self.assertEqual(Measure("v", ("a", "b"), per_less=("begin/a", "begin/b"), less="begin/v").of(ends), 5 / 20)
        self.assertEqual(Measure("a/b", ("list/0/n", "list/1/n"), 2).of(REPORT), 1, "divisors are added up")
        self.assertEqual([Measure("a", never=True).of({"a": value}) for value in (3, None)], [3, NEVER])
        for measure in (Measure("none"), Measure("a/b", ("zero",)), Measure("a/b", ("none",), missing=0),
                        Measure("a/b", ("a/b",), per_less=("a/b",)), Measure("none", never=True)):
            with self.assertRaises(NotInReport):
                measure.of(REPORT)


class Medians(unittest.TestCase):
    def test_what_never_comes_is_longer_than_all_else(self):
        for values, median in (([1, 2, 3], 2), ([1, 5, NEVER], 5), ([None, 4, 6], 5), ([1, 2, 3, NEVER], 2.5)):
            point = Point("p", "s", 1, values)
            self.assertTrue(point.has_median)
            self.assertEqual(point.median, median, values)
        for values in ([1, NEVER, NEVER], [1, NEVER], [NEVER], [None], []):
            self.assertFalse(Point("p", "s", 1, values).has_median, values)


class OurMeasures(unittest.TestCase):
    def measure(self, figure):
        return load(ROOT / f"bench/figures/{figure}.toml", load_papers(ROOT / "bench/figures")).panels[0].measure

    def test_old_versions_are_beside_the_newest(self):
        self.assertAlmostEqual(self.measure("silo-5.6").of({"version_bytes": 5, "records_bytes": 100}), 100 * 5 / 95)


class Templates(unittest.TestCase):
    def test_words(self):
        variables = {"x": 4, "more": "--a --b={directory}", "none": "", "name": "a b", "share": 0.5}
        self.assertEqual(
            filled_words("bench {more} {none} --x={x} --name={name} --s={share} {directory}", variables, 2),
            ["bench", "--a", "--b={directory}", "--x=4", "--name=a b", "--s=0.5", "{directory}"])

    def test_scaled_to_the_machine(self):
        self.assertEqual([plain({"cores_each": 20, "at_most": 4}, cores) for cores in (2, 20, 79, 80, 200)],
                         ["1", "1", "3", "4", "4"])
        self.assertEqual([plain({"per_core": 2, "at_least": 3, "at_most": 40}, cores) for cores in (1, 2, 64)],
                         ["3", "4", "40"])


class FromReports(Rig):
    def points(self, text, reports, rounds=1):
        """Returns the points of `reports`: these have the object `granary` of each report by x and round, and nothing
        of a run that failed.
        """
        figure = load(self.write(text), load_papers(self.figures))
        planned = plan(figure, True, MACHINE, {"rounds": rounds})
        with Store(self.out) as store:
            for point in planned.points:
                for number in range(1, rounds + 1):
                    granary = reports.get((point.x, number))
                    store.keep(
                        point.run.key("b", number), {
                            "exit_code": 3 if granary is None else 0, "trouble": "no room", "started": "2013-11-03",
                            "report": {"granary": granary}
                        })
            return read_points(planned, store, "b")

    def rate(self, value):
        return {"throughput": {"median": value}}

    def changed(self, old, new):
        self.assertIn(old, FIGURE)
        return FIGURE.replace(old, new, 1)

    def test_relative_to_another_series(self):
        text = self.changed('name = "Slow"',
                            'name = "Slow"\ny = {value = "throughput/median", times = 3, relative_to = "Fast"}')
        points = self.points(text, {(x, n): self.rate(x * n) for x in (1, 2) for n in (1, 2)}, 2)
        self.assertEqual([point.values for point in points.of("rate", "Slow")], [[3, 3], [3, 3]])
        self.assertEqual([point.values for point in points.of("rate", "Fast")], [[1, 2], [2, 4]])

    def test_relative_to_its_own_first_place(self):
        text = self.changed('name = "Fast"', 'name = "Fast"\ny = {value = "throughput/median", relative_to = "Fast"}')
        points = self.points(text, {(1, 1): self.rate(5), (2, 1): self.rate(8)})
        self.assertEqual([point.values for point in points.of("rate", "Fast")], [[1], [1.6]])

    def extra(self, reports):
        """Returns the points of `reports`: these have, by x and for two rounds, the time and how many things cost
        extra.
        """
        measure = 'y = {value = "time", per = "all", times = 1000, extra_each = "far/{x}"}'
        text = self.changed('name = "Fast"', f'name = "Fast"\n{measure}').replace("values = [1, 2]", "values = [1, 2, 4]")
        text = text.replace('name = "Slow"', 'name = "Slow"\ny = "all"')
        return self.points(text, {(x, number): {"time": time, "all": 100, "far": {str(x): count}}
                                  for x, rounds in reports.items()
                                  for number, (time, count) in enumerate(rounds, 1)}, 2)

    def test_the_extra_cost_of_each(self):
        points = self.extra({1: [(2, 0), (3, 0)], 2: [(4, 0.5), (4, 0.25)], 4: [(1, 0.5), (3, 1)]})
        self.assertEqual([(point.x, point.values) for point in points.of("rate", "Fast")],
                         [(2, [40, 40]), (4, [-20, 0])], "rounds for themselves, and below 0 as it is")
        self.assertEqual(points.places("rate", "Fast"), [2, 4], "the first place costs nothing extra")
        self.assertEqual([point.values for point in points.of("rate", "Slow")], [[100, 100]] * 3)

    def test_no_extra_cost_of_what_is_not_there(self):
        points = self.extra({1: [(2, 0), (3, 0)], 2: [(4, 0.5), (4, 0)], 4: [(1, 0.5), (3, 1)]})
        with self.assertRaisesRegex(CannotTell, "Fast at 2: 'far/{x}' is 0"):
            points.rounds("rate", "Fast", 2)

    def test_no_extra_cost_beyond_a_run_that_failed(self):
        points = self.extra({1: [(2, 0)], 2: [(4, 0.5), (4, 1)], 4: [(1, 0.5), (3, 1)]})
        self.assertEqual([point.values for point in points.of("rate", "Fast")], [[40, None], [-20, None]])
        with self.assertRaisesRegex(CannotTell, "Fast at 4: a run ended with 3"):
            points.rounds("rate", "Fast", 4)

    def test_a_run_that_failed(self):
        points = self.points(FIGURE, {(1, 1): self.rate(1), (2, 1): self.rate(2), (1, 2): self.rate(3)}, 2)
        self.assertEqual([point.values for point in points.of("rate", "Fast")], [[1, 3], [2, None]])
        self.assertEqual([(failure.x, failure.round, failure.exit_code) for failure in points.failures],
                         [(2, 2, 3)] * 2)
        with self.assertRaisesRegex(CannotTell, "Fast at 2: a run ended with 3: no room"):
            points.rounds("rate", "Fast", 2)

    def test_a_report_without_the_value(self):
        points = self.points(FIGURE, {(1, 1): self.rate(1), (2, 1): {}})
        with self.assertRaisesRegex(CannotTell, "Fast at 2: 'throughput/median': there is no 'throughput'"):
            points.rounds("rate", "Fast", 2)

    def test_a_measured_place(self):
        text = self.changed('label = "Workers"', 'label = "Latency"\nmeasured = "latency"')
        points = self.points(text, {(x, n): self.rate(x) | {"latency": 10 * x + n} for x in (1, 2) for n in (1, 3)} |
                             {(x, 2): self.rate(x) | {"latency": 10 * x + 2} for x in (1, 2)}, 3)
        self.assertEqual([(point.x, point.drawn_x) for point in points.of("rate", "Fast")], [(1, 12), (2, 22)])

    def test_a_time_line(self):
        text = self.changed('label = "Workers"', 'label = "Time"\nalong = "samples"\nmeasured = "seconds"\nstep = 0.5')
        text = text.replace('y = "throughput/median"',
                            'y = {value = "n", per = "d"}').replace("values = [1, 2]", "values = [1]")
        samples = [[{"seconds": s + 0.01 * n, "n": 2 * s + n, "d": 2} for s in (0, 0.5, 1)] for n in (1, 2)]
        points = self.points(text, {(1, n): {"samples": samples[n - 1]} for n in (1, 2)}, 2)
        self.assertEqual([(point.x, point.values) for point in points.of("rate", "Fast")],
                         [(0, [0.5, 1]), (0.5, [1, 1.5]), (1, [1.5, 2])])

    def time_line(self, keys):
        """Returns the points of runs with a peak at 0.2, which is rounded to the same place as the sample after it."""
        text = self.changed('label = "Workers"',
                            'label = "Time"\nalong = "samples"\nmeasured = "seconds"\nstep = 0.3\n' + keys)
        text = text.replace('y = "throughput/median"', 'y = "n"').replace("values = [1, 2]", "values = [1]")
        samples = [{"seconds": seconds, "n": n} for seconds, n in ((0.1, 1), (0.2, 10), (0.3, 1), (0.6, 1))]
        return self.points(text, {(1, number): {"samples": samples} for number in (1, 2, 3)}, 3)

    def test_members_at_one_place_do_not_hide_each_other(self):
        check = Value("rate", ("Fast",), "all", None, 5)
        with self.assertRaisesRegex(CannotTell, "'samples' has several members at 0.3"):
            check.judge(self.time_line(""))
        points = self.time_line('together = "greatest"')
        self.assertEqual([(point.x, point.values[0]) for point in points.of("rate", "Fast")],
                         [(0, 1), (0.3, 10), (0.6, 1)])
        self.assertEqual(check.judge(points).result, FAIL)
        least = Value("rate", ("Fast",), "all", 5, None)
        self.assertEqual(least.judge(self.time_line('together = "smallest"')).result, FAIL)

    def test_several_divisors(self):
        text = self.changed('y = "throughput/median"', 'y = {value = "n", per = ["at/{x}", "more"]}')
        found = {"n": 6, "at": {"1": 2, "2": 5}, "more": 1}
        points = self.points(text, {(1, 1): found, (2, 1): found})
        self.assertEqual([point.values for point in points.of("rate", "Fast")], [[2], [1]])

    def test_places_in_paths(self):
        text = self.changed('y = "throughput/median"', 'y = "lookups/at={x}/reads"')
        found = {"lookups": [{"at": 1, "reads": 1.25}, {"at": 2, "reads": 1.5}]}
        points = self.points(text, {(1, 1): found, (2, 1): found})
        self.assertEqual([point.values for point in points.of("rate", "Slow")], [[1.25], [1.5]])

    def test_places_beyond_the_cores(self):
        planned = plan(load(self.write(self.changed('label = "Workers"', 'label = "Workers"\nat_most_per_core = 0.5')),
                            load_papers(self.figures)), False, MACHINE, {})
        self.assertEqual([point.x for point in planned.points], [1, 1])
        self.assertEqual(planned.left_out["Fast", 4], "needs >= 8 cores")
        self.assertEqual(planned.notes(), ["Workers 2, 4 (needs >= 4 cores, needs >= 8 cores)"])


class Surroundings(Rig):
    def test_clusters_and_directories(self):
        text = FIGURE.replace(
            "command = \"bench made", 'cluster = {nodes = "{x}", on_disk = true, defaults = {workers = 2}, '
            'cluster = {epoch_ms = 10}}\ncommand = "cluster run made --cluster={cluster} --d={directory} '
            '--m={memory_directory}')
        planned = plan(load(self.write(text), load_papers(self.figures)), True, MACHINE, {})
        self.out.mkdir()
        places = Places(self.out)
        words = dict(word.partition("=")[::2] for word in places.make(planned.points[2].run)[-1])
        cluster = tomllib.loads(Path(words["--cluster"]).read_text())
        self.assertEqual([node["id"] for node in cluster["node"]], [1, 2])
        self.assertEqual((cluster["defaults"]["workers"], cluster["cluster"]["epoch_ms"]), (2, 10))
        self.assertTrue(cluster["defaults"]["data_directory"].startswith(str(self.out)))
        self.assertLessEqual(len(cluster["cluster"]["run_directory"]), 90)
        for flag, above in (("--d", self.out), ("--m", Path("/dev/shm"))):
            self.assertTrue(Path(words[flag]).is_dir())
            self.assertTrue(Path(words[flag]).is_relative_to(above))
        places.remove()
        self.assertEqual([path for flag in words.values() if (path := Path(flag)).is_absolute() and path.exists()], [])

    def test_clusters_in_memory_have_no_directories(self):
        text = FIGURE.replace("command = \"bench made", 'cluster = {}\ncommand = "cluster run made --cluster={cluster}')
        planned = plan(load(self.write(text), load_papers(self.figures)), True, MACHINE, {})
        self.out.mkdir()
        places = Places(self.out)
        places.make(planned.points[0].run)
        cluster = tomllib.loads((self.out / "work/cluster.toml").read_text())
        places.remove()
        self.assertEqual(cluster["defaults"], {"workers": 1, "memory": "1GiB"})
        self.assertEqual(len(cluster["node"]), 2)

    def test_a_damaged_result_is_named(self):
        self.figure(0, "one", "--quick")
        run = next((self.out / "runs").iterdir())
        run.write_text(json.dumps({"format": 1})[:5])
        self.assertIn(f"'{run}' cannot be read", self.figure(3, "one", "--quick", "--resume"))


if __name__ == "__main__":
    unittest.main()
