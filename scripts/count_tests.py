#!/usr/bin/env python3
"""Prints how many tests passed, failed and were skipped, from a JUnit report of ctest. The exit code is 1 without one.
"""

import sys
import xml.etree.ElementTree as ElementTree


def main():
    try:
        suite = ElementTree.parse(sys.argv[1]).getroot()
    except (OSError, ElementTree.ParseError) as error:
        print(f"count_tests.py: {error}", file=sys.stderr)
        return 1
    total = int(suite.get("tests", 0))
    failed = int(suite.get("failures", 0))
    skipped = int(suite.get("skipped", 0)) + int(suite.get("disabled", 0))
    print(total - failed - skipped, failed, skipped)
    return 0


if __name__ == "__main__":
    sys.exit(main())
