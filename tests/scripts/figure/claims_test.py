"""Judges every claim of every figure file with made-up data that pass, fail, and cannot tell, and tests the kinds of
check at their edges.
"""

import dataclasses
import tempfile
import unittest
from pathlib import Path

from rig import FIGURE, ROOT, Rig

from figure.checks import KINDS, AsPublished, Crossing, Flat, Monotone, Ordering, Peak, Ratio, Value
from figure.load import load, load_all, load_papers
from figure.machine import Machine
from figure.needs import Needs
from figure.noise import FAIL, NULL, PASS, CannotTell, interval
from figure.plan import plan
from figure.points import Point, Points, read_points
from figure.store import Store
from figure.verdicts import exit_code, judge
from made_up import MadeUp, Published, data
from sentences import SENTENCES

MACHINE = Machine(2, 16, "made up", False, "Linux 6")
ROW = ("throughput", ("a",))


def kinds():
    """Returns checks of each kind."""
    return [
        Value("p", ("a", ), "all", 2, 3),
        Value("p", ("a", ), 4, None, 3),
        Ratio("p", ("a", "b"), "all", "all", 1.5, None),
        Ratio("p", ("a", "a"), "last", "first", 1.5, 2),
        Ratio("p", ("a", "b"), 1, 2, None, 2),
        Ordering("p", (("a", ), ("b", ), ("c", )), "last", 0.03),
        Ordering("p", (("a", "b"), ("c", "d", "e")), 4, 0),
        Monotone("p", ("a", ), True, 0.05),
        Monotone("p", ("a", ), False, 0),
        Flat("p", ("a", ), 0.03),
        Crossing("p", ("a", "b"), (10, 30)),
        Peak("p", ("a", ), True, (2, 4)),
        Peak("p", ("a", ), False, (2, 4)),
        AsPublished("p", ("a", ), 0.02, None),
        AsPublished("p", ("a", ), None, 0.1)
    ]


class EveryKind(unittest.TestCase):
    def test_passes_fails_and_cannot_tell(self):
        self.assertEqual({type(check) for check in kinds()}, set(KINDS.values()))
        for check in kinds():
            for wanted in (PASS, FAIL, NULL):
                with self.subTest(check=check, wanted=wanted):
                    verdict = check.judge(data(check, wanted))
                    self.assertEqual(verdict.result, wanted, verdict.reason)
                    self.assertEqual("cannot tell" in verdict.reason, wanted == NULL, verdict.reason)

    def test_nothing_to_judge(self):
        for check in kinds():
            with self.subTest(check=check), self.assertRaises(CannotTell):
                check.judge(MadeUp({}))


class EveryClaimOfOurs(unittest.TestCase):
    def test_passes_fails_and_cannot_tell(self):
        for figure in load_all(ROOT / "bench/figures"):
            for claim in figure.claims:
                paper = [point for each in figure.published for point in each.points
                         if (each.panel, each.series) == (claim.check.panel, claim.check.series[0])]
                for wanted in (PASS, FAIL, NULL):
                    with self.subTest(figure=figure.name, claim=claim.id, wanted=wanted):
                        verdict = claim.check.judge(data(claim.check, wanted, paper))
                        self.assertEqual(verdict.result, wanted, verdict.reason)


class WhatOurClaimsSay(unittest.TestCase):
    """Has data that contradict the sentence of a claim, though other figures of it are as the sentence has them."""

    def verdict(self, figure, claim, values):
        claims = load(ROOT / f"bench/figures/{figure}.toml", load_papers(ROOT / "bench/figures")).claims
        check = next(each for each in claims if each.id == claim).check
        rounds = {place: [value] * 3 for place, value in values.items()}
        return check.judge(MadeUp(rounds)).result

    def rates(self, x, **changed):
        rates = {"TICTOC": 10, "SILO": 9, "NO_WAIT": 8, "DL_DETECT": 7, "HEKATON": 6} | changed
        return {(name, x): rate for name, rate in rates.items()}

    def test_tictoc_and_silo_are_faster_than_each_of_the_others(self):
        self.assertEqual(self.verdict("tictoc-6", "T7", self.rates(2)), PASS)
        for changed in ({"TICTOC": 7.5}, {"SILO": 7.5}, {"DL_DETECT": 9.5}, {"HEKATON": 9.5}):
            self.assertEqual(self.verdict("tictoc-6", "T7", self.rates(2, **changed)), FAIL, changed)

    def test_silo_is_faster_than_what_locks_whichever_of_that_is_faster(self):
        for changed, wanted in (({}, PASS), ({"DL_DETECT": 8.5}, PASS), ({"DL_DETECT": 9.5}, FAIL),
                                ({"NO_WAIT": 9.5}, FAIL)):
            self.assertEqual(self.verdict("tictoc-7", "T2-order", self.rates(8, **changed)), wanted, changed)

    def test_one_worker_with_and_without_a_log(self):
        rates = {("MemSilo", 1): 30000, ("Silo", 1): 29000}
        self.assertEqual(self.verdict("silo-5-6-7", "S2-paper", rates), PASS)
        self.assertEqual(self.verdict("silo-5-6-7", "S2-memory", rates), FAIL)

    def test_a_node_that_was_not_recovered_within_the_run(self):
        figure = load(ROOT / "bench/figures/recovery-steps.toml", load_papers(ROOT / "bench/figures"))
        planned = plan(figure, True, MACHINE, {})
        for times, wanted in (((100, 120, 130), PASS), ((100, 120, None), FAIL), ((None, ) * 3, FAIL)):
            with tempfile.TemporaryDirectory() as folder, Store(Path(folder)) as store:
                for point in planned.points:
                    for number, time in enumerate(times, 1):
                        figures = {value.variables["step"]: {"median": time} for value in figure.quick.values}
                        store.keep(point.run.key("b", number), {"exit_code": 0, "trouble": "", "report": {
                            "granary": {"killed": {"figures": figures}}}})
                points = read_points(planned, store, "b")
            judged = {each.claim.id: each.verdict for each in judge(points, MACHINE)}
            self.assertEqual(judged["D10-recovered"].result, wanted, judged["D10-recovered"].reason)
            self.assertEqual("never in" in judged["D10-recovered"].reason, wanted == FAIL)

    def test_a_small_cache_beside_a_large_one(self):
        reads = {("Skewed", 6.25): 1.5, ("Skewed", 100): 1.0, ("Uniform", 6.25): 1.9, ("Uniform", 100): 1.0}
        self.assertEqual(self.verdict("drtm-65", "D6-skew", reads), FAIL)
        self.assertEqual(self.verdict("drtm-65", "D6-popular", reads), PASS)
        self.assertEqual(self.verdict("drtm-65", "D6-skew", reads | {("Skewed", 6.25): 1.2}), PASS)


    def test_each_sentence_and_its_contradiction(self):
        for figure, claim, said, contradicted in SENTENCES:
            with self.subTest(figure=figure, claim=claim):
                self.assertEqual(self.verdict(figure, claim, said), PASS)
                self.assertEqual(self.verdict(figure, claim, contradicted), FAIL)


class ThePapersOwnNumbers(unittest.TestCase):
    """Lets our claims judge a paper's points, which would not pass if a bound, a series or a panel were wrong."""

    # For these claims, the paper's points are about something else.
    # 5.52 M is with a logical node on each socket, and the line DrTM with one on each machine.
    OTHERWISE = {("drtm-54", "D1-six")}

    def test_pass(self):
        judged = 0
        for figure in load_all(ROOT / "bench/figures"):
            for claim in figure.claims:
                try:
                    verdict = claim.check.judge(Published(figure))
                except CannotTell:
                    continue
                judged += 1
                wanted = FAIL if (figure.name, claim.id) in self.OTHERWISE else PASS
                with self.subTest(figure=figure.name, claim=claim.id):
                    self.assertEqual(verdict.result, wanted, verdict.reason)
        self.assertGreaterEqual(judged, 51)


class Edges(unittest.TestCase):
    def test_interval(self):
        self.assertEqual((interval([3, 1, 2]).low, interval([3, 1, 2]).high), (1, 3))
        self.assertEqual((interval([5]).low, interval([5]).median), (5, 5))
        many = interval(range(1, 22))
        self.assertEqual((many.low, many.median, many.high), (6, 11, 16))

    def test_an_interval_tells_how_often_such_ones_have_the_median(self):
        for rounds, coverage in ((1, 0), (3, 0.75), (5, 0.9375), (6, 0.96875), (21, 0.973)):
            self.assertAlmostEqual(interval(range(rounds)).coverage, coverage, 3)
        self.assertEqual(str(interval([3, 1, 2])), "2 (1 to 3 in 3 rounds, 75%)")

    def test_ratios_are_made_within_rounds(self):
        drifting = MadeUp({("a", 1): [10, 20, 40], ("b", 1): [5, 10, 20]})
        self.assertEqual(Ratio("p", ("a", "b"), 1, 1, 1.9, 2.1).judge(drifting).result, PASS)

    def test_a_divisor_of_0(self):
        with self.assertRaisesRegex(CannotTell, "the divisor is 0"):
            Ratio("p", ("a", "b"), 1, 1, 1, None).judge(MadeUp({("a", 1): [1], ("b", 1): [0]}))

    def test_a_divisor_that_noise_hides(self):
        check = Ratio("p", ("a", "b"), 1, 1, None, 1)
        with self.assertRaisesRegex(CannotTell, "a/b at 1: the divisor is below 0 in a round"):
            check.judge(MadeUp({("a", 1): [1, 1], ("b", 1): [3, -1]}))
        self.assertEqual(check.judge(MadeUp({("a", 1): [-1, 1], ("b", 1): [3, 2]})).result, PASS)

    def test_one_bad_place_of_all_fails(self):
        check = Value("p", ("a",), "all", 2, None)
        self.assertEqual(check.judge(MadeUp({("a", 1): [3], ("a", 2): [1], ("a", 3): [1, 3]})).result, FAIL)
        self.assertEqual(check.judge(MadeUp({("a", 1): [3], ("a", 3): [1, 3]})).result, NULL)

    def test_bounds_belong_to_what_is_allowed(self):
        self.assertEqual(Value("p", ("a",), 1, 2, 2).judge(MadeUp({("a", 1): [2, 2]})).result, PASS)

    def test_noise_alone_makes_no_series_steep(self):
        noise = [0.96, 0.98, 0.99, 0.995, 1, 1.005, 1.01, 1.02, 1.04]
        level = MadeUp({("a", 1): [100] * 9, ("a", 2): [100 * each for each in noise]})
        self.assertEqual(Flat("p", ("a", ), 0.03).judge(level).result, PASS)
        for factor, wanted in ((1.02, NULL), (0.98, NULL), (1.06, FAIL), (0.94, FAIL)):
            tilted = MadeUp({("a", 1): [100] * 9, ("a", 2): [100] * 9, ("a", 3): [100 * factor * each for each in noise]})
            verdict = Flat("p", ("a", ), 0.03).judge(tilted)
            self.assertEqual(verdict.result, wanted, verdict.reason)

    def test_a_crossing_outside_the_bounds_fails(self):
        lines = MadeUp({("a", 0): [15], ("a", 10): [5], ("b", 0): [10], ("b", 10): [10]})
        self.assertEqual(Crossing("p", ("a", "b"), (4, 6)).judge(lines).result, PASS)
        self.assertEqual(Crossing("p", ("a", "b"), (6, 9)).judge(lines).result, FAIL)
        self.assertEqual(Crossing("p", ("b", "a"), (4, 6)).judge(lines).result, FAIL)

    def test_names_have_no_crossing(self):
        with self.assertRaisesRegex(CannotTell, "names, not numbers"):
            Peak("p", ("a",), True, (1, 2)).judge(MadeUp({("a", "x"): [1], ("a", "y"): [2]}))

    def test_one_place_has_no_direction(self):
        for check in (Monotone("p", ("a", ), True, 0), Flat("p", ("a", ),
                                                            1), Ratio("p", ("a", "a"), "last", "first", 1, 2)):
            with self.assertRaisesRegex(CannotTell, "one place only"):
                check.judge(MadeUp({("a", 1): [1]}))


class Verdicts(Rig):
    """Tests verdicts of points, as they come from runs."""

    def points(self, fast, slow, text=FIGURE, quick=True):
        figure = load(self.write(text), load_papers(self.figures))
        planned = plan(figure, quick, MACHINE, {})
        made = [Point("rate", name, x, list(rounds)) for name, places in (("Fast", fast), ("Slow", slow))
                for x, rounds in places.items()]
        return Points(planned, made)

    def one(self, points, machine=MACHINE):
        judged, = judge(points, machine)
        return judged

    def test_all_rounds_agree(self):
        judged = self.one(self.points({1: [2, 2], 2: [4, 4]}, {1: [1, 1], 2: [2, 2]}))
        self.assertEqual(judged.verdict.result, PASS)
        self.assertTrue(judged.line.startswith("PASS  A1  Fast is twice as fast. (Fast/Slow at 1 = 2; wanted"),
                        judged.line)
        self.assertEqual(self.one(self.points({1: [1, 1]}, {1: [1, 1]})).verdict.result, FAIL)

    def test_what_the_machine_lacks(self):
        points = self.points({1: [2]}, {1: [1]}, FIGURE.replace("at_least = 1.8",
                                                                "at_least = 1.8\nneeds = {cores = 24}"))
        self.assertEqual(self.one(points).verdict.reason, "needs >= 24 cores")
        self.assertEqual(self.one(points).verdict.result, NULL)
        self.assertEqual(self.one(points, dataclasses.replace(MACHINE, cores=24)).verdict.result, PASS)
        for need, words in [({"nodes": 6}, "6 hosts"), ({"rtm": True}, "Intel RTM"), ({"rdma": True}, "RDMA"),
                            ({"memory_gib": 99}, "99 GiB"), ({"peer": "theirs"}, "needs results of theirs from this machine")]:
            claim = dataclasses.replace(points.figure.claims[0], needs=Needs(**need))
            points.figure = dataclasses.replace(points.figure, claims=(claim,))
            self.assertIn(words, self.one(points).verdict.reason)

    def test_places_that_were_left_out(self):
        text = FIGURE.replace('label = "Workers"',
                              'label = "Workers"\nat_most_per_core = 1').replace('at = "all"', "at = 4")
        self.assertEqual(
            self.one(self.points({1: [2]}, {1: [1]}, text, quick=False)).verdict.reason, "needs >= 4 cores")
        self.assertIn("not run at 4 with --quick", self.one(self.points({1: [2]}, {1: [1]}, text)).verdict.reason)

    def test_series_that_were_left_out(self):
        text = FIGURE.replace('name = "Slow"', 'name = "Slow"\nneeds = {rtm = true}')
        self.assertEqual(self.one(self.points({1: [2]}, {}, text)).verdict.reason, "needs Intel RTM")

    def test_a_round_without_a_result(self):
        points = self.points({1: [2, None]}, {1: [1, 1]})
        points.of("rate", "Fast")[0].troubles.append("a run ended with 3: no room")
        self.assertEqual(self.one(points).verdict.reason, "Fast at 1: a run ended with 3: no room")
        self.assertEqual(self.one(points).verdict.result, NULL)

    def test_exit_codes(self):
        for rates, code in ([2, 2], 0), ([2, 1], 0), ([1, 1], 1):
            points = self.points({1: rates}, {1: [1, 1]})
            self.assertEqual(exit_code(judge(points, MACHINE), points), code)


if __name__ == "__main__":
    unittest.main()
