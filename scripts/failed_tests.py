#!/usr/bin/env python3
"""Prints which tests failed, and the first and last lines of what each one said, from JUnit reports that ctest wrote.

  failed_tests.py NAME=REPORT... [--lines=N]

It prints nothing if none failed.
"""

import sys
import xml.etree.ElementTree as ElementTree


def failed(report):
    """Yields the name and the output of each failed test."""
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        if case.get("status") == "fail":
            yield case.get("name"), (case.findtext("system-out") or "").rstrip()


def shortened(output, most):
    """Returns the output, without what lies between its first and last lines if it has more than `most` lines."""
    lines = output.splitlines()
    if len(lines) > most:
        lines[most // 2 : -(most // 2)] = [f"[{len(lines) - most} lines]"]
    return "\n".join(lines)


def main(arguments):
    most = 60
    for argument in arguments:
        if argument.startswith("--lines="):
            most = int(argument.removeprefix("--lines="))
            continue
        name, _, report = argument.partition("=")
        try:
            cases = list(failed(report))
        except (OSError, ElementTree.ParseError) as error:
            print(f"failed_tests.py: {error}", file=sys.stderr)
            return 1
        for case, output in cases:
            print(f"\n-- {name}: {case}")
            print(shortened(output, most))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
