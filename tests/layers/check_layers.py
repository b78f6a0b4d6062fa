#!/usr/bin/env python3
"""Checks every #include of the project against the layers that the build declares (layers.json, written by CMake).

A folder includes its own files and those of the libraries it declares in USES, each of a lower layer; programs and workloads
(layer 10) may also use one of their own layer that they declare, and a folder that of the folder it lies in; tests (layer 11) may include what their USES bring in. Public headers
include the standard library and each other. Libraries do not print to stderr by themselves. Silo's status bits are known where its records are only. Prints one line for each violation; exit code 1 if there is any.
"""

import argparse
import json
import pathlib
import re
import sys

SOURCE_FOLDERS = ("src", "kvstore", "bench", "htm", "rdma", "recovery", "cluster_config", "tests", "include", "examples")
SUFFIXES = {".h", ".cc", ".in"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
PROGRAM_LAYER = 10

# A library tells what it has to tell by base::tell(), so that the application can take it. Only that function's default prints, and
# checks that end the process.
PRINTS = re.compile(r"\b(stderr|cerr|clog|perror|psignal)\b")
MAY_PRINT = ("src/base/check.cc", "src/base/notice.cc")

# The status bits of Silo's TID word are for those who work on records by that protocol. Others use the functions of src/record/tid.h,
# so that another protocol may have other words.
STATUS_BITS = re.compile(r"\bk(Latest|Absent|StatusMask|StatusBits)\b|\brecord::kLocked\b")
KNOW_STATUS_BITS = ("src/record/", "src/cc/silo/")

# The lowest layer that may include a public header. The vocabulary (values without behaviour) is for all.
PUBLIC_HEADER_LAYER = {
    "declared_access.h": 0, "function_ref.h": 0, "isolation.h": 0, "key.h": 0, "limits.h": 0, "notice.h": 0,
    "options.h": 0, "outcome.h": 0,
    "status.h": 0,
    "operations.h": 5, "table.h": 5, "transaction.h": 5,
    "chain_log.h": 8, "cluster_statistics.h": 8, "database.h": 8, "cluster.h": 9, "procedure.h": 8, "granary.h": 8,
}


class Project:
    def __init__(self, root, libraries):
        self.root = pathlib.Path(root)
        self.by_name = {library["name"]: library for library in libraries}
        # Longest folder first, so that bench/append/history is found before bench/append.
        self.folders = sorted(libraries, key=lambda library: -len(library["folder"]))

    def owner(self, path):
        """The library whose folder holds this path, or None."""
        for library in self.folders:
            if path.startswith(library["folder"] + "/"):
                return library
        return None

    def sources(self):
        for folder in SOURCE_FOLDERS:
            for path in sorted((self.root / folder).rglob("*")):
                if path.suffix in SUFFIXES and path.is_file():
                    yield path.relative_to(self.root).as_posix()

    def violations(self):
        for path in self.sources():
            text = (self.root / path).read_text(encoding="utf-8")
            for number, line in enumerate(text.splitlines(), start=1):
                match = INCLUDE.match(line)
                if match:
                    complaint = self.complaint(path, match.group(1) == '"', match.group(2))
                    if complaint:
                        yield f"{path}:{number}: {complaint}"
                if self.is_library(path) and path not in MAY_PRINT and PRINTS.search(line.split("//")[0]):
                    yield f"{path}:{number}: a library does not print to stderr; see src/base/notice.h"
                if self.owner(path) and not path.startswith(KNOW_STATUS_BITS + ("tests/",)) and STATUS_BITS.search(line.split("//")[0]):
                    yield f"{path}:{number}: Silo's status bits are known in {' and '.join(KNOW_STATUS_BITS)} only; see src/record/tid.h"
            if not path.startswith(("include/", "examples/", "tests/")) and self.owner(path) is None:
                yield f"{path}: belongs to no declared library; add its folder with granary_library"

    def is_library(self, path):
        mine = self.owner(path)
        return mine is not None and mine["layer"] < PROGRAM_LAYER

    def complaint(self, path, quoted, included):
        if path.startswith(("include/", "examples/")):
            return self.public_complaint(path, quoted, included)
        if not quoted:
            return self.public_use_complaint(path, included)
        if not (self.root / included).is_file():
            return f'"{included}" is no path from the repository root'
        if path.startswith("tests/"):
            return self.test_complaint(path, included)
        mine, theirs = self.owner(path), self.owner(included)
        if mine is None:
            return None  # reported once for the file
        if theirs is None:
            return f'"{included}" belongs to no library'
        if mine is theirs:
            return None
        if theirs["name"] not in mine["uses"]:
            return f'"{included}": {mine["name"]} does not declare USES {theirs["name"]}'
        inside = theirs["layer"] == mine["layer"] and mine["folder"].startswith(theirs["folder"] + "/")
        if theirs["layer"] >= mine["layer"] and mine["layer"] < PROGRAM_LAYER and not inside:
            return f'"{included}": layer {mine["layer"]} may not include layer {theirs["layer"]}'
        return None

    def test_complaint(self, path, included):
        if included.startswith("tests/"):
            return None
        mine, theirs = self.owner(path), self.owner(included)
        uses = mine["uses"] if mine else ["base"]
        if theirs is None or theirs["name"] not in uses:
            return f'"{included}": no granary_test of this folder has USES {theirs["name"] if theirs else "for it"}'
        return None

    @staticmethod
    def public_complaint(path, quoted, included):
        if quoted:
            return f'"{included}": only <granary/...> and the standard library here'
        if not included.startswith("granary/") and not re.fullmatch(r"[a-z_]+", included):
            return f"<{included}>: only <granary/...> and the standard library here"
        entries = ("granary/granary.h", "granary/cluster.h")
        if path.startswith("examples/") and included.startswith("granary/") and included not in entries:
            return f"<{included}>: examples include <granary/granary.h>, and <granary/cluster.h> for nodes"
        return None

    def public_use_complaint(self, path, included):
        if not included.startswith("granary/"):
            return None
        lowest = PUBLIC_HEADER_LAYER.get(included.removeprefix("granary/"))
        if lowest is None:
            return f"<{included}> is no known public header; give it a layer in tests/layers/check_layers.py"
        mine = self.owner(path)
        if mine is not None and mine["layer"] < lowest:
            return f"<{included}> is for layer {lowest} and above, not for layer {mine['layer']}"
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", required=True)
    parser.add_argument("--layers", required=True)
    arguments = parser.parse_args()
    with open(arguments.layers, encoding="utf-8") as file:
        project = Project(arguments.root, json.load(file))
    violations = list(project.violations())
    print("\n".join(violations))
    print(f"{len(list(project.sources()))} files, {len(project.by_name)} folders, {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
