#!/usr/bin/env python3
"""Sees that each invariant of docs/invariants.md is asserted where it is kept, and that its section says where.

  check_asserted.py --root=DIRECTORY

An assertion is a call of invariant("I1", ...) or debug_invariant("I1", ...) (src/base/check.h). Prints a line for each invariant that has
none, for each assertion of an invariant that the page does not have, and for each section whose *Code* does not end with "Asserted in"
and names of files with an assertion of it. Exit code 1 if there is any.
"""

import argparse
import pathlib
import re
import sys

ASSERTION = re.compile(r'\b(?:debug_)?invariant\(\s*"(\w+)"')
IN_TABLE = re.compile(r"^\| \[(I\d+)\]")
FILE = re.compile(r"`(?:[\w/]+/)?(\w+\.(?:h|cc))`")
SECTION = re.compile(r"^## (I\d+) ")
FOLDERS = ("src", "kvstore", "rdma", "recovery", "htm", "cluster_config")

# Invariants that no code can assert, and why. I1 to I13 are never among them.
NOT_ASSERTED = {"I26": "what another process says is an error value if it is wrong, never an assertion"}


def asserted(root):
    """Names of the files that assert each invariant."""
    files = {}
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cc"):
                for number in ASSERTION.findall(path.read_text(encoding="utf-8")):
                    files.setdefault(number, set()).add(path.name)
    return files


def listed(page):
    return [match[1] for match in map(IN_TABLE.match, page.splitlines()) if match]


def told(page):
    """Names of the files behind "Asserted in" in the *Code* item of each section."""
    items, number, inside = {}, None, False
    for line in page.splitlines():
        if match := SECTION.match(line):
            number = match[1]
        if line.startswith("- *"):
            inside = line.startswith("- *Code*")
        elif not line.startswith(" "):
            inside = False
        if inside and number:
            items[number] = items.get(number, "") + line + "\n"
    return {number: set(FILE.findall(" ".join(item.split()).partition("Asserted in")[2])) for number, item in items.items()}


def faults(files, page, not_asserted):
    numbers = listed(page)
    names = told(page)
    for number in numbers:
        if number in not_asserted:
            if number in files:
                yield f"{number} is asserted in {sorted(files[number])[0]}, and said not to be"
            if int(number[1:]) <= 13:
                yield f"{number} has to be asserted"
        elif number not in files:
            yield f"{number} is asserted nowhere"
        elif not names.get(number):
            yield f"the section of {number} does not say in its *Code* where it is asserted: {', '.join(sorted(files[number]))}"
        elif stale := names[number] - files[number]:
            yield f"{', '.join(sorted(stale))}: {number} is not asserted there, as its section says"
    for number in sorted(set(files) - set(numbers)):
        yield f"{', '.join(sorted(files[number]))}: docs/invariants.md has no {number}"
    if not numbers:
        yield "docs/invariants.md has no table of invariants"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, required=True)
    root = parser.parse_args().root
    page = (root / "docs/invariants.md").read_text(encoding="utf-8")
    found = list(faults(asserted(root), page, NOT_ASSERTED))
    print("\n".join(found) or f"{len(listed(page))} invariants, {len(NOT_ASSERTED)} of them without an assertion")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
