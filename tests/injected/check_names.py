#!/usr/bin/env python3
"""Sees that each injected bug is known, is made somewhere in the code, and is looked for by a test; and that each invariant has one.

  check_names.py --root=DIRECTORY PROGRAM

PROGRAM is any test program; its --list_bugs names the bugs that there are. The code makes a bug where it asks
`injected("name")`, and tests/injected/CMakeLists.txt names those that tests must notice. Each section of docs/invariants.md names bugs behind "Broken by". Exit code 1 if
these differ.
"""

import argparse
import pathlib
import re
import subprocess
import sys

ASKED = re.compile(r'\binjected\(\s*"([^"]+)"')
SECTION = re.compile(r"^## (I\d+) ", re.MULTILINE)
FOLDERS = ("src", "rdma", "htm", "kvstore", "recovery", "cluster_config", "include", "bench", "tests/support")


def made(root):
    names = {}
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cc") and path.name not in ("test_hooks.h", "test_hooks.cc"):
                for name in ASKED.findall(path.read_text()):
                    names.setdefault(name, path.relative_to(root))
    return names


def invariants_without_bug(page, listed):
    """Numbers of the sections of docs/invariants.md that do not end with "Broken by" and a bug of the list."""
    _, *parts = SECTION.split(page)
    broken_by = {number: re.findall(r"\*([\w-]+)\*", text.partition("*Broken by*:")[2]) for number, text in zip(parts[::2], parts[1::2])}
    return [number for number, bugs in broken_by.items() if not bugs or not set(bugs) <= set(listed)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("program")
    arguments = parser.parse_args()
    listed = subprocess.run([arguments.program, "--list_bugs"], capture_output=True, text=True, check=True).stdout.split()
    looked_for = set(re.findall(r"[\w-]+", (arguments.root / "tests/injected/CMakeLists.txt").read_text()))
    in_code = made(arguments.root)
    faults = [f"{path}: injected(\"{name}\") is in no list: src/base/test_hooks.cc has none of that name"
              for name, path in in_code.items() if name not in listed]
    faults += [f"'{name}' is listed, and no code makes it" for name in listed if name not in in_code]
    faults += [f"'{name}' is listed, and no test of tests/injected looks for it" for name in listed if name not in looked_for]
    faults += [f"'{name}' is listed twice" for name in set(listed) if listed.count(name) > 1]
    faults += [f"docs/invariants.md: {number} is not broken by bugs of the list"
               for number in invariants_without_bug((arguments.root / "docs/invariants.md").read_text(), listed)]
    print("\n".join(faults) or f"{len(listed)} bugs")
    return 1 if faults or not listed else 0


if __name__ == "__main__":
    sys.exit(main())
