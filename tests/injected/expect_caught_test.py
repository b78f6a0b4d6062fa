#!/usr/bin/env python3
"""What counts as noticing a bug: tests that fail or crash; those that hang only of a bug that is said to make them hang."""

import contextlib
import io
import os
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


def caught(script, *flags, timeout=60, directory=None):
    """Whether a test program that does this counts as having noticed its bug. What is kept stays in the directory."""
    with contextlib.ExitStack() as stack:
        directory = directory or stack.enter_context(tempfile.TemporaryDirectory())
        stack.enter_context(unittest.mock.patch.dict(os.environ, {"XDG_CACHE_HOME": directory, "GRANARY_TEST_ANEW": ""}))
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


    def test_the_cases_behind_a_crash_are_asked_too(self):
        other = 'echo "[ RUN      ] Some/Suite.Other/0"; kill -ABRT $$'
        both = f'case "$*" in *-Some/Suite.Case/0*) {other};; *) {CRASHES};; esac'
        self.assertTrue(caught(both, "--at_least=2"))
        self.assertFalse(caught(f'case "$*" in *-Some/Suite.Case/0*) {PASSES};; *) {CRASHES};; esac', "--at_least=2"))


class Servers(unittest.TestCase):
    def test_what_a_program_has_started_ends_with_it(self):
        """A server in a session of its own; its arguments name the folder that the program was given."""
        with tempfile.TemporaryDirectory() as directory:
            number = pathlib.Path(directory) / "number"
            server = f"setsid sh -c 'echo $$ > {number}; sleep 60; :' server \"$TMPDIR\" > /dev/null 2>&1 &"
            self.assertTrue(caught(f"{server}\nwhile [ ! -s {number} ]; do sleep 0.01; done\n{CRASHES}"))
            self.assertFalse(pathlib.Path(f"/proc/{number.read_text().strip()}/fd/1").exists())


class Kept(unittest.TestCase):
    """`asked` has the filters that the program was run with."""

    def setUp(self):
        self.directory = self.enterContext(tempfile.TemporaryDirectory())

    def asked(self, script):
        asked = pathlib.Path(self.directory) / "asked"
        asked.unlink(missing_ok=True)
        self.assertTrue(caught(f'echo "$*" | grep -o "filter=[^ ]*" >> {asked}; {script}', directory=self.directory))
        return asked.read_text(encoding="utf-8").split()

    def test_who_noticed_is_asked_first(self):
        self.assertEqual(self.asked(FAILS), ["filter=*"])
        self.assertEqual(self.asked(FAILS), ["filter=Some/Suite.Case/0"])

    def test_all_are_asked_if_they_do_not_notice_any_more(self):
        self.asked(CRASHES)
        fails_at_large = f'case "$*" in *Some*) {PASSES};; *) {FAILS};; esac'
        self.assertEqual(self.asked(fails_at_large), ["filter=Some/Suite.Case/0", "filter=*"])


if __name__ == "__main__":
    unittest.main()
