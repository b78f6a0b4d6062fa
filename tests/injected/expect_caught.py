#!/usr/bin/env python3
"""Switches one injected bug on (src/base/test_hooks.h) and sees that enough different tests notice.

  expect_caught.py --bug=NAME --at_least=2 [--htm=sim] [--hangs] PROGRAM[:FILTER]...

Runs the GoogleTest programs in turn, with --inject_bug=NAME, until that many tests have failed, and no longer. Who noticed the last time
is asked first (tests/support/kept.py). A crash counts as the
failure of the case it happened in; so does a hang, but only of a bug that is said to make tests hang (--hangs), as a
slow machine looks the same. Prints who noticed; exit code 1 if too few did, 77 if that is because some were skipped.
"""

import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import kept  # noqa: E402

RUN = re.compile(r"\[ RUN      \] (\S+)")
SKIPPED = re.compile(r"\[  SKIPPED \] (\S+\.\S+)")
SKIPPED_CODE = 77
MOST_FILTER_BYTES = 100_000  # the system allows an argument of 128 KiB
FAILED = re.compile(r"\[  FAILED  \] (\S+\.\S+?),? ")


def without_parameters(case):
    """Instances of one test are one test: Workers/Isolation.G0DirtyWrite/OneWorker is Isolation.G0DirtyWrite."""
    suite, _, name = case.partition(".")
    return suite.rpartition("/")[2] + "." + name.partition("/")[0]


class Run:
    """One run of a test program with the bug, which ends as soon as enough tests have noticed it."""

    def __init__(self, program, flags, folder):
        self.cases = {}
        self.names = {}  # of cases that failed, with their parameters
        self.begun = []  # all cases that ran, with their parameters
        self.crashed = False
        self.running = None  # with its parameters
        self.timed_out = False
        self.process = subprocess.Popen([program, "--gtest_brief=0", *flags], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, errors="replace", start_new_session=True,
                                        env=os.environ | {"TMPDIR": folder, "GRANARY_TEST_RINGS": folder})

    def kill(self, timed_out):
        self.timed_out = self.timed_out or timed_out
        # With its children, which may hold the pipe open.
        os.killpg(self.process.pid, signal.SIGKILL)

    def read(self, line):
        if match := RUN.match(line):
            self.running = match[1]
            self.begun.append(match[1])
        elif match := SKIPPED.match(line):
            self.cases[without_parameters(match[1])] = "skipped"
        elif match := FAILED.match(line):
            self.note(match[1], "failed")

    def note(self, name, how):
        self.cases[without_parameters(name)] = how
        self.names.setdefault(without_parameters(name), name)

    def read_until(self, enough, timeout):
        """The exit code, or None if it was stopped because there were enough."""
        timer = threading.Timer(timeout, self.kill, [True])
        timer.start()
        try:
            for line in self.process.stdout:
                self.read(line)
                if enough(self.cases):
                    self.kill(False)
                    return None
            return self.process.wait()
        finally:
            timer.cancel()
            self.process.stdout.close()
            self.process.wait()


def end_what_is_left(folder):
    """Kills what a program has started in a session of its own, such as a ZooKeeper server: its arguments name the folder."""
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if folder.encode() in (process / "cmdline").read_bytes():
                os.kill(int(process.name), signal.SIGKILL)
        except OSError:
            pass  # it has ended, or is another user's


def run_with(program, gtest_filter, bug, more, timeout, enough):
    # What a program leaves that is stopped half-way goes with its folder.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        run = Run(program, [f"--inject_bug={bug}", f"--gtest_filter={gtest_filter}", *more], folder)
        code = run.read_until(enough, timeout)
        end_what_is_left(folder)
    if code == 2:
        sys.exit(f"{program} does not know the bug '{bug}', or is a build without test hooks")
    if code not in (None, 0, 1) and run.running and without_parameters(run.running) not in run.cases:
        run.note(run.running, "hung" if run.timed_out else "crashed")
        run.crashed = not run.timed_out
    return run


def without_cases(gtest_filter, cases):
    positive, _, negative = gtest_filter.partition("-")
    return f"{positive or '*'}-{':'.join(filter(None, [negative, *cases]))}"


def without_folder(entry):
    """Builds of other folders have the same programs."""
    program, _, gtest_filter = entry.partition(":")
    return f"{os.path.basename(program)}:{gtest_filter}"


def counting(cases, hangs):
    """Those by which the bug is noticed."""
    return {case: how for case, how in cases.items() if how in ("failed", "crashed") or (how == "hung" and hangs)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bug", required=True)
    parser.add_argument("--at_least", type=int, default=2)
    parser.add_argument("--htm", help="passed on to the programs (tests/main.cc)")
    parser.add_argument("--hangs", action="store_true", help="the bug makes tests hang")
    parser.add_argument("--timeout", type=float, default=40, help="seconds for each program")
    parser.add_argument("programs", nargs="+", metavar="PROGRAM[:FILTER]")
    arguments = parser.parse_args()
    # One failure ends a program in order, so that it can end servers that it has started; only for more it must be stopped.
    alone = arguments.at_least == 1
    more = ["--gtest_fail_fast"] if alone else []
    if arguments.htm:
        more.append(f"--htm={arguments.htm}")
    ended = {}
    noticed_by = {}  # by the programs' places among the arguments: the names of cases

    def enough(cases):
        return len(counting(ended | cases, arguments.hangs)) >= arguments.at_least

    def ask(number, gtest_filter):
        """Returns the run."""
        program = arguments.programs[number].partition(":")[0]
        stop = (lambda _: False) if alone else enough
        run = run_with(program, gtest_filter, arguments.bug, more, arguments.timeout, stop)
        for case, how in run.cases.items():
            if ended.get(case) not in (None, "skipped"):
                continue
            ended[case] = how
            if counting({case: how}, arguments.hangs):
                noticed_by.setdefault(str(number), []).append(run.names[case])
        return run

    def ask_all(number, gtest_filter):
        """A crash ends a program before its other cases have run, so it is started again for these."""
        run = ask(number, gtest_filter)
        while run.crashed and not enough({}):
            gtest_filter = without_cases(gtest_filter, run.begun)
            if len(gtest_filter) > MOST_FILTER_BYTES:
                break
            run = ask(number, gtest_filter)

    key = kept.key_of(arguments.bug, str(arguments.at_least), str(arguments.htm), *map(without_folder, arguments.programs))
    for number, names in json.loads(kept.read("injected", key) or "{}").items():
        ask(int(number), ":".join(names))
    for number, entry in enumerate(arguments.programs):
        if enough({}):
            break
        ask_all(number, entry.partition(":")[2] or "*")
    if enough({}):
        kept.write("injected", key, json.dumps(noticed_by))
    for case, how in sorted(ended.items()):
        print(f"{arguments.bug}: {how}: {case}")
    noticed = counting(ended, arguments.hangs)
    if len(noticed) < arguments.at_least:
        print(f"{arguments.bug}: noticed by {len(noticed)} tests, expected at least {arguments.at_least}", file=sys.stderr)
        sys.exit(SKIPPED_CODE if "skipped" in ended.values() else 1)


if __name__ == "__main__":
    main()
