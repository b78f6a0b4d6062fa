#!/usr/bin/env python3
"""Prints passed, failed and skipped of a JUnit report that ctest wrote; exit code 1 if there is none."""

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
