#!/usr/bin/env python3
"""Prints the test programs that took the longest, from JUnit reports that ctest wrote.

  test_times.py NAME=REPORT... [--most=N]

A program's time is the sum of its cases' times; its slowest case is named beside it.
"""

import sys
import xml.etree.ElementTree as ElementTree
from collections import defaultdict


def programs(report):
    """Returns the seconds, the number of cases and the slowest case of each program, the longest first."""
    cases = defaultdict(list)
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        cases[case.get("name").split(":")[0]].append((float(case.get("time", 0)), case.get("name")))
    rows = [(sum(seconds for seconds, _ in times), len(times), *max(times), name) for name, times in cases.items()]
    return sorted(rows, reverse=True)


def main(arguments):
    most = 12
    for argument in arguments:
        if argument.startswith("--most="):
            most = int(argument.removeprefix("--most="))
            continue
        name, _, report = argument.partition("=")
        try:
            rows = programs(report)
        except (OSError, ElementTree.ParseError) as error:
            print(f"test_times.py: {error}", file=sys.stderr)
            return 1
        print(f"{name}: {sum(row[0] for row in rows):.0f} s in {sum(row[1] for row in rows)} tests")
        for seconds, count, slowest, case, program in rows[:most]:
            print(f"  {seconds:7.1f} s  {program:<34} {count:5} tests   {slowest:6.1f} s {case}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
