#!/usr/bin/env python3
"""What counts as noticing a bug: tests that fail or crash; those that hang only of a bug that is said to make them hang."""

import contextlib
import io
import pathlib
import tempfile
import unittest
import unittest.mock

import expect_caught

BEGINS = 'echo "[ RUN      ] Some/Suite.Case/0"; '
FAILS = BEGINS + 'echo "[  FAILED  ] Some/Suite.Case/0, where (1 ms)"; exit 1'
HANGS = BEGINS + "exec sleep 60"
CRASHES = BEGINS + "kill -ABRT $$"
PASSES = BEGINS + 'echo "[       OK ] Some/Suite.Case/0 (1 ms)"'


def caught(script, *flags, timeout=60):
    """Whether a test program that does this counts as having noticed its bug."""
    with tempfile.TemporaryDirectory() as directory:
        program = pathlib.Path(directory) / "program"
        program.write_text("#!/bin/sh\n" + script + "\n")
        program.chmod(0o700)
        words = ["expect_caught.py", "--bug=some", "--at_least=1", f"--timeout={timeout}", *flags, str(program)]
        with unittest.mock.patch("sys.argv", words), contextlib.redirect_stdout(io.StringIO()):
            try:
                expect_caught.main()
            except SystemExit:
                return False
            return True


class Counting(unittest.TestCase):
    def test_a_failure_and_a_crash_count(self):
        self.assertTrue(caught(FAILS))
        self.assertTrue(caught(CRASHES))
        self.assertFalse(caught(PASSES))

    def test_a_hang_counts_only_if_it_is_expected(self):
        self.assertFalse(caught(HANGS, timeout=0.5))
        self.assertTrue(caught(HANGS, "--hangs", timeout=3))
        self.assertFalse(caught(PASSES, "--hangs"))


if __name__ == "__main__":
    unittest.main()
