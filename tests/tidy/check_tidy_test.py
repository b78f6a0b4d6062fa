#!/usr/bin/env python3
"""The tidy check finds each kind of violation in small inputs that break one rule, and nothing in a tree that keeps them all; its
exceptions only shrink. What it does not find, as it has no compiler: names of locals and parameters, and what macros declare."""

import pathlib
import tempfile
import unittest

from check_tidy import Project, lowered, read_exceptions, violations
from cpp_scan import Scan

CLEAN = {
    "src/log/redo_log.h": '#include "src/log/entry.h"\n',
    "src/log/entry.h": "",
    "src/log/redo_log.cc": '#include "src/log/redo_log.h"\n#include "src/log/entry.h"\n',
    "src/log/reader.cc": '#include "src/log/redo_log.h"\n',
    "include/granary/key.h": "struct Key { static constexpr int kMost = 1; using result_type = int; };\n",
    "tests/log/log_test.cc": "TEST(Log, IsRead) {}\nvoid SetUp() override {}\n",
    "README.md": f"# Granary\n\n| {'a table may be wide ' * 20} |\nhttps://example.org/{'long' * 40}\n",
    "docs/log.md": "# The log\n\n## `redo_log`: a name\n\nSee `src/log/entry.h` and [below](#redo_log-a-name).\n",
}
PROTOCOLS = "docs/protocols.md"
CLEAN["src/cc/here.h"] = """// Nothing of a comment counts: lock_all.
class Here { void lock(); void stamp(); static constexpr char kName[] = "two_pl"; const char* text_ = "in words"; };
"""
CLEAN["src/cc/here.cc"] = '#include "src/cc/here.h"\nvoid Here::lock() {}\n'
CLEAN["src/cc/commit.cc"] = '#include "src/cc/here.h"\nvoid commit(Here& here) { here.lock(); }\n'
CLEAN[PROTOCOLS] = """`two_pl` has `commit()`, in `here.h`, and a `--flag=` and `some words`; `log_test.cc` is a test.

| step | file |
| -- | -- |
| lock | `Here::lock`, `src/cc/here.cc`, and `stamp` |
"""
LINES = "  go();\n"
INVARIANTS = "docs/invariants.md"
CLEAN[INVARIANTS] = """| [I1](#i1-tids-grow) |
| [I2](#i2-one-lock) |

## I1 TIDs grow
- *Code*: here.
- *Tests*: there.

## I2 One lock
- *Code*: here.
- *Tests*: there.
"""

# (file, text added to it, what the complaint must say)
PLANTED = [
    ("src/log/entry.h", "// one more\n" * 401, "src/log/entry.h: 401 lines, at most 400"),
    ("src/log/reader.cc", "int f(\n    int x) {\n" + LINES * 58 + "}\n", "reader.cc:2: f has 61 lines, at most 60"),
    ("src/log/reader.cc", "X::X(int a) : a_{a},\n    b_(a) {\n" + LINES * 58 + "}\n", "has 61 lines"),
    ("src/log/reader.cc", "struct A {\n bool operator()(int x) const {\n" + LINES * 59 + "}\n};\n", "operator has 61 lines"),
    ("tests/log/log_test.cc", "TEST_F(Log, IsLong) {\n" + LINES * 59 + "}\n", "TEST_F(Log,IsLong) has 61 lines"),
    ("tests/log/check.py", "def check():\n" + "  go()\n" * 60, "check.py:1: check has 61 lines"),
    ("src/log/entry.h", "std::array<int, 1 << kBits> a{};\nvoid Go() {\n}\n", "Go: a function is named"),
    ("src/log/entry.h", "static_assert(1 < 2);\nconstexpr int kLess = 1 < 2;\nvoid Go() {}\n", "Go: a function is named"),
    ("src/log/entry.h", "struct redo_log {};\n", "redo_log: a type is named"),
    ("src/log/entry.h", "template <typename T>\nconcept is_log = requires(T t) { t.read(); };\n", "is_log: a type is named"),
    ("src/log/entry.h", "using bytes = std::vector<char>;\n", "bytes: a type is named"),
    ("src/log/entry.h", "namespace a { std::map<int, int> readLog(int x); }\n", "readLog: a function is named"),
    ("src/log/entry.h", "class Log { void Read() const { go(); } };\n", "Read: a function is named"),
    ("src/log/entry.h", "inline constexpr int MAX_LOGS = f(2);\n", "MAX_LOGS: a constant is named"),
    ("src/log/entry.h", "enum class Kind : int { kOne = f(1, 2), TWO };\n", "TWO: an enumerator is named"),
    ("src/log/entry.h", "class Log { std::array<int, f(3)> data = {1}; };\n", "data: a private member is named"),
    ("src/log/entry.h", "struct Log {\n int data;\n private:\n int size{};\n};\n", "size: a private member is named"),
    ("src/log/redoLog.cc", "", "a file is named like redo_log.cc"),
    ("src/log/alone.h", "", "1 headers are included by one file only"),
    ("docs/log.md", "word " * 24 + "x\n", "docs/log.md:6: 121 columns, at most 120"),
    ("src/log/entry.h", "// " + "word " * 23 + "word.\n", "src/log/entry.h:1: 123 columns, at most 120"),
    ("docs/log.md", "See `src/log/undo_log.h`.\n", "docs/log.md: there is no src/log/undo_log.h"),
    ("docs/log.md", "[gone](undo.md)\n", "docs/log.md: there is no undo.md"),
    ("docs/log.md", "[gone](../README.md#undo)\n", "docs/log.md: there is no ../README.md#undo"),
    ("docs/log.md", "[gone](#undo)\n", "docs/log.md: there is no #undo"),
    (PROTOCOLS, "`lock_all`\n", "docs/protocols.md: the code has no lock_all"),
    (PROTOCOLS, "`words`\n", "docs/protocols.md: the code has no words"),
    (PROTOCOLS, "`Here::run()`\n", "docs/protocols.md: the code has no Here::run"),
    (PROTOCOLS, "| a step | `commit`, `src/cc/here.h` |\n", "docs/protocols.md: src/cc/here.h has no commit"),
    (PROTOCOLS, "`there.h`\n", "docs/protocols.md: there is no there.h"),
    ("src/log/entry.h", "// Keeps I3.\n", "src/log/entry.h:1: docs/invariants.md has no I3"),
    (INVARIANTS, "| [I2](#i2-one-lock) |\n", "its table lists [1, 2, 2], its sections are [1, 2]"),
    (INVARIANTS, "## I3 No gap\n- *Code*: here.\n- *Tests*: there.\n| [I3](#i3-no-gap) |\n## I5 A gap\n- *Code*: here.\n"
     "- *Tests*: there.\n| [I5](#i5-a-gap) |\n", "its sections are [1, 2, 3, 5], not I1 to I4 in order"),
    (INVARIANTS, "| [I3](#i3-bare) |\n\n## I3 Bare\n- *Code*: here.\n", "I3 has no *Tests*"),
    ("src/log/entry.h", "// As in src/log/undo_log.h.\n", "src/log/entry.h:1: there is no src/log/undo_log.h"),
]

# Inputs that look like violations and are none.
FINE = [
    '// struct bad {}; \n/* class bad {}; */\nconst char* const text = R"x(struct bad {}; ")x";\n#define BAD struct bad {\n',
    "class Log {\n public:\n  int size = 0;\n  Log() : size_{f({1})}, run_([] { return 1; }) {}\n private:\n  int size_;\n};\n",
    "template <typename T> requires(sizeof(T) > 1) Log<T>::Log(T x) : Base<T>(x) {}\ntemplate Log<int>::Log(int);\n",
    "struct A {\n  void (*run)(const B&) = nullptr;\n  std::function<Status(int)> call;\n  bool operator<(const A&) const = default;\n};\n",
    "// See src/log/redo_log.h, <rdma/cma.h>, src/*/x.h and https://example.org/src/log/x.h.\n",
    "namespace { const Key kFirst(1, '\\''); }\nextern \"C\" { int go(); }\nstruct A f(struct B* b) { return {}; }\n",
    "int words = 1'000'000;\nchar quote = '\"';\nstruct A { int x : 3; } a;\n",
]


def found(files):
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            place = pathlib.Path(root) / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        return Project(root).found()


class CheckTidy(unittest.TestCase):
    def test_clean_tree_passes(self):
        self.assertEqual(list(violations(found(CLEAN), {})), [])

    def test_each_planted_violation_is_found(self):
        for path, text, expected in PLANTED:
            with self.subTest(path=path, text=text[:60]):
                complaints = list(violations(found({**CLEAN, path: CLEAN.get(path, "") + text}), {}))
                self.assertEqual(len(complaints), 1, complaints)
                self.assertIn(expected, complaints[0])

    def test_what_only_looks_like_one_passes(self):
        for text in FINE:
            with self.subTest(text=text):
                self.assertEqual(list(violations(found({**CLEAN, "src/log/entry.h": text}), {})), [])

    def test_a_function_of_the_greatest_size_passes(self):
        functions = Scan("int f() {\n" + LINES * 58 + "}\nint g() { return 1; }\n").functions
        self.assertEqual([(f.name, f.line, f.lines) for f in functions], [("f", 1, 60), ("g", 61, 1)])


class Exceptions(unittest.TestCase):
    LONG = found({**CLEAN, "docs/log.md": CLEAN["docs/log.md"] + "word " * 26})

    def complaints(self, text):
        return list(violations(self.LONG, read_exceptions(text)))

    def test_one_of_the_present_size_passes(self):
        self.assertEqual(self.complaints("# before\ncolumns 130 docs/log.md\n"), [])

    def test_it_must_not_grow(self):
        self.assertIn("it had 129 when", self.complaints("columns 129 docs/log.md\n")[0])

    def test_it_must_be_lowered_with_what_it_is_about(self):
        self.assertIn("is down to 130 from 131", self.complaints("columns 131 docs/log.md\n")[0])

    def test_it_must_go_when_it_is_not_needed(self):
        self.assertIn("none any more", self.complaints("columns 130 docs/log.md\nfile_lines 500 src/a.cc\n")[0])

    def test_update_lowers_and_removes_and_never_raises(self):
        text = "# before\ncolumns 131 docs/log.md\nfile_lines 500 src/a.cc\n"
        self.assertEqual(lowered(text, self.LONG), "# before\ncolumns 130 docs/log.md\n")
        self.assertEqual(lowered("columns 99 docs/log.md\n", self.LONG), "columns 99 docs/log.md\n")


if __name__ == "__main__":
    unittest.main()
