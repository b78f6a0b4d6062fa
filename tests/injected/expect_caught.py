#!/usr/bin/env python3
"""Switches one injected bug on (src/base/test_hooks.h) and sees that enough different tests notice.

  expect_caught.py --bug=NAME --at_least=2 [--htm=sim] [--hangs] PROGRAM[:FILTER]...

Runs the GoogleTest programs in turn, with --inject_bug=NAME, until that many tests have failed. A crash counts as the
failure of the case it happened in; so does a hang, but only of a bug that is said to make tests hang (--hangs), as a
slow machine looks the same. Prints who noticed; exit code 1 if too few did, 77 if that is because some were skipped.
"""

import argparse
import re
import subprocess
import sys

RUN = re.compile(r"^\[ RUN      \] (\S+)", re.MULTILINE)
SKIPPED = re.compile(r"^\[  SKIPPED \] (\S+)", re.MULTILINE)
SKIPPED_CODE = 77
FAILED = re.compile(r"^\[  FAILED  \] (\S+\.\S+?),? ", re.MULTILINE)


def without_parameters(case):
    """Instances of one test are one test: Workers/Isolation.G0DirtyWrite/OneWorker is Isolation.G0DirtyWrite."""
    suite, _, name = case.partition(".")
    return suite.rpartition("/")[2] + "." + name.partition("/")[0]


def failed_cases(program, gtest_filter, bug, more, timeout):
    command = [program, f"--inject_bug={bug}", f"--gtest_filter={gtest_filter}", "--gtest_brief=0", *more]
    ended = "crashed"
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=timeout, check=False)
        output, code = done.stdout, done.returncode
    except subprocess.TimeoutExpired as expired:
        output, code, ended = (expired.stdout or b"").decode(errors="replace"), None, "hung"
    if code == 2:
        sys.exit(f"{program} does not know the bug '{bug}', or is a build without test hooks")
    cases = {without_parameters(case): "skipped" for case in SKIPPED.findall(output)}
    cases |= {without_parameters(case): "failed" for case in FAILED.findall(output)}
    runs = RUN.findall(output)
    if code not in (0, 1) and runs:
        cases.setdefault(without_parameters(runs[-1]), ended)
    return cases


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
    more = ["--gtest_fail_fast"] if arguments.at_least == 1 else []
    if arguments.htm:
        more.append(f"--htm={arguments.htm}")
    ended = {}
    for entry in arguments.programs:
        program, _, gtest_filter = entry.partition(":")
        ended |= failed_cases(program, gtest_filter or "*", arguments.bug, more, arguments.timeout)
        if len(counting(ended, arguments.hangs)) >= arguments.at_least:
            break
    for case, how in sorted(ended.items()):
        print(f"{arguments.bug}: {how}: {case}")
    noticed = counting(ended, arguments.hangs)
    if len(noticed) < arguments.at_least:
        print(f"{arguments.bug}: noticed by {len(noticed)} tests, expected at least {arguments.at_least}", file=sys.stderr)
        sys.exit(SKIPPED_CODE if "skipped" in ended.values() else 1)


if __name__ == "__main__":
    main()
