#!/usr/bin/env python3
"""Tests check_symbols.py: each of its rules finds what breaks it."""

import unittest

import check_symbols


class Violations(unittest.TestCase):
    MARKED = {"Table", "version"}
    EXPORTED = {("A", "GRANARY_0.1"), ("T", "granary::Table::id() const"), ("T", "granary::version[abi:cxx11]()")}
    ARCHIVED = {("T", "granary::Table::id() const"), ("T", "granary::version[abi:cxx11]()"), ("T", "granary::txn::Context::abort()")}

    def found(self, exported=EXPORTED, archived=ARCHIVED, marked=MARKED):
        return list(check_symbols.violations(exported, archived, marked))

    def test_accepts_what_is_marked(self):
        self.assertEqual(self.found(), [])
        self.assertEqual(self.found(exported=self.EXPORTED | {("V", "typeinfo for granary::Table")}), [])

    def test_finds_what_is_exported_without_a_mark(self):
        for name in ("granary::txn::Context::abort()", "std::vector<granary::Table>::clear()", "vtable for granary::Tables", "main"):
            self.assertEqual(len(self.found(exported=self.EXPORTED | {("W", name)})), 1, name)

    def test_finds_marks_that_are_not_exported(self):
        self.assertEqual(len(self.found(marked=self.MARKED | {"Index"})), 1)

    def test_finds_forgotten_marks(self):
        for name in ("granary::Index::name() const", "granary::name(granary::Outcome)"):
            self.assertEqual(len(self.found(archived=self.ARCHIVED | {("T", name)})), 1, name)

    def test_reads_marks(self):
        text = "class GRANARY_EXPORT Table {\n[[noreturn]] GRANARY_EXPORT void end(int);\nGRANARY_EXPORT std::string_view name(Outcome);"
        self.assertEqual({match[1] or match[2] for match in check_symbols.MARKED.finditer(text)}, {"Table", "end", "name"})


if __name__ == "__main__":
    unittest.main()
