#!/usr/bin/env python3
"""The check finds what is planted, and nothing in a tree that keeps the rule."""

import pathlib
import tempfile
import unittest

import check_asserted

PAGE = """| number | name | about |
| [I1](#i1-tids-grow) | TIDs grow | commit |
| [I14](#i14-validation) | validation | commit |

## I1 TIDs grow

- *Code*: `c.cc`. Asserted in
  `src/a.cc`.
- *Tests*: `b.cc`.

## I14 Validation

- *Code*: somewhere. Asserted in `b.cc`.
"""
BOTH = {"src/a.cc": 'base::invariant("I1", true);\n', "htm/b.cc": 'base::debug_invariant(\n    "I14", [] { return true; });\n'}


def faults(files, page=PAGE, not_asserted=()):
    with tempfile.TemporaryDirectory() as directory:
        for name, text in files.items():
            path = pathlib.Path(directory) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return list(check_asserted.faults(check_asserted.asserted(pathlib.Path(directory)), page, not_asserted))


class Faults(unittest.TestCase):
    def test_none(self):
        self.assertEqual(faults(BOTH), [])

    def test_an_invariant_without_an_assertion(self):
        self.assertEqual(faults(BOTH | {"src/a.cc": "// I1\n"}), ["I1 is asserted nowhere"])

    def test_an_assertion_of_no_invariant(self):
        self.assertEqual(len(faults(BOTH | {"src/c.h": 'invariant("I99", ok);\n'})), 1)

    def test_a_section_that_does_not_say_where(self):
        self.assertEqual(len(faults(BOTH, PAGE.replace("Asserted in", "See"))), 2)
        self.assertEqual(faults(BOTH, PAGE.replace("src/a.cc", "src/c.cc")),
                         ["c.cc: I1 is not asserted there, as its section says"])
        self.assertEqual(len(faults(BOTH | {"src/a.cc": "", "src/b.cc": BOTH["src/a.cc"]})), 1)  # named among the tests only

    def test_only_late_ones_may_lack_it(self):
        self.assertEqual(faults({"src/a.cc": BOTH["src/a.cc"]}, not_asserted=("I14",)), [])
        self.assertEqual(len(faults(BOTH, not_asserted=("I14",))), 1)
        self.assertEqual(len(faults({"htm/b.cc": BOTH["htm/b.cc"]}, not_asserted=("I1",))), 1)

    def test_a_page_without_a_table(self):
        self.assertEqual(len(faults({}, page="")), 1)


if __name__ == "__main__":
    unittest.main()
