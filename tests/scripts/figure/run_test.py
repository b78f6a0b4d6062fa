"""Tests `granary figure` from words to files, with a program in place of granary: what is run in which order, that an
interrupted figure goes on with the same result, failures, exit codes.
"""

import csv
import dataclasses
import errno
import json
import os
import re
import signal
import subprocess
import time
import unittest
import unittest.mock
from pathlib import Path

from rig import FIGURE, Rig

from figure.errors import EnvironmentTrouble
from figure.machine import Machine
from figure.store import write_whole

BEFORE = 'before = ["bench first --json={directory}/first.json"]'
PREPARED = FIGURE.replace('name = "Fast"', f'name = "Fast"\n{BEFORE}', 1)
RESULTS = ("one.csv", "one.json", "one.svg", "one.png")


class Runs(Rig):
    def bench_calls(self):
        return [call for call in self.calls() if call.startswith("bench")]

    def results(self, out=None):
        """Returns the files, without what differs between two calls: when runs began, and for how long they went."""
        files = {name: ((out or self.out) / name).read_bytes() for name in RESULTS}
        report = json.loads(files["one.json"])
        del report["measured"]
        for run in report["runs"]:
            for key in ("started", "seconds"):
                del run[key]
        return files | {"one.json": report}

    def test_results_of_another_machine_are_not_taken(self):
        this = Machine(2, 16, "made up", False, "Linux 6", "12345678")
        others = {"memory and kernel": dataclasses.replace(this, memory_gib=64, kernel="Linux 7"),
                  "kernel": dataclasses.replace(this, kernel="Linux 7"), "id": dataclasses.replace(this, id="87654321")}
        for what, machine in ({"nothing": this} | others).items():
            with self.subTest(differs=what), unittest.mock.patch("figure.main.this_machine", return_value=machine):
                before = len(self.bench_calls())
                self.figure(0, "one", "--quick", "--resume")
                self.assertEqual(len(self.bench_calls()) - before, 12, "all runs")
        with unittest.mock.patch("figure.main.this_machine", return_value=this):
            before = len(self.bench_calls())
            self.figure(0, "one", "--quick", "--resume")
            self.assertEqual(len(self.bench_calls()), before, "those of this machine are still there")

    def test_lists_figures(self):
        self.assertIn("one  Paper, Figure 1: A figure", self.call().stdout)
        self.assertEqual(self.calls(), [])

    def test_lines_of_models_are_dashed(self):
        self.draws = True
        self.write(FIGURE.replace('name = "Slow"', 'name = "Slow"\nline = "dashed"'))
        self.figure(0, "one", "--quick")
        picture = (self.out / "one.svg").read_text()
        dashed = {name: "stroke-dasharray" in re.search(rf'<g id="ours rate {name}">.*?</g>', picture, re.DOTALL)[0]
                  for name in ("Fast", "Slow")}
        self.assertEqual(dashed, {"Fast": False, "Slow": True})

    def test_stacked_bars(self):
        self.draws = True
        text = FIGURE[:FIGURE.index("[[published]]")] + FIGURE[FIGURE.index("[[claim]]"):]
        text = text.replace('label = "Workers"', 'label = "Workers"\nscale = "category"').replace(
            "values = [1, 2]", 'values = ["1", "2"]').replace("values = [1, 2, 4]", 'values = ["1", "2", "4"]').replace(
                'unit = "K/s"', 'unit = "K/s"\nstyle = "stacked"')
        self.write(text)
        self.figure(0, "one", "--quick")
        picture = (self.out / "one.svg").read_text()
        edges = {name: [list(map(float, found)) for found in re.findall(
            rf'<g id="ours rate {name}">\s*<path d="M \S+ (\S+) \s*L \S+ \S+ \s*L \S+ (\S+)', picture)]
                 for name in ("Fast", "Slow")}
        self.assertEqual([len(each) for each in edges.values()], [2, 2])
        for (_, top), (bottom, _) in zip(edges["Fast"], edges["Slow"]):
            self.assertAlmostEqual(top, bottom, places=3)

    def test_limits_of_the_paper_hide_no_point_of_ours(self):
        self.draws = True
        ends = []
        for limits in ("[0, 0.02]", "[0, 0.7]"):  # ours are at 0.01 to 0.04, in thousands
            self.write(FIGURE.replace("divide = 1000", f"divide = 1000\nlimits = {limits}"))
            self.figure(0, "one", "--quick")
            picture = (self.out / "one.svg").read_text()
            ends.append(max(map(float, re.findall(r"<text [^>]*text-anchor: end[^>]*>([0-9.]+)</text>", picture))))
        self.assertGreaterEqual(ends[0], 0.04)
        self.assertEqual(ends[1], 0.7)

    def test_one_figure(self):
        self.draws = True
        said = self.figure(0, "one", "--quick")
        self.assertIn("PASS  A1  Fast is twice as fast.", said)
        self.assertIn("1 figure in ", said)
        with (self.out / "one.csv").open() as file:
            rows = list(csv.DictReader(file))
        ours = [row for row in rows if row["source"] == "granary"]
        self.assertEqual([(row["series"], row["x"]) for row in ours],
                         [("Fast", "1"), ("Slow", "1"), ("Fast", "2"), ("Slow", "2")])
        self.assertAlmostEqual(float(ours[0]["median"]), 20 * 1.002)
        self.assertEqual({row["unit"] for row in rows}, {"1/s"}, "the picture is in K/s, and the file undivided")
        self.assertAlmostEqual(float(ours[0]["min"]), 20 * 1.001)
        self.assertAlmostEqual(float(ours[0]["max"]), 20 * 1.003)
        self.assertEqual([row["median"] for row in rows if row["source"] == "paper"], ["19", "160"])
        report = json.loads((self.out / "one.json").read_text())
        self.assertEqual(report["claims"][0]["result"], "PASS")
        self.assertEqual(report["environments"], [{"machine": {"cpus": 2}}])
        self.assertEqual(report["runs"][0]["parameters"]["slope"], "20")
        page = (self.out / "index.html").read_text()
        for words in ("<svg", 'class="PASS"', "granary bench made --workers=1", "page 1"):
            self.assertIn(words, page)
        self.assertNotIn("<?xml", page)

    def test_rounds_in_turn_and_flags_of_a_run(self):
        self.figure(0, "one", "--quick")
        calls = self.bench_calls()
        self.assertEqual(len(calls), 2 * 2 * 3)
        self.assertEqual([call.split("--seed=")[1][0] for call in calls], list("111122223333"))
        self.assertTrue(all("--repeat=1" in call and "--noprogress" in call for call in calls), calls)

    def test_commands_before_a_run_share_its_directory(self):
        self.write(PREPARED)
        self.figure(0, "one", "--quick")
        calls = self.bench_calls()
        self.assertEqual(len(calls), 3 * 2 * (2 + 1), "Slow has none")
        for place, call in enumerate(calls):
            if "bench first" in call:
                for word in ("/first.json", "--repeat=1", "--seed=", "--noprogress"):
                    self.assertIn(word, call)
                self.assertIn("--slope=20", calls[place + 1])
        report = json.loads((self.out / "one.json").read_text())
        self.assertEqual(report["claims"][0]["result"], "PASS")

    def test_a_run_whose_preparation_fails_is_not_run(self):
        self.write(PREPARED)
        (self.folder / "fails").write_text("first 3")
        self.figure(3, "one", "--quick")
        self.assertFalse([call for call in self.bench_calls() if "--slope=20" in call])

    def test_every_other_round_goes_backwards(self):
        self.figure(0, "one", "--quick")
        calls = [(call.split("--seed=")[1].split()[0], call.split("--seed=")[0]) for call in self.bench_calls()]
        rounds = [[words for seed, words in calls if seed == number] for number in "123"]
        self.assertEqual(len(rounds[0]), 4)
        self.assertEqual(rounds[1], rounds[0][::-1])
        self.assertEqual(rounds[2], rounds[0])

    def test_equal_runs_of_two_figures_are_shared(self):
        self.write(FIGURE.replace("A figure", "Another"), "two")
        self.figure(0, "--all", "--quick")
        self.assertEqual(len(self.bench_calls()), 12)

    def test_a_second_call_measures_again_unless_it_resumes(self):
        self.figure(0, "one", "--quick")
        first = self.results()
        self.figure(0, "one", "--quick", "--resume")
        self.assertEqual(len(self.bench_calls()), 12)
        self.assertEqual(self.results(), first)
        self.figure(0, "one", "--quick")
        self.assertEqual(len(self.bench_calls()), 24)

    def test_another_program_shares_nothing(self):
        self.figure(0, "one", "--quick")
        self.program.write_text(self.program.read_text() + "\n# another\n")
        self.figure(0, "one", "--quick", "--resume")
        self.assertEqual(len(self.bench_calls()), 24)

    def interrupted(self, number):
        """Sends the signal in the midst of the seventh run. Returns the exit code."""
        (self.folder / "slow").write_text("40 7")
        process = subprocess.Popen(self.words("one", "--quick", f"--out={self.out}"), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, start_new_session=True)
        until = time.monotonic() + 60
        while len(self.bench_calls()) < 7 and time.monotonic() < until:
            time.sleep(0.01)
        process.send_signal(number)
        process.communicate(timeout=60)
        (self.folder / "slow").unlink()
        return process.returncode

    def test_interrupted_and_resumed(self):
        self.draws = True
        self.figure(0, "one", "--quick")
        whole, out = self.results(), self.out
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -signal.SIGKILL)):
            with self.subTest(signal=number):
                self.out = self.folder / f"out-{number}"
                before = len(self.bench_calls())
                (self.folder / "calls").unlink()
                self.assertEqual(self.interrupted(number), code)
                self.assertFalse((self.out / "one.csv").exists())
                at_signal = len(self.bench_calls())
                self.figure(0, "one", "--quick", "--resume")
                self.assertLess(len(self.bench_calls()) - at_signal, before)
                self.assertGreater(len(self.bench_calls()), at_signal)
                self.assertEqual(self.results(), whole)
                self.assertFalse((self.out / "work").exists())
        self.out = out

    def test_what_was_to_be_measured_again_is_not_taken_from_the_call_before(self):
        self.figure(0, "one", "--quick")
        (self.folder / "calls").unlink()
        self.assertEqual(self.interrupted(signal.SIGINT), 130)
        self.figure(0, "one", "--quick", "--resume")
        self.assertEqual(len(self.bench_calls()), 7 + 6, "all but the six runs that the interrupted call finished")

    def test_a_file_that_finds_no_room_leaves_no_part(self):
        self.figure(0, "one", "--quick")
        path = self.out / "one.svg"
        with unittest.mock.patch("os.fsync", side_effect=OSError(errno.ENOSPC, "No space left on device")):
            with self.assertRaisesRegex(EnvironmentTrouble, "one.svg' cannot be written: No space left on device"):
                write_whole(path, "another picture")
        self.assertEqual([each.name for each in self.out.glob("*.part")], [])
        self.assertEqual(path.read_text(), "<svg/>")

    def test_a_killed_figure_leaves_no_run_behind(self):
        (self.folder / "slow").write_text("40")
        process = subprocess.Popen(self.words("one", "--quick", f"--out={self.out}"), stderr=subprocess.DEVNULL)
        until = time.monotonic() + 60
        while not self.bench_calls() and time.monotonic() < until:
            time.sleep(0.01)
        process.kill()
        process.wait()
        until = time.monotonic() + 10  # the run would end by itself much later
        while self.alive() and time.monotonic() < until:
            time.sleep(0.05)
        self.assertEqual(self.alive(), [])

    def alive(self):
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if str(self.program).encode() in path.read_bytes().split(b"\0")[:2]:
                    found.append(path.parent.name)
            except OSError:
                continue
        return found

    def test_a_run_that_fails(self):
        (self.folder / "fails").write_text("--slope=10 --workers=2 1")
        said = self.figure(1, "one", "--quick")
        self.assertIn("a run failed: 'granary bench made --workers=2 --seconds=0.1 --slope=10' (round 1) ended with 1: "
                      "granary: something is wrong", said)
        self.assertIn("NULL  A1", said)
        report = json.loads((self.out / "one.json").read_text())
        self.assertEqual([point["median"] is None for point in report["points"]], [False, False, False, True])
        self.assertIn("something is wrong", (self.out / "index.html").read_text())
        (self.folder / "fails").write_text("--slope=10 --workers=2 3")
        self.figure(3, "one", "--quick", "--resume")
        (self.folder / "fails").unlink()
        self.assertIn("PASS  A1", self.figure(0, "one", "--quick", "--resume"))
        self.assertEqual(len(self.bench_calls()), 12 + 3 + 3)

    def test_a_run_that_was_interrupted_has_no_result(self):
        (self.folder / "state").write_text("INTERRUPTED")
        self.assertIn("ended with 3: it was interrupted", self.figure(3, "one", "--quick"))

    def test_a_node_that_fails(self):
        (self.folder / "says").write_text("node 2: granary: no room\nnode 1: granary: all others left\n"
                                          "granary: node 2 ended with exit code 3\n")
        (self.folder / "fails").write_text("--workers=2 3")
        self.assertIn("ended with 3: node 2: granary: no room", self.figure(3, "one", "--quick"))

    def test_a_claim_that_fails(self):
        self.write(FIGURE.replace("at_least = 1.8", "at_least = 3"))
        self.assertIn("FAIL  A1  Fast is twice as fast. (Fast/Slow at 1 = 2; wanted at least 3",
                      self.figure(1, "one", "--quick"))

    def test_variables_from_the_command_line(self):
        self.figure(0, "one", "--quick", "--set", "seconds=0.3", "--set", "rounds=1")
        self.assertEqual(len(self.bench_calls()), 4)
        self.assertTrue(all("--seconds=0.3" in call for call in self.bench_calls()))

    def test_fewer_rounds_than_the_figure_has_tell_nothing(self):
        self.write(FIGURE.replace("at_least = 1.8", "at_least = 3"))
        said = self.figure(0, "one", "--quick", "--set", "rounds=2")
        self.assertIn("NULL  A1  Fast is twice as fast. (cannot tell: 2 of the 3 rounds that the figure asks for)", said)

    def test_wrong_usage(self):
        for words, said in [(("nope", ), "no figure 'nope'; there are one"), (("--al", ), "--al"),
                            (("one", "--all"), "--all has all figures"), (("one", "--set", "x"), "expected NAME=VALUE"),
                            (("one", "--set", "rounds=0"), "at least 1"),
                            (("one", "--set", "seconds=abc"), "seconds is abc; expected a number of seconds"),
                            (("one", "--set", "seconds=-1"), "seconds is -1; expected a number of seconds"),
                            (("one", "--set", "color=1"), "no variable 'color'")]:
            with self.subTest(words=words):
                self.assertIn(said, self.figure(2, *words))
        self.write("format = 3", "bad")
        self.assertIn("bad.toml: format is 3; expected 1", self.figure(2, "one"))

    def test_an_output_directory_that_cannot_be(self):
        self.out.write_text("a file")
        self.assertIn(str(self.out), self.figure(3, "one", "--quick"))

    def test_one_call_at_a_time_in_a_directory(self):
        (self.folder / "slow").write_text("30")
        with subprocess.Popen(self.words("one", "--quick", f"--out={self.out}"), stderr=subprocess.DEVNULL) as process:
            while not self.bench_calls():
                time.sleep(0.01)
            self.assertIn("another 'granary figure' works in", self.figure(2, "one", "--quick"))
            process.send_signal(signal.SIGINT)

    def test_progress_tells_the_time_left(self):
        said = self.figure(0, "one")
        self.assertRegex(said, r"run 1 of 18, \d+ s left; one, round 1 of 3: bench made --workers=1")
        (self.figures / "two.toml").write_text(FIGURE.replace("[1, 2, 4]", "[1, 2, 8]"))
        said = self.figure(0, "--all")
        self.assertRegex(said, r"run 1 of 24, 2 min left; one, round 1 of 3: bench made --workers=1")
        self.assertRegex(said, r"run 24 of 24, \d+ s left; two, round 3 of 3: bench made --workers=8")
        self.assertNotIn("left; round", self.figure(0, "one", "--noprogress"))

    def test_without_matplotlib(self):
        (self.folder / "matplotlib.py").write_text("raise ImportError('no such module')")
        done = subprocess.run(self.words("one", f"--out={self.out}"), capture_output=True, text=True, check=False,
                              env=os.environ | {"PYTHONPATH": str(self.folder)})
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("install the package python3-matplotlib", done.stderr)
        self.assertEqual(self.bench_calls(), [])


if __name__ == "__main__":
    unittest.main()
