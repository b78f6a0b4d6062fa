#!/usr/bin/env python3
"""Checks sizes and names: functions of at most 60 lines, files of at most 400, names in the project's style, lines of
C++ and of documents of at most 120 columns, paths and links in documents and comments that lead somewhere, invariants
that are numbered and known, names of code in docs/protocols.md that the code has, and that headers which only one file includes
do not become more.

What broke a rule when the rule was made is listed in exceptions.txt, with its size. It may shrink and must not grow: the check
also fails if an exception is greater than what is there, or is not needed any more. `--update` lowers and removes such lines; it
never adds or raises one. Prints one line for each violation; exit code 1 if there is any.
"""

import argparse
import ast
import collections
import pathlib
import re
import sys

import invariants
import named_code
from cpp_scan import Scan
from references import lost_in_comments, lost_in_document

MOST_FUNCTION_LINES = 60
MOST_FILE_LINES = 400
MOST_COLUMNS = 120

FOLDERS = ("include", "src", "cluster_config", "htm", "rdma", "kvstore", "recovery", "bench", "tests", "examples", "scripts", "cmake")
SIZED = {".h", ".cc", ".py", ".sh", ".pml", ".cmake"}
CPP = {".h", ".cc"}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)

STYLES = {
    "type": (r"[A-Z][A-Za-z0-9]*", "a type is named like RedoLog"),
    "function": (r"[a-z][a-z0-9_]*|[A-Z][A-Z0-9_]*", "a function is named like redo_log"),  # capitals: a macro
    "constant": (r"k[A-Z0-9][A-Za-z0-9_]*", "a constant is named like kRedoLog"),
    "enumerator": (r"k[A-Z0-9][A-Za-z0-9]*", "an enumerator is named like kRedoLog"),
    "private_member": (r"[a-z][a-z0-9_]*_|k[A-Z0-9][A-Za-z0-9]*", "a private member is named like redo_log_"),
}
# Names that the standard library, GoogleTest, libFuzzer and sanitizers ask for.
GIVEN = {
    "result_type", "value_type", "type", "hash", "SetUp", "TearDown", "SetUpTestSuite", "TearDownTestSuite", "PrintTo", "GetName",
    "OnTestStart", "OnTestPartResult", "OnTestIterationStart", "LLVMFuzzerTestOneInput", "LLVMFuzzerCustomMutator", "__lsan_default_suppressions",
}  # fmt: skip


class Found(dict):
    """(rule, subject) → (size, message). Size 0: the rule knows no sizes."""

    def add(self, rule, subject, size, message):
        if self.get((rule, subject), (-1, ""))[0] < size:
            self[rule, subject] = (size, message)


class Project:
    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.files = []
        self.one_user = []

    def found(self):
        found = Found()
        self._invariants(found)
        users = collections.defaultdict(set)
        for folder in FOLDERS:
            for path in sorted((self.root / folder).rglob("*")):
                if path.is_file() and (path.suffix in SIZED or path.name == "CMakeLists.txt"):
                    self._file(found, users, path)
        for path in sorted(self.root.glob("*.md")) + sorted((self.root / "docs").rglob("*.md")):
            self._document(found, path)
        self._headers(found, users)
        return found

    def _invariants(self, found):
        path = self.root / "docs/invariants.md"
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        self.most_invariants = invariants.greatest(text)
        for trouble in invariants.broken_in(text):
            found.add("invariant", f"docs/invariants.md {trouble}", 0, f"docs/invariants.md: {trouble}")

    def _named_invariants(self, found, name, text):
        for number, invariant in invariants.unknown_in(text, self.most_invariants):
            message = f"{name}:{number}: docs/invariants.md has no {invariant}"
            found.add("invariant", f"{name} {invariant}", 0, message)

    def _file(self, found, users, path):
        name = path.relative_to(self.root).as_posix()
        self.files.append(name)
        text = path.read_text(encoding="utf-8")
        lines = len(text.splitlines())
        if lines > MOST_FILE_LINES:
            found.add("file_lines", name, lines, f"{name}: {lines} lines, at most {MOST_FILE_LINES}")
        if path.suffix in CPP | {".py", ".sh"} and not re.fullmatch(r"[a-z0-9_]+\.[a-z]+", path.name):
            found.add("name", f"{name} {path.name}", 0, f"{name}: a file is named like redo_log{path.suffix}")
        if path.suffix in CPP:
            self._cpp(found, name, text)
            for included in INCLUDE.findall(text):
                users[included].add(name)
        elif path.suffix == ".py":
            self._python(found, name, text)

    @staticmethod
    def _function(found, name, function, line, lines):
        if lines > MOST_FUNCTION_LINES:
            message = f"{name}:{line}: {function} has {lines} lines, at most {MOST_FUNCTION_LINES}"
            found.add("function_lines", f"{name} {function}", lines, message)

    @staticmethod
    def _columns(found, name, number, line):
        if len(line) > MOST_COLUMNS:
            found.add("columns", name, len(line), f"{name}:{number}: {len(line)} columns, at most {MOST_COLUMNS}")

    def _cpp(self, found, name, text):
        for number, line in enumerate(text.splitlines(), start=1):
            self._columns(found, name, number, line)
        scan = Scan(text)
        for function in scan.functions:
            self._function(found, name, function.name, function.line, function.lines)
        for declared in scan.names:
            style, wanted = STYLES[declared.kind]
            if declared.text not in GIVEN and not re.fullmatch(style, declared.text):
                found.add("name", f"{name} {declared.text}", 0, f"{name}:{declared.line}: {declared.text}: {wanted}")

        self._named_invariants(found, name, text)
        for number, path in lost_in_comments(self.root, text):
            found.add("reference", f"{name} {path}", 0, f"{name}:{number}: there is no {path}")

    def _python(self, found, name, text):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self._function(found, name, node.name, node.lineno, node.end_lineno - node.lineno + 1)

    def _document(self, found, path):
        """Tables cannot be wrapped, nor can a word that is longer by itself, such as an address."""
        name = path.relative_to(self.root).as_posix()
        text = path.read_text(encoding="utf-8")
        self._named_invariants(found, name, text)
        for reference in lost_in_document(self.root, path, text):
            found.add("reference", f"{name} {reference}", 0, f"{name}: there is no {reference}")
        if name in named_code.DOCUMENTS:
            self._named_code(found, name, text)
        for number, line in enumerate(text.splitlines(), start=1):
            if not line.lstrip().startswith("|") and " " in line.strip():
                self._columns(found, name, number, line)

    def _named_code(self, found, name, text):
        """All files have been looked at before the first document."""
        for lost, place in named_code.lost_names(named_code.words_of(self.root), text):
            found.add("reference", f"{name} {lost}", 0, f"{name}: {place} has no {lost}")
        for lost in named_code.lost_files(self.files, text):
            found.add("reference", f"{name} {lost}", 0, f"{name}: there is no {lost}")

    def _headers(self, found, users):
        """Public headers and those of examples have users that are not here. A header for one file may be a subject of its own that
        keeps that file short; there need not be more and more of them."""
        for header in self.files:
            if header.endswith(".h") and not header.startswith(("include/", "examples/")) and len(users[header]) < 2:
                self.one_user.append(f"{header}: {next(iter(users[header]), 'nobody')}")
        if self.one_user:
            message = f"{len(self.one_user)} headers are included by one file only (--one_user lists them)"
            found.add("one_user", "headers", len(self.one_user), message)


def read_exceptions(text):
    """Lines `rule size subject`; # begins a comment."""
    exceptions = {}
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            rule, size, subject = line.split(maxsplit=2)
            exceptions[rule, subject] = int(size)
    return exceptions


def violations(found, exceptions):
    for (rule, subject), (size, message) in sorted(found.items()):
        allowed = exceptions.get((rule, subject))
        if allowed is None:
            yield message
        elif size > allowed:
            yield f"{message}; it had {allowed} when it became an exception"
        elif size < allowed:
            yield f"exceptions.txt: {rule} {subject} is down to {size} from {allowed}; lower it (--update does)"
    for rule, subject in sorted(exceptions.keys() - found.keys()):
        yield f"exceptions.txt: {rule} {subject} is none any more; remove it (--update does)"


def lowered(text, found):
    """The exceptions without what is not needed any more. Comments stay."""
    kept = []
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            rule, size, subject = line.split(maxsplit=2)
            if (rule, subject) not in found:
                continue
            line = f"{rule} {min(int(size), found[rule, subject][0])} {subject}"
        kept.append(line)
    return "\n".join(kept) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--exceptions", default=pathlib.Path(__file__).resolve().parent / "exceptions.txt")
    parser.add_argument("--one_user", action="store_true", help="list the headers that one file includes, and end")
    parser.add_argument("--update", action="store_true", help="lower and remove exceptions")
    arguments = parser.parse_args()
    project = Project(arguments.root)
    found = project.found()
    if arguments.one_user:
        print("\n".join(project.one_user))
        return 0
    path = pathlib.Path(arguments.exceptions)
    if arguments.update:
        path.write_text(lowered(path.read_text(encoding="utf-8"), found), encoding="utf-8")
    exceptions = read_exceptions(path.read_text(encoding="utf-8"))
    broken = list(violations(found, exceptions))
    if broken:
        print("\n".join(broken))
    print(f"{len(project.files)} files, {len(exceptions)} exceptions, {len(broken)} violations")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
