#!/usr/bin/env python3
"""Only the message of the invariant that was asked for counts."""

import pathlib
import tempfile
import unittest

import expect_asserted


def asserts(script, timeout=60):
    with tempfile.TemporaryDirectory() as directory:
        program = pathlib.Path(directory) / "program"
        program.write_text("#!/bin/sh\n" + script + "\n")
        program.chmod(0o700)
        return expect_asserted.asserts(str(program), [], "I1", timeout)


class Asserting(unittest.TestCase):
    def test_the_invariant_must_be_named(self):
        self.assertTrue(asserts('echo "granary: internal check failed: I1 (a.cc:1, f)" >&2; kill -ABRT $$'))
        self.assertFalse(asserts('echo "granary: internal check failed: I13 (a.cc:1, f)" >&2; kill -ABRT $$'))
        self.assertFalse(asserts("kill -ABRT $$"))
        self.assertFalse(asserts("exit 1"))

    def test_nobody_waits_for_a_program_that_hangs(self):
        self.assertFalse(asserts("exec sleep 60", timeout=0.5))
        self.assertTrue(asserts('echo "granary: internal check failed: I1 (a.cc:1, f)" >&2; exec sleep 60'))


if __name__ == "__main__":
    unittest.main()
