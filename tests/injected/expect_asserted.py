#!/usr/bin/env python3
"""Switches one injected bug on and sees that the assertion of the invariant that it breaks ends the process.

  expect_asserted.py --bug=NAME --invariant=I5 [--htm=sim] PROGRAM[:FILTER]

Runs the GoogleTest program with --inject_bug=NAME --asserting until it prints that the check of this invariant failed. Exit code 1 if it
ends, or the time does, without that.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading


def asserts(program, flags, invariant, timeout):
    """Whether the run says that this invariant does not hold."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        process = subprocess.Popen([program, *flags], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace",
                                   start_new_session=True, env=os.environ | {"TMPDIR": folder, "GRANARY_TEST_RINGS": folder})
        timer = threading.Timer(timeout, os.killpg, [process.pid, signal.SIGKILL])
        timer.start()
        said = any(f"internal check failed: {invariant} (" in line for line in process.stderr)
        timer.cancel()
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # with its children, which may hold the pipe open
        process.stderr.close()
        process.wait()
        return said


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bug", required=True)
    parser.add_argument("--invariant", required=True)
    parser.add_argument("--htm", help="passed on to the program (tests/main.cc)")
    parser.add_argument("--timeout", type=float, default=60, help="seconds")
    parser.add_argument("program", metavar="PROGRAM[:FILTER]")
    arguments = parser.parse_args()
    program, _, gtest_filter = arguments.program.partition(":")
    flags = [f"--inject_bug={arguments.bug}", "--asserting", f"--gtest_filter={gtest_filter or '*'}"]
    if arguments.htm:
        flags.append(f"--htm={arguments.htm}")
    if asserts(program, flags, arguments.invariant, arguments.timeout):
        print(f"{arguments.bug}: the assertion of {arguments.invariant} ends the process")
        return 0
    print(f"{arguments.bug}: no assertion of {arguments.invariant} noticed it", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
